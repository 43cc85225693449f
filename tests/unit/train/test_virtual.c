/* Virtual time: the bits of synchronous training are those of threads, an asynchronous run is the
 * same again, and times and staleness are what the conditions say. */
#include <stdio.h>
#include <string.h>

#include "strategy/shared.h"
#include "support/runs.h"
#include "worker/job.h"

static struct hr_train_options virtual_options(const char *strategy, size_t workers)
{
    struct hr_train_options options = run_options(strategy, workers);
    snprintf(options.clock, sizeof options.clock, "virtual");
    snprintf(options.compute_time, sizeof options.compute_time, "10ms");
    return options;
}

static void train(const struct hr_train_options *options, struct hr_run_result *result)
{
    CHECK_OK(hr_train(options, run_digits(), NULL, result));
}

/* Timing decides nothing in a synchronous run, so conditions do not. */
static void synchronous_strategies_have_the_bits_of_threads(void **state)
{
    (void)state;
    static const char *const strategies[] = {"allreduce", "ps-sync", "ssp"};
    static const char *const algorithms[] = {"direct", "ring", "tree", "hierarchical"};
    for (size_t s = 0; s < 3; s++)
        for (size_t a = 0; a < (s ? 1 : 4); a++) {
            char want[33];
            struct hr_train_options options = run_options(strategies[s], 3);
            options.staleness = 0;
            options.servers = s;
            snprintf(options.algorithm, sizeof options.algorithm, "%s", algorithms[a]);
            run_digest(&options, want);
            snprintf(options.clock, sizeof options.clock, "virtual");
            CHECK_DIGEST(&options, want);
            snprintf(options.inject, sizeof options.inject, "slow:1x3,slow:*x2@20%%");
            snprintf(options.link, sizeof options.link, "100MB/s,20us");
            CHECK_DIGEST(&options, want);
        }
}

static void one_worker_is_serial(void **state)
{
    (void)state;
    static const char *const strategies[] = {"ps-sync", "ps-async", "ssp", "hogwild"};
    char serial[33];
    struct hr_train_options options = run_options("allreduce", 1);
    run_digest(&options, serial);
    for (size_t s = 0; s < sizeof strategies / sizeof *strategies; s++) {
        options = virtual_options(strategies[s], 1);
        CHECK_DIGEST(&options, serial);
    }
}

/* The order of an asynchronous run follows from the drawn times: the same seed gives it again. */
static void asynchronous_runs_are_the_same_again(void **state)
{
    (void)state;
    static const char *const strategies[] = {"ps-async", "ssp", "hogwild"};
    for (size_t s = 0; s < sizeof strategies / sizeof *strategies; s++) {
        char first[33], other[33];
        struct hr_train_options options = virtual_options(strategies[s], 24);
        options.batch_size = 8;
        options.servers = 2;
        snprintf(options.compute_time, sizeof options.compute_time, "lognormal(10ms,0.5)");
        snprintf(options.link, sizeof options.link, "100MB/s,20us");
        run_digest(&options, first);
        CHECK_DIGEST(&options, first);
        snprintf(options.compute_time, sizeof options.compute_time, "exponential(10ms)");
        run_digest(&options, other);
        assert_string_not_equal(first, other);
    }
}

/* N workers of equal speed and free messages: every update but the first N is made from weights
 * that miss those of the N - 1 others. */
static void equal_workers_in_turn_are_stale_by_all_the_others(void **state)
{
    (void)state;
    enum { WORKERS = 5 };
    struct hr_run_result result;
    struct hr_train_options options = virtual_options("ps-async", WORKERS);
    options.epochs = 1;
    options.max_steps = 40;
    train(&options, &result);
    assert_int_equal(result.updates, 40);
    for (size_t k = 0; k + 1 < WORKERS; k++)
        assert_int_equal(result.stale[k], 1);
    assert_int_equal(result.stale[WORKERS - 1], 40 - (WORKERS - 1));
    assert_int_equal(result.stale_max, WORKERS - 1);
    hr_run_result_free(&result);
}

/* A step of all-reduce takes the slowest gradient and the sum; of a server, gradient, transfers and
 * service. 40 steps of 10 ms, worker 1 twice as slow. */
static void times_are_what_the_conditions_say(void **state)
{
    (void)state;
    struct hr_run_result result;
    struct hr_train_options options = virtual_options("allreduce", 2);
    options.max_steps = 40;
    options.epochs = 10;
    snprintf(options.inject, sizeof options.inject, "slow:1x2");
    train(&options, &result);
    CHECK_NEAR(result.seconds, 40 * 0.020, 1e-9, 0);
    CHECK_NEAR(result.wait_s, 40 * 0.010, 1e-6, 0);
    CHECK_NEAR(result.compute_s, 40 * 0.030, 1e-6, 0);
    assert_string_equal(result.clock, "virtual");
    hr_run_result_free(&result);

    options = virtual_options("ps-sync", 1);
    options.max_steps = 40;
    options.epochs = 10;
    snprintf(options.server_time, sizeof options.server_time, "1ms");
    train(&options, &result); /* a pull; in each step a gradient, a push and a pull; a cut */
    CHECK_NEAR(result.seconds, 0.001 + 40 * 0.012 + 0.001, 1e-9, 0);
    CHECK_NEAR(result.communicate_s, 0.001 + 40 * 0.002 + 0.001, 1e-6, 0);
    CHECK_NEAR(result.wait_s, 0, 0, 1e-9);
    hr_run_result_free(&result);
}

/* A push and the pull behind it go over the worker's wire and the server's, cut through; so does
 * the answer. Those of two servers share the worker's wire. 64 bytes are a message without weights.
 */
static void messages_take_as_long_as_the_links_say(void **state)
{
    (void)state;
    const double bandwidth = 1e6, latency = 1e-3;
    for (size_t servers = 1; servers <= 2; servers++) {
        struct hr_run_result result;
        struct hr_train_options options = virtual_options("ps-async", 1);
        options.servers = servers;
        options.max_steps = 40;
        options.epochs = 10;
        snprintf(options.link, sizeof options.link, "1MB/s,1ms");
        train(&options, &result);
        const double s = (double)servers, weights = 4.0 * (double)result.params;
        const double nothing = (64 + 64 * s) / bandwidth + 4 * latency; /* no batch left; the cut */
        const double pull = nothing + weights / bandwidth;
        const size_t first = hr_stripe_begin(result.params, servers, 1);
        const double rest = 4.0 * (double)(result.params - first);
        const double push = (64 * s + weights) / bandwidth; /* the pull follows on its heels */
        const double steps = 39 * (0.010 + push + pull) + 0.010 + push;
        CHECK_NEAR(result.seconds, pull + steps + 2 * nothing + rest / bandwidth, 1e-9, 0);
        if (servers == 1) /* always something of its is under way */
            CHECK_NEAR(result.wait_s, 0, 0, 1e-9);
        hr_run_result_free(&result);
    }
}

/* Of all that goes on while two equal workers sum, the half of each buffer goes and comes. */
static void a_sum_takes_time_and_is_communication(void **state)
{
    (void)state;
    struct hr_run_result result;
    struct hr_train_options options = virtual_options("allreduce", 2);
    options.max_steps = 40;
    options.epochs = 10;
    snprintf(options.link, sizeof options.link, "1MB/s,1ms");
    train(&options, &result);
    const double sums = result.seconds - 40 * 0.010;
    assert_true(sums > 40 * 4.0 * (double)result.params / 1e6);
    CHECK_NEAR(result.communicate_s, 2 * sums, 1e-6, 0);
    CHECK_NEAR(result.wait_s, 0, 0, 1e-9);
    hr_run_result_free(&result);
}

/* In a tree of four, 1 and 3 send up once and hear once; 2 has twice as much to do. */
static void who_moves_nothing_in_a_sum_waits(void **state)
{
    (void)state;
    struct hr_run_result result;
    struct hr_train_options options = virtual_options("allreduce", 4);
    options.max_steps = 40;
    options.epochs = 10;
    snprintf(options.algorithm, sizeof options.algorithm, "tree");
    snprintf(options.link, sizeof options.link, "1MB/s,1ms");
    train(&options, &result);
    const double sums = result.seconds - 40 * 0.010;
    const struct hr_worker_time *time = result.worker_time;
    CHECK_NEAR(time[2].communicate_s, sums, 1e-6, 0);
    CHECK_NEAR(time[1].communicate_s, sums / 2, 1e-6, 0);
    CHECK_NEAR(time[3].wait_s, sums / 2, 1e-6, 0);
    hr_run_result_free(&result);
}

/* Each message has a time of its own, drawn by its number: here a pull, 40 pushes and pulls, a cut.
 */
static void each_message_is_served_for_its_own_time(void **state)
{
    (void)state;
    struct hr_run_result result;
    struct hr_train_options options = virtual_options("ps-async", 1);
    struct hr_shared_state shared = {.workers = 1};
    struct hr_train_job job = {.options = &options, .shared = &shared};
    options.max_steps = 40;
    options.epochs = 10;
    snprintf(options.server_time, sizeof options.server_time, "exponential(1ms)");
    CHECK_OK(hr_delay_parse("", options.server_time, &job.conditions.serve));
    train(&options, &result);
    int64_t ps = 0;
    for (uint64_t number = 0; number < 1 + 2 * 40 + 1; number++)
        ps += hr_conditions_serve_ps(&job, 0, number);
    CHECK_NEAR(result.seconds, 40 * 0.010 + hr_ps_seconds(ps), 1e-9, 0);
    hr_run_result_free(&result);
}

/* A busy server takes who came first, so nobody starves, however slow. */
static void a_server_takes_messages_as_they_came(void **state)
{
    (void)state;
    struct hr_run_result result;
    struct hr_train_options options = virtual_options("ps-async", 3);
    options.max_steps = 30;
    options.epochs = 10;
    snprintf(options.inject, sizeof options.inject, "slow:1x2,slow:2x3");
    snprintf(options.server_time, sizeof options.server_time, "50ms");
    train(&options, &result);
    for (size_t w = 0; w < 3; w++)
        assert_int_equal(result.stale_parts[w].updates, 10);
    assert_int_equal(result.stale_max, 2);
    hr_run_result_free(&result);
}

/* Eight workers push through one server's wire, or through four: a worker's messages leave one
 * after another, and do not hold wires that they have not come to. */
static void servers_share_what_workers_send(void **state)
{
    (void)state;
    double seconds[2];
    for (size_t i = 0; i < 2; i++) {
        struct hr_run_result result;
        struct hr_train_options options = virtual_options("ps-sync", 8);
        options.servers = i ? 4 : 1;
        snprintf(options.compute_time, sizeof options.compute_time, "1us");
        snprintf(options.link, sizeof options.link, "10MB/s");
        train(&options, &result);
        seconds[i] = result.seconds;
        hr_run_result_free(&result);
    }
    assert_true(seconds[1] < 0.6 * seconds[0]);
}

/* A worker may not be more than the bound ahead, so one that is 100 times slower holds them up. */
static void the_bound_of_ssp_holds_in_virtual_time(void **state)
{
    (void)state;
    for (uint64_t bound = 1; bound <= 4; bound++) {
        struct hr_run_result result;
        struct hr_train_options options = virtual_options("ssp", 4);
        options.staleness = bound;
        options.epochs = 1;
        snprintf(options.inject, sizeof options.inject, "slow:2x100");
        train(&options, &result);
        assert_int_equal(result.max_skew, bound);
        hr_run_result_free(&result);
    }
}

static void a_thousand_workers_can_be_simulated(void **state)
{
    (void)state;
    static const char *const strategies[] = {"allreduce", "ps-sync", "ps-async", "ssp", "hogwild"};
    for (size_t s = 0; s < sizeof strategies / sizeof *strategies; s++) {
        struct hr_run_result result;
        struct hr_train_options options = virtual_options(strategies[s], 1000);
        snprintf(options.model, sizeof options.model, "flatten, dense 10");
        options.batch_size = 1;
        options.epochs = 1;
        train(&options, &result);
        assert_int_equal(result.samples, run_digits()->train.count);
        hr_run_result_free(&result);
    }
    struct hr_train_options options = virtual_options("ps-async", 1025);
    struct hr_run_result result;
    CHECK_FAILS(hr_train(&options, run_digits(), NULL, &result), HR_E_USAGE);
    CHECK_MESSAGE("--workers 1025: expected 1 to 1024");
}

/* --max-seconds counts virtual seconds, so it ends at the same update again. */
/* Nobody's time is nobody's: who is done with an epoch waits for the straggler. */
static void all_of_the_workers_time_is_accounted_for(void **state)
{
    (void)state;
    static const char *const strategies[] = {"allreduce",     "ps-sync", "ps-async",
                                             "ssp",           "hogwild", "elastic-averaging",
                                             "backup-workers"};
    for (size_t s = 0; s < sizeof strategies / sizeof *strategies; s++) {
        struct hr_train_options options = virtual_options(strategies[s], 4);
        struct hr_run_result result;
        snprintf(options.inject, sizeof options.inject, "slow:3x2");
        snprintf(options.link, sizeof options.link, "100MB/s,20us");
        train(&options, &result);
        const double accounted = result.compute_s + result.communicate_s + result.wait_s;
        CHECK_NEAR(accounted, result.seconds * (double)result.workers, 1e-4, 0);
        hr_run_result_free(&result);
    }
}

static void a_run_ends_at_a_virtual_second(void **state)
{
    (void)state;
    struct hr_run_result result;
    struct hr_train_options options = virtual_options("ps-async", 3);
    options.max_seconds = 0.1;
    train(&options, &result);
    CHECK_NEAR(result.seconds, 0.1, 0.1, 0);
    assert_in_range(result.updates, 27, 33);
    hr_run_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(synchronous_strategies_have_the_bits_of_threads),
        cmocka_unit_test(one_worker_is_serial),
        cmocka_unit_test(asynchronous_runs_are_the_same_again),
        cmocka_unit_test(equal_workers_in_turn_are_stale_by_all_the_others),
        cmocka_unit_test(times_are_what_the_conditions_say),
        cmocka_unit_test(messages_take_as_long_as_the_links_say),
        cmocka_unit_test(a_sum_takes_time_and_is_communication),
        cmocka_unit_test(who_moves_nothing_in_a_sum_waits),
        cmocka_unit_test(each_message_is_served_for_its_own_time),
        cmocka_unit_test(a_server_takes_messages_as_they_came),
        cmocka_unit_test(servers_share_what_workers_send),
        cmocka_unit_test(the_bound_of_ssp_holds_in_virtual_time),
        cmocka_unit_test(a_thousand_workers_can_be_simulated),
        cmocka_unit_test(all_of_the_workers_time_is_accounted_for),
        cmocka_unit_test(a_run_ends_at_a_virtual_second),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
