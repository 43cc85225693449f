/* A recorded run and its replay are one run, bit for bit. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cases.h"
#include "support/ranks.h"
#include "support/traces.h"

/* --- random runs --- */

static const char *const asynchronous[] = {"ps-async", "ssp", "hogwild", "elastic-averaging",
                                           "backup-workers"};
enum { NASYNCHRONOUS = sizeof asynchronous / sizeof *asynchronous };

/* Anything that a recorded run may be, as a function of its number. */
static struct hr_train_options random_options(uint64_t number)
{
    static const char *const optimizers[] = {"sgd", "sgd", "adam", "adagrad"};
    struct draws draws = {.seed = check_seed(), .index = number};
    struct hr_train_options options =
        run_options(asynchronous[draw(&draws, NASYNCHRONOUS)], 2 + draw(&draws, 7));
    snprintf(options.optimizer, sizeof options.optimizer, "%s", optimizers[draw(&draws, 4)]);
    const bool one = !strcmp(options.strategy, "backup-workers");
    options.servers = one ? 1 : 1 + draw(&draws, 3);
    options.sync_every = 1 + draw(&draws, 5);
    options.staleness = 1 + draw(&draws, 4);
    options.momentum = draw(&draws, 2) ? 0.9 : 0;
    options.batch_size = 1 + draw(&draws, 40);
    options.epoch_size = options.batch_size * (5 + draw(&draws, 20)) + draw(&draws, 5);
    options.max_steps = draw(&draws, 3) ? 0 : 1 + draw(&draws, 40);
    options.normalize = draw(&draws, 4) == 0;
    snprintf(options.record_block, sizeof options.record_block, "%s",
             draw(&draws, 2) ? "4K" : "16K");
    options.delay_compensation = draw(&draws, 4) ? 0 : 0.5;
    snprintf(options.staleness_lr, sizeof options.staleness_lr, "%s",
             draw(&draws, 4) ? "none" : "inverse");
    options.seed = number;
    if (draw(&draws, 3) == 0) {
        snprintf(options.checkpoint_dir, sizeof options.checkpoint_dir, "%s", scratch("saved"));
        options.checkpoint_every.steps = 1 + draw(&draws, 20);
        options.overwrite = true; /* the folder of another draw */
        options.keep = 1;
    }
    if (draw(&draws, 2) && ranks_can_fork())
        snprintf(options.launch, sizeof options.launch, "process");
    return options;
}

static bool is_forked(const struct hr_train_options *options)
{
    return !strcmp(options->launch, "process");
}

static const char *trace_name(uint64_t number)
{
    static char name[32];
    snprintf(name, sizeof name, "%llu.trace", (unsigned long long)number);
    return name;
}

/* The forking process must not have used BLAS: all processes are recorded before any replay. */
static void random_runs_are_replayed_to_the_same_bits(void **state)
{
    (void)state;
    const size_t n = check_count(40, 1000);
    char(*digest)[33] = calloc(n, sizeof *digest);
    assert_non_null(digest);
    for (size_t i = 0; i < n; i++) {
        const struct hr_train_options options = random_options(i);
        if (is_forked(&options))
            trace_record(trace_name(i), options, digest[i]);
    }
    for (size_t i = 0; i < n; i++) {
        const struct hr_train_options options = random_options(i);
        if (!is_forked(&options))
            trace_record(trace_name(i), options, digest[i]);
        CHECK_REPLAY(trace_name(i), digest[i]);
        remove(scratch(trace_name(i)));
    }
    free(digest);
}

/* --- what decides no bit --- */

static void neither_time_nor_threads_change_a_replay(void **state)
{
    (void)state;
    char digest[33];
    trace_record("t", run_options("ps-async", 5), digest);
    for (size_t repeat = 0; repeat < 2; repeat++) {
        setenv("HOGRING_CPUS", "1", 1);
        CHECK_REPLAY("t", digest);
        setenv("HOGRING_CPUS", "3", 1);
        CHECK_REPLAY("t", digest);
    }
    unsetenv("HOGRING_CPUS");
}

/* Their configuration is their trace. */
static void synchronous_runs_are_recorded_and_replayed_too(void **state)
{
    (void)state;
    static const char *const names[] = {"allreduce", "ps-sync"};
    for (size_t i = 0; i < 2; i++) {
        char digest[33];
        trace_record("t", run_options(names[i], 3), digest);
        CHECK_REPLAY("t", digest);
    }
}

/* What tickets do not decide stands in the log. */
static void a_replay_counts_what_the_run_counted(void **state)
{
    (void)state;
    for (size_t i = 0; i < NASYNCHRONOUS; i++) {
        struct hr_replay *replay;
        struct hr_run_result again;
        struct hr_train_options options = run_options(asynchronous[i], 4);
        snprintf(options.schedule, sizeof options.schedule, "explore:%zu", i);
        snprintf(options.record, sizeof options.record, "%s", scratch("t"));
        struct hr_run_result result = run_train(&options);
        CHECK_OK(hr_replay_open(scratch("t"), &replay));
        CHECK_OK(hr_replay_run(replay, run_digits(), NULL, &again));
        assert_int_equal(again.updates, result.updates);
        assert_int_equal(again.samples, result.samples);
        assert_int_equal(again.max_skew, result.max_skew);
        assert_int_equal(again.dropped, result.dropped);
        assert_memory_equal(again.stale, result.stale, sizeof result.stale);
        assert_true(result.max_skew > 0);
        hr_run_result_free(&again);
        hr_run_result_free(&result);
        hr_replay_close(replay);
    }
}

/* Blocks and tickets change no update. */
static void one_recorded_worker_is_serial(void **state)
{
    (void)state;
    char serial[33], digest[33];
    struct hr_train_options options = run_options("allreduce", 1);
    run_digest(&options, serial);
    options = run_options("hogwild", 1);
    snprintf(options.record_block, sizeof options.record_block, "4K");
    trace_record("t", options, digest);
    assert_string_equal(digest, serial);
}

static void explored_schedules_are_recorded_too(void **state)
{
    (void)state;
    char digest[33];
    struct hr_train_options options = run_options("ssp", 4);
    snprintf(options.schedule, sizeof options.schedule, "explore:7");
    options.servers = 2;
    trace_record("t", options, digest);
    CHECK_REPLAY("t", digest);
}

/* A clock is no more than another way to decide who comes first. */
static void runs_in_virtual_time_are_recorded_too(void **state)
{
    (void)state;
    char digest[33];
    struct hr_train_options options = run_options("ps-async", 100);
    snprintf(options.clock, sizeof options.clock, "virtual");
    snprintf(options.compute_time, sizeof options.compute_time, "lognormal(10ms, 0.3)");
    trace_record("t", options, digest);
    CHECK_REPLAY("t", digest);
}

/* Where all are quiescent for digests nothing else changes: not what is recorded, either. */
static void runs_that_rest_for_digests_are_recorded_too(void **state)
{
    (void)state;
    static const char *const strategies[] = {"allreduce", "ssp", "elastic-averaging", "hogwild",
                                             "backup-workers"};
    for (size_t s = 0; s < sizeof strategies / sizeof *strategies; s++) {
        char want[33], digest[33];
        struct hr_train_options options = run_options(strategies[s], 3);
        snprintf(options.clock, sizeof options.clock, "virtual");
        run_digest(&options, want);
        options.digest_every = 5;
        trace_record("t", options, digest);
        assert_string_equal(digest, want);
        CHECK_REPLAY("t", digest);
    }
}

/* --- runs that ended or began somewhere else --- */

static int stop_when_some_are_done(void *arg)
{
    unsigned *looks = arg;
    return ++*looks > 2;
}

static void an_interrupted_run_is_replayed_to_where_it_stopped(void **state)
{
    (void)state;
    static const char *const names[] = {"ps-async",          "ssp",           "ps-sync", "hogwild",
                                        "elastic-averaging", "backup-workers"};
    for (size_t i = 0; i < 6; i++) {
        unsigned looks = 0;
        const struct hr_observer observer = {.arg = &looks, .should_stop = stop_when_some_are_done};
        struct hr_run_result result;
        struct hr_train_options options = run_options(names[i], 3);
        options.epochs = 1 << 16;
        snprintf(options.record, sizeof options.record, "%s", scratch("t"));
        CHECK_OK(hr_train(&options, run_digits(), &observer, &result));
        assert_true(result.interrupted);
        CHECK_REPLAY("t", result.weights_digest);
        hr_run_result_free(&result);
    }
}

static int stop_at_once(void *arg)
{
    (void)arg;
    return 1;
}

static void a_run_that_hardly_began_is_replayed(void **state)
{
    (void)state;
    const struct hr_observer observer = {.should_stop = stop_at_once};
    struct hr_run_result result;
    struct hr_train_options options = run_options("ps-async", 2);
    snprintf(options.record, sizeof options.record, "%s", scratch("t"));
    CHECK_OK(hr_train(&options, run_digits(), &observer, &result));
    CHECK_REPLAY("t", result.weights_digest);
    hr_run_result_free(&result);
}

static void a_run_that_went_on_from_a_checkpoint_is_replayed(void **state)
{
    (void)state;
    char digest[33];
    struct hr_train_options options = run_options("ps-async", 3);
    snprintf(options.checkpoint_dir, sizeof options.checkpoint_dir, "%s", scratch("saved"));
    options.max_steps = 41;
    run_digest(&options, digest);
    options.max_steps = 0;
    snprintf(options.resume, sizeof options.resume, "%s", options.checkpoint_dir);
    trace_record("t", options, digest);
    CHECK_REPLAY("t", digest); /* from step 41, though there are newer ones by now */
}

static void a_replay_may_stop_early(void **state)
{
    (void)state;
    static const char *const names[] = {"ps-async", "ssp", "ps-sync", "hogwild"};
    for (size_t i = 0; i < 4; i++) {
        char digest[33];
        struct hr_replay *replay;
        struct hr_run_result result;
        struct hr_train_options options = run_options(names[i], 3);
        options.servers = 2;
        trace_record("t", options, digest);
        CHECK_OK(hr_replay_open(scratch("t"), &replay));
        replay->options.max_steps = 10;
        CHECK_OK(hr_replay_run(replay, run_digits(), NULL, &result));
        assert_int_equal(result.steps, 10);
        assert_string_equal(result.recorded_digest, "");
        hr_run_result_free(&result);
        hr_replay_close(replay);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        TEST(random_runs_are_replayed_to_the_same_bits),
        TEST(neither_time_nor_threads_change_a_replay),
        TEST(synchronous_runs_are_recorded_and_replayed_too),
        TEST(a_replay_counts_what_the_run_counted),
        TEST(one_recorded_worker_is_serial),
        TEST(explored_schedules_are_recorded_too),
        TEST(runs_in_virtual_time_are_recorded_too),
        TEST(runs_that_rest_for_digests_are_recorded_too),
        TEST(an_interrupted_run_is_replayed_to_where_it_stopped),
        TEST(a_run_that_hardly_began_is_replayed),
        TEST(a_run_that_went_on_from_a_checkpoint_is_replayed),
        TEST(a_replay_may_stop_early),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
