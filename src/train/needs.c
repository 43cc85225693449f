/* The memory that a run will take, asked of each part before it is allocated. */
#include "train/needs.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "hogring/checkpoint.h"
#include "session/saved.h"
#include "server/server.h"
#include "strategy/compression.h"
#include "worker/compute_buffers.h"
#include "worker/input.h"
#include "worker/staged.h"
#include "train/run.h"
#include "train/several.h"

/* Received gradients that a collective keeps: none where ranks add in each other's memory. */
static size_t received_bytes(const struct hr_run *run)
{
    const struct hr_shared_state *shared = &run->shared;
    const struct hr_group_options *o = &shared->group_options;
    const bool keeps = o->copies || o->algorithm == &hr_allreduce_one_shot;
    return keeps && !hr_strategy_is_served(shared->strategy) && !hr_compression_of(shared)
               ? shared->params * sizeof(float)
               : 0;
}

/* Address space of a thread's stack: as much as it may grow to. */
static size_t stack_bytes(void)
{
    struct rlimit most;
    const bool limited = getrlimit(RLIMIT_STACK, &most) == 0 && most.rlim_cur != RLIM_INFINITY;
    return limited ? (size_t)most.rlim_cur : (size_t)2 << 20;
}

/* What servers, and whoever plays all ranks, take for themselves. */
static void add_owners(const struct hr_run *run, struct hr_needs *needs)
{
    const struct hr_shared_state *shared = &run->shared;
    const size_t bytes = hr_shard_bytes(shared);
    hr_needs_add(needs, "servers", shared->servers, bytes);
    if (shared->servers && !run->job.played && run->job.launch == HR_LAUNCH_PROCESS)
        needs->apart += (shared->servers - 1) * bytes;
    if (run->drive.driver->bytes)
        hr_needs_add(needs, "ranks that are played", 1, run->drive.driver->bytes(shared));
}

/* The optimizer's state, and what else a worker's start takes. */
static size_t worker_bytes(const struct hr_shared_state *shared)
{
    const struct hr_strategy *strategy = shared->strategy;
    return hr_rows_worker_floats(shared) * sizeof(float) +
           (strategy->worker_bytes ? strategy->worker_bytes(shared) : 0);
}

/* Workers whose stage in that seat lives here. */
static size_t stages_here(const struct hr_run *run, size_t seat)
{
    size_t here = 0;
    for (size_t w = 0; w < run->shared.workers; w++)
        here += hr_homes_here(&run->shared.homes, hr_staged_rank(&run->job, w, seat));
    return here;
}

/* Private memory for computing. Processes each map only their own. */
static void add_private(const struct hr_run *run, struct hr_needs *needs)
{
    const struct hr_shared_state *shared = &run->shared;
    const size_t here = hr_workers_here(shared);
    const bool played = run->job.played, prefetches = hr_train_job_prefetches(&run->job);
    const size_t buffers =
        played ? run->drive.driver->threads(run->job.options) : hr_buffer_pool_size(&run->job);
    const size_t before = needs->bytes;
    size_t for_evaluation;
    const size_t buffer_bytes = hr_compute_buffers_bytes(&run->job, &for_evaluation);
    hr_needs_add(needs, "activations", buffers, buffer_bytes - for_evaluation);
    hr_needs_add(needs, "evaluation", buffers, for_evaluation);
    for (size_t k = 1; !played && run->job.pipeline && k < run->job.pipeline->seats; k++)
        hr_needs_add(needs, "activations", stages_here(run, k),
                     hr_stage_bytes(run->job.pipeline, k));
    if (played && run->job.pipeline && !run->job.pipeline->options.schedule->synchronous)
        hr_needs_add(needs, "stashed weights", here, hr_versions_bytes(run->job.pipeline));
    hr_needs_add(needs, "optimizer state", here, worker_bytes(shared));
    hr_needs_add(needs, "compression", here, hr_compression_worker_bytes(shared));
    hr_needs_add(needs, "received gradients", here, received_bytes(run));
    if (prefetches)
        hr_needs_add(needs, "prefetch", here,
                     hr_prefetch_bytes(&run->job, run->job.options->prefetch));
    if (!played && run->job.launch == HR_LAUNCH_PROCESS)
        needs->apart += here ? (needs->bytes - before) / here * (here - 1) : 0;
    else
        needs->reserved +=
            ((played ? buffers : run->job.nranks) + prefetches * here) * stack_bytes();
    if (shared->update_threads > 1)
        needs->reserved += here * (shared->update_threads - 1) * stack_bytes();
}

enum hr_status hr_run_needs(struct hr_run *run, const struct hr_checkpoint *checkpoint,
                            struct hr_needs *needs)
{
    const struct hr_shared_state *shared = &run->shared;
    hr_needs_add_taken(needs, "data", hr_dataset_bytes(run->job.dataset));
    if (checkpoint)
        hr_needs_add_taken(needs, "checkpoint", hr_saved_bytes(checkpoint));
    else if (run->job.options->init_weights[0])
        hr_needs_add(needs, "initial weights", shared->params, sizeof(float));
    HR_TRY(hr_memory_needs(run, needs));
    if (run->machines)
        hr_needs_add(needs, "alike on machines", 1, hr_several_bytes(run));
    add_private(run, needs);
    add_owners(run, needs);
    needs->reserved += run->leader.cuts.saves * stack_bytes(); /* of who writes them */
    return HR_OK;
}
