/* Where the time of a run goes: load, compute, communicate and wait of each worker add up to the
 * run's seconds, and trouble of known length appears in its own column. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "support/runs.h"

static const char *const strategies[] = {
    "allreduce", "ps-sync",           "ps-async",       "ssp",   "hogwild",
    "local-sgd", "elastic-averaging", "backup-workers", "gossip"};

static double busy_of(const struct hr_worker_time *time)
{
    return time->load_s + time->compute_s + time->communicate_s;
}

/* Each worker's, and the sums; no run is shorter than the work of its busiest worker, or longer
 * than it took. */
static void check_accounts(const struct hr_run_result *result, double most_s)
{
    double all = 0;
    assert_int_equal(result->nworker_times, result->workers);
    for (size_t w = 0; w < result->workers; w++) {
        const struct hr_worker_time *time = &result->worker_time[w];
        CHECK_NEAR(busy_of(time) + time->wait_s, result->seconds, 1e-9, 1e-9);
        assert_true(time->load_s >= 0 && time->compute_s >= 0 && time->communicate_s >= 0);
        assert_true(time->wait_s >= 0 && busy_of(time) <= result->seconds);
        all += busy_of(time) + time->wait_s;
    }
    CHECK_NEAR(result->load_s + result->compute_s + result->communicate_s + result->wait_s, all,
               1e-9, 1e-9);
    assert_true(result->compute_s > 0);
    assert_true(result->seconds <= most_s);
}

/* One short epoch: a clock that starts or ends at the wrong moment misses most of it. */
static void check_one(const char *strategy, size_t workers, const char *launch)
{
    struct hr_train_options options = run_options(strategy, workers);
    options.epochs = 2;
    options.backups = !strcmp(strategy, "backup-workers");
    snprintf(options.launch, sizeof options.launch, "%s", launch);
    const int64_t began = hr_clock_ns();
    struct hr_run_result result = run_train(&options);
    check_accounts(&result, hr_seconds(hr_clock_ns() - began));
    hr_run_result_free(&result);
}

static void the_four_add_up_in_every_strategy(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++)
        for (size_t workers = 2; workers <= 8; workers += 3) {
            check_one(strategies[i], workers, "thread");
            check_one(strategies[i], workers, "process");
        }
}

/* Whoever is not yet awake when others begin, or when the last ends, is not left out. */
static void the_clock_runs_while_anybody_trains(void **state)
{
    (void)state;
    for (size_t i = 0; i < 20; i++)
        check_one("hogwild", 8, i % 2 ? "thread" : "process");
}

static struct hr_run_result run_with(const char *inject, const char *compute_time)
{
    struct hr_train_options options = run_options("allreduce", 2);
    options.max_steps = 10;
    snprintf(options.inject, sizeof options.inject, "%s", inject);
    snprintf(options.compute_time, sizeof options.compute_time, "%s", compute_time);
    return run_train(&options);
}

/* What is more than was asked for is the machine's affair, and another worker's column may have it:
 * where that would fail, the run is run again, until the machine has let it be. */
enum { ATTEMPTS = 30 };

static bool slow_input_is_load(void)
{
    struct hr_run_result result = run_with("load:1+20ms", "");
    const struct hr_worker_time one = result.worker_time[0], slow = result.worker_time[1];
    hr_run_result_free(&result);
    assert_true(slow.load_s >= 10 * 0.020);
    return one.load_s < 0.020 && one.wait_s >= 10 * 0.019;
}

static bool a_stall_is_waiting(void)
{
    struct hr_run_result result = run_with("stall:1@step=5+300ms", "");
    const struct hr_worker_time stalled = result.worker_time[1];
    hr_run_result_free(&result);
    assert_true(stalled.wait_s >= 0.300);
    return stalled.compute_s < 0.300;
}

static bool others_wait_for_who_is_slow(void)
{
    struct hr_run_result result = run_with("slow:0x3", "20ms");
    const struct hr_worker_time slow = result.worker_time[0], other = result.worker_time[1];
    hr_run_result_free(&result);
    assert_true(slow.compute_s >= 9 * 0.060 && other.compute_s >= 9 * 0.020);
    return other.wait_s >= 9 * 0.030;
}

static bool comes_true(bool (*what)(void))
{
    for (int attempt = 0; attempt < ATTEMPTS; attempt++)
        if (what())
            return true;
    return false;
}

static void trouble_appears_in_its_own_column(void **state)
{
    (void)state;
    assert_true(comes_true(slow_input_is_load));
    assert_true(comes_true(a_stall_is_waiting));
    assert_true(comes_true(others_wait_for_who_is_slow));
}

/* Two workers, one message each way and back a step, 20 ms on its way: waiting for data that was
 * sent is communication. */
static void a_links_latency_is_communication(void **state)
{
    (void)state;
    struct hr_train_options options = run_options("allreduce", 2);
    options.max_steps = 10;
    snprintf(options.transport, sizeof options.transport, "copy");
    snprintf(options.link, sizeof options.link, "1GB/s,20ms");
    struct hr_run_result result = run_train(&options);
    for (size_t w = 0; w < 2; w++)
        assert_true(result.worker_time[w].communicate_s >= 10 * 0.020);
    hr_run_result_free(&result);
}

/* Slow input is hidden by a thread that decodes ahead, behind gradients that take longer. */
static bool slow_input_is_hidden(void)
{
    struct hr_train_options options = run_options("allreduce", 2);
    options.max_steps = 20;
    options.prefetch = 2;
    snprintf(options.inject, sizeof options.inject, "load:*+10ms");
    snprintf(options.compute_time, sizeof options.compute_time, "40ms");
    struct hr_run_result result = run_train(&options);
    const bool is = result.prefetch_hits >= 20 && result.worker_time[0].load_s < 20 * 0.010 &&
                    result.worker_time[1].load_s < 20 * 0.010;
    hr_run_result_free(&result);
    return is;
}

static void decoding_ahead_hides_slow_input(void **state)
{
    (void)state;
    assert_true(comes_true(slow_input_is_hidden));
}

/* In virtual time all of it is exact: 10 steps of 10 ms, input of 3 ms, one stall of 50 ms. */
static void virtual_columns_are_exact(void **state)
{
    (void)state;
    struct hr_train_options options = run_options("allreduce", 2);
    options.max_steps = 10;
    snprintf(options.clock, sizeof options.clock, "virtual");
    snprintf(options.compute_time, sizeof options.compute_time, "10ms");
    snprintf(options.inject, sizeof options.inject, "load:1+3ms,stall:0@step=4+50ms");
    struct hr_run_result result = run_train(&options);
    check_accounts(&result, 1);
    CHECK_NEAR(result.seconds, 9 * 0.013 + 0.060, 1e-9, 0);
    CHECK_NEAR(result.worker_time[1].load_s, 0.030, 1e-9, 0);
    CHECK_NEAR(result.worker_time[0].load_s, 0, 0, 1e-12);
    CHECK_NEAR(result.compute_s, 0.200, 1e-9, 0);
    CHECK_NEAR(result.worker_time[0].wait_s, 0.050 + 9 * 0.003, 1e-9, 0);
    CHECK_NEAR(result.worker_time[1].wait_s, 0.047, 1e-9, 0);
    hr_run_result_free(&result);
}

/* One process that runs all workers in turn has no time of theirs. */
static void played_workers_keep_no_accounts(void **state)
{
    (void)state;
    struct hr_train_options options = run_options("ps-async", 3);
    snprintf(options.schedule, sizeof options.schedule, "explore:1");
    struct hr_run_result result = run_train(&options);
    CHECK_NEAR(result.load_s + result.compute_s + result.communicate_s + result.wait_s, 0, 0, 0);
    assert_true(result.seconds > 0);
    hr_run_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_four_add_up_in_every_strategy),
        cmocka_unit_test(the_clock_runs_while_anybody_trains),
        cmocka_unit_test(trouble_appears_in_its_own_column),
        cmocka_unit_test(a_links_latency_is_communication),
        cmocka_unit_test(decoding_ahead_hides_slow_input),
        cmocka_unit_test(virtual_columns_are_exact),
        cmocka_unit_test(played_workers_keep_no_accounts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
