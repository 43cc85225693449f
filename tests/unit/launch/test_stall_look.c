/* The launcher's looks at a control block: what it says, and what it leaves there. */
#include "launch/stall.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "support/check.h"

/* What three looks say of rank 0, who communicates, and rank 1, who computes the same step. */
static void look_thrice(struct hr_control *control, char *said, size_t size)
{
    const struct hr_wait_rules rules = {.workers = 2, .waits = HR_WAITS_FOR_STEP, .warn_ns = 1};
    struct hr_stall stall;
    FILE *file = tmpfile();
    const int before = dup(STDERR_FILENO);
    assert_true(file && before >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
    hr_stall_begin(&stall, &rules, 2);
    for (int looks = 0; looks < 3; looks++)
        hr_stall_look(&stall, control);
    dup2(before, STDERR_FILENO);
    close(before);
    rewind(file);
    said[fread(said, 1, size - 1, file)] = '\0';
    fclose(file);
}

static void control_block_says_who_waits_unless_one_is_lost_or_the_run_is_over(void **state)
{
    struct hr_control *control = aligned_alloc(HR_LINE, hr_control_bytes(2));
    char said[2000], expected[100];
    (void)state;
    assert_non_null(control);
    memset(control, 0, hr_control_bytes(2));
    hr_control_init(control, 2);
    for (size_t r = 0; r < 2; r++) {
        hr_atom64_store_release(&control->rank[r].pid, (uint64_t)getpid());
        hr_control_step(control, r, 7);
        hr_control_phase(control, r, r ? HR_PHASE_COMPUTE : HR_PHASE_COMMUNICATE);
    }
    look_thrice(control, said, sizeof said);
    snprintf(expected, sizeof expected,
             "hogring: warning: rank 1 (pid %ld) has been computing a gradient at step 7 for ",
             (long)getpid());
    assert_memory_equal(said, expected, strlen(expected));
    hr_roster_lose(control, 1, false);
    look_thrice(control, said, sizeof said);
    assert_string_equal(said, "");
    hr_roster_welcome(control, 1);
    look_thrice(control, said, sizeof said);
    assert_memory_equal(said, expected, strlen(expected));
    hr_control_abort(control, 0, HR_E_FAILED, "disk full");
    look_thrice(control, said, sizeof said);
    assert_string_equal(said, "");
    free(control);
}

/* Its line is there, but no process that could be looked at. */
static void who_is_on_another_machine_is_named_with_it(void **state)
{
    static const char expected[] = "hogring: warning: rank 1 (on node-b) has been computing a "
                                   "gradient at step 7 for ";
    struct hr_control *control = aligned_alloc(HR_LINE, hr_control_bytes(2));
    char said[2000];
    (void)state;
    assert_non_null(control);
    memset(control, 0, hr_control_bytes(2));
    hr_control_init(control, 2);
    hr_control_place(control, 1, "node-b");
    hr_atom64_store_release(&control->rank[0].pid, (uint64_t)getpid());
    for (size_t r = 0; r < 2; r++) {
        hr_control_step(control, r, 7);
        hr_control_phase(control, r, r ? HR_PHASE_COMPUTE : HR_PHASE_COMMUNICATE);
    }
    look_thrice(control, said, sizeof said);
    assert_memory_equal(said, expected, sizeof expected - 1);
    free(control);
}

/* The launcher leaves what it sees for who looks from outside, though it has nothing to say. */
static void looks_leave_since_when_a_process_is_stopped(void **state)
{
    const struct hr_wait_rules silent = {.workers = 1};
    struct hr_control *control = aligned_alloc(HR_LINE, hr_control_bytes(1));
    struct hr_stall stall;
    (void)state;
    assert_non_null(control);
    memset(control, 0, hr_control_bytes(1));
    hr_control_init(control, 1);
    const pid_t child = fork();
    if (child == 0)
        for (;;)
            pause();
    kill(child, SIGSTOP);
    assert_int_equal(waitpid(child, NULL, WUNTRACED), child);
    hr_atom64_store_release(&control->rank[0].pid, (uint64_t)child);
    hr_stall_begin(&stall, &silent, 1);
    const int64_t before = hr_clock_ns();
    hr_stall_look(&stall, control);
    const int64_t looked = (int64_t)hr_atom64_load_acquire(&control->looked); /* partner: it */
    assert_true(looked >= before && looked <= hr_clock_ns());
    /* Partner: the look. */
    assert_int_equal(hr_atom64_load_acquire(&control->rank[0].presence.stopped), looked);
    hr_stall_look(&stall, control);
    assert_int_equal(hr_atom64_load_acquire(&control->rank[0].presence.stopped), looked);
    kill(child, SIGCONT);
    assert_int_equal(waitpid(child, NULL, WCONTINUED), child);
    hr_stall_look(&stall, control);
    assert_int_equal(hr_atom64_load_acquire(&control->rank[0].presence.stopped), 0);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    free(control);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(control_block_says_who_waits_unless_one_is_lost_or_the_run_is_over),
        cmocka_unit_test(who_is_on_another_machine_is_named_with_it),
        cmocka_unit_test(looks_leave_since_when_a_process_is_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
