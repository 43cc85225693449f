/* Processes: the living are not declared dead, and the dead are told by start time or state. */
#include "shm/process.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"

static pid_t start_sleeper(void)
{
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        for (;;)
            pause();
    return pid;
}

static void this_process_is_alive(void **state)
{
    (void)state;
    const unsigned long long started = hr_process_start_time(getpid());
    assert_true(started > 0);
    assert_false(hr_process_is_dead(getpid(), started));
    assert_false(hr_process_is_dead(getpid(), 0));
}

static void another_start_time_is_another_process(void **state)
{
    (void)state;
    assert_true(hr_process_is_dead(getpid(), hr_process_start_time(getpid()) - 1));
}

static void killed_process_is_dead_before_and_after_it_is_reaped(void **state)
{
    (void)state;
    siginfo_t info;
    const pid_t pid = start_sleeper();
    const unsigned long long started = hr_process_start_time(pid);
    assert_false(hr_process_is_dead(pid, started));
    kill(pid, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    assert_true(hr_process_is_dead(pid, started));
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(hr_process_is_dead(pid, started));
    assert_true(hr_process_is_dead(pid, 0));
    assert_true(hr_process_start_time(pid) == 0);
}

static void stopped_process_is_told_from_one_that_runs(void **state)
{
    (void)state;
    int how;
    const pid_t pid = start_sleeper();
    assert_false(hr_process_is_stopped(pid));
    kill(pid, SIGSTOP);
    assert_int_equal(waitpid(pid, &how, WUNTRACED), pid);
    assert_true(hr_process_is_stopped(pid));
    assert_false(hr_process_is_dead(pid, 0));
    kill(pid, SIGCONT);
    assert_int_equal(waitpid(pid, &how, WCONTINUED), pid);
    assert_false(hr_process_is_stopped(pid));
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &how, 0), pid);
    assert_false(hr_process_is_stopped(pid));
}

static void descriptor_tells_the_end(void **state)
{
    (void)state;
    const pid_t pid = start_sleeper();
    struct pollfd process = {.fd = hr_process_open(pid), .events = POLLIN};
    if (process.fd < 0) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        SKIP("the kernel has no pidfd_open");
    }
    assert_int_equal(poll(&process, 1, 0), 0);
    kill(pid, SIGKILL);
    assert_int_equal(poll(&process, 1, 100 * 1000), 1);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(hr_process_open(pid), -1);
    assert_int_equal(hr_process_open(0), -1);
    close(process.fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(this_process_is_alive),
        cmocka_unit_test(another_start_time_is_another_process),
        cmocka_unit_test(killed_process_is_dead_before_and_after_it_is_reaped),
        cmocka_unit_test(stopped_process_is_told_from_one_that_runs),
        cmocka_unit_test(descriptor_tells_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
