/* From options to a run: settles, checks and sets up all constants; shared memory comes later. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpus.h"
#include "base/size.h"
#include "drive/record.h"
#include "drive/replay.h"
#include "kernels/select.h"
#include "options/choices.h"
#include "options/pairs.h"
#include "options/train_options.h"
#include "state/model_file.h"
#include "state/state.h"
#include "strategies/strategies.h"
#include "train/aggregate_setup.h"
#include "train/compress_setup.h"
#include "train/optimizer_setup.h"
#include "train/overlap_setup.h"
#include "train/pipeline_setup.h"
#include "train/run.h"
#include "train/several.h"
#include "worker/gradient.h"
#include "worker/input.h"

void hr_run_begin(struct hr_run *run, const struct hr_train_call *call)
{
    static const struct hr_observer nobody;
    run->options = *call->options;
    if (call->dataset->targets.count && hr_choices_of(&run->options).task == HR_TASK_AUTO)
        snprintf(run->options.task, sizeof run->options.task, "regress");
    run->job = (struct hr_train_job){.options = &run->options,
                                     .dataset = call->dataset,
                                     .conditions = {.times = call->times},
                                     .shared = &run->shared};
    run->launcher.observer = call->observer ? call->observer : &nobody;
    run->drive = (struct hr_drive){.job = &run->job,
                                   .leader = &run->leader,
                                   .launcher = &run->launcher,
                                   .replay = call->replay,
                                   .chooser = call->chooser};
    run->machines = call->machines;
}

void hr_run_finish(struct hr_run *run)
{
    hr_launcher_stop(&run->launcher);
    hr_record_abandon(&run->drive); /* unless it ended well */
    hr_claim_drop(&run->saver.claim);
    if (run->drive.stuck)
        return;
    hr_several_free(run);
    hr_losses_end(&run->drive.losses);
    hr_pipeline_destroy(run->job.pipeline);
    if (run->job.timer)
        hr_pipeline_timer_fini(run->job.timer);
    free(run->job.timer);
    hr_model_destroy(run->job.model);
    hr_scaling_free(&run->job.scaling);
    hr_target_scale_free(&run->job.values);
    hr_conditions_close(&run->job.conditions);
    hr_local_group_destroy(run->job.local);
    hr_wires_close(&run->job.wires);
    hr_held_out_close(&run->final_test.held_out);
    hr_resume_close(&run->resume);
    hr_strategy_forget(&run->shared);
    hr_compression_fini(&run->compression);
    free(run->tensors);
    free(run->shared.begins_with.index);
    free(run->shared.spans);
    free(run->shared.weights);
    hr_segment_destroy(&run->segment);
    hr_segment_destroy(&run->control_segment);
    free(run);
}

static enum hr_status count_ranks(struct hr_run *run)
{
    const struct hr_train_options *o = run->job.options;
    struct hr_shared_state *shared = &run->shared;
    shared->workers = o->workers;
    shared->servers = hr_strategy_is_served(shared->strategy) ? o->servers : 0;
    shared->colocated = shared->servers && run->job.choices.placement == HR_PLACEMENT_COLOCATED;
    run->job.nranks = shared->workers + (shared->colocated ? 0 : shared->servers);
    const size_t most = run->drive.driver->local ? HR_LOCAL_GROUP_RANKS : HR_MAX_RANKS;
    if (shared->workers < 1 || shared->workers > most)
        return hr_fail(HR_E_USAGE, "--workers %zu: expected 1 to %zu", shared->workers, most);
    if (shared->colocated && o->servers > shared->workers)
        return hr_fail(HR_E_USAGE,
                       "--servers %zu: colocated in %zu worker%s, there are at most as many",
                       o->servers, shared->workers, shared->workers == 1 ? "" : "s");
    if (o->servers > most || run->job.nranks > most)
        return hr_fail(HR_E_USAGE, "--workers %zu and --servers %zu: at most %zu ranks in all",
                       shared->workers, o->servers, most);
    return hr_pipeline_count_ranks(run);
}

static enum hr_status parse_schedule(const char *text, bool explored, struct hr_drive *drive)
{
    static const char prefix[] = "explore:";
    const size_t length = sizeof prefix - 1;
    char *end = NULL;
    drive->driver = &hr_driver_threads;
    if (!explored)
        return HR_OK;
    drive->driver = &hr_driver_explore;
    if (!strncmp(text, prefix, length)) {
        drive->explore_seed = strtoull(text + length, &end, 10);
        if (end != text + length && !*end)
            return HR_OK;
    }
    return hr_fail(HR_E_USAGE, "--schedule %s: expected free or explore:SEED", text);
}

static enum hr_status choose_driver(const struct hr_train_options *o, struct hr_drive *drive)
{
    if (drive->replay)
        drive->driver = &hr_driver_replay;
    else
        HR_TRY(parse_schedule(o->schedule, hr_choices_of(o).explored, drive));
    if (hr_choices_of(o).clock == HR_CLOCK_REAL)
        return HR_OK;
    drive->driver = &hr_driver_virtual;
    return HR_OK;
}

static enum hr_status parse_names(struct hr_run *run)
{
    const struct hr_train_options *o = run->job.options;
    struct hr_shared_state *shared = &run->shared;
    HR_TRY(hr_strategy_find(o->strategy, o->staleness, &shared->strategy));
    HR_TRY(hr_algorithm_find(o->algorithm, &shared->group_options.algorithm));
    /* Gradients are never small; but between machines auto is what it is. */
    if (shared->group_options.algorithm == &hr_allreduce_auto && !run->machines)
        shared->group_options.algorithm = &hr_allreduce_direct;
    HR_TRY(hr_launch_parse(o->launch, &run->job.launch));
    HR_TRY(choose_driver(o, &run->drive));
    shared->outlives = run->job.choices.on_loss != HR_ON_LOSS_STOP;
    shared->reissues = run->job.choices.lost_batch == HR_LOST_BATCH_REISSUE;
    shared->repeats = run->drive.replay;
    run->job.played = run->drive.driver->played;
    shared->local = run->drive.driver->local;
    run->job.simulated = run->drive.driver->simulated;
    return hr_kernels_select_named(o->kernels, hr_machine_bits_are_bf16(o->precision));
}

/* --batch-size and --global-batch-size: two ways to say the same. */
static enum hr_status settle_batch(struct hr_run *run)
{
    const struct hr_train_options *o = run->job.options;
    const size_t workers = run->shared.workers, global = o->global_batch_size;
    run->job.batch_size = global ? (global + workers - 1) / workers : o->batch_size;
    run->job.global_batch = global ? global : o->batch_size * workers;
    if (global && global % workers && !run->shared.strategy->shares_batch)
        return hr_fail(HR_E_USAGE,
                       "--global-batch-size %zu: the %zu workers of %s cannot share it evenly",
                       global, workers, o->strategy);
    return HR_OK;
}

/* Under --reduce repro a worker's micro-shards are its parts. */
static enum hr_status settle_parts(struct hr_train_job *job)
{
    const struct hr_train_options *o = job->options;
    job->parts = o->accumulate;
    HR_TRY(hr_micro_shards_prepare(job));
    job->piece = job->batch_size;
    job->global_batch *= o->accumulate;
    job->most_parts = job->shared->outlives && job->shared->strategy->shares_batch
                          ? job->parts * job->shared->workers
                          : job->parts;
    return HR_OK;
}

static enum hr_status lay_out_schedule(struct hr_run *run)
{
    const struct hr_train_options *o = run->job.options;
    struct hr_batch_schedule *schedule = &run->shared.schedule;
    const bool shares = run->shared.strategy->shares_batch;
    schedule->pass = run->job.dataset->train.count;
    schedule->samples = o->epoch_size ? o->epoch_size : schedule->pass;
    schedule->batch = shares ? run->job.global_batch : run->job.batch_size * o->accumulate;
    schedule->batches_per_epoch = (schedule->samples + schedule->batch - 1) / schedule->batch;
    run->length = hr_run_length(o, schedule->samples, schedule->batch);
    schedule->end = run->length.end;
    if (o->max_steps && o->max_steps < schedule->end)
        schedule->end = o->max_steps;
    schedule->checkpoint_every = o->checkpoint_dir[0]
                                     ? hr_batch_schedule_every(schedule, &o->checkpoint_every)
                                     : hr_digest_every(o);
    /* Where something is compressed, a gradient that is given up would take its error with it. */
    schedule->pauses =
        run->shared.strategy->pause && run->drive.driver->played && !hr_run_compresses(run);
    return hr_run_length_check(o, &run->length);
}

/* The first layer that measures its batch, and has one value of a channel in a sample; or NULL. */
static const char *measures_samples(const struct hr_model *model)
{
    for (size_t i = 0; i < hr_model_layer_count(model); i++) {
        const struct hr_layer_info layer = hr_model_layer(model, i);
        size_t values = 1;
        for (size_t d = 0; d < layer.ndim; d++)
            values *= layer.shape[d];
        if (layer.statistics && layer.statistics == 2 * values)
            return layer.path;
    }
    return NULL;
}

/* Of `full` samples each share of a batch is one: what to do? */
static enum hr_status fail_alone(const struct hr_run *run, const char *path, size_t full,
                                 size_t pieces)
{
    const struct hr_train_options *o = run->job.options;
    const bool global = o->global_batch_size > 0;
    char cure[80];
    snprintf(cure, sizeof cure, "--%sbatch-size %zu or more", global ? "global-" : "",
             global ? 2 * pieces : 2 * run->job.parts / o->accumulate);
    if (run->shared.schedule.samples <= pieces)
        snprintf(cure, sizeof cure, "more samples, or fewer workers and micro-batches");
    return hr_fail(
        HR_E_USAGE,
        "batchnorm (layer %s) measures a channel over a share of a batch, and has one value of it "
        "in "
        "a sample: a batch of %zu is cut into %zu share%s, so that all would become 0; expected %s",
        path, full, pieces, pieces == 1 ? "" : "s", cure);
}

/* The largest of so many pieces of n samples has ceil(n / pieces), the smallest floor(). */
enum hr_status hr_batchnorm_check(const struct hr_run *run, char *note, size_t size)
{
    const struct hr_batch_schedule *schedule = &run->shared.schedule;
    const size_t sharing = run->shared.strategy->shares_batch ? run->shared.workers : 1;
    const size_t pieces = sharing * run->job.parts;
    const size_t full = hr_min_size(schedule->batch, schedule->samples);
    const size_t rest = schedule->samples % full, last = rest ? rest : full;
    const bool always = full / pieces == 1;
    const char *path = measures_samples(run->job.model);
    note[0] = '\0';
    if (!path || schedule->end == 0)
        return HR_OK;
    if (full <= pieces)
        return fail_alone(run, path, full, pieces);
    if (always || last <= pieces || last / pieces == 1)
        snprintf(note, size,
                 "batchnorm (layer %s) leaves shares of one sample out of its means and variances: "
                 "%s of %zu in %zu share%s has some",
                 path, always ? "a batch" : "the last batch of an epoch", always ? full : last,
                 pieces, pieces == 1 ? "" : "s");
    return HR_OK;
}

/* Whose gradients a worker may wait for while it communicates. */
static void settle_stalls(struct hr_run *run)
{
    const struct hr_shared_state *shared = &run->shared;
    const bool bounded = shared->staleness_bound < UINT64_MAX;
    run->job.stall = (struct hr_wait_rules){
        .warn_ns = hr_stall_limit_ns(run->options.stall_warn, run->options.timeout),
        .workers = shared->workers,
        .owners = shared->colocated ? shared->servers : 0,
        .first_stage = run->job.first_stage,
        .stages = run->job.pipeline ? run->job.pipeline->seats : 0,
        .waits = shared->strategy->shares_batch              ? HR_WAITS_FOR_STEP
                 : bounded || shared->leaders.options.nranks ? HR_WAITS_FOR_SLOWEST
                                                             : HR_WAITS_FOR_SERVERS,
    };
}

/* How long ranks spin and yield follows from how many threads will be busy. */
static void settle_waiting(struct hr_run *run)
{
    const struct hr_train_options *o = run->job.options;
    const size_t busy = hr_ranks_here(&run->shared, run->job.nranks) + o->ranks_beside +
                        hr_workers_here(&run->shared) * (o->threads_per_worker - 1);
    run->shared.group_options.crowded = busy > hr_cpus_allowed();
    run->shared.group_options.helpers = hr_cpus_allowed() - 1;
    run->job.spin_ns = hr_spin_budget_ns(busy);
    run->job.yield_ns = hr_yield_budget_ns(busy);
    run->job.timeout_ns = (int64_t)(o->timeout * (double)HR_NS_PER_SECOND);
}

static enum hr_status set_up_leader(struct hr_run *run)
{
    const struct hr_train_options *o = run->job.options;
    struct hr_cuts *cuts = &run->leader.cuts;
    run->leader = (struct hr_leader){
        .cuts = {.curve_room = run->length.begun + 2,
                 .schedule = &run->shared.schedule,
                 .saves = o->checkpoint_dir[0] || hr_digest_every(o),
                 .validates = run->final_test.dataset,
                 .values = run->job.values.count},
        .job = &run->job,
    };
    HR_TRY(hr_early_stop_parse(o->early_stop, &cuts->early_stop));
    return hr_keep_best_parse(o->keep_best, &cuts->keep_best);
}

/* What of the state at a cut is copied. */
static void plan_snapshot(struct hr_run *run)
{
    const struct hr_train_options *o = run->job.options;
    struct hr_shared_state *shared = &run->shared;
    const struct hr_rows *rows = &shared->strategy->rows;
    const bool saves = o->checkpoint_dir[0] || hr_digest_every(o);
    /* Is it read when ranks go on, or by those who begin, from a checkpoint? Where one process
     * plays all ranks, they do not go on together. */
    const bool copied = saves || o->resume[0] || o->record[0] || run->drive.replay ||
                        shared->outlives || run->drive.driver->played;
    /* Those that are tied may be in a checkpoint that a cut writes, or that the run begins with. */
    const bool tied = rows->since && ((saves && !shared->schedule.pauses && !shared->outlives) ||
                                      run->resume.checkpoint);
    /* Those that drift differ where all only rest, to be saved. */
    const bool drift = rows->due && (o->resume[0] || shared->schedule.checkpoint_every || saves ||
                                     shared->outlives);
    const bool combines = hr_rows_mean(rows) && hr_shared_is_apart(shared);
    const bool replicas = combines || rows->weights == HR_KEPT_MEAN || drift || tied;
    shared->snapshot = (struct hr_snapshot){
        .live = !copied && hr_rows_stand(rows) && !hr_homes_apart(&shared->homes),
        .copied = copied,
        .state_copies = rows->state == HR_KEPT_OWN ? shared->workers : 1,
        .replica_copies = replicas ? shared->workers : 0,
        .tied = tied,
    };
}

/* As the training samples have them, or where it goes on, as those had that it began with. */
static enum hr_status scale_targets(struct hr_run *run)
{
    const bool standard = run->job.choices.target_scale == HR_TARGETS_STANDARD;
    if (!run->resume.checkpoint)
        return hr_target_scale_measure(run->job.dataset, standard, &run->job.values);
    HR_TRY(hr_target_scale_get(run->resume.checkpoint, &run->job.values));
    return hr_target_scale_apply(run->job.dataset, &run->job.values);
}

static enum hr_status check_pairs(const struct hr_run *run)
{
    struct hr_pair_run pairs = hr_pair_run_of(&run->options, NULL);
    pairs.machines = run->machines;
    pairs.played |= run->drive.replay != NULL;
    return hr_pairs_check(&pairs);
}

enum hr_status hr_run_prepare(struct hr_run *run)
{
    const struct hr_train_options *o = &run->options;
    struct hr_shared_state *shared = &run->shared;
    shared->options = o;
    HR_TRY(hr_train_complete(&run->options));
    run->job.choices = hr_choices_of(&run->options);
    shared->overlaps = run->job.choices.overlap == HR_OVERLAP_ON;
    shared->slows = run->job.choices.staleness_lr == HR_STALENESS_LR_INVERSE;
    HR_TRY(hr_train_options_check(o, false));
    HR_TRY(check_pairs(run));
    HR_TRY(hr_final_test_prepare(run));
    HR_TRY(scale_targets(run));
    HR_TRY(parse_names(run));
    HR_TRY(count_ranks(run));
    HR_TRY(hr_several_deal(run));
    HR_TRY(hr_aggregate_setup(run));
    HR_TRY(hr_augment_parse(o->augment, run->job.dataset->shape, &run->job.augment));
    HR_TRY(hr_run_model(o, run->job.dataset, &run->job.values, &run->job.model));
    HR_TRY(settle_batch(run));
    HR_TRY(settle_parts(&run->job));
    HR_TRY(hr_pipeline_setup(run));
    HR_TRY(lay_out_schedule(run));
    HR_TRY(hr_rate_setup(run));
    HR_TRY(hr_optimizer_setup(run));
    shared->params = hr_model_param_count(run->job.model);
    HR_TRY(hr_strategy_prepare(shared));
    HR_TRY(hr_compress_setup(run));
    if (run->drive.replay)
        HR_TRY(hr_replay_prepare(&run->drive));
    shared->group_options.nranks = shared->workers;
    shared->group_options.homes = shared->homes;
    /* Who is left may sum by another algorithm, and find its rings. */
    shared->group_options.blocks |= shared->outlives && run->machines;
    settle_waiting(run);
    settle_stalls(run);
    plan_snapshot(run);
    HR_TRY(hr_links_setup(run));
    HR_TRY(hr_conditions_open(&run->job));
    HR_TRY(hr_pipeline_setup_time(&run->job));
    HR_TRY(hr_calibrate_check(&run->job));
    run->job.neval = hr_train_job_blocks(run->job.dataset);
    HR_TRY(set_up_leader(run));
    hr_state_describe(run);
    shared->weights = calloc(2 * shared->workers, sizeof *shared->weights);
    if (!shared->weights)
        return hr_fail(HR_E_NOMEM, "no memory for %zu workers", shared->workers);
    shared->grads = shared->weights + shared->workers;
    return HR_OK;
}
