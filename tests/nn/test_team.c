/* A team runs every task once, and gives each thread a number of its own. */
#include <pthread.h>

#include "nn/team.h"
#include "support/check.h"

enum { MAX_TASKS = 100, MAX_THREADS = 4 };

struct tally {
    size_t threads;
    int runs[MAX_TASKS]; /* written by whoever runs the task */
    int by_thread[MAX_THREADS][MAX_TASKS];
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_task_runs_once_whatever_the_threads),
        cmocka_unit_test(a_number_belongs_to_one_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
