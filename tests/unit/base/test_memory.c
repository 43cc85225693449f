/* What memory there is, on machines made of a few files, and what is needed, as it is summed up. */
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"

static const size_t GIB = (size_t)1 << 30, MIB = (size_t)1 << 20;

static char root[] = "/tmp/hogring-memory-XXXXXX";

/* A file of the machine, with the folders above it. */
static void put(const char *path, const char *text)
{
    char full[600];
    snprintf(full, sizeof full, "%s/%s", root, path);
    for (char *slash = strchr(full + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(full, 0700);
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int begin(void **state)
{
    (void)state;
    strcpy(root + strlen(root) - 6, "XXXXXX");
    assert_non_null(mkdtemp(root));
    put("proc/meminfo", "MemTotal: 8388608 kB\nMemFree: 12 kB\nMemAvailable:    4194304 kB\n");
    return 0;
}

static int end(void **state)
{
    (void)state;
    char command[100];
    hr_memory_limit_set(0);
    snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command);
}

static void without_groups_the_kernels_guess_counts(void **state)
{
    (void)state;
    const struct hr_memory there = hr_memory_under(root);
    assert_int_equal(there.bytes, 4 * GIB);
    assert_non_null(strstr(there.why, "MemAvailable"));
}

static void a_group_of_version_2_counts_less_what_it_uses_and_cannot_drop(void **state)
{
    (void)state;
    put("proc/self/cgroup", "0::/user/ours\n");
    put("sys/fs/cgroup/user/ours/memory.max", "max\n");
    put("sys/fs/cgroup/user/memory.max", "1073741824\n");
    put("sys/fs/cgroup/user/memory.current", "536870912\n");
    put("sys/fs/cgroup/user/memory.stat", "anon 1\ninactive_file 268435456\nactive_file 7\n");
    const struct hr_memory there = hr_memory_under(root);
    assert_int_equal(there.bytes, GIB - GIB / 4);
    assert_non_null(strstr(there.why, "control group"));
}

static void a_group_of_version_1_counts_too(void **state)
{
    (void)state;
    put("proc/self/cgroup", "3:cpu,cpuacct:/x\n2:memory:/box\n0::/\n");
    put("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "2147483648\n");
    put("sys/fs/cgroup/memory/box/memory.usage_in_bytes", "1073741824\n");
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    assert_int_equal(hr_memory_under(root).bytes, GIB);
    put("sys/fs/cgroup/memory/box/memory.stat", "total_inactive_file 1024\n");
    assert_int_equal(hr_memory_under(root).bytes, GIB + 1024);
}

static void a_group_that_is_named_from_outside_a_container_is_looked_for_above(void **state)
{
    (void)state;
    put("proc/self/cgroup", "0::/kubepods/pod1/abc\n");
    put("sys/fs/cgroup/memory.max", "1048576\n");
    put("sys/fs/cgroup/memory.current", "2097152\n"); /* over its limit: nothing is left */
    assert_int_equal(hr_memory_under(root).bytes, 0);
}

static void a_limit_that_was_set_takes_the_place_of_guesses(void **state)
{
    (void)state;
    put("proc/self/cgroup", "0::/\n");
    put("sys/fs/cgroup/memory.max", "1048576\n");
    hr_memory_limit_set(64 * GIB);
    const struct hr_memory there = hr_memory_under(root);
    assert_true(there.bytes > 60 * GIB && there.bytes <= 64 * GIB); /* less what we have */
    assert_string_equal(there.why, "--max-memory");
}

static void pieces_are_granted_or_refused_with_both_figures(void **state)
{
    (void)state;
    hr_memory_limit_set(256 * MIB);
    CHECK_OK(hr_memory_ask("data.csv", 1000));
    CHECK_OK(hr_memory_ask("data.csv", 64 * MIB));
    CHECK_FAILS(hr_memory_ask("data.csv", 8 * GIB), HR_E_NOMEM);
    CHECK_MESSAGE("data.csv: needs 8.0 GiB of memory, and there is ");
    CHECK_MESSAGE("(--max-memory)");
}

/* In a child: a limit cannot be raised again everywhere. */
static void address_space_is_a_limit_of_its_own(void **state)
{
    (void)state;
    if (CHECK_SANITIZED)
        SKIP("under a sanitizer: they map terabytes");
    const pid_t pid = fork();
    if (pid == 0) {
        const struct rlimit most = {512 * MIB, 512 * MIB};
        setrlimit(RLIMIT_AS, &most);
        const struct hr_memory there = hr_memory_there_is();
        _exit(there.address < 512 * MIB && there.address > 256 * MIB &&
                      !strcmp(there.address_why, "ulimit -v")
                  ? 0
                  : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void needs_are_summed_by_name_and_never_wrap(void **state)
{
    (void)state;
    struct hr_needs needs = {0};
    hr_needs_add(&needs, "weights", 3, 1000);
    hr_needs_add(&needs, "nothing", 0, 1000);
    hr_needs_add(&needs, "weights", 1, 24);
    assert_int_equal(needs.n, 1);
    assert_int_equal(needs.bytes, 3024);
    hr_needs_add(&needs, "rows", SIZE_MAX / 2, 3);
    assert_true(needs.bytes == SIZE_MAX && needs.item[1].bytes == SIZE_MAX);
    CHECK_FAILS(hr_needs_check(&needs, "this run needs", "less would fit"), HR_E_NOMEM);
    CHECK_MESSAGE("this run needs 16 EiB: rows 16 EiB");
    CHECK_MESSAGE("; less would fit");
}

static void what_is_taken_is_said_and_not_asked_for_again(void **state)
{
    (void)state;
    char text[HR_NEEDS_TEXT];
    struct hr_needs needs = {0};
    hr_needs_add_taken(&needs, "data", 3 * GIB);
    hr_needs_add(&needs, "weights", 2, GIB / 2);
    hr_needs_add(&needs, "dust", 1, 10);
    const struct hr_memory there = {GIB + 10, "a test", SIZE_MAX, ""};
    const struct hr_memory little = {GIB + 9, "a test", SIZE_MAX, ""};
    const struct hr_memory narrow = {SIZE_MAX, "", GIB, "a test"};
    assert_true(hr_needs_fit(&needs, &there));
    assert_false(hr_needs_fit(&needs, &little));
    assert_false(hr_needs_fit(&needs, &narrow));
    needs.apart = GIB / 2;
    assert_true(hr_needs_fit(&needs, &narrow));
    hr_needs_text(&needs, text);
    assert_string_equal(text, "4.0 GiB: data 3.0 GiB, weights 1.0 GiB, others 10 B");
}

static void runs_at_the_same_time_share_what_was_taken_before(void **state)
{
    (void)state;
    struct hr_needs all = {0}, one = {0};
    hr_needs_add_taken(&one, "data", 100);
    hr_needs_add(&one, "weights", 2, 10);
    hr_needs_join(&all, &one);
    hr_needs_join(&all, &one);
    assert_int_equal(all.bytes, 140);
    assert_int_equal(all.taken, 100);
    assert_int_equal(all.apart, 20);
}

static void bytes_are_said_in_two_digits_or_more(void **state)
{
    (void)state;
    assert_string_equal(hr_bytes_text(796).text, "796 B");
    assert_string_equal(hr_bytes_text(21 * 1024).text, "21 KiB");
    assert_string_equal(hr_bytes_text(2 * MIB + MIB / 2).text, "2.5 MiB");
    assert_string_equal(hr_bytes_text(1000 * MIB).text, "1.0 GiB");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(without_groups_the_kernels_guess_counts, begin, end),
        cmocka_unit_test_setup_teardown(
            a_group_of_version_2_counts_less_what_it_uses_and_cannot_drop, begin, end),
        cmocka_unit_test_setup_teardown(a_group_of_version_1_counts_too, begin, end),
        cmocka_unit_test_setup_teardown(
            a_group_that_is_named_from_outside_a_container_is_looked_for_above, begin, end),
        cmocka_unit_test_setup_teardown(a_limit_that_was_set_takes_the_place_of_guesses, begin,
                                        end),
        cmocka_unit_test_setup_teardown(pieces_are_granted_or_refused_with_both_figures, begin,
                                        end),
        cmocka_unit_test(address_space_is_a_limit_of_its_own),
        cmocka_unit_test(needs_are_summed_by_name_and_never_wrap),
        cmocka_unit_test(what_is_taken_is_said_and_not_asked_for_again),
        cmocka_unit_test(runs_at_the_same_time_share_what_was_taken_before),
        cmocka_unit_test(bytes_are_said_in_two_digits_or_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
