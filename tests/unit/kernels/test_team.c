/* A team runs every task once, and gives each thread a number of its own. */
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "kernels/team.h"
#include "support/check.h"

enum { MAX_TASKS = 100, MAX_THREADS = 4, MANY_THREADS = 16 };

struct tally {
    size_t threads;
    int runs[MAX_TASKS]; /* written by whoever runs the task */
    int by_thread[MANY_THREADS][MAX_TASKS];
    pthread_t ran[MAX_TASKS];
    size_t number[MAX_TASKS];
};

static void count_task(void *arg, size_t task, size_t thread)
{
    struct tally *tally = arg;
    assert_true(thread < tally->threads);
    tally->runs[task]++;
    tally->by_thread[thread][task]++;
    tally->ran[task] = pthread_self();
    tally->number[task] = thread;
}

static void every_task_runs_once_whatever_the_threads(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 1, 2, 7, MAX_TASKS};
    for (size_t threads = 1; threads <= MAX_THREADS; threads++)
        for (size_t n = 0; n < sizeof counts / sizeof *counts; n++) {
            struct tally tally = {.threads = threads};
            hr_team_run(threads, counts[n], count_task, &tally);
            for (size_t task = 0; task < MAX_TASKS; task++) {
                int sum = 0;
                for (size_t thread = 0; thread < MAX_THREADS; thread++)
                    sum += tally.by_thread[thread][task];
                assert_int_equal(tally.runs[task], task < counts[n]);
                assert_int_equal(sum, task < counts[n]);
            }
        }
}

static void a_number_belongs_to_one_thread(void **state)
{
    (void)state;
    struct tally tally = {.threads = MAX_THREADS};
    hr_team_run(MAX_THREADS, MAX_TASKS, count_task, &tally);
    for (size_t i = 0; i < MAX_TASKS; i++)
        for (size_t j = 0; j < i; j++)
            assert_int_equal(tally.number[i] == tally.number[j],
                             pthread_equal(tally.ran[i], tally.ran[j]) != 0);
}

/* The processor time of `thread`, which does not depend on what else the machine does. */
static int64_t busy_ns(pthread_t thread)
{
    clockid_t clock;
    struct timespec t;
    assert_int_equal(pthread_getcpuclockid(thread, &clock), 0);
    assert_int_equal(clock_gettime(clock, &t), 0);
    return (int64_t)t.tv_sec * HR_NS_PER_SECOND + t.tv_nsec;
}

static void helpers_leave_the_processor_to_others_between_loops(void **state)
{
    (void)state;
    enum { LOOPS = 50 };
    struct tally tally = {.threads = 2};
    do
        hr_team_run(2, 2, count_task, &tally);
    while (tally.number[1] == 0); /* the owner took it back */
    const pthread_t helper = tally.ran[1];
    const int64_t before = busy_ns(helper);
    for (int loop = 0; loop < LOOPS; loop++) {
        hr_team_run(2, 2, count_task, &tally);
        usleep(20000);
    }
    assert_in_range(busy_ns(helper) - before, 0, LOOPS * 1000000);
}

static nlink_t threads_now(void)
{
    struct stat tasks;
    assert_int_equal(stat("/proc/self/task", &tasks), 0);
    return tasks.st_nlink;
}

static void *run_a_loop(void *arg)
{
    struct tally *tally = arg;
    hr_team_run(tally->threads, MAX_TASKS, count_task, tally);
    return NULL;
}

static void helpers_end_with_their_owner(void **state)
{
    (void)state;
    struct tally tally = {.threads = MAX_THREADS};
    const nlink_t before = threads_now();
    pthread_t owner;
    assert_int_equal(pthread_create(&owner, NULL, run_a_loop, &tally), 0);
    pthread_join(owner, NULL);
    while (threads_now() > before) /* joined; the kernel counts them for a moment more */
        usleep(1000);
}

/* It has one helper and memory of its own when the limit comes. */
static void *run_without_memory(void *arg)
{
    struct tally *tally = arg, first = {.threads = 2};
    struct rlimit before, none = {.rlim_cur = 1 << 20};
    run_a_loop(&first);
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    none.rlim_max = before.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_AS, &none), 0);
    run_a_loop(tally);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    return NULL;
}

static void a_team_does_with_the_helpers_that_can_be_had(void **state)
{
    (void)state;
#ifdef HR_DEBUG_CHECKS
    SKIP("a sanitizer needs more address space than the limit leaves");
#endif
    struct tally tally = {.threads = MANY_THREADS}; /* more stacks than the C library keeps */
    pthread_t owner;
    assert_int_equal(pthread_create(&owner, NULL, run_without_memory, &tally), 0);
    pthread_join(owner, NULL);
    for (size_t task = 0; task < MAX_TASKS; task++)
        assert_int_equal(tally.runs[task], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_team_does_with_the_helpers_that_can_be_had),
        cmocka_unit_test(every_task_runs_once_whatever_the_threads),
        cmocka_unit_test(a_number_belongs_to_one_thread),
        cmocka_unit_test(helpers_leave_the_processor_to_others_between_loops),
        cmocka_unit_test(helpers_end_with_their_owner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
