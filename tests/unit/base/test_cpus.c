/* Caches grow with their level, and are known where the kernel describes them. */
#include <unistd.h>

#include "base/cpus.h"
#include "support/check.h"

static void caches_grow_with_their_level(void **state)
{
    (void)state;
    const size_t l1 = hr_cpus_cache_bytes(1), l2 = hr_cpus_cache_bytes(2),
                 l3 = hr_cpus_cache_bytes(3);
    if (access("/sys/devices/system/cpu/cpu0/cache/index0/size", R_OK) != 0)
        skip();
    assert_true(l1 >= 4096 && l1 <= (size_t)1 << 20);
    assert_true(l2 == 0 || l2 > l1);
    assert_true(l3 == 0 || l3 > l2);
    assert_true(l3 <= (size_t)4 << 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(caches_grow_with_their_level)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
