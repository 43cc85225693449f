/* A look at a run from outside: whose fault it is, told from a copy of its control segment. */
#include "launch/runs.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/philox.h"
#include "support/check.h"

enum { NRANKS = 3 };

static const int64_t SECOND = HR_NS_PER_SECOND;

struct patient {
    struct hr_run_file run;
    struct hr_look look;
    char said[1200];
};

/* Allreduce of three threads of this process, at step 7; each has communicated for a moment. */
static int begin(void **state)
{
    struct patient *patient = calloc(1, sizeof *patient);
    struct hr_control *control = aligned_alloc(HR_LINE, hr_control_bytes(NRANKS));
    const int64_t now = hr_clock_ns();
    if (!patient || !control)
        return -1;
    memset(control, 0, hr_control_bytes(NRANKS));
    hr_control_init(control, NRANKS);
    control->about.rank_kind = HR_RANKS_THREADS;
    control->about.workers = NRANKS;
    control->about.waits = HR_WAITS_FOR_STEP;
    control->about.began = now - 60 * SECOND;
    hr_atom64_store_relaxed(&control->looked, (uint64_t)now);
    for (size_t r = 0; r < NRANKS; r++) {
        hr_atom64_store_relaxed(&control->rank[r].pid, (uint64_t)getpid());
        hr_control_step(control, r, 7);
        hr_control_phase(control, r, HR_PHASE_COMMUNICATE);
    }
    patient->run = (struct hr_run_file){.name = "hogring.1", .pid = getpid(), .control = control};
    *state = patient;
    return 0;
}

static int end(void **state)
{
    struct patient *patient = *state;
    free(patient->run.control);
    free(patient);
    return 0;
}

/* For the last `seconds` rank r has done this. */
static void does(struct patient *patient, size_t r, enum hr_phase phase, double seconds)
{
    struct hr_control *control = patient->run.control;
    hr_control_phase(control, r, phase);
    hr_atom64_store_relaxed(&control->rank[r].since,
                            (uint64_t)(hr_clock_ns() - (int64_t)(seconds * (double)SECOND)));
}

/* So many seconds ago it had computed for 6 s, and the others had waited for 5 s and 3 s. */
static void rank_1_is_late(struct patient *patient, double ago)
{
    does(patient, 0, HR_PHASE_COMMUNICATE, ago + 5);
    does(patient, 1, HR_PHASE_COMPUTE, ago + 6);
    does(patient, 2, HR_PHASE_COMMUNICATE, ago + 3);
}

static void look(struct patient *patient)
{
    hr_look_at(&patient->run, SECOND, &patient->look);
    hr_look_say(&patient->run, &patient->look, patient->said, sizeof patient->said);
}

/* "6.0 s" becomes "6 s": time goes on until the look. */
static void cut_tenths(char *text)
{
    for (char *at = text; (at = strstr(at, " s")); at++)
        if (at >= text + 2 && at[-2] == '.')
            memmove(at - 2, at, strlen(at) + 1), at -= 2;
}

static void check_said(const struct patient *patient, const char *format, ...)
{
    char expected[1200], said[1200];
    va_list args;
    va_start(args, format);
    vsnprintf(expected, sizeof expected, format, args);
    va_end(args);
    snprintf(said, sizeof said, "%s", patient->said);
    cut_tenths(said);
    if (strncmp(said, expected, strlen(expected)) != 0)
        fail_msg("\"%s\" does not begin with \"%s\"", said, expected);
}

static void who_is_waited_for_is_named(void **state)
{
    struct patient *patient = *state;
    size_t whom[HR_MAX_RANKS];
    int64_t time;
    rank_1_is_late(patient, 0);
    look(patient);
    assert_int_equal(patient->look.state, HR_RUN_HELD_UP);
    check_said(patient,
               "rank 1 (pid %ld) has been computing a gradient at step 7 for 6 s; rank 0 and 1 "
               "more have waited up to 5 s for it",
               (long)getpid());
    assert_int_equal(hr_look_waits_for(&patient->look, 0, whom, &time), 1);
    assert_true(whom[0] == 1 && time >= 5 * SECOND);
    assert_int_equal(hr_look_waits_for(&patient->look, 1, whom, &time), 0);
}

static void short_waits_are_nobodys_fault(void **state)
{
    struct patient *patient = *state;
    does(patient, 0, HR_PHASE_COMMUNICATE, 0.5);
    does(patient, 1, HR_PHASE_COMPUTE, 6);
    look(patient);
    assert_int_equal(patient->look.state, HR_RUN_ALIVE);
    assert_string_equal(patient->said, "");
}

static void who_is_stopped_is_named_at_once(void **state)
{
    struct patient *patient = *state;
    struct hr_control *control = patient->run.control;
    const pid_t child = fork();
    if (child == 0)
        for (;;)
            pause();
    kill(child, SIGSTOP);
    assert_int_equal(waitpid(child, NULL, WUNTRACED), child);
    control->about.rank_kind = HR_RANKS_PROCESSES;
    hr_atom64_store_relaxed(&control->rank[2].pid, (uint64_t)child);
    hr_atom64_store_relaxed(&control->rank[2].presence.stopped,
                            (uint64_t)(hr_clock_ns() - 4 * SECOND));
    look(patient);
    assert_int_equal(patient->look.state, HR_RUN_STOPPED);
    check_said(patient, "rank 2 (pid %ld) has been stopped for 4 s, while communicating at step 7",
               (long)child);
    hr_atom64_store_relaxed(&control->rank[2].presence.stopped, 0); /* there is no launcher */
    hr_atom64_store_relaxed(&control->looked, 0);
    does(patient, 2, HR_PHASE_COMMUNICATE, 9);
    look(patient);
    check_said(patient, "rank 2 (pid %ld) has been stopped for up to 9 s, while communicating",
               (long)child);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    look(patient);
    assert_true(patient->look.lost[2]);
    check_said(patient, "rank 2 (pid %ld) is gone, while communicating", (long)child);
}

static void launcher_that_does_not_look_is_named(void **state)
{
    struct patient *patient = *state;
    hr_atom64_store_relaxed(&patient->run.control->looked, (uint64_t)(hr_clock_ns() - 3 * SECOND));
    look(patient);
    assert_int_equal(patient->look.state, HR_RUN_HELD_UP);
    check_said(patient, "the launcher (pid %ld) has not looked after its ranks for 3 s",
               (long)getpid());
}

static void times_of_a_dead_run_end_when_it_was_last_seen(void **state)
{
    struct patient *patient = *state;
    hr_atom64_store_relaxed(&patient->run.control->looked, (uint64_t)(hr_clock_ns() - 20 * SECOND));
    rank_1_is_late(patient, 20);
    patient->run.dead = true;
    look(patient);
    assert_int_equal(patient->look.state, HR_RUN_DEAD);
    check_said(patient,
               "the run died: its launcher (pid %ld) is gone; rank 1 (pid %ld) has been computing "
               "a gradient at step 7 for 6 s; rank 0 and 1 more have waited up to 5 s for it",
               (long)getpid(), (long)getpid());
}

static void failure_of_a_run_is_told(void **state)
{
    struct patient *patient = *state;
    hr_control_abort(patient->run.control, 1, HR_E_IO, "disk full");
    look(patient);
    assert_int_equal(patient->look.state, HR_RUN_ENDING);
    assert_string_equal(patient->said, "the run fails: rank 1: disk full");
    patient->run.dead = true;
    look(patient);
    assert_string_equal(patient->said, "the run failed: rank 1: disk full");
}

/* Rank r has called so many collectives of all, the last of them `seconds` ago. */
static void has_called(struct patient *patient, size_t r, uint64_t calls, double seconds, bool over)
{
    struct hr_flight *flight = hr_control_flight(patient->run.control, r);
    const int64_t then = hr_clock_ns() - (int64_t)(seconds * (double)SECOND);
    for (uint64_t call = 1; call <= calls; call++) {
        hr_flight_begin(flight, call, 1, 0, 100, then);
        if (call < calls || over)
            hr_flight_end(flight, then);
    }
    hr_flight_begin(flight, 1, 1, 5, 100, then); /* and one of another group */
    hr_flight_end(flight, then);
}

/* Ranks that do not train have no phases to tell by: who has not called what others have. */
static void who_has_not_called_a_collective_is_named(void **state)
{
    struct patient *patient = *state;
    patient->run.control->about.workers = 0;
    has_called(patient, 0, 7, 5, false);
    has_called(patient, 1, 6, 8, true);
    has_called(patient, 2, 7, 4, false);
    look(patient);
    assert_int_equal(patient->look.state, HR_RUN_HELD_UP);
    check_said(patient,
               "rank 1 (pid %ld) has been between collectives at step 7 for 8 s; rank 0 and 1 "
               "more have waited up to 5 s for it",
               (long)getpid());
    has_called(patient, 1, 7, 3, true); /* the others are about to leave theirs */
    look(patient);
    assert_string_equal(patient->said, "");
}

/* Who has returned holds up nobody, and neither does who was lost and is missed no more. */
static void who_is_over_is_not_to_blame(void **state)
{
    struct patient *patient = *state;
    rank_1_is_late(patient, 0);
    hr_roster_lose(patient->run.control, 1, false);
    look(patient);
    assert_int_equal(patient->look.state, HR_RUN_ALIVE);
    assert_string_equal(patient->said, "");
}

static void no_clock_stands_before_its_beginning(void **state)
{
    static const uint64_t offsets[] = {INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX / 10 * 6};
    struct patient *patient = *state;
    struct hr_control *control = patient->run.control;
    hr_atom64_store_relaxed(&control->looked, (uint64_t)INT64_MAX / 10 * 3);
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        hr_atom64_store_relaxed(&control->clock_offset, offsets[i]);
        look(patient);
        assert_true(patient->look.waits.now >= 0);
        assert_true(patient->look.silent_ns >= 0);
    }
}

static void words_of_any_kind_crash_nobody(void **state)
{
    struct patient *patient = *state;
    struct hr_control *control = patient->run.control;
    size_t whom[HR_MAX_RANKS];
    int64_t time;
    for (uint64_t k = 0; k < check_count(5000, 100000); k++) {
        unsigned char *bytes = (unsigned char *)control;
        const struct hr_philox random = hr_random_block(check_seed(), HR_STREAM_NAME, k, 0);
        for (size_t i = 0; i < 4; i++)
            bytes[random.v[i] % offsetof(struct hr_control, rank[NRANKS])] =
                (unsigned char)(k % 2 ? 0xff : random.v[i] >> 24);
        control->nranks = NRANKS; /* what runs.h has checked, or tamed */
        control->about.began = control->about.began > 0 ? control->about.began : 0;
        control->failure.message[sizeof control->failure.message - 1] = '\0';
        patient->run.dead = k % 3 == 0;
        look(patient);
        for (size_t r = 0; r < NRANKS; r++)
            assert_true(hr_look_waits_for(&patient->look, r, whom, &time) < NRANKS);
    }
}

#define LOOK_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOOK_TEST(who_is_waited_for_is_named),
        LOOK_TEST(short_waits_are_nobodys_fault),
        LOOK_TEST(who_is_stopped_is_named_at_once),
        LOOK_TEST(launcher_that_does_not_look_is_named),
        LOOK_TEST(times_of_a_dead_run_end_when_it_was_last_seen),
        LOOK_TEST(failure_of_a_run_is_told),
        LOOK_TEST(who_has_not_called_a_collective_is_named),
        LOOK_TEST(who_is_over_is_not_to_blame),
        LOOK_TEST(no_clock_stands_before_its_beginning),
        LOOK_TEST(words_of_any_kind_crash_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
