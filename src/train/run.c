/* hr_train: from options to a run, and from a run to its result. */
#include "train/run.h"
#include "train/saved.h"
#include "train/model_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/cpus.h"
#include "base/log.h"
#include "hogring/checkpoint.h"
#include "kernels/gemm.h"
#include "strategy/shared.h"
#include "strategy/staleness.h"
#include "train/account.h"
#include "session/input_scale.h"
#include "train/needs.h"
#include "train/prefetch.h"
#include "train/recipe.h"
#include "train/record.h"
#include "train/replay.h"
#include "train/task.h"

/* --- from options --- */

enum hr_status hr_check_range(const char *flag, double value, double least, double most)
{
    if (value >= least && value <= most)
        return HR_OK;
    return hr_fail(HR_E_USAGE, "--%s %.15g: expected %.15g to %.15g", flag, value, least, most);
}

static enum hr_status check_numbers(const struct hr_train_options *o)
{
    HR_TRY(hr_check_range("batch-size", (double)o->batch_size, 1, 1 << 20));
    HR_TRY(hr_check_range("global-batch-size", (double)o->global_batch_size, 0, 1 << 24));
    HR_TRY(hr_check_range("threads-per-worker", (double)o->threads_per_worker, 1, 256));
    HR_TRY(hr_check_range("epochs", (double)o->epochs, 1, 1 << 20));
    HR_TRY(hr_check_range("epoch-size", (double)o->epoch_size, 0, 0x1p40));
    HR_TRY(hr_check_range("prefetch", (double)o->prefetch, 0, HR_PREFETCH_MAX));
    HR_TRY(hr_check_range("sync-every", (double)o->sync_every, 1, 1 << 20));
    HR_TRY(hr_check_range("moving-rate", o->moving_rate, 0, 1));
    HR_TRY(hr_check_range("delay-compensation", o->delay_compensation, 0, 1e6));
    HR_TRY(hr_check_range("timeout", o->timeout, 0, 1e6));
    HR_TRY(hr_check_range("max-seconds", o->max_seconds, 0, 1e9));
    HR_TRY(hr_check_range("target-accuracy", o->target_accuracy, 0, 1));
    return HR_OK;
}

static enum hr_status count_ranks(struct hr_run *run)
{
    const struct hr_train_options *o = run->options;
    struct hr_shared_state *shared = &run->shared;
    shared->workers = o->workers;
    shared->servers = shared->strategy->served ? o->servers : 0;
    run->nranks = shared->workers + shared->servers;
    const bool local = run->schedule == HR_SCHEDULE_VIRTUAL || run->replay;
    const size_t most = local ? HR_LOCAL_GROUP_RANKS : HR_MAX_RANKS;
    if (shared->workers < 1 || shared->workers > most)
        return hr_fail(HR_E_USAGE, "--workers %zu: expected 1 to %zu", shared->workers, most);
    if (shared->strategy->served && o->servers < 1)
        return hr_fail(HR_E_USAGE, "--servers 0: %s needs at least one", o->strategy);
    if (o->servers > most || run->nranks > most)
        return hr_fail(HR_E_USAGE, "--workers %zu and --servers %zu: at most %zu ranks in all",
                       shared->workers, o->servers, most);
    return HR_OK;
}

static enum hr_status parse_schedule(struct hr_run *run, const char *text)
{
    static const char prefix[] = "explore:";
    char *end = NULL;
    if (run->replay)
        run->schedule = HR_SCHEDULE_REPLAY;
    if (run->replay || !strcmp(text, "free"))
        return HR_OK;
    const bool explore = !strncmp(text, prefix, sizeof prefix - 1);
    run->schedule = explore ? HR_SCHEDULE_EXPLORE : HR_SCHEDULE_FREE;
    run->explore_seed = explore ? strtoull(text + sizeof prefix - 1, &end, 10) : 0;
    if (explore && end != text + sizeof prefix - 1 && !*end)
        return HR_OK;
    return hr_fail(HR_E_USAGE, "--schedule %s: expected free or explore:SEED", text);
}

static enum hr_status parse_clock(struct hr_run *run, const char *text)
{
    if (!strcmp(text, "real"))
        return HR_OK;
    if (strcmp(text, "virtual") != 0)
        return hr_fail(HR_E_USAGE, "--clock %s: expected real or virtual", text);
    if (run->schedule != HR_SCHEDULE_FREE)
        return hr_fail(HR_E_USAGE, "--clock virtual: the clock is the schedule; expected it "
                                   "without --schedule explore");
    run->schedule = HR_SCHEDULE_VIRTUAL;
    return HR_OK;
}

static enum hr_status parse_names(struct hr_run *run)
{
    const struct hr_train_options *o = run->options;
    struct hr_shared_state *shared = &run->shared;
    run->strategy_name = o->strategy;
    HR_TRY(hr_strategy_find(o->strategy, o->staleness, &shared->strategy));
    if (o->record[0] || run->replay)
        shared->strategy = hr_strategy_recorded(shared->strategy);
    HR_TRY(hr_algorithm_find(o->algorithm, &shared->group_options.algorithm));
    if (shared->group_options.algorithm == &hr_allreduce_auto) /* gradients are never small */
        shared->group_options.algorithm = &hr_allreduce_direct;
    HR_TRY(hr_launch_parse(o->launch, &run->launch));
    HR_TRY(parse_schedule(run, o->schedule));
    HR_TRY(parse_clock(run, o->clock));
    if (strcmp(o->async_lr, "same") != 0 && strcmp(o->async_lr, "divide") != 0)
        return hr_fail(HR_E_USAGE, "--async-lr %s: expected same or divide", o->async_lr);
    return hr_kernels_select_named(o->kernels);
}

/* --batch-size and --global-batch-size: two ways to say the same. */
static enum hr_status settle_batch(struct hr_run *run)
{
    const struct hr_train_options *o = run->options;
    const size_t workers = run->shared.workers, global = o->global_batch_size;
    run->batch_size = global ? (global + workers - 1) / workers : o->batch_size;
    run->global_batch = global ? global : o->batch_size * workers;
    if (global && global % workers && !run->shared.strategy->shares_batch)
        return hr_fail(HR_E_USAGE,
                       "--global-batch-size %zu: the %zu workers of %s cannot share it evenly",
                       global, workers, o->strategy);
    return HR_OK;
}

static void plot_course(struct hr_run *run)
{
    const struct hr_train_options *o = run->options;
    struct hr_batch_schedule *course = &run->shared.course;
    const bool shares = run->shared.strategy->shares_batch;
    course->pass = run->dataset->train.count;
    course->samples = o->epoch_size ? o->epoch_size : course->pass;
    course->batch = shares ? run->global_batch : run->batch_size;
    course->batches_per_epoch = (course->samples + course->batch - 1) / course->batch;
    course->end = o->epochs * course->batches_per_epoch;
    if (o->max_steps && o->max_steps < course->end)
        course->end = o->max_steps;
    course->checkpoint_every = o->checkpoint_dir[0] ? o->checkpoint_every : 0;
}

/* How long ranks spin and yield follows from how many threads will be busy. */
static void settle_waiting(struct hr_run *run)
{
    const struct hr_train_options *o = run->options;
    const size_t busy =
        run->nranks + o->ranks_beside + run->shared.workers * (o->threads_per_worker - 1);
    run->shared.group_options.crowded = busy > hr_cpus_allowed();
    run->shared.group_options.helpers = hr_cpus_allowed() - 1;
    run->spin_ns = hr_spin_budget_ns(busy);
    run->yield_ns = hr_yield_budget_ns(busy);
    run->timeout_ns = (int64_t)(o->timeout * (double)HR_NS_PER_SECOND);
}

static enum hr_status prepare(struct hr_run *run)
{
    const struct hr_train_options *o = &run->settled;
    struct hr_shared_state *shared = &run->shared;
    shared->options = o;
    HR_TRY(hr_train_complete(&run->settled));
    HR_TRY(check_numbers(o));
    HR_TRY(parse_names(run));
    HR_TRY(count_ranks(run));
    HR_TRY(hr_augment_parse(o->augment, run->dataset->shape, &run->augment));
    HR_TRY(hr_run_model(o, run->dataset, &run->model));
    HR_TRY(settle_batch(run));
    HR_TRY(hr_repro_prepare(run));
    plot_course(run);
    HR_TRY(hr_recipe_rate(run));
    HR_TRY(hr_recipe_optimizer(run));
    shared->params = hr_model_param_count(run->model);
    HR_TRY(hr_strategy_prepare(shared));
    if (run->replay)
        HR_TRY(hr_replay_prepare(run));
    shared->group_options.nranks = shared->workers;
    settle_waiting(run);
    shared->snapshot.state_copies = shared->strategy->private_state ? shared->workers : 1;
    HR_TRY(hr_wiring_prepare(run));
    HR_TRY(hr_conditions_open(run));
    HR_TRY(hr_calibrate_check(run));
    run->neval = (run->dataset->test.count + HR_EVAL_BLOCK - 1) / HR_EVAL_BLOCK;
    run->curve_room = o->epochs + 2;
    shared->weights = calloc(2 * shared->workers, sizeof *shared->weights);
    if (!shared->weights)
        return hr_fail(HR_E_NOMEM, "no memory for %zu workers", shared->workers);
    shared->grads = shared->weights + shared->workers;
    return HR_OK;
}

/* --- the state it begins with --- */

static enum hr_status init_state(struct hr_run *run, const struct hr_checkpoint *checkpoint)
{
    struct hr_shared_state *shared = &run->shared;
    const struct hr_batch_schedule *course = &shared->course;
    if (!run->local)
        HR_TRY(hr_group_init(shared->group, &shared->group_options));
    hr_atom64_store_relaxed(&shared->dispenser->next, course->first);
    hr_atom64_store_relaxed(&shared->dispenser->cut,
                            hr_batch_schedule_next_cut(course, course->first));
    hr_atom64_store_relaxed(&shared->dispenser->stop_at, UINT64_MAX);
    run->board->index = course->first;
    if (checkpoint)
        HR_TRY(hr_resume_state(run, checkpoint));
    else
        HR_TRY(hr_init_weights(run, shared->snapshot.weights));
    shared->strategy->init(shared);
    hr_staleness_init(shared);
    return HR_OK;
}

/* --- the run --- */

static enum hr_status drive(struct hr_run *run)
{
    switch (run->schedule) {
    case HR_SCHEDULE_EXPLORE:
        return hr_drive_explore(run);
    case HR_SCHEDULE_VIRTUAL:
        return hr_drive_virtual(run);
    case HR_SCHEDULE_REPLAY:
        return hr_drive_replay(run);
    default:
        return hr_drive_threads(run);
    }
}

/* What the checkpoint calls class 1 is class 1. */
static enum hr_status resume_classes(struct hr_run *run, const struct hr_checkpoint *checkpoint)
{
    HR_TRY(hr_class_view_open(checkpoint, run->dataset, false, &run->resumed_classes));
    hr_input_scale_compare(checkpoint, run->dataset, &run->dataset->train);
    run->dataset = &run->resumed_classes.dataset;
    return HR_OK;
}

static enum hr_status refuse_finished(const struct hr_run *run,
                                      const struct hr_checkpoint *checkpoint)
{
    return hr_fail(HR_E_USAGE,
                   "--resume %s: it stands at step %llu of this run, which ends at step %llu; "
                   "more --epochs%s would go on",
                   checkpoint ? checkpoint->path : "", (unsigned long long)run->shared.course.first,
                   (unsigned long long)run->shared.course.end,
                   run->options->max_steps ? " or --max-steps" : "");
}

/* The result of a run of no steps: the curve and the weights that are there. */
static enum hr_status tell_finished(struct hr_run *run, const struct hr_checkpoint *checkpoint)
{
    hr_log(HR_LOG_INFO, "%s: this run is finished: it stands at step %llu, where it ends",
           checkpoint->path, (unsigned long long)checkpoint->step);
    run->wall_began_ns = hr_clock_ns();
    snprintf(run->result->checkpoint, sizeof run->result->checkpoint, "%.1099s", checkpoint->path);
    return hr_result_fill(run);
}

static enum hr_status train(struct hr_run *run, const struct hr_checkpoint *checkpoint)
{
    if (checkpoint)
        HR_TRY(resume_classes(run, checkpoint));
    if (!run->resumed_classes.list.count)
        HR_TRY(hr_task_check(run->options, run->dataset));
    HR_TRY(prepare(run));
    HR_TRY(hr_run_needs(run, checkpoint, &run->needs));
    HR_TRY(hr_run_fits(run->options, run->dataset, &run->needs));
    if (run->options->normalize)
        HR_TRY(hr_scaling_measure(run->dataset, &run->scaling));
    if (checkpoint)
        HR_TRY(hr_resume_position(run, checkpoint));
    const bool finished = run->shared.course.first >= run->shared.course.end && !run->replay;
    if (finished && !run->options->finished_ok)
        return refuse_finished(run, checkpoint);
    HR_TRY(hr_kernels_check()); /* behind every refusal */
    if (checkpoint && !run->replay)
        HR_TRY(hr_kept_check(run, checkpoint));
    HR_TRY(hr_save_prepare(run, checkpoint));
    hr_segment_sweep();
    HR_TRY(hr_memory_take(run));
    HR_TRY(init_state(run, checkpoint));
    if (finished)
        return tell_finished(run, checkpoint);
    if (run->replay)
        HR_TRY(hr_replay_check_state(run));
    HR_TRY(hr_record_begin(run));
    hr_announce(run);
    run->began_ns = hr_run_now_ns(run);
    run->wall_began_ns = hr_clock_ns();
    HR_TRY(hr_divergence_explain(run, drive(run)));
    HR_TRY(hr_launcher_tick(run)); /* the last points and the last save */
    HR_TRY(hr_result_fill(run));
    HR_TRY(hr_record_end(run));
    if (run->options->calibrate[0])
        HR_TRY(hr_calibrate_write(run));
    if (run->save_status != HR_OK)
        return hr_fail(run->save_status, "the last checkpoint could not be saved: see above");
    return HR_OK;
}

static void finish(struct hr_run *run)
{
    hr_record_abandon(run); /* unless it ended well */
    hr_claim_drop(&run->claim);
    hr_model_destroy(run->model);
    hr_scaling_free(&run->scaling);
    hr_conditions_close(&run->conditions);
    hr_local_group_destroy(run->local);
    hr_wires_close(&run->wires);
    hr_class_view_close(&run->resumed_classes);
    free(run->tensors);
    hr_strategy_forget(&run->shared);
    free(run->shared.weights);
    hr_segment_destroy(&run->segment);
    hr_segment_destroy(&run->control_segment);
}

enum hr_status hr_train_as(const struct hr_train_options *options, const struct hr_replay *replay,
                           const struct hr_recorded_times *times, const struct hr_dataset *dataset,
                           const struct hr_observer *observer, struct hr_run_result *result)
{
    static const struct hr_observer nobody;
    struct hr_checkpoint *checkpoint = NULL;
    enum hr_status status = HR_OK;
    struct hr_run *run = calloc(1, sizeof *run);
    memset(result, 0, sizeof *result);
    if (!run || (options->resume[0] && !(checkpoint = calloc(1, sizeof *checkpoint)))) {
        free(run);
        return hr_fail(HR_E_NOMEM, "no memory for a run");
    }
    *run = (struct hr_run){.options = &run->settled,
                           .settled = *options,
                           .dataset = dataset,
                           .observer = observer ? observer : &nobody,
                           .replay = replay,
                           .conditions = {.times = times},
                           .result = result};
    if (checkpoint)
        HR_TRY_GOTO(hr_checkpoint_load(options->resume, checkpoint), status, out);
    if (checkpoint && strlen(checkpoint->path) < sizeof run->settled.resume)
        strcpy(run->settled.resume, checkpoint->path); /* which of a folder's, for a trace */
    status = train(run, checkpoint);
    if (status != HR_OK)
        hr_run_result_free(result);
    finish(run);
out:
    if (checkpoint)
        hr_checkpoint_free(checkpoint); /* zeroed when nothing was loaded */
    free(checkpoint);
    free(run);
    return status;
}

enum hr_status hr_train(const struct hr_train_options *options, const struct hr_dataset *dataset,
                        const struct hr_observer *observer, struct hr_run_result *result)
{
    return hr_train_as(options, NULL, NULL, dataset, observer, result);
}

enum hr_status hr_train_needs(const struct hr_train_options *options,
                              const struct hr_dataset *dataset, struct hr_needs *out)
{
    struct hr_run *run = calloc(1, sizeof *run);
    if (!run)
        return hr_fail(HR_E_NOMEM, "no memory for a run");
    run->settled = *options;
    run->options = &run->settled;
    run->dataset = dataset;
    enum hr_status status = prepare(run);
    if (status == HR_OK)
        status = hr_run_needs(run, NULL, out);
    finish(run);
    free(run);
    return status;
}

enum hr_status hr_train_check(const struct hr_train_options *options,
                              const struct hr_dataset *dataset)
{
    struct hr_needs needs = {0};
    HR_TRY(hr_task_check(options, dataset));
    HR_TRY(hr_train_needs(options, dataset, &needs));
    return hr_run_fits(options, dataset, &needs);
}
