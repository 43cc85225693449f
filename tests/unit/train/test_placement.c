/* Servers colocated in workers: the same bits where placement decides none, the same run again
 * where an order does, and in virtual time a schedule that was worked out by hand. */
#include <stdio.h>
#include <string.h>

#include "support/ranks.h"
#include "support/traces.h"

static const char *const asynchronous[] = {"ps-async", "ssp", "elastic-averaging",
                                           "backup-workers"};
enum { NASYNCHRONOUS = sizeof asynchronous / sizeof *asynchronous };

#define SET(field, ...) snprintf(options.field, sizeof options.field, __VA_ARGS__)

static struct hr_train_options colocated_options(const char *strategy, size_t workers)
{
    struct hr_train_options options = run_options(strategy, workers);
    SET(placement, "colocated");
    return options;
}

/* Whoever forks must not have used BLAS before, so this is first. */
static void processes_serve_each_other(void **state)
{
    (void)state;
    char forked[33];
    if (!ranks_can_fork())
        SKIP("a sanitizer's program cannot fork ranks");
    struct hr_train_options options = colocated_options("ps-sync", 3);
    SET(launch, "process");
    run_digest(&options, forked);
    for (size_t i = 0; i < NASYNCHRONOUS; i++) {
        options = colocated_options(asynchronous[i], 3);
        SET(launch, "process");
        struct hr_run_result result = run_train(&options);
        assert_string_equal(result.placement, "colocated");
        hr_run_result_free(&result);
    }
    options = run_options("ps-sync", 3);
    CHECK_DIGEST(&options, forked);
}

static void shards_are_as_many_as_workers_unless_told(void **state)
{
    (void)state;
    static const struct {
        const char *strategy, *placement;
        size_t told, servers;
    } cases[] = {
        {"ps-sync", "colocated", 0, 3},        {"ps-sync", "colocated", 2, 2},
        {"ps-sync", "dedicated", 0, 1},        {"ps-async", "colocated", 0, 3},
        {"backup-workers", "colocated", 0, 1}, {"allreduce", "colocated", 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hr_train_options options = run_options(cases[i].strategy, 3);
        options.servers = cases[i].told;
        options.max_steps = 2;
        SET(placement, "%s", cases[i].placement);
        struct hr_run_result result = run_train(&options);
        assert_int_equal(result.servers, cases[i].servers);
        assert_string_equal(result.placement, cases[i].servers ? cases[i].placement : "");
        hr_run_result_free(&result);
    }
}

/* Nobody hangs at a cut or at the end, with shards at some workers or all, of one or several. */
static void asynchronous_runs_come_to_their_ends(void **state)
{
    (void)state;
    for (size_t i = 0; i < NASYNCHRONOUS; i++)
        for (size_t workers = 1; workers <= 4; workers++) {
            struct hr_train_options options = colocated_options(asynchronous[i], workers);
            options.servers = workers % 2;
            options.backups = workers > 1;
            options.epochs = 3;
            struct hr_run_result result = run_train(&options);
            assert_true(result.updates > 0);
            hr_run_result_free(&result);
        }
}

/* A shard at a worker that does not wait is not among what may happen next. */
static void explored_runs_are_functions_of_the_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < NASYNCHRONOUS; i++) {
        struct hr_train_options options = colocated_options(asynchronous[i], 3);
        options.epochs = 1;
        run_check_order(options);
        char here[33], there[33];
        SET(schedule, "explore:7");
        run_digest(&options, here);
        options.servers = strcmp(asynchronous[i], "backup-workers") ? 3 : 1;
        SET(placement, "dedicated"); /* more may happen, so another thing does */
        run_digest(&options, there);
        assert_string_not_equal(here, there);
    }
}

static void every_shard_keeps_a_log_that_is_replayed(void **state)
{
    (void)state;
    static const char *const schedules[] = {"free", "explore:3"};
    for (size_t i = 0; i < NASYNCHRONOUS; i++)
        for (size_t s = 0; s < 2; s++) {
            char digest[33];
            struct hr_train_options options = colocated_options(asynchronous[i], 4);
            SET(schedule, "%s", schedules[s]);
            trace_record("t", options, digest);
            CHECK_REPLAY("t", digest);
        }
}

static void a_request_to_stop_leaves_nobody_waiting(void **state)
{
    (void)state;
    for (size_t i = 0; i < NASYNCHRONOUS; i++) {
        struct hr_train_options options = colocated_options(asynchronous[i], 3);
        options.epochs = 1 << 16;
        options.max_seconds = 0.05;
        struct hr_run_result result = run_train(&options);
        hr_run_result_free(&result);
    }
}

/* Serving is no waiting, and each worker's four activities fill the run. */
static void time_adds_up(void **state)
{
    (void)state;
    struct hr_train_options options = colocated_options("ps-async", 2);
    struct hr_run_result result = run_train(&options);
    for (size_t w = 0; w < 2; w++) {
        const struct hr_worker_time *t = &result.worker_time[w];
        CHECK_NEAR(t->load_s + t->compute_s + t->communicate_s + t->wait_s, result.seconds, 1e-3,
                   1e-6);
        assert_true(t->communicate_s > 0);
    }
    hr_run_result_free(&result);
}

/* --- in virtual time --- */

static struct hr_train_options virtual_options(const char *strategy, size_t workers)
{
    struct hr_train_options options = colocated_options(strategy, workers);
    SET(clock, "virtual");
    SET(compute_time, "10ms");
    options.epochs = 10;
    return options;
}

static void check_time(const struct hr_worker_time *time, double compute, double communicate,
                       double wait)
{
    CHECK_NEAR(1e3 * time->compute_s, compute, 1e-9, 1e-9);
    CHECK_NEAR(1e3 * time->communicate_s, communicate, 1e-9, 1e-9);
    CHECK_NEAR(1e3 * time->wait_s, wait, 1e-9, 1e-9);
}

/* Worker 0 owns the shard, takes 20 ms for a gradient, and 1 ms for a message; worker 1 takes
 * 10 ms. P, L, C: push, pull, word of the cut.
 *
 *      0  L0 L1                   both begin at 2: worker 0 serves on before it computes
 *     12  worker 1: P1 L1         nobody takes them: worker 0 computes
 *     22  worker 0: P0 L0         P1 L1 first, to 24, where worker 1 begins; P0 L0, to 26
 *     34  worker 1: P1 L1         nobody takes them
 *     46  worker 0: P0 L0         P1 L1, to 48; P0 L0, to 50; C1, which came at 48, to 51; C0
 *     52  all have arrived
 */
static void a_shard_waits_for_its_worker(void **state)
{
    (void)state;
    struct hr_train_options options = virtual_options("ps-async", 2);
    options.servers = 1;
    options.max_steps = 4;
    SET(server_time, "1ms");
    SET(inject, "slow:0x2");
    struct hr_run_result result = run_train(&options);
    CHECK_NEAR(1e3 * result.seconds, 52, 1e-9, 0);
    check_time(&result.worker_time[0], 40, 12, 0);
    check_time(&result.worker_time[1], 20, 6, 26);
    assert_int_equal(result.updates, 4);
    assert_int_equal(result.stale[0], 1); /* the first P1; each of the others misses one update */
    assert_int_equal(result.stale[1], 3);
    hr_run_result_free(&result);
}

/* The same with a server of its own, which takes P1 and L1 at 12: by 52 it is over long ago. */
static void a_server_of_its_own_does_not(void **state)
{
    (void)state;
    struct hr_train_options options = virtual_options("ps-async", 2);
    SET(placement, "dedicated");
    options.servers = 1;
    options.max_steps = 4;
    SET(server_time, "1ms");
    SET(inject, "slow:0x2");
    struct hr_run_result result = run_train(&options);
    assert_true(1e3 * result.seconds < 48);
    hr_run_result_free(&result);
}

/* Of two workers, worker 0 owns the shard. Its own messages take no time, so it begins a step when
 * the last push is in, and worker 1's pull, which is 64 bytes late, waits until it has computed.
 * Then weights go to worker 1, who computes and pushes; no other link is used. */
static void links_join_workers_alone(void **state)
{
    (void)state;
    enum { STEPS = 7 };
    struct hr_train_options options = virtual_options("ps-sync", 2);
    options.servers = 1;
    options.max_steps = STEPS;
    SET(link, "1MB/s,1ms");
    SET(topology, "star:2");
    struct hr_run_result result = run_train(&options);
    const double word = 64e-6 + 2e-3, weights = word + 4e-6 * (double)result.params;
    const double step = 2 * 10e-3 + 2 * weights;
    CHECK_NEAR(result.seconds, STEPS * step + 64e-6 + weights + 2 * word, 1e-9, 0);
    hr_run_result_free(&result);
    SET(placement, "dedicated");
    CHECK_FAILS(hr_train(&options, run_digits(), NULL, &result), HR_E_USAGE);
    CHECK_MESSAGE("2 gpus; expected at least 3");
}

static void virtual_runs_are_the_same_again_and_on_record(void **state)
{
    (void)state;
    for (size_t i = 0; i < NASYNCHRONOUS; i++) {
        char first[33];
        struct hr_train_options options = virtual_options(asynchronous[i], 12);
        options.epochs = 1;
        options.batch_size = 8;
        SET(compute_time, "lognormal(10ms,0.5)");
        SET(server_time, "100us");
        SET(link, "100MB/s,20us");
        run_digest(&options, first);
        CHECK_DIGEST(&options, first);
        trace_record("t", options, first);
        CHECK_REPLAY("t", first);
    }
}

/* --- refused --- */

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    struct hr_run_result result;
    struct hr_train_options options = colocated_options("ps-sync", 2);
    options.servers = 3;
    CHECK_FAILS(hr_train(&options, run_digits(), NULL, &result), HR_E_USAGE);
    CHECK_MESSAGE("--servers 3: colocated in 2 workers, there are at most as many");
    options = colocated_options("ps-sync", 2);
    SET(placement, "everywhere");
    CHECK_FAILS(hr_train(&options, run_digits(), NULL, &result), HR_E_USAGE);
    CHECK_MESSAGE("--placement everywhere: expected dedicated");
    options = colocated_options("ps-sync", 2);
    SET(calibrate, "%s", scratch("model"));
    CHECK_FAILS(hr_train(&options, run_digits(), NULL, &result), HR_E_USAGE);
    CHECK_MESSAGE("expected --placement dedicated");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_serve_each_other),
        cmocka_unit_test(shards_are_as_many_as_workers_unless_told),
        cmocka_unit_test(asynchronous_runs_come_to_their_ends),
        cmocka_unit_test(explored_runs_are_functions_of_the_order),
        cmocka_unit_test(every_shard_keeps_a_log_that_is_replayed),
        cmocka_unit_test(a_request_to_stop_leaves_nobody_waiting),
        cmocka_unit_test(time_adds_up),
        cmocka_unit_test(a_shard_waits_for_its_worker),
        cmocka_unit_test(a_server_of_its_own_does_not),
        cmocka_unit_test(links_join_workers_alone),
        cmocka_unit_test(virtual_runs_are_the_same_again_and_on_record),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
