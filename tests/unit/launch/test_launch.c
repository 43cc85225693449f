/* Ranks as threads and as processes: all run, the first failure comes back, the dead are named. */
#include "launch/launch.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/philox.h"
#include "support/check.h"
#include "support/ranks.h"

enum { MS = 1000 * 1000 };

static const int64_t SECOND = HR_NS_PER_SECOND;

/* Each test runs as threads, then, where that is possible, as processes. */
static enum hr_launch last_launch(void)
{
    return ranks_can_fork() ? HR_LAUNCH_PROCESS : HR_LAUNCH_THREAD;
}

#define FOR_EACH_LAUNCH(launch)                                                                    \
    for (enum hr_launch launch = HR_LAUNCH_THREAD; launch <= last_launch(); launch++)

static int nothing_is_left(void **state)
{
    (void)state;
    return segments_of(getpid()) == 0 && no_children_left() ? 0 : -1;
}

static void launch_names_are_read_back(void **state)
{
    (void)state;
    enum hr_launch launch;
    CHECK_OK(hr_launch_parse("thread", &launch));
    assert_int_equal(launch, HR_LAUNCH_THREAD);
    CHECK_OK(hr_launch_parse("process", &launch));
    assert_int_equal(launch, HR_LAUNCH_PROCESS);
    assert_string_equal(hr_launch_name(launch), "process");
    CHECK_FAILS(hr_launch_parse("fork", &launch), HR_E_USAGE);
    CHECK_MESSAGE("--launch fork: expected thread or process");
}

/* --- ranks that run to their end ----------------------------------------------------------------
 */

static enum hr_status leave_a_mark(struct rank *me)
{
    me->floats[0] += (float)me->rank + 1;
    return HR_OK;
}

static void every_rank_runs_once(void **state)
{
    (void)state;
    FOR_EACH_LAUNCH(launch)
    {
        static const size_t counts[] = {1, 2, 7, HR_MAX_RANKS};
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            struct ranks ranks = {.nranks = counts[c], .floats = 1, .launch = launch, .bare = true};
            ranks.body = leave_a_mark;
            ranks_open(&ranks);
            CHECK_OK(ranks_run(&ranks));
            assert_false(ranks.stuck);
            for (size_t r = 0; r < counts[c]; r++)
                assert_int_equal((int)*ranks_floats(&ranks, r), r + 1);
            ranks_close(&ranks);
        }
    }
}

/* Three machines; ours is the second. Ranks 2 and 3 live here, and so does rank 6. */
static const struct hr_hosts second = {3, 1, {0, 0, 1, 1, 2, 2, 1}};

/* Of a run of several machines: nobody runs, looks after or waits for the others. */
static void only_a_part_of_the_ranks_may_run_here(void **state)
{
    (void)state;
    FOR_EACH_LAUNCH(launch)
    {
        struct ranks ranks = {.nranks = 7, .floats = 1, .launch = launch, .bare = true};
        ranks.body = leave_a_mark;
        ranks.hosts = &second;
        ranks_open(&ranks);
        CHECK_OK(ranks_run(&ranks));
        assert_false(ranks.stuck);
        for (size_t r = 0; r < 7; r++) {
            const bool here = r == 2 || r == 3 || r == 6;
            assert_int_equal((int)*ranks_floats(&ranks, r), here ? (int)r + 1 : 0);
            assert_int_equal(hr_atom64_load_relaxed(&ranks.control->rank[r].pid) != 0, here);
        }
        ranks_close(&ranks);
    }
}

static enum hr_status fail_at_the_third(struct rank *me)
{
    return me->rank == 3 ? hr_fail(HR_E_IO, "no room") : HR_OK;
}

static void a_failure_has_the_rank_of_the_whole_run(void **state)
{
    (void)state;
    FOR_EACH_LAUNCH(launch)
    {
        struct ranks ranks = {.nranks = 6, .floats = 1, .launch = launch, .bare = true};
        ranks.body = fail_at_the_third;
        ranks.hosts = &second;
        ranks_open(&ranks);
        CHECK_FAILS(ranks_run(&ranks), HR_E_IO);
        CHECK_MESSAGE("rank 3: no room");
        ranks_close(&ranks);
    }
}

static enum hr_status note_the_pid(struct rank *me)
{
    const struct hr_rank_status *line = &me->ranks->control->rank[me->rank];
    me->floats[0] = hr_atom64_load_relaxed(&line->pid) == (uint64_t)getpid();
    return HR_OK;
}

static void every_rank_knows_its_pid(void **state)
{
    (void)state;
    FOR_EACH_LAUNCH(launch)
    {
        struct ranks ranks = {.nranks = 2, .floats = 1, .launch = launch, .body = note_the_pid};
        ranks_open(&ranks);
        CHECK_OK(ranks_run(&ranks));
        assert_int_equal((int)*ranks_floats(&ranks, 0) + (int)*ranks_floats(&ranks, 1), 2);
        const uint64_t pid = hr_atom64_load_relaxed(&ranks.control->rank[0].pid);
        assert_true((pid == (uint64_t)getpid()) == (launch == HR_LAUNCH_THREAD));
        ranks_close(&ranks);
    }
}

/* SIGCHLD may be ignored since before exec; then nobody can be waited for. */
static void ignored_sigchld_hangs_nothing(void **state)
{
    (void)state;
    if (!ranks_can_fork())
        SKIP("a sanitizer's program cannot fork ranks");
    struct ranks ranks = {.nranks = 3, .floats = 1, .launch = HR_LAUNCH_PROCESS, .bare = true};
    ranks.body = leave_a_mark;
    ranks_open(&ranks);
    signal(SIGCHLD, SIG_IGN);
    const enum hr_status status = ranks_run(&ranks);
    signal(SIGCHLD, SIG_DFL);
    CHECK_OK(status);
    ranks_close(&ranks);
}

/* --- failures -----------------------------------------------------------------------------------
 */

/* Rank 1 fails at step 5 while the others wait for it. */
static enum hr_status fail_at_step_five(struct rank *me)
{
    for (uint64_t step = 0; step < 10; step++) {
        hr_control_step(me->ranks->control, me->rank, step);
        if (me->rank == 1 && step == 5)
            return hr_fail(HR_E_DIVERGED, "the loss is not finite");
        HR_TRY(hr_member_barrier(&me->member));
    }
    return HR_OK;
}

static void first_failure_comes_back_with_its_rank(void **state)
{
    (void)state;
    FOR_EACH_LAUNCH(launch)
    {
        struct ranks ranks = {.nranks = 4, .launch = launch, .body = fail_at_step_five};
        ranks_open(&ranks);
        CHECK_FAILS(ranks_run(&ranks), HR_E_DIVERGED);
        assert_string_equal(hr_error_message(), "rank 1, step 5: the loss is not finite");
        assert_false(ranks.stuck);
        ranks_close(&ranks);
    }
}

static enum hr_status claim_that_another_failed(struct rank *me)
{
    return me->rank == 2 ? hr_fail(HR_E_ABORTED, "says rank 2") : HR_OK;
}

/* "Another rank failed" is no excuse when none did. */
static void no_error_is_lost(void **state)
{
    (void)state;
    FOR_EACH_LAUNCH(launch)
    {
        struct ranks ranks = {.nranks = 3, .launch = launch, .bare = true};
        ranks.body = claim_that_another_failed;
        ranks_open(&ranks);
        CHECK_FAILS(ranks_run(&ranks), HR_E_ABORTED);
        CHECK_MESSAGE("rank 2: says rank 2");
        ranks_close(&ranks);
    }
}

static enum hr_status stay_until_aborted(struct rank *me)
{
    while (!hr_atom32_load_acquire(&me->ranks->control->abort))
        HR_TRY(hr_member_barrier(&me->member));
    return HR_OK;
}

static enum hr_status fail_on_third_tick(struct ranks *ranks)
{
    size_t *ticks = ranks->arg;
    ++*ticks;
    return *ticks == 3 ? hr_fail(HR_E_INTERRUPTED, "that is enough") : HR_OK;
}

static void error_of_a_tick_aborts(void **state)
{
    (void)state;
    FOR_EACH_LAUNCH(launch)
    {
        size_t ticks = 0;
        struct ranks ranks = {.nranks = 2, .launch = launch, .tick = fail_on_third_tick};
        ranks.body = stay_until_aborted;
        ranks.arg = &ticks;
        ranks_open(&ranks);
        CHECK_FAILS(ranks_run(&ranks), HR_E_INTERRUPTED);
        assert_string_equal(hr_error_message(), "that is enough");
        assert_true(ticks >= 3);
        ranks_close(&ranks);
    }
}

/* --- ticks ---------------------------------------------------------------------------------------
 */

/* Waits until the launcher has ticked often enough; its word is behind the floats' first. */
static enum hr_status stay_for_ticks(struct rank *me)
{
    const struct hr_atom32 *ticks = (const void *)ranks_floats(me->ranks, 0);
    while (hr_atom32_load_acquire(ticks) < 8) { /* partner: count_ticks */
        hr_bell_ring(&me->ranks->control->launcher_bell);
        nanosleep(&(struct timespec){0, 5 * MS}, NULL);
    }
    return HR_OK;
}

static enum hr_status count_ticks(struct ranks *ranks)
{
    struct hr_atom32 *ticks = (void *)ranks_floats(ranks, 0);
    hr_atom32_fetch_add_release(ticks, 1); /* partner: stay_for_ticks */
    return HR_OK;
}

/* A tick of an hour, but the bell rings: else it does not end. */
static void bell_makes_the_launcher_tick(void **state)
{
    (void)state;
    FOR_EACH_LAUNCH(launch)
    {
        struct ranks ranks = {.nranks = 1, .floats = 1, .launch = launch, .tick = count_ticks};
        ranks.tick_ns = 3600 * SECOND;
        ranks.body = stay_for_ticks;
        ranks_open(&ranks);
        CHECK_OK(ranks_run(&ranks));
        ranks_close(&ranks);
    }
}

static struct hr_atom32 quiet_ticks;

/* Until there were as many as `arg` says: nobody rings. */
static enum hr_status stay_for_quiet_ticks(struct rank *me)
{
    while (hr_atom32_load_acquire(&quiet_ticks) < *(uint32_t *)me->ranks->arg) /* count_quietly */
        nanosleep(&(struct timespec){0, MS}, NULL);
    return HR_OK;
}

static enum hr_status count_quietly(struct ranks *ranks)
{
    (void)ranks;
    hr_atom32_fetch_add_release(&quiet_ticks, 1); /* partner: stay_for_quiet_ticks */
    return HR_OK;
}

/* They come by themselves, and no more of them than the time has room for; two are there always. */
static void ticks_come_about_as_often_as_asked(void **state)
{
    (void)state;
    static const struct {
        int64_t tick_ns;
        uint32_t awaited;
    } cases[] = {{10 * MS, 20}, {100 * MS, 4}, {3600 * SECOND, 1}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        uint32_t awaited = cases[c].awaited;
        struct ranks ranks = {.nranks = 1, .tick = count_quietly, .arg = &awaited, .bare = true};
        ranks.tick_ns = cases[c].tick_ns;
        ranks.body = stay_for_quiet_ticks;
        ranks_open(&ranks);
        hr_atom32_store_release(&quiet_ticks, 0);
        const int64_t start = hr_clock_ns();
        CHECK_OK(ranks_run(&ranks));
        const int64_t room = (hr_clock_ns() - start) / ranks.tick_ns + 3;
        assert_in_range(hr_atom32_load_acquire(&quiet_ticks), awaited, room);
        ranks_close(&ranks);
    }
}

/* --- ranks that do not react ---------------------------------------------------------------------
 */

static struct hr_atom32 stubborn_may_go, stubborn_is_gone;
static pthread_key_t at_exit_of_thread;

static void tell_that_it_is_gone(void *word)
{
    hr_atom32_store_release(word, 1); /* partner: the test */
}

static enum hr_status ignore_the_abort(struct rank *me)
{
    if (me->rank == 0)
        return hr_fail(HR_E_IO, "disk full");
    pthread_setspecific(at_exit_of_thread, &stubborn_is_gone);
    while (!hr_atom32_load_acquire(&stubborn_may_go)) /* partner: the test */
        nanosleep(&(struct timespec){0, MS}, NULL);
    return HR_OK;
}

static enum hr_status stubborn_main(void *arg, size_t rank)
{
    struct rank me = {.ranks = arg, .rank = rank};
    return ignore_the_abort(&me);
}

/* A thread cannot be stopped; what it still uses is the control block, and nothing else of ours. */
static void stuck_thread_is_left_alone(void **state)
{
    (void)state;
    struct ranks ranks = {.nranks = 2, .bare = true};
    struct hr_launch_options *options = malloc(sizeof *options);
    bool stuck = false;
    assert_non_null(options);
    ranks_open(&ranks);
    hr_control_init(ranks.control, 2);
    *options = (struct hr_launch_options){
        .nranks = 2, .control = ranks.control, .main = stubborn_main, .grace_ns = 100 * MS};
    options->arg = &ranks;
    assert_int_equal(pthread_key_create(&at_exit_of_thread, tell_that_it_is_gone), 0);
    CHECK_FAILS(hr_launch_run(options, &stuck), HR_E_IO);
    CHECK_MESSAGE("rank 0: disk full");
    assert_true(stuck);
    memset(options, 0xff, sizeof *options); /* what follows must not look at it any more */
    hr_atom32_store_release(&stubborn_may_go, 1);
    while (!hr_atom32_load_acquire(&stubborn_is_gone)) /* partner: its thread's end */
        nanosleep(&(struct timespec){0, MS}, NULL);
    assert_int_equal(hr_atom32_load_acquire(&ranks.control->rank[1].result), 1);
    pthread_key_delete(at_exit_of_thread);
    free(options);
    ranks_close(&ranks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launch_names_are_read_back),
        cmocka_unit_test_teardown(every_rank_runs_once, nothing_is_left),
        cmocka_unit_test_teardown(only_a_part_of_the_ranks_may_run_here, nothing_is_left),
        cmocka_unit_test_teardown(a_failure_has_the_rank_of_the_whole_run, nothing_is_left),
        cmocka_unit_test_teardown(every_rank_knows_its_pid, nothing_is_left),
        cmocka_unit_test_teardown(ignored_sigchld_hangs_nothing, nothing_is_left),
        cmocka_unit_test_teardown(first_failure_comes_back_with_its_rank, nothing_is_left),
        cmocka_unit_test_teardown(no_error_is_lost, nothing_is_left),
        cmocka_unit_test_teardown(error_of_a_tick_aborts, nothing_is_left),
        cmocka_unit_test_teardown(bell_makes_the_launcher_tick, nothing_is_left),
        cmocka_unit_test_teardown(ticks_come_about_as_often_as_asked, nothing_is_left),
        cmocka_unit_test_teardown(stuck_thread_is_left_alone, nothing_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
