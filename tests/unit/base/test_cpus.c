/* Caches grow with their level, and are known where the kernel describes them. Hyperthreads of a
 * core count once. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cpus.h"
#include "support/check.h"
#include "support/scratch.h"

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
    static const char *const wrong[] = {
        "", "32K", "32K,", ",512K", "0,512K", "32K,512K,8M,9M", "32K,512K,0", "a,b"};
    unsetenv("HOGRING_CACHES");
    assert_null(hr_cpus_unknown_caches());
    const size_t l1 = hr_cpus_cache_of_core(1), l2 = hr_cpus_cache_of_core(2),
                 l3 = hr_cpus_cache_bytes(3);
    assert_true(l1 <= (size_t)1 << 20);
    assert_true(!l2 || !hr_cpus_cache_bytes(2) || l2 <= (size_t)64 << 20);
    setenv("HOGRING_CACHES", "48K,2M", 1);
    assert_null(hr_cpus_unknown_caches());
    assert_int_equal(hr_cpus_cache_of_core(1), 48 << 10);
    assert_int_equal(hr_cpus_cache_of_core(2), 2 << 20);
    assert_int_equal(hr_cpus_cache_bytes(3), l3);
    setenv("HOGRING_CACHES", "32K,512K,8M", 1);
    assert_null(hr_cpus_unknown_caches());
    assert_int_equal(hr_cpus_cache_of_core(2), 512 << 10);
    assert_int_equal(hr_cpus_cache_bytes(1), 32 << 10);
    assert_int_equal(hr_cpus_cache_bytes(3), 8 << 20);
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

/* Makes what /sys says of a processor: the threads of its core; NULL: nothing. */
static void say_siblings(int cpu, const char *threads)
{
    char name[3][64];
    snprintf(name[0], sizeof name[0], "cpu%d", cpu);
    snprintf(name[1], sizeof name[1], "cpu%d/topology", cpu);
    snprintf(name[2], sizeof name[2], "cpu%d/topology/thread_siblings_list", cpu);
    mkdir(scratch(name[0]), 0777);
    mkdir(scratch(name[1]), 0777);
    scratch_write(name[2], threads, strlen(threads));
}

/* On a machine whose allowed processors are all threads of pairs: the first with the second, the
 * third with the fourth, and so on. */
static void hyperthreads_of_a_core_count_once(void **state)
{
    (void)state;
    int cpu[CPU_SETSIZE], n = 0;
    cpu_set_t allowed;
    char threads[64];
    unsetenv("HOGRING_CPUS");
    assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &allowed))
            cpu[n++] = i;
    const size_t there = hr_cpus_allowed(), pairs = ((size_t)n + 1) / 2;
    assert_int_equal(hr_cpus_cores_in(scratch("nowhere")), there);
    for (int i = 0; i < n; i++) {
        snprintf(threads, sizeof threads, "%d\n", cpu[i]);
        say_siblings(cpu[i], threads);
    }
    assert_int_equal(hr_cpus_cores_in(scratch("")), there);
    for (int i = 0; i < n; i++)
        assert_int_equal(hr_cpus_numbered_in(scratch(""), (size_t)(n + i)), cpu[i]);
    for (int i = 0; i < n; i++) {
        const int first = cpu[i - i % 2], second = i - i % 2 + 1 < n ? cpu[i - i % 2 + 1] : first;
        snprintf(threads, sizeof threads, "%d%c%d\n", first, i % 4 < 2 ? '-' : ',', second);
        say_siblings(cpu[i], threads);
    }
    assert_int_equal(hr_cpus_cores_in(scratch("")), pairs < there ? pairs : there);
    for (int i = 0; i < n; i++) { /* cores first, then the second threads of those that have one */
        const int of = (size_t)i < pairs ? 2 * i : 2 * (i - (int)pairs) + 1;
        assert_int_equal(hr_cpus_numbered_in(scratch(""), (size_t)i), cpu[of]);
    }
    setenv("HOGRING_CPUS", "1", 1);
    assert_int_equal(hr_cpus_cores_in(scratch("")), 1);
    setenv("HOGRING_CPUS", "60000", 1); /* more than there are, of which nobody tells */
    assert_int_equal(hr_cpus_cores_in(scratch("")), 60000);
    unsetenv("HOGRING_CPUS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(caches_grow_with_their_level),
        cmocka_unit_test(a_core_has_a_share_of_its_caches),
        cmocka_unit_test(a_number_of_processors_overrides_what_there_are),
        cmocka_unit_test_setup_teardown(hyperthreads_of_a_core_count_once, scratch_setup,
                                        scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
