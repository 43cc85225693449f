/* Ranks that were started one by one meet, or are told why not; the dead are named in time. */
#include "launch/join.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/philox.h"
#include "support/check.h"
#include "support/ranks.h"

enum { MS = 1000 * 1000, MOST = 8 };

/* What the processes tell the test. */
struct told {
    enum hr_status status;
    char message[512];
    int64_t out_at;
    struct hr_atom32 waits; /* it has met the others, and is about to wait */
};

static struct told *told_by;
static char file[64], path[80]; /* of the control segment */
static pid_t child[MOST];
static char run[64];

/* One process: which rank it says it is, and what it does when all are there. */
struct part {
    size_t rank, nranks, segment_bytes;
    int64_t timeout_ns;
    enum hr_status (*act)(struct hr_join *join, struct hr_waiter *waiter, struct told *told);
};

/* --- what a rank does --- */

static struct hr_atom64 *word_of(struct hr_join *join, size_t rank)
{
    return &((struct hr_atom64 *)join->segment.base)[rank];
}

static bool all_words_are_there(void *arg)
{
    struct hr_join *join = arg;
    for (size_t r = 0; r < join->options.nranks; r++)
        if (hr_atom64_load_acquire(word_of(join, r)) != 100 + r) /* partner: exchange */
            return false;
    return true;
}

static enum hr_status exchange(struct hr_join *join, struct hr_waiter *waiter, struct told *told)
{
    const size_t me = join->options.rank;
    (void)told;
    hr_atom64_store_release(word_of(join, me), 100 + me); /* partner: all_words_are_there */
    for (size_t r = 0; r < join->options.nranks; r++)
        hr_bell_ring(&join->control->rank[r].bell);
    return hr_wait_until(waiter, &join->control->rank[me].bell, all_words_are_there, join, "words");
}

static bool never(void *arg)
{
    (void)arg;
    return false;
}

static enum hr_status wait_in_vain(struct hr_join *join, struct hr_waiter *waiter,
                                   struct told *told)
{
    const size_t me = join->options.rank;
    hr_control_phase(join->control, me, HR_PHASE_COMMUNICATE);
    hr_atom32_store_release(&told->waits, 1); /* partner: await */
    const enum hr_status status =
        hr_wait_until(waiter, &join->control->rank[me].bell, never, NULL, "what never comes");
    return status == HR_E_ABORTED ? hr_control_failure(join->control) : status;
}

/* Rank 0 goes on for a while when the others have left. */
static enum hr_status outlast(struct hr_join *join, struct hr_waiter *waiter, struct told *told)
{
    if (join->options.rank > 0)
        return HR_OK;
    waiter->timeout_ns = 200 * MS;
    return wait_in_vain(join, waiter, told) == HR_E_TIMEOUT ? HR_OK : HR_E_FAILED;
}

static enum hr_status take_part(const struct part *part, struct told *told)
{
    struct hr_join_options options = {.timeout_ns = part->timeout_ns};
    struct hr_waiter waiter = {.timeout_ns = 10 * HR_NS_PER_SECOND};
    struct hr_join join;
    options.segment_bytes = part->segment_bytes ? part->segment_bytes : 4096;
    HR_TRY(hr_join_environment(&options));
    HR_TRY(hr_join_open(&options, &join));
    hr_join_watch(&join, &waiter);
    const enum hr_status status = part->act(&join, &waiter, told);
    hr_join_close(&join, status);
    return status;
}

/* --- what the test does --- */

static void set_number(const char *variable, size_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%zu", value);
    setenv(variable, text, 1);
}

/* Start a process in place `i`. */
static void start(size_t i, const struct part *part)
{
    child[i] = fork();
    assert_true(child[i] >= 0);
    if (child[i])
        return;
    alarm(250); /* should all else fail */
    setenv("HOGRING_RUN", run, 1);
    set_number("RANK", part->rank);
    set_number("WORLD_SIZE", part->nranks);
    struct told *told = &told_by[i];
    told->status = take_part(part, told);
    told->out_at = hr_clock_ns();
    snprintf(told->message, sizeof told->message, "%s", hr_error_message());
    _exit(0);
}

static void start_all(struct part part)
{
    for (part.rank = 0; part.rank < part.nranks; part.rank++)
        start(part.rank, &part);
}

static int await_end(size_t i)
{
    int status;
    assert_int_equal(waitpid(child[i], &status, 0), child[i]);
    return status;
}

static void check_told(size_t i, enum hr_status status, const char *text)
{
    await_end(i);
    if (told_by[i].status != status || !strstr(told_by[i].message, text)) {
        print_error("process %zu: %s: \"%s\"\n  wanted %s: \"%s\"\n", i,
                    hr_status_str(told_by[i].status), told_by[i].message, hr_status_str(status),
                    text);
        fail();
    }
}

static void await(const struct hr_atom32 *word)
{
    while (!hr_atom32_load_acquire(word)) /* partner: wait_in_vain */
        nanosleep(&(struct timespec){.tv_nsec = MS / 10}, NULL);
}

static void await_all(size_t n)
{
    for (size_t i = 0; i < n; i++)
        await(&told_by[i].waits);
}

/* Until these ranks have said that they are there, and the meeting goes on. */
static void await_arrivals(size_t n)
{
    struct hr_segment segment;
    bool exists;
    while (hr_segment_attach(file, &segment, &exists) != HR_OK)
        nanosleep(&(struct timespec){.tv_nsec = MS}, NULL);
    struct hr_control *control = segment.base;
    for (size_t r = 0; r < n; r++)
        while (!hr_atom64_load_acquire(&control->rank[r].started)) /* partner: the rank */
            nanosleep(&(struct timespec){.tv_nsec = MS / 10}, NULL);
    hr_segment_destroy(&segment);
}

static int setup(void **state)
{
    static unsigned tests;
    (void)state;
    told_by = mmap(NULL, MOST * sizeof *told_by, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                   -1, 0);
    memset(child, 0, sizeof child);
    snprintf(run, sizeof run, "test_join %ld.%u", (long)getpid(), tests++);
    hr_join_file(run, file, sizeof file);
    snprintf(path, sizeof path, "/dev/shm%s", file);
    return told_by == MAP_FAILED ? -1 : 0;
}

static int nothing_is_left(void **state)
{
    struct stat info;
    size_t left = 0;
    (void)state;
    for (size_t i = 0; i < MOST; i++)
        left += child[i] ? segments_of(child[i]) : 0;
    left += stat(path, &info) == 0;
    munmap(told_by, MOST * sizeof *told_by);
    return left || !no_children_left() ? -1 : 0;
}

/* --- they meet --- */

static void ranks_meet_in_any_order(void **state)
{
    static const size_t sizes[] = {1, 2, 5};
    (void)state;
    for (size_t k = 0; k < check_count(12, 300); k++) {
        const struct hr_philox random = hr_random_block(check_seed(), HR_STREAM_TEST, k, 0);
        struct part part = {.nranks = sizes[k % 3], .timeout_ns = 10 * HR_NS_PER_SECOND};
        part.act = exchange;
        for (size_t i = 0; i < part.nranks; i++) {
            part.rank = (i * (1 + random.v[0] % 4) + random.v[1]) % part.nranks;
            if (part.nranks != 5)
                part.rank = (i + random.v[1] % part.nranks) % part.nranks;
            start(part.rank, &part);
            nanosleep(&(struct timespec){.tv_nsec = random.v[2] % (5 * MS)}, NULL);
        }
        for (size_t i = 0; i < part.nranks; i++)
            check_told(i, HR_OK, "");
        assert_true(access(path, F_OK) != 0);
    }
}

static void rank_that_has_left_is_not_lost(void **state)
{
    (void)state;
    start_all((struct part){.nranks = 3, .act = outlast});
    for (size_t i = 0; i < 3; i++)
        check_told(i, HR_OK, "");
}

static void memory_is_private_whatever_the_umask(void **state)
{
    struct stat info;
    (void)state;
    const mode_t before = umask(0777);
    start_all((struct part){.nranks = 2, .act = wait_in_vain});
    umask(before);
    await_all(2);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0600);
    assert_int_equal(segments_of(child[0]), 0); /* the large one has no name any more */
    kill(child[1], SIGKILL);
    check_told(0, HR_E_LOST, "rank 1");
    await_end(1);
}

/* --- they do not --- */

static void missing_ranks_are_named(void **state)
{
    char text[128];
    (void)state;
    for (size_t rank = 0; rank < 2; rank++)
        start(rank, &(struct part){rank, 4, 0, 2000 * MS, exchange});
    snprintf(text, sizeof text, " s for ranks 2, 3 of 4 (run %s)", run);
    check_told(0, HR_E_TIMEOUT, text);
    check_told(1, HR_E_TIMEOUT, text);
}

static void missing_rank_0_is_named(void **state)
{
    (void)state;
    start(1, &(struct part){1, 2, 0, 100 * MS, exchange});
    check_told(1, HR_E_TIMEOUT, " s for rank 0 of 2");
}

static void twins_are_told_and_the_others_with_them(void **state)
{
    char text[128];
    (void)state;
    for (size_t twin = 0; twin < 2; twin++) {
        for (size_t i = 0; i < 2; i++)
            start(i, &(struct part){i, 3, 0, 10 * HR_NS_PER_SECOND, exchange});
        await_arrivals(2);
        start(2, &(struct part){twin, 3, 0, 10 * HR_NS_PER_SECOND, exchange});
        snprintf(text, sizeof text, "rank %zu of run %s is there twice: pid ", twin, run);
        check_told(1 - twin, HR_E_USAGE, text);
        check_told(twin, HR_E_USAGE, text);
        check_told(2, HR_E_USAGE, text);
    }
}

static void late_twin_disturbs_nobody(void **state)
{
    (void)state;
    start_all((struct part){.nranks = 2, .act = outlast});
    await(&told_by[0].waits);
    start(2, &(struct part){0, 2, 0, 0, exchange});
    start(3, &(struct part){0, 3, 0, 0, exchange});
    check_told(2, HR_E_USAGE, "is there twice");
    check_told(3, HR_E_USAGE, "is there twice");
    check_told(0, HR_OK, "");
    check_told(1, HR_OK, "");
}

static void ranks_that_differ_are_told(void **state)
{
    (void)state;
    start(0, &(struct part){0, 3, 0, 0, exchange});
    start(1, &(struct part){1, 2, 0, 0, exchange});
    check_told(0, HR_E_USAGE, "rank 1 expects 2 ranks, rank 0 3");
    check_told(1, HR_E_USAGE, "rank 1 expects 2 ranks, rank 0 3");
    start(0, &(struct part){0, 2, 8192, 0, exchange});
    start(1, &(struct part){1, 2, 4096, 0, exchange});
    check_told(0, HR_E_USAGE, "rank 1 expects a segment of 4096 bytes, rank 0 of 8192");
    check_told(1, HR_E_USAGE, "rank 1 expects a segment of 4096 bytes, rank 0 of 8192");
}

/* --- they die --- */

static void killed_rank_is_named_in_time(void **state)
{
    char text[128];
    int64_t most = 0;
    (void)state;
    for (size_t victim = 0; victim < 4; victim++) {
        memset(told_by, 0, MOST * sizeof *told_by);
        start_all((struct part){.nranks = 4, .act = wait_in_vain});
        await_all(4);
        kill(child[victim], SIGKILL);
        const int64_t killed_at = hr_clock_ns();
        snprintf(text, sizeof text, "rank %zu: pid %ld is gone, while communicating", victim,
                 (long)child[victim]);
        for (size_t i = 0; i < 4; i++) /* the victim last: it may be a zombie */
            if (i != victim) {
                check_told(i, HR_E_LOST, text);
                const int64_t took = told_by[i].out_at - killed_at;
                most = took > most ? took : most;
            }
        await_end(victim);
    }
    print_message("the last survivor was out after %.1f ms\n", 1e3 * hr_seconds(most));
    assert_in_range(most, 0, 250 * MS);
}

static void rank_killed_while_they_meet_is_named(void **state)
{
    (void)state;
    start(0, &(struct part){0, 3, 0, 0, exchange});
    start(1, &(struct part){1, 3, 0, 0, exchange});
    await_arrivals(2);
    kill(child[1], SIGKILL);
    check_told(0, HR_E_LOST, "rank 1: pid");
    await_end(1);
}

static void leftovers_of_a_dead_run_are_replaced(void **state)
{
    (void)state;
    for (size_t late = 0; late < 2; late++) {
        memset(told_by, 0, MOST * sizeof *told_by);
        start_all((struct part){.nranks = 2, .act = wait_in_vain});
        await_all(2);
        for (size_t i = 0; i < 2; i++)
            kill(child[i], SIGKILL);
        for (size_t i = 0; i < 2; i++)
            await_end(i);
        for (size_t i = 0; i < 3; i++) /* rank 0 first or last: the others must not take the old */
            start(i, &(struct part){(i + late) % 3, 3, 0, 0, exchange});
        for (size_t i = 0; i < 3; i++)
            check_told(i, HR_OK, "");
    }
}

/* Dies with both names in place. */
static pid_t leave_a_dead_run(char *other, size_t size)
{
    start(0, &(struct part){0, 2, 0, 0, exchange});
    await_arrivals(1);
    kill(child[0], SIGKILL);
    await_end(0);
    snprintf(other, size, "%s", path);
    return child[0];
}

static void leftovers_of_other_runs_are_swept_but_the_last_crash(void **state)
{
    char others[2][sizeof path];
    pid_t dead[2];
    for (size_t i = 0; i < 2; i++) {
        dead[i] = leave_a_dead_run(others[i], sizeof others[i]);
        setup(state);
    }
    start_all((struct part){.nranks = 1, .act = exchange});
    check_told(0, HR_OK, "");
    /* Another run of this user may be the one that sweeps, or the one that crashed last. */
    assert_true(access(others[0], F_OK) != 0 && segments_of(dead[0]) == 0);
    assert_int_equal(segments_of(dead[1]), 0); /* the large one */
    remove_runs_of(dead[1]);
    assert_true(access(others[1], F_OK) != 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ranks_meet_in_any_order, setup, nothing_is_left),
        cmocka_unit_test_setup_teardown(rank_that_has_left_is_not_lost, setup, nothing_is_left),
        cmocka_unit_test_setup_teardown(memory_is_private_whatever_the_umask, setup,
                                        nothing_is_left),
        cmocka_unit_test_setup_teardown(missing_ranks_are_named, setup, nothing_is_left),
        cmocka_unit_test_setup_teardown(missing_rank_0_is_named, setup, nothing_is_left),
        cmocka_unit_test_setup_teardown(twins_are_told_and_the_others_with_them, setup,
                                        nothing_is_left),
        cmocka_unit_test_setup_teardown(late_twin_disturbs_nobody, setup, nothing_is_left),
        cmocka_unit_test_setup_teardown(ranks_that_differ_are_told, setup, nothing_is_left),
        cmocka_unit_test_setup_teardown(killed_rank_is_named_in_time, setup, nothing_is_left),
        cmocka_unit_test_setup_teardown(rank_killed_while_they_meet_is_named, setup,
                                        nothing_is_left),
        cmocka_unit_test_setup_teardown(leftovers_of_a_dead_run_are_replaced, setup,
                                        nothing_is_left),
        cmocka_unit_test_setup_teardown(leftovers_of_other_runs_are_swept_but_the_last_crash, setup,
                                        nothing_is_left),
    };
    if (!ranks_can_fork()) {
        print_message("skipped: ThreadSanitizer does not see other processes\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
