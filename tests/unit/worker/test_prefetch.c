/* Decoding ahead: the right batches, whatever the order they are asked for in, and the same bits in
 * every run. Runs with forked workers come first: the forking process must not have used BLAS. */

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/philox.h"
#include "support/runs.h"
#include "worker/input.h"
#include "worker/job.h"
#include "strategies/strategies.h"

enum { BATCH = 16, FEATURES = 64 };

static const char *const all[] = {"allreduce", "ps-sync", "ps-async",
                                  "ssp",       "hogwild", "local-sgd"};

/* As the driver would have it for one of `workers` workers. */
static struct hr_train_job job_of(const struct hr_train_options *options, const char *strategy,
                                  struct hr_shared_state *shared)
{
    const struct hr_train_job job = {
        .options = options, .dataset = run_digits(), .shared = shared, .parts = 1};
    *shared = (struct hr_shared_state){0};
    struct hr_batch_schedule *schedule = &shared->schedule;
    CHECK_OK(hr_strategy_find(strategy, 1, &shared->strategy));
    shared->workers = options->workers;
    schedule->pass = schedule->samples = run_digits()->train.count;
    schedule->batch = BATCH;
    schedule->batches_per_epoch = (schedule->samples + BATCH - 1) / BATCH;
    schedule->end = 300;
    return job;
}

/* Of the whole share of worker 0. */
static const struct hr_prefetched *take(struct hr_prefetch *prefetch, uint64_t index,
                                        size_t workers)
{
    return hr_prefetch_take(prefetch, &(struct hr_prefetch_key){index, 0, 1, 0, workers});
}

/* A hit must be what decoding in place gives; the lent memory is overwritten, as a pass may. */
static bool check_take(struct hr_prefetch *prefetch, struct hr_input *input, uint64_t index)
{
    float want[BATCH * FEATURES];
    uint32_t labels[BATCH];
    const struct hr_prefetched *got = take(prefetch, index, input->job->shared->workers);
    if (!got)
        return false;
    const struct hr_batch share = hr_input_share(input->job, 0, input->job->shared->workers, index);
    hr_input_decode(input, &share, want, labels);
    CHECK_SAME_FLOATS(got->x, want, share.count * FEATURES);
    assert_memory_equal(got->y, labels, share.count * sizeof *labels);
    assert_memory_equal(got->samples, input->samples, share.count * sizeof *got->samples);
    assert_int_equal(got->pass, input->pass);
    memset(got->x, 0xff, BATCH * FEATURES * sizeof *got->x);
    memset(got->y, 0xff, BATCH);
    return true;
}

static size_t random_step(uint64_t number, size_t most)
{
    return hr_random_block(check_seed(), HR_STREAM_TEST, number, 9).v[0] % (most + 1);
}

static void wait_until_full(struct hr_prefetch *prefetch, size_t ahead)
{
    while (hr_prefetch_ready(prefetch) < ahead)
        sched_yield();
}

/* Indices that go on as guessed, that jump ahead, and that now and then go back, as after a cut;
 * taken from a thread that is busy, or that has done all it may. */
static void a_hit_is_what_decoding_in_place_gives(void **state)
{
    (void)state;
    static const size_t ahead[] = {1, 2, 7}, jumps[] = {0, 1, 5};
    struct hr_train_options options = run_options("hogwild", 2);
    struct hr_shared_state shared;
    const struct hr_train_job job = job_of(&options, "hogwild", &shared);
    struct hr_input input;
    CHECK_OK(hr_input_init(&input, &job, BATCH));
    for (size_t i = 0; i < 9; i++) {
        struct hr_prefetch *prefetch = NULL;
        const struct hr_prefetch_options how = {&job, 0, ahead[i / 3], BATCH, 0, UINT64_MAX, 2, 1};
        size_t hits = 0;
        CHECK_OK(hr_prefetch_start(&how, &prefetch));
        for (uint64_t step = 0, index = 0; step < 200; step++) {
            if (step % 2)
                wait_until_full(prefetch, how.ahead);
            hits += check_take(prefetch, &input, index);
            index += 2 + random_step(step, jumps[i % 3]);
            if (step % 10 == 8)
                index -= 3;
        }
        assert_true(hits >= 15);
        hr_prefetch_stop(prefetch);
    }
    hr_input_fini(&input);
}

/* Whatever it was doing at the miss: nothing that it made before is counted after. Batches are
 * large, so that it is often busy. */
static void it_goes_on_behind_a_miss(void **state)
{
    (void)state;
    struct hr_train_options options = run_options("hogwild", 3);
    struct hr_shared_state shared;
    const struct hr_train_job job = job_of(&options, "hogwild", &shared);
    struct hr_prefetch *prefetch = NULL;
    const struct hr_prefetch_options how = {&job, 0, 2, 1000, 0, UINT64_MAX, 3, 1};
    shared.schedule.batch = 1000;
    shared.schedule.batches_per_epoch = 2;
    CHECK_OK(hr_prefetch_start(&how, &prefetch));
    for (uint64_t index = 1000; index < 100000; index += 1000) {
        wait_until_full(prefetch, index / 1000 % 2); /* with one made it is busy with the next */
        assert_false(take(prefetch, index, 3) != NULL);
        wait_until_full(prefetch, 2);
        assert_true(take(prefetch, index + 3, 3) != NULL);
        assert_true(take(prefetch, index + 6, 3) != NULL);
    }
    hr_prefetch_stop(prefetch);
}

static void it_stops_at_once_whatever_it_is_doing(void **state)
{
    (void)state;
    struct hr_train_options options = run_options("allreduce", 1);
    struct hr_shared_state shared;
    const struct hr_train_job job = job_of(&options, "allreduce", &shared);
    for (size_t i = 0; i < 200; i++) {
        struct hr_prefetch *prefetch = NULL;
        const struct hr_prefetch_options how = {&job, 0, 1 + i % 3, BATCH, 0, i % 5, 1, 1};
        CHECK_OK(hr_prefetch_start(&how, &prefetch));
        hr_prefetch_stop(prefetch);
    }
    hr_prefetch_stop(NULL);
}

static struct hr_train_options options_of(size_t strategy, size_t prefetch, const char *launch)
{
    const size_t workers = strategy < 2 ? 3 : 1; /* asynchronous runs repeat with one worker */
    struct hr_train_options options = run_options(all[strategy], workers);
    snprintf(options.launch, sizeof options.launch, "%s", launch);
    snprintf(options.augment, sizeof options.augment, "flip,crop:1");
    options.normalize = true;
    options.epoch_size = 700;
    options.prefetch = prefetch;
    return options;
}

static char of_processes[5][33];

static int run_processes(void **state)
{
    (void)state;
    for (size_t i = 0; i < 5; i++) {
        const struct hr_train_options options = options_of(i, 2, "process");
        run_digest(&options, of_processes[i]);
    }
    return 0;
}

static void runs_have_the_bits_of_runs_without(void **state)
{
    (void)state;
    for (size_t i = 0; i < 5; i++)
        for (size_t ahead = 0; ahead <= 3; ahead++) {
            const struct hr_train_options options = options_of(i, ahead, "thread");
            CHECK_DIGEST(&options, of_processes[i]);
        }
}

static void hits_and_misses_count_all_batches(void **state)
{
    (void)state;
    for (size_t i = 0; i < 5; i++) {
        struct hr_train_options options = options_of(i, 2, "thread");
        options.workers = 2;
        struct hr_run_result result = run_train(&options);
        const uint64_t batches = result.updates * (i < 2 ? 2 : 1);
        assert_int_equal(result.prefetch_hits + result.prefetch_misses, batches);
        assert_true(result.load_s > 0);
        hr_run_result_free(&result);
        options.prefetch = 0;
        result = run_train(&options);
        assert_int_equal(result.prefetch_hits + result.prefetch_misses, 0);
        hr_run_result_free(&result);
    }
}

/* A model whose first layers work in place reads lent memory too. */
static void a_model_may_begin_in_place(void **state)
{
    (void)state;
    char want[33];
    struct hr_train_options options = options_of(0, 0, "thread");
    snprintf(options.model, sizeof options.model, "relu, flatten, relu, dense 10");
    run_digest(&options, want);
    options.prefetch = 2;
    CHECK_DIGEST(&options, want);
}

/* Part behind part, and behind the last of a share the first of the next. */
static void parts_follow_each_other(void **state)
{
    (void)state;
    struct hr_train_options options = run_options("allreduce", 2);
    struct hr_shared_state shared;
    const struct hr_train_job job = job_of(&options, "allreduce", &shared);
    struct hr_prefetch *prefetch = NULL;
    struct hr_input input;
    const struct hr_prefetch_options how = {&job, 1, 4, BATCH, 0, UINT64_MAX, 1, 3};
    CHECK_OK(hr_input_init(&input, &job, BATCH));
    CHECK_OK(hr_prefetch_start(&how, &prefetch));
    for (uint64_t index = 0; index < 9; index++)
        for (size_t i = 0; i < 3; i++) {
            float want[BATCH * FEATURES];
            uint32_t labels[BATCH];
            const struct hr_batch share = hr_input_share(&job, 1, 2, index);
            const struct hr_batch part = hr_input_part(&share, 3, i);
            const struct hr_prefetch_key key = {index, i, 3, 1, 2};
            wait_until_full(prefetch, 3);
            const struct hr_prefetched *got = hr_prefetch_take(prefetch, &key);
            assert_non_null(got);
            hr_input_decode(&input, &part, want, labels);
            CHECK_SAME_FLOATS(got->x, want, part.count * FEATURES);
            assert_memory_equal(got->y, labels, part.count * sizeof *labels);
        }
    const struct hr_prefetch_key alone = {9, 0, 6, 0, 1}; /* the other worker was lost */
    assert_null(hr_prefetch_take(prefetch, &alone));
    wait_until_full(prefetch, 3);
    assert_non_null(hr_prefetch_take(prefetch, &(struct hr_prefetch_key){9, 1, 6, 0, 1}));
    hr_prefetch_stop(prefetch);
    hr_input_fini(&input);
}

/* Minibatches of --accumulate, and micro-shards of --reduce repro, are decoded one by one. */
static void parts_are_decoded_ahead(void **state)
{
    (void)state;
    for (size_t i = 0; i < 5; i++)
        for (size_t repro = 0; repro < (i < 2 ? 2 : 1); repro++) {
            char want[33];
            struct hr_train_options options = options_of(i, 0, "thread");
            options.workers = i < 2 ? 2 : 1;
            options.accumulate = 3;
            if (repro) {
                options.accumulate = 1;
                options.global_batch_size = 40;
                snprintf(options.reduce, sizeof options.reduce, "repro");
            }
            run_digest(&options, want);
            options.prefetch = 2;
            struct hr_run_result result = run_train(&options);
            assert_string_equal(result.weights_digest, want);
            assert_true(result.prefetch_hits + result.prefetch_misses >= 3 * result.updates);
            hr_run_result_free(&result);
        }
}

/* Who is left has another share, in other parts; who comes back begins in the middle. */
static void losses_change_no_share(void **state)
{
    (void)state;
    static const char *const how[] = {"continue", "restart"};
    for (size_t i = 0; i < 2; i++)
        for (size_t h = 0; h < 2; h++)
            for (size_t accumulate = 1; accumulate <= 2; accumulate++) {
                char want[33];
                struct hr_train_options options = options_of(i, 0, "thread");
                options.accumulate = accumulate;
                snprintf(options.on_loss, sizeof options.on_loss, "%s", how[h]);
                snprintf(options.inject, sizeof options.inject, "kill:1@step=3");
                run_digest(&options, want);
                options.prefetch = 2;
                CHECK_DIGEST(&options, want);
            }
}

/* The loaders are gone when a run has failed: the next ones are as good. */
static void a_run_that_fails_ends_cleanly(void **state)
{
    (void)state;
    for (size_t i = 0; i < 5; i++) {
        struct hr_run_result result;
        struct hr_train_options options = options_of(i, 2, "thread");
        options.workers = 2;
        options.lr = 1e6;
        options.epochs = 20;
        options.warmup_epochs = 0;
        CHECK_FAILS(hr_train(&options, run_digits(), NULL, &result), HR_E_DIVERGED);
    }
    struct hr_train_options options = options_of(0, 65, "thread");
    struct hr_run_result result;
    CHECK_FAILS(hr_train(&options, run_digits(), NULL, &result), HR_E_USAGE);
    CHECK_MESSAGE("--prefetch 65: expected 0 to 64");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hit_is_what_decoding_in_place_gives),
        cmocka_unit_test(it_goes_on_behind_a_miss),
        cmocka_unit_test(it_stops_at_once_whatever_it_is_doing),
        cmocka_unit_test(runs_have_the_bits_of_runs_without),
        cmocka_unit_test(hits_and_misses_count_all_batches),
        cmocka_unit_test(a_model_may_begin_in_place),
        cmocka_unit_test(parts_follow_each_other),
        cmocka_unit_test(parts_are_decoded_ahead),
        cmocka_unit_test(losses_change_no_share),
        cmocka_unit_test(a_run_that_fails_ends_cleanly),
    };
    return cmocka_run_group_tests(tests, run_processes, NULL);
}
