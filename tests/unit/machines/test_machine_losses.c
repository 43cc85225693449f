/* A machine that dies, falls silent or fails: the others end in time, and say which. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"
#include "support/machines.h"
#include "support/ranks.h"

enum { COUNT = 5000 };

static enum hr_status reduce_for_ever(struct far_rank *me)
{
    for (;;)
        HR_TRY(member_all_reduce(&me->member, me->floats, COUNT));
}

static struct machines start(enum hr_status (*body)(struct far_rank *me), size_t each,
                             int64_t timeout)
{
    struct machines m = {.machines = 3,
                         .each = each,
                         .fork = true,
                         .carries = true,
                         .floats = COUNT,
                         .timeout_ns = timeout,
                         .body = body};
    machines_start(&m);
    return m;
}

static void check_survivors(const struct machines *m, const char *how)
{
    for (size_t self = 0; self < m->machines; self++) {
        const struct outcome *outcome = &m->outcome[self];
        if (self == 1)
            continue;
        if (outcome->status != HR_E_LOST || !strstr(outcome->message, "host-1 (ranks 2, 3)") ||
            !strstr(outcome->message, how))
            fail_msg("machine %zu: %s: %s", self, hr_status_str(outcome->status), outcome->message);
    }
}

static void killed_machine_is_lost_and_named(void **state)
{
    (void)state;
    if (!ranks_can_fork())
        SKIP("a sanitizer's program cannot fork ranks");
    for (unsigned k = 0; k < check_count(5, 50); k++) {
        struct machines m = start(reduce_for_ever, 2, 3600 * HR_NS_PER_SECOND);
        usleep(1000 + k * 7919 % 60000);
        kill(m.pid[1], SIGKILL);
        CHECK_FAILS(machines_wait(&m), HR_E_LOST);
        check_survivors(&m, "connection");
        machines_close(&m);
    }
}

/* Its first reduction is over, so all are connected: it stops. */
static enum hr_status stop_the_second_machine(struct far_rank *me)
{
    HR_TRY(member_all_reduce(&me->member, me->floats, COUNT));
    if (me->machine == 1)
        kill(getpid(), SIGSTOP);
    return reduce_for_ever(me);
}

/* The wire knows nothing of it; it is killed when the others have ended. */
static void silent_machine_is_lost_at_the_deadline(void **state)
{
    (void)state;
    if (!ranks_can_fork())
        SKIP("a sanitizer's program cannot fork ranks");
    struct machines m = start(stop_the_second_machine, 2, HR_NS_PER_SECOND);
    for (size_t self = 0; self < m.machines; self++)
        if (self != 1)
            assert_int_equal(waitid(P_PID, (id_t)m.pid[self], &(siginfo_t){0}, WEXITED | WNOWAIT),
                             0);
    kill(m.pid[1], SIGKILL);
    CHECK_FAILS(machines_wait(&m), HR_E_LOST);
    check_survivors(&m, "nothing has come from it for ");
    machines_close(&m);
}

static enum hr_status fail_once(struct far_rank *me)
{
    for (size_t step = 1; step < 100; step++) {
        hr_control_step(me->control, me->rank, step);
        HR_TRY(member_all_reduce(&me->member, me->floats, COUNT));
        if (step == 20 && me->rank == 4)
            return hr_fail(HR_E_IO, "the file is not what it was");
    }
    return HR_OK;
}

static void failure_is_told_to_all(void **state)
{
    (void)state;
    if (!ranks_can_fork())
        SKIP("a sanitizer's program cannot fork ranks");
    struct machines m = start(fail_once, 2, 10 * HR_NS_PER_SECOND);
    CHECK_FAILS(machines_wait(&m), HR_E_IO);
    for (size_t self = 0; self < m.machines; self++) {
        assert_int_equal(m.outcome[self].status, HR_E_IO);
        assert_true(
            strstr(m.outcome[self].message, "rank 4, step 20: the file is not what it was"));
    }
    machines_close(&m);
}

/* What others do is seen in the control segment here, with a heartbeat: a rank does not come to its
 * reduction before it has seen the other at it. */
static enum hr_status watch_others(struct far_rank *me)
{
    const struct hr_rank_status *line =
        &me->control->rank[(me->rank + 2) % me->member.options.nranks];
    for (uint64_t step = 1; step < 4; step++) {
        hr_control_phase(me->control, me->rank, HR_PHASE_COMPUTE);
        hr_control_step(me->control, me->rank, step);
        while (hr_atom64_load_relaxed(&line->step) < step ||
               hr_atom32_load_relaxed(&line->phase) != HR_PHASE_COMPUTE) {
            hr_bridge_poll(me->bridge);
            usleep(1000);
        }
        HR_TRY(member_all_reduce(&me->member, me->floats, COUNT));
    }
    return HR_OK;
}

static void lines_of_others_are_kept_up(void **state)
{
    (void)state;
    if (!ranks_can_fork())
        SKIP("a sanitizer's program cannot fork ranks");
    struct machines m = start(watch_others, 2, 10 * HR_NS_PER_SECOND);
    CHECK_OK(machines_wait(&m));
    machines_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_machine_is_lost_and_named),
        cmocka_unit_test(silent_machine_is_lost_at_the_deadline),
        cmocka_unit_test(failure_is_told_to_all),
        cmocka_unit_test(lines_of_others_are_kept_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
