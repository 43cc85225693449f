/* Caches grow with their level, and are known where the kernel describes them. */
#include <stdlib.h>
#include <unistd.h>

#include "base/cpus.h"
#include "support/check.h"

static void caches_grow_with_their_level(void **state)
{
    (void)state;
    const size_t l1 = hr_cpus_cache_bytes(1), l2 = hr_cpus_cache_bytes(2),
                 l3 = hr_cpus_cache_bytes(3);
    if (access("/sys/devices/system/cpu/cpu0/cache/index0/size", R_OK) != 0)
        SKIP("the kernel does not tell of caches");
    assert_true(l1 >= 4096 && l1 <= (size_t)1 << 20);
    assert_true(l2 == 0 || l2 > l1);
    assert_true(l3 == 0 || l3 > l2);
    assert_true(l3 <= (size_t)4 << 30);
}

static void a_core_has_a_share_of_its_caches(void **state)
{
    (void)state;
    static const char *const wrong[] = {"", "32K", "32K,", ",512K", "0,512K", "32K,512K,8M", "a,b"};
    unsetenv("HOGRING_CACHES");
    assert_null(hr_cpus_unknown_caches());
    const size_t l1 = hr_cpus_cache_of_core(1), l2 = hr_cpus_cache_of_core(2);
    assert_true(l1 <= (size_t)1 << 20);
    assert_true(!l2 || !hr_cpus_cache_bytes(2) || l2 <= (size_t)64 << 20);
    setenv("HOGRING_CACHES", "48K,2M", 1);
    assert_null(hr_cpus_unknown_caches());
    assert_int_equal(hr_cpus_cache_of_core(1), 48 << 10);
    assert_int_equal(hr_cpus_cache_of_core(2), 2 << 20);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        setenv("HOGRING_CACHES", wrong[i], 1);
        assert_string_equal(hr_cpus_unknown_caches(), wrong[i]);
        assert_int_equal(hr_cpus_cache_of_core(2), l2);
    }
    unsetenv("HOGRING_CACHES");
}

static void a_number_of_processors_overrides_what_there_are(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",    "0",  "-1", "+2",    "2.5",
                                        "abc", "2x", " 2", "65537", "18446744073709551616"};
    unsetenv("HOGRING_CPUS");
    const size_t there = hr_cpus_allowed();
    assert_null(hr_cpus_unknown());
    setenv("HOGRING_CPUS", "7", 1);
    assert_null(hr_cpus_unknown());
    assert_int_equal(hr_cpus_allowed(), 7);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        setenv("HOGRING_CPUS", wrong[i], 1);
        assert_string_equal(hr_cpus_unknown(), wrong[i]);
        assert_int_equal(hr_cpus_allowed(), there);
    }
    unsetenv("HOGRING_CPUS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(caches_grow_with_their_level),
        cmocka_unit_test(a_core_has_a_share_of_its_caches),
        cmocka_unit_test(a_number_of_processors_overrides_what_there_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
