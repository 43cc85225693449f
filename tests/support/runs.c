#include "support/runs.h"

#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hogring/checkpoint.h"
#include "hogring/replay.h"

const struct hr_dataset *run_digits(void)
{
    static struct hr_dataset digits;
    if (!digits.storage)
        CHECK_OK(hr_dataset_open("digits", &digits));
    return &digits;
}

const struct hr_dataset *run_tiny(void)
{
    static const float values[][2] = {{1, 2}, {-1, 1}, {2, -1}, {-2, -1}, {0.5f, 3}, {1, -3}};
    static const uint32_t labels[] = {0, 1, 0, 1, 0, 1};
    static const struct hr_dataset tiny = {
        .name = "tiny",
        .format = "csv",
        .shape = {1, 1, 2},
        .features = HR_FEATURES_FLOATS,
        .classes = 2,
        .scale = 1,
        .train = {.count = 6, .values = values[0], .labels = labels},
        .test = {.count = 2, .values = values[0], .labels = labels},
    };
    return &tiny;
}

/* Functions of the pixels, and of the sample's number as noise. */
static void make_targets(const struct hr_split *split, double *values)
{
    enum { PIXELS = 64 };
    for (size_t i = 0; i < split->count; i++) {
        const uint8_t *pixels = split->pixels + i * PIXELS;
        double ink = 0, tilt = 0;
        for (size_t p = 0; p < PIXELS; p++) {
            ink += pixels[p];
            tilt += pixels[p] * ((double)(p % 8) - 3.5);
        }
        values[2 * i] = 1e9 + ink / 16 + (double)(i % 7) / 10;
        values[2 * i + 1] = -2000 + tilt * 1e-4;
    }
}

const struct hr_dataset *run_values(void)
{
    static const char *const names[] = {"ink", "tilt"};
    static struct hr_dataset values;
    if (values.targets.count)
        return &values;
    values = *run_digits();
    const size_t train = values.train.count, rows = train + values.test.count;
    double *targets = malloc(2 * rows * sizeof *targets);
    uint32_t *labels = malloc(rows * sizeof *labels);
    assert_true(targets && labels);
    make_targets(&values.train, targets);
    make_targets(&values.test, targets + 2 * train);
    for (size_t i = 0; i < rows; i++)
        labels[i] = (uint32_t)i;
    values.classes = 0;
    values.train.labels = labels;
    values.test.labels = labels + train;
    values.targets = (struct hr_targets){2, rows, targets, names};
    return &values;
}

const struct hr_dataset *run_text(void)
{
    static const char *const words[] = {"a", "tree", "of", "sums", "has", "one", "order", "and"};
    static struct hr_dataset text;
    struct hr_data_options options;
    char folder[64], path[80];
    if (text.storage)
        return &text;
    run_folder_make(folder);
    snprintf(path, sizeof path, "%s/text.txt", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (uint32_t i = 0; i < 2000; i++)
        fprintf(file, "%s%c", words[i * i % 61 % 8], i % 7 == 6 ? '\n' : ' ');
    fclose(file);
    hr_data_defaults(&options);
    options.context = 16;
    CHECK_OK(hr_dataset_open_with(path, &options, &text));
    run_folder_remove(folder);
    return &text;
}

static const struct hr_dataset *chosen;

void run_on(const struct hr_dataset *dataset)
{
    chosen = dataset;
}

static const struct hr_dataset *trained_on(void)
{
    return chosen ? chosen : run_digits();
}

struct hr_train_options run_options(const char *strategy, size_t workers)
{
    struct hr_train_options options;
    hr_train_defaults(&options);
    snprintf(options.strategy, sizeof options.strategy, "%s", strategy);
    snprintf(options.model, sizeof options.model, "flatten, dense 11, relu, dense 10");
    snprintf(options.lr_schedule, sizeof options.lr_schedule, "cosine");
#ifdef HR_NO_BLAS
    snprintf(options.kernels, sizeof options.kernels, "reference");
#endif
    options.workers = workers;
    options.batch_size = 16;
    options.epochs = 2;
    options.warmup_epochs = 0.25;
    options.weight_decay = 1e-4;
    options.seed = check_seed();
    return options;
}

struct hr_run_result run_train(const struct hr_train_options *options)
{
    struct hr_run_result result;
    CHECK_OK(hr_train(options, trained_on(), NULL, &result));
    return result;
}

void run_digest(const struct hr_train_options *options, char digest[33])
{
    struct hr_run_result result = run_train(options);
    memcpy(digest, result.weights_digest, 33);
    hr_run_result_free(&result);
}

void check_digest_(const struct hr_train_options *options, const char *want, const char *file,
                   int line)
{
    char got[33];
    run_digest(options, got);
    if (!strcmp(got, want))
        return;
    print_error("%s, %zu workers, %zu servers, %s, %s, %s: weights %s, wanted %s (seed %llu)\n",
                options->strategy, options->workers, options->servers, options->algorithm,
                options->launch, options->schedule, got, want, (unsigned long long)options->seed);
    _fail(file, line);
}

void run_folder_make(char path[64])
{
    snprintf(path, 64, "/tmp/hogring-test-XXXXXX");
    assert_non_null(mkdtemp(path));
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info, (void)kind, (void)where;
    return remove(path);
}

void run_folder_remove(const char *path)
{
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

float *run_weights(struct hr_train_options options, size_t *params)
{
    struct hr_checkpoint checkpoint;
    char folder[64];
    run_folder_make(folder);
    snprintf(options.checkpoint_dir, sizeof options.checkpoint_dir, "%s", folder);
    struct hr_run_result result = run_train(&options);
    hr_run_result_free(&result);
    CHECK_OK(hr_checkpoint_load(folder, &checkpoint));
    *params = result.params;
    float *weights = malloc(*params * sizeof *weights), *at = weights;
    assert_non_null(weights);
    for (size_t i = 0; i < checkpoint.model.ntensors; i++) {
        if (checkpoint.model.tensors[i].dtype != HR_F32) /* batchnorm's counter */
            continue;
        memcpy(at, checkpoint.model.tensors[i].data, checkpoint.model.tensors[i].bytes);
        at += checkpoint.model.tensors[i].bytes / sizeof *at;
    }
    hr_checkpoint_free(&checkpoint);
    run_folder_remove(folder);
    return weights;
}

void run_check_near(struct hr_train_options a, struct hr_train_options b)
{
    size_t na, nb;
    float *wa = run_weights(a, &na), *wb = run_weights(b, &nb), largest = 0;
    assert_int_equal(na, nb);
    for (size_t i = 0; i < na; i++)
        largest = fmaxf(largest, fabsf(wa[i]));
    CHECK_NEAR_FLOATS(wa, wb, na, 0, 1e-5 * (double)largest);
    assert_memory_not_equal(wa, wb, na * sizeof *wa);
    free(wa);
    free(wb);
}

void run_check_order(struct hr_train_options options)
{
    char first[33], other[33];
    snprintf(options.schedule, sizeof options.schedule, "explore:7");
    run_digest(&options, first);
    CHECK_DIGEST(&options, first);
    snprintf(options.schedule, sizeof options.schedule, "explore:8");
    run_digest(&options, other);
    assert_string_not_equal(first, other);
}

void run_check_replay(struct hr_train_options options)
{
    char folder[64], want[33];
    struct hr_replay *replay;
    run_folder_make(folder);
    snprintf(options.record, sizeof options.record, "%.50s/trace", folder);
    run_digest(&options, want);
    struct hr_run_result result;
    CHECK_OK(hr_replay_open(options.record, &replay));
    CHECK_OK(hr_replay_run(replay, trained_on(), NULL, &result));
    assert_string_equal(result.weights_digest, want);
    hr_run_result_free(&result);
    hr_replay_close(replay);
    run_folder_remove(folder);
}

void run_check_resume(struct hr_train_options options, uint64_t k, const char *want)
{
    char folder[64];
    run_folder_make(folder);
    snprintf(options.checkpoint_dir, sizeof options.checkpoint_dir, "%s", folder);
    options.max_steps = k;
    struct hr_run_result result = run_train(&options);
    hr_run_result_free(&result);
    options.max_steps = 0;
    snprintf(options.resume, sizeof options.resume, "%s", folder);
    CHECK_DIGEST(&options, want);
    run_folder_remove(folder);
}
