/* What a run takes: asked of whoever will take it, before anything is taken. */
#include "train/needs.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "hogring/checkpoint.h"
#include "session/saved.h"
#include "sparse/engine.h"
#include "trace/trace.h"
#include "train/play.h"
#include "train/prefetch.h"
#include "train/record.h"

/* --- the sum --- */

/* What a collective keeps of what peers sent: nothing where they add in each other's memory. */
static size_t received_bytes(const struct hr_run *run)
{
    const struct hr_shared_state *shared = &run->shared;
    const struct hr_group_options *o = &shared->group_options;
    const bool keeps = o->copies || o->algorithm == &hr_allreduce_one_shot;
    return keeps && !shared->strategy->served ? shared->params * sizeof(float) : 0;
}

/* Of the whole address space a thread's stack takes as much as it may grow to. */
static size_t stack_bytes(void)
{
    struct rlimit most;
    const bool limited = getrlimit(RLIMIT_STACK, &most) == 0 && most.rlim_cur != RLIM_INFINITY;
    return limited ? (size_t)most.rlim_cur : (size_t)2 << 20;
}

/* Private memory of those who compute. As processes each maps its own alone. */
static void add_private(const struct hr_run *run, struct hr_needs *needs)
{
    const struct hr_shared_state *shared = &run->shared;
    const bool played = hr_run_is_played(run), prefetches = hr_run_prefetches(run);
    const size_t devices = played ? hr_play_threads(run) : shared->workers;
    const size_t before = needs->bytes;
    size_t for_evaluation;
    const size_t device = hr_device_bytes(run, &for_evaluation);
    hr_needs_add(needs, "activations", devices, device - for_evaluation);
    hr_needs_add(needs, "evaluation", devices, for_evaluation);
    if (shared->strategy->worker_bytes)
        hr_needs_add(needs, "optimizer state", shared->workers,
                     shared->strategy->worker_bytes(shared));
    hr_needs_add(needs, "received gradients", shared->workers, received_bytes(run));
    if (prefetches)
        hr_needs_add(needs, "prefetch", shared->workers,
                     hr_prefetch_bytes(run, run->options->prefetch));
    if (!played && run->launch == HR_LAUNCH_PROCESS)
        needs->apart += (needs->bytes - before) / shared->workers * (shared->workers - 1);
    else
        needs->reserved +=
            ((played ? devices : run->nranks) + prefetches * shared->workers) * stack_bytes();
}

enum hr_status hr_run_needs(struct hr_run *run, const struct hr_checkpoint *checkpoint,
                            struct hr_needs *needs)
{
    const struct hr_shared_state *shared = &run->shared;
    hr_needs_add_taken(needs, "data", hr_dataset_bytes(run->dataset));
    if (checkpoint)
        hr_needs_add_taken(needs, "checkpoint", hr_saved_bytes(checkpoint));
    else if (run->options->init_weights[0])
        hr_needs_add(needs, "initial weights", shared->params, sizeof(float));
    HR_TRY(hr_memory_needs(run, needs));
    add_private(run, needs);
    if (run->options->record[0])
        hr_needs_add(needs, "trace", hr_record_owners(run), HR_TRACE_BUFFER);
    return HR_OK;
}

/* --- what would fit --- */

static bool would_fit(const struct hr_train_options *options, const struct hr_dataset *dataset)
{
    struct hr_needs needs = {0};
    const struct hr_memory there = hr_memory_there_is();
    return hr_train_needs(options, dataset, &needs) == HR_OK && hr_needs_fit(&needs, &there);
}

/* Halve `number` until a run with these options, of which it is one, fits. */
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
    const struct hr_dataset least = {.name = "data",
                                     .shape = shape,
                                     .features = HR_FEATURES_FLOATS,
                                     .scale = 1,
                                     .train = {.count = 1},
                                     .test = {.count = 1}};
    if (hr_sparse_is_model(((const struct hr_train_options *)options)->model))
        return HR_OK; /* its rows stay as they are read */
    HR_TRY(hr_train_needs(options, &least, &needs));
    return hr_run_fits(options, &least, &needs);
}
