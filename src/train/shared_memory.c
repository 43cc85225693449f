/* What the ranks of a run share: one segment, laid out. */
#include "train/shared_memory.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "drive/calibrate.h"
#include "drive/record.h"
#include "hogring/checkpoint.h"
#include "server/server.h"
#include "server/staleness.h"
#include "session/carve.h"
#include "session/class_scores.h"
#include "session/saved.h"
#include "strategy/compression.h"
#include "strategy/lost_batches.h"
#include "strategy/pause.h"
#include "strategy/peers.h"
#include "strategy/shared.h"
#include "train/run.h"
#include "worker/compute_buffers.h"
#include "worker/input.h"
#include "worker/staged.h"
#include "worker/worker.h"

static void lay_out_parts(struct hr_carver *to, const char *what,
                          const struct hr_shared_state *shared, struct hr_snapshot *snapshot)
{
    struct hr_snapshot_part part[HR_SNAPSHOT_PARTS];
    const size_t n = hr_snapshot_parts(shared, snapshot, part);
    for (size_t i = 0; i < n; i++) {
        const size_t bytes = part[i].bytes * part[i].copies;
        hr_snapshot_place(snapshot, &part[i],
                          part[i].floats ? hr_carve_arena(to, what, bytes / sizeof(float))
                                         : hr_carve(to, what, bytes));
    }
}

static const char counts[] = "counters and curve";

/* What a run needs to outlive the ranks that it loses. */
static void lay_out_losses(struct hr_run *run, struct hr_carver *to)
{
    static const char what[] = "to outlive lost ranks";
    struct hr_shared_state *shared = &run->shared;
    shared->returned = hr_carve(to, what, hr_returned_bytes(hr_returned_room(shared)));
    shared->lost_work = hr_carve(to, what, shared->workers * sizeof *shared->lost_work);
    if (!shared->outlives)
        return;
    shared->kept_staleness = hr_carve(to, counts, hr_staleness_kept_bytes(shared));
    if (hr_batch_states_bytes(shared))
        shared->batch_states = hr_carve(to, what, hr_batch_states_bytes(shared));
    run->drive.losses.resumptions = hr_carve(to, what, sizeof *run->drive.losses.resumptions);
    run->drive.losses.again_ns =
        hr_carve(to, what, run->job.nranks * sizeof *run->drive.losses.again_ns);
    run->drive.losses.comes = hr_carve(to, what, run->job.nranks * sizeof *run->drive.losses.comes);
    run->drive.losses.reported =
        hr_carve(to, what, run->job.nranks * sizeof *run->drive.losses.reported);
    if (hr_rows_worker_floats(shared))
        shared->states = hr_carve_arena(to, what, shared->workers * hr_rows_worker_floats(shared));
    shared->last_cut = hr_carve(to, what, sizeof *shared->last_cut);
    struct hr_snapshot there = shared->snapshot;
    lay_out_parts(to, what, shared, &there);
    if (shared->last_cut)
        *shared->last_cut = there;
}

static const char copy[] = "copies to evaluate and save";

static void lay_out_best(struct hr_run *run, struct hr_carver *to)
{
    static const char what[] = "best weights";
    struct hr_best_weights *best = &run->job.best;
    if (!run->leader.cuts.early_stop.asked)
        return;
    best->params = run->shared.params;
    best->kept = hr_carve(to, what, sizeof *best->kept);
    for (size_t i = 0; i < 2; i++)
        best->place[i] = hr_carve_arena(to, what, best->params);
}

/* The copy of a pause. */
static void lay_out_pause(struct hr_run *run, struct hr_carver *to)
{
    static const char what[] = "copy to save";
    struct hr_shared_state *shared = &run->shared;
    const struct hr_batch_schedule *schedule = &shared->schedule;
    const size_t workers = shared->workers;
    if (!schedule->pauses || !run->leader.cuts.saves)
        return;
    struct hr_pause *const pause = hr_carve(to, what, sizeof *pause);
    struct hr_pause there = {.room = hr_pause_room(shared)};
    there.snapshot = shared->snapshot;
    there.snapshot.tied = shared->strategy->rows.since;
    there.snapshot.replica_copies = there.snapshot.tied ? workers : 0;
    lay_out_parts(to, what, shared, &there.snapshot);
    there.snapshot.losses = hr_carve(to, what, sizeof *there.snapshot.losses);
    there.snapshot.shares = hr_carve(to, what, workers * sizeof *there.snapshot.shares);
    there.worker = hr_carve(to, what, workers * sizeof *there.worker);
    there.hand = hr_carve(to, what, there.room * sizeof *there.hand);
    there.saved_hands = hr_carve(to, what, there.room * 2 * sizeof *there.saved_hands);
    shared->pause = pause;
    if (pause)
        *pause = there;
}

/* Records of ranks, for who looks on. */
static void lay_out_feed(struct hr_run *run, struct hr_carver *to)
{
    struct hr_feed *feed = &run->shared.feed;
    if (!run->machines) { /* else machine 0's observer has wanted them */
        feed->steps = run->launcher.observer->stepped != NULL;
        feed->spans = run->launcher.observer->spanned != NULL;
        feed->spans_from = run->launcher.observer->spans_from;
        feed->spans_to = run->launcher.observer->spans_to;
    }
    if (!feed->steps && !feed->spans)
        return;
    feed->nranks = run->job.nranks;
    feed->slots = HR_FEED_SLOTS;
    feed->memory = hr_carve(to, "records of steps", hr_feed_bytes(feed->nranks, feed->slots));
}

/* What the stages of pipelines hand over. One thread that runs them has memory of its own. */
static void lay_out_stages(struct hr_run *run, struct hr_carver *to)
{
    struct hr_train_job *job = &run->job;
    const struct hr_pipeline *pipeline = job->pipeline;
    const size_t workers = run->shared.workers;
    if (!pipeline)
        return;
    job->stage_accounts = hr_carve(to, "counters and curve",
                                   workers * pipeline->members * sizeof *job->stage_accounts);
    const size_t spans = job->serial || pipeline->options.streams
                             ? 0
                             : pipeline->ranks * hr_spans_of_a_stage(pipeline);
    if (spans)
        job->when = hr_carve(to, "counters and curve", spans * sizeof *job->when);
    if (!job->serial)
        job->stage_memory = hr_carve(to, "between stages", workers * hr_pipeline_bytes(pipeline));
}

/* The strategy's own. */
static void lay_out_own(struct hr_shared_state *shared, struct hr_carver *to)
{
    const char *what =
        hr_strategy_is_served(shared->strategy) ? "servers" : "shared by the workers";
    if (shared->strategy->bytes)
        shared->own = hr_carve(to, what, shared->strategy->bytes(shared));
    if (hr_peers_bytes(shared))
        shared->peers = hr_carve(to, what, hr_peers_bytes(shared));
}

struct group_bytes {
    size_t workers, leaders;
};

static enum hr_status count_groups(const struct hr_run *run, struct group_bytes *bytes)
{
    const struct hr_shared_state *shared = &run->shared;
    *bytes = (struct group_bytes){0};
    if (!run->drive.driver->local) /* else one thread's own memory */
        HR_TRY(hr_group_bytes(&shared->group_options, &bytes->workers));
    return shared->leaders.options.nranks
               ? hr_group_bytes(&shared->leaders.options, &bytes->leaders)
               : HR_OK;
}

/* What is measured of a test split at cuts, or once, when all ranks have ended. */
static void lay_out_tested(struct hr_carver *to, const struct hr_model *model,
                           const struct hr_dataset *dataset, struct hr_tested *out)
{
    const size_t blocks = hr_train_job_blocks(dataset), outputs = hr_model_outputs(model);
    const size_t samples = dataset->test.count, targets = dataset->targets.count;
    const bool answers = !targets && !dataset->tokens.context;
    const bool ranked = hr_class_scores_rank(dataset->classes, outputs);
    out->nblocks = blocks;
    out->answer_bytes = answers ? sizeof *out->answers : 0;
    out->output_bytes = ranked ? outputs * sizeof *out->outputs : 0;
    out->cells = hr_carve(to, counts, blocks * sizeof *out->cells);
    out->answers = hr_carve(to, counts, samples * out->answer_bytes);
    out->outputs = hr_carve(to, counts, samples * out->output_bytes);
    out->errors =
        hr_carve(to, counts, targets ? (blocks + 1) * 2 * targets * sizeof *out->errors : 0);
}

static enum hr_status lay_out(struct hr_run *run, struct hr_carver *to)
{
    struct hr_shared_state *shared = &run->shared;
    struct hr_leader *leader = &run->leader;
    struct group_bytes bytes;
    HR_TRY(count_groups(run, &bytes));
    run->job.cut = leader->cuts.cut = hr_carve(to, counts, sizeof *leader->cuts.cut);
    shared->dispenser = hr_carve(to, counts, sizeof *shared->dispenser);
    if (shared->dispenser && (!run->drive.replay || shared->schedule.pauses))
        leader->cuts.request = &shared->dispenser->save;
    shared->group = hr_carve(to, "rings", bytes.workers);
    shared->leaders.group = hr_carve(to, "rings", bytes.leaders);
    run->job.wires.free_at = hr_carve(to, "rings", hr_wires_bytes(&run->job.wires));
    shared->stats = hr_carve(to, counts, shared->workers * sizeof *shared->stats);
    shared->stragglers = hr_carve(to, counts, hr_stragglers_bytes(shared->workers));
    shared->active = hr_carve(
        to, counts, sizeof *shared->active + shared->workers * sizeof *shared->active->rank);
    shared->staleness = hr_carve(to, counts, hr_staleness_bytes(shared));
    lay_out_tested(to, run->job.model, run->job.dataset, &run->job.tested);
    if (run->final_test.dataset)
        lay_out_tested(to, run->job.model, run->final_test.dataset, &run->final_test.tested);
    leader->cuts.curve = hr_carve(to, counts, leader->cuts.curve_room * sizeof *leader->cuts.curve);
    lay_out_parts(to, copy, shared, &shared->snapshot);
    run->saver.copy = hr_carve(to, copy, hr_save_copy_bytes(&run->saver));
    lay_out_pause(run, to);
    lay_out_best(run, to);
    lay_out_losses(run, to);
    lay_out_stages(run, to);
    lay_out_feed(run, to);
    shared->snapshot.losses = hr_carve(to, copy, sizeof *shared->snapshot.losses);
    shared->snapshot.shares = hr_carve(to, copy, shared->workers * sizeof *shared->snapshot.shares);
    for (size_t w = 0; w < shared->workers; w++) {
        shared->weights[w] = hr_carve_arena(to, "weights and gradients", shared->params);
        shared->grads[w] = hr_carve_arena(to, "weights and gradients", shared->params);
    }
    lay_out_own(shared, to);
    if (shared->snapshot.live && to->base)
        shared->snapshot.weights = hr_rows_memory(shared);
    run->drive.record_tails = hr_carve(to, "trace", hr_record_bytes(&run->drive));
    hr_calibration_place(&run->drive,
                         hr_carve(to, "counters and curve", hr_calibration_bytes(&run->job)));
    shared->segment = to->base;
    return HR_OK;
}

static enum hr_status memory_needs(struct hr_run *run, struct hr_needs *needs)
{
    return lay_out(run, &(struct hr_carver){.needs = needs});
}

enum hr_status hr_memory_take(struct hr_run *run)
{
    struct hr_carver count = {0};
    if (run->drive.driver->local)
        HR_TRY(hr_local_group_create(&run->shared.group_options, &run->job.local));
    HR_TRY(lay_out(run, &count));
    HR_TRY(hr_segment_create(hr_control_bytes(run->job.nranks), true, &run->control_segment));
    HR_TRY(hr_segment_create(count.used, false, &run->segment));
    run->shared.control = run->control_segment.base;
    run->leader.cuts.control = run->shared.control;
    run->job.waits.abort = &run->shared.control->abort;
    hr_control_init(run->shared.control, run->job.nranks);
    hr_about_run(&run->shared.control->about, run->options.strategy, count.used);
    run->shared.control->about.tokens = run->job.dataset->tokens.context;
    run->shared.control->about.team = run->job.pipeline ? (uint32_t)run->job.pipeline->team : 0;
    return lay_out(run, &(struct hr_carver){.base = run->segment.base});
}

/* The memory that a run will take, asked of each part before it is allocated. */
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

/* What servers, and whoever runs all ranks, take for themselves. */
static void add_owners(const struct hr_run *run, struct hr_needs *needs)
{
    const struct hr_shared_state *shared = &run->shared;
    const size_t bytes = hr_shard_bytes(shared);
    hr_needs_add(needs, "servers", shared->servers, bytes);
    if (shared->servers && !run->job.serial && run->job.launch == HR_LAUNCH_PROCESS)
        needs->apart += (shared->servers - 1) * bytes;
    if (run->drive.driver->bytes)
        hr_needs_add(needs, "ranks that one thread runs", 1, run->drive.driver->bytes(shared));
}

/* The optimizer's state, and what else a worker's start takes. */
static size_t worker_bytes(const struct hr_shared_state *shared)
{
    const struct hr_strategy *strategy = shared->strategy;
    return hr_rows_worker_floats(shared) * sizeof(float) +
           (strategy->worker_bytes ? strategy->worker_bytes(shared) : 0);
}

/* Workers whose stage at that place of the pipeline lives here. */
static size_t stages_here(const struct hr_run *run, size_t member)
{
    size_t here = 0;
    for (size_t w = 0; w < run->shared.workers; w++)
        here += hr_hosts_here(&run->shared.hosts, hr_staged_rank(&run->job, w, member));
    return here;
}

/* Private memory for computing. Processes each map only their own. */
static void add_private(const struct hr_run *run, struct hr_needs *needs)
{
    const struct hr_shared_state *shared = &run->shared;
    const size_t here = hr_workers_here(shared);
    const bool serial = run->job.serial, prefetches = hr_train_job_prefetches(&run->job);
    const size_t buffers =
        serial ? run->drive.driver->threads(run->job.options) : hr_buffer_pool_size(&run->job);
    const size_t before = needs->bytes;
    size_t for_evaluation;
    const size_t buffer_bytes = hr_compute_buffers_bytes(&run->job, &for_evaluation);
    hr_needs_add(needs, "activations", buffers, buffer_bytes - for_evaluation);
    hr_needs_add(needs, "evaluation", buffers, for_evaluation);
    for (size_t k = 1; !serial && run->job.pipeline && k < run->job.pipeline->members; k++)
        hr_needs_add(needs, "activations", stages_here(run, k),
                     hr_stage_bytes(run->job.pipeline, k));
    if (serial && run->job.pipeline && !run->job.pipeline->options.schedule->synchronous)
        hr_needs_add(needs, "stashed weights", here, hr_versions_bytes(run->job.pipeline));
    hr_needs_add(needs, "optimizer state", here, worker_bytes(shared));
    hr_needs_add(needs, "compression", here, hr_compression_worker_bytes(shared));
    hr_needs_add(needs, "received gradients", here, received_bytes(run));
    if (prefetches)
        hr_needs_add(needs, "prefetch", here,
                     hr_prefetch_bytes(&run->job, run->job.options->prefetch));
    if (!serial && run->job.launch == HR_LAUNCH_PROCESS)
        needs->apart += here ? (needs->bytes - before) / here * (here - 1) : 0;
    else
        needs->reserved +=
            ((serial ? buffers : run->job.nranks) + prefetches * here) * stack_bytes();
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
    HR_TRY(memory_needs(run, needs));
    add_private(run, needs);
    add_owners(run, needs);
    needs->reserved += run->leader.cuts.saves * stack_bytes(); /* of who writes them */
    return HR_OK;
}
