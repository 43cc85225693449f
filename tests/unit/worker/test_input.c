/* What workers compute from: each pass over the data is an exact permutation, whatever an epoch, a
 * batch or the number of workers is. */
#include <stdlib.h>
#include <string.h>

#include "support/runs.h"
#include "worker/input.h"
#include "worker/job.h"
#include "strategies/strategies.h"

enum { BATCH = 16, PASSES = 3 };

static int compare_hashes(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* FNV-1a over a sample and its label. */
static uint64_t hash_of(const float *x, size_t features, uint32_t label)
{
    uint64_t hash = 0xcbf29ce484222325u ^ label;
    for (size_t i = 0; i < features; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        hash = (hash ^ bits) * 0x100000001b3u;
    }
    return hash;
}

static struct hr_train_job job_of(const struct hr_train_options *options, const char *strategy,
                                  struct hr_shared_state *shared)
{
    const struct hr_train_job job = {.options = options, .dataset = run_digits(), .shared = shared};
    *shared = (struct hr_shared_state){0};
    struct hr_batch_schedule *schedule = &shared->schedule;
    CHECK_OK(hr_strategy_find(strategy, 1, &shared->strategy));
    shared->workers = options->workers;
    schedule->pass = run_digits()->train.count;
    schedule->samples = options->epoch_size;
    schedule->batch = BATCH * (shared->strategy->synchronous ? options->workers : 1);
    schedule->batches_per_epoch = (schedule->samples + schedule->batch - 1) / schedule->batch;
    return job;
}

/* The hashes of the first `count` samples that all workers decode, in order of position. */
static void hash_stream(const struct hr_train_job *job, uint64_t *hashes, size_t count)
{
    const size_t features = hr_shape_elems(job->dataset->shape);
    const size_t ranks = job->shared->strategy->synchronous ? job->shared->workers : 1;
    static float x[BATCH * 64];
    static uint32_t y[BATCH];
    struct hr_input input[8];
    size_t n = 0;
    assert_int_equal(features, 64);
    for (size_t r = 0; r < ranks; r++)
        CHECK_OK(hr_input_init(&input[r], job, BATCH));
    for (uint64_t index = 0; n < count; index++)
        for (size_t r = 0; r < ranks; r++) {
            const struct hr_batch share = hr_input_share(job, r, ranks, index);
            hr_input_decode(&input[r], &share, x, y);
            for (size_t i = 0; i < share.count && n < count; i++)
                hashes[n++] = hash_of(x + i * features, features, y[i]);
        }
    for (size_t r = 0; r < ranks; r++)
        hr_input_fini(&input[r]);
}

/* In the order of the file. */
static void hash_training_split(uint64_t *hashes)
{
    const struct hr_dataset *digits = run_digits();
    for (uint32_t i = 0; i < digits->train.count; i++) {
        float x[64];
        uint32_t y;
        hr_dataset_gather(digits, &digits->train, &i, 1, x, &y);
        hashes[i] = hash_of(x, 64, y);
    }
}

static void check_passes(const char *strategy, size_t workers, size_t epoch_size)
{
    const size_t pass = run_digits()->train.count;
    struct hr_train_options options = run_options(strategy, workers);
    uint64_t *want = malloc(pass * sizeof *want), *got = malloc(PASSES * pass * sizeof *got);
    assert_true(want && got);
    options.epoch_size = epoch_size;
    struct hr_shared_state shared;
    const struct hr_train_job job = job_of(&options, strategy, &shared);
    hash_training_split(want);
    hash_stream(&job, got, PASSES * pass);
    assert_memory_not_equal(got, want, pass * sizeof *want);       /* shuffled, */
    assert_memory_not_equal(got, got + pass, pass * sizeof *want); /* each pass in its own way */
    qsort(want, pass, sizeof *want, compare_hashes);
    for (size_t p = 0; p < PASSES; p++) {
        qsort(got + p * pass, pass, sizeof *got, compare_hashes);
        assert_memory_equal(got + p * pass, want, pass * sizeof *want);
    }
    free(want);
    free(got);
}

/* Long rows are evaluated a few at a time, whatever they are stored as; images in whole blocks. */
static void evaluation_takes_few_long_rows_at_a_time(void **state)
{
    (void)state;
    struct hr_dataset d = {.features = HR_FEATURES_FLOATS, .shape = {2000000, 1, 1}};
    assert_int_equal(hr_input_eval_rows(&d), 1);
    d.shape.channels = 20000;
    assert_int_equal(hr_input_eval_rows(&d), 96);
    d.features = HR_FEATURES_SPARSE;
    assert_int_equal(hr_input_eval_rows(&d), 96);
    d = (struct hr_dataset){.features = HR_FEATURES_BYTES, .shape = {3, 224, 224}};
    assert_int_equal(hr_input_eval_rows(&d), HR_EVAL_BLOCK);
}

static void every_pass_has_each_sample_once_for_any_epoch_and_workers(void **state)
{
    (void)state;
    static const size_t workers[] = {1, 2, 3, 7}, sizes[] = {1, 15, 500, 1437, 1438, 1439, 3000};
    for (size_t w = 0; w < sizeof workers / sizeof *workers; w++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            check_passes("allreduce", workers[w], sizes[s]);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        check_passes("hogwild", 2, sizes[s]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(evaluation_takes_few_long_rows_at_a_time),
        cmocka_unit_test(every_pass_has_each_sample_once_for_any_epoch_and_workers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
