/* Does a run fit into memory, and if not, which options would? The run is prepared only. */
#include <stdio.h>
#include <stdlib.h>

#include "sparse/engine.h"
#include "train/needs.h"
#include "train/run.h"
#include "train/task.h"

enum hr_status hr_train_needs(const struct hr_train_options *options,
                              const struct hr_dataset *dataset, struct hr_needs *out)
{
    if (hr_sparse_is_model(options->model))
        return hr_sparse_needs(options, dataset, out);
    struct hr_run *run = calloc(1, sizeof *run);
    if (!run)
        return hr_fail(HR_E_NOMEM, "no memory for a run");
    hr_run_begin(run, &(struct hr_train_call){.options = options, .dataset = dataset});
    enum hr_status status = hr_run_prepare(run);
    if (status == HR_OK)
        status = hr_run_needs(run, NULL, out);
    hr_run_finish(run);
    return status;
}

static bool would_fit(const struct hr_train_options *options, const struct hr_dataset *dataset)
{
    struct hr_needs needs = {0};
    const struct hr_memory there = hr_memory_there_is();
    return hr_train_needs(options, dataset, &needs) == HR_OK && hr_needs_fit(&needs, &there);
}

/* Halve `number`, a field of `options`, until the run fits. */
static bool halve(const struct hr_train_options *options, const struct hr_dataset *dataset,
                  size_t *number)
{
    while (*number > 1) {
        *number /= 2;
        if (would_fit(options, dataset))
            return true;
    }
    return false;
}

/* "--workers 4 would fit", or fewer samples a batch, or both; "" when nothing helps. */
static void advise(const struct hr_train_options *options, const struct hr_dataset *dataset,
                   char *text, size_t size)
{
    struct hr_train_options less = *options;
    const bool global = less.global_batch_size > 0;
    size_t *batch = global ? &less.global_batch_size : &less.batch_size;
    const char *flag = global ? "global-batch-size" : "batch-size";
    text[0] = '\0';
    if (halve(&less, dataset, &less.workers)) {
        snprintf(text, size, "--workers %zu would fit", less.workers);
        return;
    }
    less.workers = options->workers;
    if (halve(&less, dataset, batch)) {
        snprintf(text, size, "--%s %zu would fit", flag, *batch);
        return;
    }
    *batch = global ? options->global_batch_size : options->batch_size;
    less.workers = 1;
    if (halve(&less, dataset, batch))
        snprintf(text, size, "--workers 1 --%s %zu would fit", flag, *batch);
}

enum hr_status hr_run_fits(const struct hr_train_options *options, const struct hr_dataset *dataset,
                           const struct hr_needs *needs)
{
    char advice[80];
    const struct hr_memory there = hr_memory_there_is();
    if (hr_needs_fit(needs, &there))
        return HR_OK;
    advise(options, dataset, advice, sizeof advice);
    return hr_needs_check(needs, "this run needs", advice);
}

enum hr_status hr_train_admit(const void *options, struct hr_shape shape)
{
    struct hr_needs needs = {0};
    struct hr_train_options asked = *(const struct hr_train_options *)options;
    const struct hr_dataset least = {.name = "data",
                                     .shape = shape,
                                     .features = HR_FEATURES_FLOATS,
                                     .scale = 1,
                                     .train = {.count = 1},
                                     .test = {.count = 1}};
    if (hr_sparse_is_model(asked.model))
        return HR_OK;              /* its rows are kept as they are read */
    asked.validation_fraction = 0; /* nobody can hold out a part of one sample */
    HR_TRY(hr_train_needs(&asked, &least, &needs));
    return hr_run_fits(&asked, &least, &needs);
}

enum hr_status hr_train_check(const struct hr_train_options *options,
                              const struct hr_dataset *dataset)
{
    struct hr_needs needs = {0};
    if (hr_sparse_is_model(options->model))
        return hr_sparse_check_run(options, dataset);
    HR_TRY(hr_task_check(options, dataset));
    HR_TRY(hr_train_needs(options, dataset, &needs));
    return hr_run_fits(options, dataset, &needs);
}
