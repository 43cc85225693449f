/* Processes that die or stop for real: the run ends in time, names them, and leaves nothing. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/philox.h"
#include "shm/process.h"
#include "support/check.h"
#include "support/ranks.h"

enum { MS = 1000 * 1000, NRANKS = 4, COUNT = 3000 };

static const int64_t SECOND = HR_NS_PER_SECOND;

static int nothing_is_left(void **state)
{
    (void)state;
    return segments_of(getpid()) == 0 && no_children_left() ? 0 : -1;
}

/* What the launcher does to one rank, and when. */
struct attack {
    size_t victim;
    int signal;
    int64_t after_ns; /* of the first tick at which all ranks run */
    int64_t ready_at, struck_at;
};

static bool all_run(const struct ranks *ranks)
{
    for (size_t r = 0; r < ranks->nranks; r++)
        if (hr_atom32_load_acquire(&ranks->control->rank[r].phase) == HR_PHASE_STARTING)
            return false;
    return true;
}

static enum hr_status strike(struct ranks *ranks)
{
    struct attack *attack = ranks->arg;
    const int64_t now = hr_clock_ns();
    if (attack->struck_at || !all_run(ranks))
        return HR_OK;
    attack->ready_at = attack->ready_at ? attack->ready_at : now;
    if (now - attack->ready_at < attack->after_ns)
        return HR_OK;
    kill((pid_t)hr_atom64_load_relaxed(&ranks->control->rank[attack->victim].pid), attack->signal);
    attack->struck_at = hr_clock_ns();
    return HR_OK;
}

/* Meetings, rings and broadcasts without end. */
static enum hr_status work_for_ever(struct rank *me)
{
    hr_control_phase(me->ranks->control, me->rank, HR_PHASE_COMMUNICATE);
    for (uint64_t step = 0;; step++) {
        hr_control_step(me->ranks->control, me->rank, step);
        HR_TRY(hr_member_barrier(&me->member));
        HR_TRY(member_all_reduce(&me->member, me->floats, COUNT));
        HR_TRY(member_broadcast(&me->member, me->floats, COUNT, step % me->ranks->nranks));
    }
}

/* The victim never comes to the barrier in which the others wait. */
static enum hr_status leave_the_others_waiting(struct rank *me)
{
    const struct attack *attack = me->ranks->arg;
    hr_control_phase(me->ranks->control, me->rank, HR_PHASE_COMPUTE);
    while (me->rank == attack->victim)
        pause();
    return hr_member_barrier(&me->member);
}

static void lose_a_rank(struct ranks *ranks, struct attack *attack, const char *what)
{
    char text[64];
    ranks->nranks = NRANKS;
    ranks->floats = COUNT;
    ranks->launch = HR_LAUNCH_PROCESS;
    ranks->tick = strike;
    ranks->arg = attack;
    ranks_open(ranks);
    CHECK_FAILS(ranks_run(ranks), HR_E_LOST);
    assert_true(attack->struck_at != 0);
    snprintf(text, sizeof text, "rank %zu", attack->victim);
    CHECK_MESSAGE(text);
    CHECK_MESSAGE(what);
    assert_true(no_children_left());
    ranks_close(ranks);
}

static void killed_rank_is_named_while_others_wait_in_a_barrier(void **state)
{
    (void)state;
    for (size_t victim = 0; victim < NRANKS; victim++) {
        struct attack attack = {.victim = victim, .signal = SIGKILL};
        struct ranks ranks = {.body = leave_the_others_waiting, .tick_ns = MS};
        lose_a_rank(&ranks, &attack, "was killed by signal 9 (Killed) while computing a gradient");
    }
}

static void killed_rank_is_noticed_at_any_moment(void **state)
{
    (void)state;
    const struct hr_algorithm *const algorithms[] = {&hr_allreduce_direct, &hr_allreduce_ring,
                                                     &hr_allreduce_master_worker};
    for (size_t k = 0; k < check_count(20, 200); k++) {
        const struct hr_philox random = hr_random_block(check_seed(), HR_STREAM_TEST, k, 0);
        struct attack attack = {random.v[0] % NRANKS, SIGKILL, random.v[1] % (20 * MS), 0, 0};
        struct ranks ranks = {.body = work_for_ever, .tick_ns = MS, .spin_ns = 2000 * (k % 2)};
        ranks.algorithm = algorithms[k % 3];
        lose_a_rank(&ranks, &attack, "was killed by signal 9 (Killed) while communicating");
    }
}

/* --- ways to die -------------------------------------------------------------------------------
 */

static enum hr_status die_alone(struct rank *me)
{
    void (*const die)(struct hr_control *) = *(void (**)(struct hr_control *))me->ranks->arg;
    if (me->rank == 2)
        die(me->ranks->control);
    return hr_member_barrier(&me->member);
}

static void leave_with_seven(struct hr_control *control)
{
    (void)control;
    _exit(7);
}

static void leave_as_if_all_were_well(struct hr_control *control)
{
    (void)control;
    _exit(0);
}

/* Died after it had claimed to be the first to fail, and before it said how. */
static void die_with_a_claim(struct hr_control *control)
{
    hr_control_claim(control, 2);
    raise(SIGKILL);
}

/* Ticks are an hour apart, and no wait has an end: deaths are noticed between them. */
static void check_death(void (*die)(struct hr_control *), const char *what)
{
    struct ranks ranks = {.nranks = 3, .launch = HR_LAUNCH_PROCESS, .body = die_alone};
    ranks.tick_ns = ranks.timeout_ns = 3600 * SECOND;
    ranks.arg = &die;
    ranks_open(&ranks);
    CHECK_FAILS(ranks_run(&ranks), HR_E_LOST);
    CHECK_MESSAGE("rank 2: ");
    CHECK_MESSAGE(what);
    ranks_close(&ranks);
}

static void process_that_leaves_without_a_word_is_lost(void **state)
{
    (void)state;
    check_death(leave_with_seven, "exited with 7 while starting");
    check_death(leave_as_if_all_were_well, "exited with 0 while starting");
    check_death(die_with_a_claim, "was killed by signal 9 (Killed) while starting");
}

static void note_the_time_and_die(struct hr_control *control)
{
    hr_control_step(control, 2, (uint64_t)hr_clock_ns());
    raise(SIGKILL);
}

/* How long a run goes on after the death of one of its ranks. */
static int64_t time_a_death(void)
{
    void (*die)(struct hr_control *) = note_the_time_and_die;
    struct ranks ranks = {.nranks = 3, .launch = HR_LAUNCH_PROCESS, .body = die_alone};
    ranks.tick_ns = 5 * SECOND;
    ranks.arg = &die;
    ranks_open(&ranks);
    CHECK_FAILS(ranks_run(&ranks), HR_E_LOST);
    const int64_t now = hr_clock_ns();
    const int64_t died_at = (int64_t)hr_atom64_load_relaxed(&ranks.control->rank[2].step);
    ranks_close(&ranks);
    return now - died_at;
}

/* Looking around takes 50 ms: it happens at the start, before the death, and then again. */
static void death_is_noticed_at_once(void **state)
{
    (void)state;
    int64_t best = SECOND;
    const int self = hr_process_open(getpid());
    if (self < 0)
        SKIP("the kernel has no pidfd_open");
    close(self);
    for (int attempt = 0; attempt < 200 && best > 20 * MS; attempt++) {
        const int64_t took = time_a_death();
        best = took < best ? took : best;
    }
    assert_in_range(best, 0, 20 * MS);
}

static void lost_rank_is_noticed_though_sigchld_is_ignored(void **state)
{
    (void)state;
    signal(SIGCHLD, SIG_IGN);
    check_death(leave_with_seven, "is gone");
    signal(SIGCHLD, SIG_DFL);
}

/* --- stopped -----------------------------------------------------------------------------------
 */

static enum hr_status note_the_status(struct rank *me)
{
    const enum hr_status status = leave_the_others_waiting(me);
    me->floats[0] = (float)status;
    me->floats[1] = 1;
    return status;
}

static void stopped_rank_ends_in_a_timeout_and_is_killed(void **state)
{
    (void)state;
    struct attack attack = {.victim = 1, .signal = SIGSTOP};
    struct ranks ranks = {.nranks = NRANKS, .floats = 2, .launch = HR_LAUNCH_PROCESS};
    ranks.body = note_the_status;
    ranks.timeout_ns = SECOND;
    ranks.grace_ns = 3600 * SECOND; /* is not used up: what is stopped is killed at once */
    ranks.tick = strike;
    ranks.arg = &attack;
    ranks_open(&ranks);
    const int64_t start = hr_clock_ns();
    CHECK_FAILS(ranks_run(&ranks), HR_E_TIMEOUT);
    CHECK_MESSAGE("rank 1: pid ");
    CHECK_MESSAGE(" is stopped, while ");
    CHECK_MESSAGE(" s for barrier (--timeout)");
    assert_true(hr_clock_ns() - start >= ranks.timeout_ns);
    assert_false(ranks.stuck);
    for (size_t r = 0; r < NRANKS; r++) {
        const float *said = ranks_floats(&ranks, r);
        assert_int_equal((int)said[1], r != attack.victim);
        assert_true(r == attack.victim || said[0] == (float)HR_E_TIMEOUT ||
                    said[0] == (float)HR_E_ABORTED);
    }
    ranks_close(&ranks);
}

static enum hr_status stop_or_end(struct rank *me)
{
    hr_control_phase(me->ranks->control, me->rank, HR_PHASE_SERVE);
    if (me->rank == 1)
        raise(SIGSTOP);
    return HR_OK;
}

static void rank_that_only_the_launcher_waits_for_is_named_as_well(void **state)
{
    (void)state;
    struct ranks ranks = {.nranks = 3, .launch = HR_LAUNCH_PROCESS, .body = stop_or_end};
    ranks.timeout_ns = SECOND / 5;
    ranks.grace_ns = 3600 * SECOND;
    ranks_open(&ranks);
    CHECK_FAILS(ranks_run(&ranks), HR_E_TIMEOUT);
    CHECK_MESSAGE("rank 1: pid ");
    CHECK_MESSAGE(" is stopped, while serving; the launcher waited ");
    CHECK_MESSAGE(" s for its end (--timeout)");
    ranks_close(&ranks);
}

static enum hr_status stop_alone(struct rank *me)
{
    hr_control_phase(me->ranks->control, me->rank, HR_PHASE_COMPUTE);
    raise(SIGSTOP);
    return HR_OK;
}

/* All others may compute for long without waiting for it, or there are none. */
static void rank_that_is_stopped_alone_is_named_as_well(void **state)
{
    (void)state;
    struct ranks ranks = {.nranks = 1, .launch = HR_LAUNCH_PROCESS, .body = stop_alone};
    ranks.timeout_ns = SECOND / 5;
    ranks.grace_ns = 3600 * SECOND;
    ranks_open(&ranks);
    CHECK_FAILS(ranks_run(&ranks), HR_E_TIMEOUT);
    CHECK_MESSAGE("rank 0: pid ");
    CHECK_MESSAGE(" is stopped, while computing a gradient; the launcher waited ");
    CHECK_MESSAGE(" s for its end (--timeout)");
    ranks_close(&ranks);
}

/* A process stopped in the middle of failing: nobody can publish for it while it may live on. */
static void stop_with_a_claim(struct hr_control *control)
{
    hr_control_claim(control, 2);
    raise(SIGSTOP);
}

static void rank_stopped_while_failing_is_killed_and_named(void **state)
{
    (void)state;
    void (*die)(struct hr_control *) = stop_with_a_claim;
    struct ranks ranks = {.nranks = 3, .launch = HR_LAUNCH_PROCESS, .body = die_alone};
    ranks.timeout_ns = SECOND / 2;
    ranks.grace_ns = SECOND / 2;
    ranks.arg = &die;
    ranks_open(&ranks);
    CHECK_FAILS(ranks_run(&ranks), HR_E_LOST);
    CHECK_MESSAGE("rank 2: ");
    CHECK_MESSAGE("did not react");
    ranks_close(&ranks);
}

/* --- the launcher dies -------------------------------------------------------------------------
 */

/* In a process of its own, which dies with four ranks at work. */
static _Noreturn void be_a_launcher_that_dies(int write_end)
{
    struct ranks ranks = {.nranks = NRANKS, .floats = COUNT, .launch = HR_LAUNCH_PROCESS};
    (void)write_end; /* every rank holds it open */
    ranks.body = work_for_ever;
    ranks_open(&ranks);
    if (fork() == 0) { /* kills from outside, when all are at work */
        while (!all_run(&ranks))
            continue;
        kill(getppid(), SIGKILL);
        _exit(0);
    }
    const enum hr_status status = ranks_run(&ranks);
    _exit(status == HR_OK);
}

static void ranks_die_with_their_launcher(void **state)
{
    (void)state;
    int ends[2], status;
    char byte;
    assert_int_equal(pipe(ends), 0);
    const pid_t launcher = fork();
    if (launcher == 0) {
        close(ends[0]);
        be_a_launcher_that_dies(ends[1]);
    }
    close(ends[1]);
    assert_int_equal(waitpid(launcher, &status, 0), launcher);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    alarm(100);
    assert_int_equal(read(ends[0], &byte, 1), 0); /* the end: nobody holds the pipe any more */
    alarm(0);
    close(ends[0]);
    remove_runs_of(launcher); /* the control block's name was left */
    assert_int_equal(segments_of(launcher), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(killed_rank_is_named_while_others_wait_in_a_barrier,
                                  nothing_is_left),
        cmocka_unit_test_teardown(killed_rank_is_noticed_at_any_moment, nothing_is_left),
        cmocka_unit_test_teardown(process_that_leaves_without_a_word_is_lost, nothing_is_left),
        cmocka_unit_test_teardown(death_is_noticed_at_once, nothing_is_left),
        cmocka_unit_test_teardown(lost_rank_is_noticed_though_sigchld_is_ignored, nothing_is_left),
        cmocka_unit_test_teardown(stopped_rank_ends_in_a_timeout_and_is_killed, nothing_is_left),
        cmocka_unit_test_teardown(rank_that_only_the_launcher_waits_for_is_named_as_well,
                                  nothing_is_left),
        cmocka_unit_test_teardown(rank_that_is_stopped_alone_is_named_as_well, nothing_is_left),
        cmocka_unit_test_teardown(rank_stopped_while_failing_is_killed_and_named, nothing_is_left),
        cmocka_unit_test_teardown(ranks_die_with_their_launcher, nothing_is_left),
    };
    if (!ranks_can_fork()) {
        print_message("skipped: ThreadSanitizer does not see other processes\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
