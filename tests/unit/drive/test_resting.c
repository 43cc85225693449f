/* Dedicated servers rest where ranks are threads and more than the processors, and nowhere else:
 * the bits are those of servers that are ranks, and everybody comes to every end. */
#include "drive/serve.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/cpus.h"
#include "support/ranks.h"
#include "support/traces.h"

#define SET(field, ...) snprintf(options.field, sizeof options.field, __VA_ARGS__)

static const char *const asynchronous[] = {"ps-async", "ssp", "elastic-averaging",
                                           "backup-workers"};
enum { NASYNCHRONOUS = sizeof asynchronous / sizeof *asynchronous, PROCESSORS = 2 };

/* At most two processors, so that two workers have one each, and three are crowded. */
static int two_processors(void **state)
{
    (void)state;
    cpu_set_t all, two;
    if (sched_getaffinity(0, sizeof all, &all) != 0)
        return -1;
    CPU_ZERO(&two);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&two) < PROCESSORS; cpu++)
        if (CPU_ISSET(cpu, &all))
            CPU_SET(cpu, &two);
    return sched_setaffinity(0, sizeof two, &two);
}

static void hear_begin(void *arg, const struct hr_run_info *info)
{
    *(bool *)arg = info->servers_rest;
}

static bool rest(const struct hr_train_options *options)
{
    bool told = false;
    const struct hr_observer observer = {.arg = &told, .started = hear_begin};
    struct hr_run_result result;
    CHECK_OK(hr_train(options, run_digits(), &observer, &result));
    hr_run_result_free(&result);
    return told;
}

/* Whoever forks must not have used BLAS before, so this is first. */
static void processes_have_busy_servers(void **state)
{
    (void)state;
    if (!ranks_can_fork())
        SKIP("a sanitizer's program cannot fork ranks");
    struct hr_train_options options = run_options("ps-async", 3);
    SET(launch, "process");
    assert_false(rest(&options));
}

static void servers_rest_where_processors_are_few(void **state)
{
    (void)state;
    struct hr_train_options options = run_options("ps-async", 2);
    options.max_steps = 3;
    if (hr_cpus_allowed() == PROCESSORS)
        assert_true(rest(&options));
    options = run_options("allreduce", 3);
    options.max_steps = 3;
    assert_false(rest(&options));
    options = run_options("ps-async", 3);
    options.max_steps = 3;
    assert_true(rest(&options));
    SET(on_loss, "continue");
    assert_false(rest(&options));
    SET(on_loss, "stop");
    SET(placement, "colocated");
    assert_false(rest(&options));
    SET(placement, "dedicated");
    SET(schedule, "explore:1");
    assert_false(rest(&options));
    SET(schedule, "free");
    SET(calibrate, "%s", scratch("model"));
    assert_false(rest(&options));
    SET(calibrate, "%s", "");
    if (hr_cpus_allowed() == PROCESSORS) { /* a processor each */
        options.workers = 1;
        assert_false(rest(&options));
    }
}

/* A played run has no threads that serve themselves. */
static void sums_are_those_of_servers_that_are_ranks(void **state)
{
    (void)state;
    for (size_t workers = 2; workers <= 5; workers++)
        for (size_t servers = 1; servers <= 3; servers += 2) {
            char played[33];
            struct hr_train_options options = run_options("ps-sync", workers);
            options.servers = servers;
            SET(schedule, "explore:1");
            run_digest(&options, played);
            SET(schedule, "free");
            CHECK_DIGEST(&options, played);
        }
}

/* With one shard or several, each alone, or one for all. */
static void asynchronous_runs_come_to_their_ends(void **state)
{
    (void)state;
    for (size_t i = 0; i < NASYNCHRONOUS; i++)
        for (size_t workers = 2; workers <= 6; workers++) {
            struct hr_train_options options = run_options(asynchronous[i], workers);
            options.servers = strcmp(asynchronous[i], "backup-workers") ? 1 + workers % 3 : 1;
            options.staleness = 1;
            options.backups = 1;
            options.epochs = 3;
            struct hr_run_result result = run_train(&options);
            assert_true(result.updates > 0);
            hr_run_result_free(&result);
        }
}

static void what_they_take_is_recorded(void **state)
{
    (void)state;
    for (size_t i = 0; i < NASYNCHRONOUS; i++)
        for (size_t workers = 2; workers <= 4; workers += 2) {
            char digest[33];
            struct hr_train_options options = run_options(asynchronous[i], workers);
            trace_record("t", options, digest);
            CHECK_REPLAY("t", digest);
        }
}

/* Pushes are sent again where they are lost, and the shard is not served while they are. */
static void lost_pushes_arrive(void **state)
{
    (void)state;
    struct hr_train_options options = run_options("ssp", 3);
    options.staleness = 1;
    SET(inject, "drop-push:p=0.1+1ms");
    struct hr_run_result result = run_train(&options);
    assert_true(result.resent > 0);
    hr_run_result_free(&result);
}

static void a_request_to_stop_leaves_nobody_waiting(void **state)
{
    (void)state;
    for (size_t i = 0; i < NASYNCHRONOUS; i++) {
        struct hr_train_options options = run_options(asynchronous[i], 2 + i % 2);
        options.epochs = 1 << 16;
        options.max_seconds = 0.05;
        struct hr_run_result result = run_train(&options);
        hr_run_result_free(&result);
    }
}

/* A worker that dies ends the run, whoever holds the shard. */
static void a_death_ends_the_run(void **state)
{
    (void)state;
    struct hr_run_result result;
    struct hr_train_options options = run_options("ps-async", 3);
    options.epochs = 1 << 16;
    SET(inject, "kill:1@step=20");
    CHECK_FAILS(hr_train(&options, run_digits(), NULL, &result), HR_E_LOST);
}

/* Serving is booked as what it is, and each worker's four activities fill the run. */
static void time_adds_up(void **state)
{
    (void)state;
    for (size_t workers = 2; workers <= 3; workers++) {
        struct hr_train_options options = run_options("ps-async", workers);
        struct hr_run_result result = run_train(&options);
        for (size_t w = 0; w < workers; w++) {
            const struct hr_worker_time *t = &result.worker_time[w];
            CHECK_NEAR(t->load_s + t->compute_s + t->communicate_s + t->wait_s, result.seconds,
                       1e-3, 1e-6);
        }
        hr_run_result_free(&result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_have_busy_servers),
        cmocka_unit_test_setup_teardown(servers_rest_where_processors_are_few, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test(sums_are_those_of_servers_that_are_ranks),
        cmocka_unit_test(asynchronous_runs_come_to_their_ends),
        cmocka_unit_test_setup_teardown(what_they_take_is_recorded, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test(lost_pushes_arrive),
        cmocka_unit_test(a_request_to_stop_leaves_nobody_waiting),
        cmocka_unit_test(a_death_ends_the_run),
        cmocka_unit_test(time_adds_up),
    };
    return cmocka_run_group_tests(tests, two_processors, NULL);
}
