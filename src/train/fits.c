/* Does a run fit into memory, and if not, which options would? The run is prepared only. */
#include <stdio.h>
#include <stdlib.h>

#include "options/train_options.h"
#include "sparse/engine.h"
#include "train/shared_memory.h"
#include "train/run.h"

/* read: the data is that of the run, else of its shape alone. */
static enum hr_status plan(const struct hr_train_call *call, bool read, struct hr_needs *out)
{
    char note[HR_BATCHNORM_NOTE];
    struct hr_run *run = calloc(1, sizeof *run);
    if (!run)
        return hr_fail(HR_E_NOMEM, "no memory for a run");
    hr_run_begin(run, call);
    enum hr_status status = hr_run_prepare(run);
    if (status == HR_OK && read)
        status = hr_batchnorm_check(run, note, sizeof note);
    if (status == HR_OK)
        status = hr_run_needs(run, NULL, out);
    hr_run_finish(run);
    return status;
}

enum hr_status hr_train_needs(const struct hr_train_options *options,
                              const struct hr_dataset *dataset, struct hr_needs *out)
{
    if (hr_sparse_is_model(options->model))
        return hr_sparse_needs(options, dataset, out);
    return plan(&(struct hr_train_call){.options = options, .dataset = dataset}, true, out);
}

static bool would_fit(const struct hr_train_call *call)
{
    struct hr_needs needs = {0};
    const struct hr_memory there = hr_memory_there_is();
    return plan(call, false, &needs) == HR_OK && hr_needs_fit(&needs, &there);
}

/* Halve `number`, a field of the call's options, until the run fits. */
static bool halve(const struct hr_train_call *call, size_t *number)
{
    while (*number > 1) {
        *number /= 2;
        if (would_fit(call))
            return true;
    }
    return false;
}

/* "--workers 4 would fit", or fewer samples per batch, or both; "" when nothing helps. */
static void advise(const struct hr_train_call *call, char *text, size_t size)
{
    const struct hr_train_options *options = call->options;
    struct hr_train_options less = *options;
    struct hr_train_call of_less = *call;
    const bool global = less.global_batch_size > 0;
    size_t *batch = global ? &less.global_batch_size : &less.batch_size;
    const char *flag = global ? "global-batch-size" : "batch-size";
    text[0] = '\0';
    of_less.options = &less;
    if (halve(&of_less, &less.workers)) {
        snprintf(text, size, "--workers %zu would fit", less.workers);
        return;
    }
    less.workers = options->workers;
    if (halve(&of_less, batch)) {
        snprintf(text, size, "--%s %zu would fit", flag, *batch);
        return;
    }
    *batch = global ? options->global_batch_size : options->batch_size;
    less.workers = 1;
    if (halve(&of_less, batch))
        snprintf(text, size, "--workers 1 --%s %zu would fit", flag, *batch);
}

enum hr_status hr_run_fits(const struct hr_train_call *call, const struct hr_needs *needs)
{
    char advice[80];
    const struct hr_memory there = hr_memory_there_is();
    if (hr_needs_fit(needs, &there))
        return HR_OK;
    advise(call, advice, sizeof advice);
    return hr_needs_check(needs, "this run needs", advice);
}

void hr_train_leave_machines(struct hr_train_options *asked)
{
    snprintf(asked->aggregate, sizeof asked->aggregate, "none");
    snprintf(asked->server_placement, sizeof asked->server_placement, "spread");
}

enum hr_status hr_train_admit(const void *arg, struct hr_shape shape)
{
    const struct hr_train_plan *of = arg;
    struct hr_needs needs = {0};
    struct hr_train_options asked = *of->options;
    const struct hr_dataset least = {.name = "data",
                                     .shape = shape,
                                     .features = HR_FEATURES_FLOATS,
                                     .scale = 1,
                                     .train = {.count = 1},
                                     .test = {.count = 1}};
    if (hr_sparse_is_model(asked.model))
        return HR_OK;              /* its rows are kept as they are read */
    asked.validation_fraction = 0; /* nobody can hold out a part of one sample */
    if (!of->machines || asked.resume[0])
        hr_train_leave_machines(&asked);
    const struct hr_train_call call = {
        .options = &asked, .dataset = &least, .machines = of->machines};
    HR_TRY(plan(&call, false, &needs));
    return hr_run_fits(&call, &needs);
}

enum hr_status hr_train_check(const struct hr_train_options *options,
                              const struct hr_dataset *dataset)
{
    struct hr_needs needs = {0};
    struct hr_train_options own;
    HR_TRY(hr_train_options_take(options, &own));
    if (hr_sparse_is_model(own.model))
        return hr_sparse_check_run(&own, dataset);
    HR_TRY(hr_task_check(&own, dataset));
    HR_TRY(hr_train_needs(&own, dataset, &needs));
    return hr_run_fits(&(struct hr_train_call){.options = &own, .dataset = dataset}, &needs);
}
