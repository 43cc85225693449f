/* hr_train: from options to a run, and from a run to its result. Sparse models have an engine of
 * their own, and here is where that is chosen. */
#include "train/run.h"
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
#include "session/kept.h"
#include "sparse/engine.h"
#include "train/needs.h"
#include "train/prefetch.h"
#include "train/recipe.h"
#include "train/record.h"
#include "train/replay.h"
#include "train/state.h"
#include "train/task.h"

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
    run->leader.cuts.cut->index = course->first;
    if (checkpoint)
        HR_TRY(hr_state_restore(run, checkpoint));
    else
        HR_TRY(hr_init_weights(run, shared->snapshot.weights));
    if (!checkpoint) /* else they are restored */
        hr_state_share(run);
    if (shared->strategy->init)
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

static int64_t now_ns(const void *run)
{
    return hr_run_now_ns(run);
}

static enum hr_status save(void *arg)
{
    struct hr_run *run = arg;
    return hr_save(&run->saver, run->result->checkpoint, sizeof run->result->checkpoint);
}

static void begin_launcher(struct hr_run *run)
{
    run->launcher = (struct hr_launcher){
        .observer = run->launcher.observer,
        .cuts = &run->leader.cuts,
        .stop = &run->shared.dispenser->stop,
        .workers = run->shared.workers,
        .seen = &run->shared.stats->seen,
        .seen_stride = sizeof *run->shared.stats,
        .max_seconds = run->options->max_seconds,
        .now_ns = now_ns,
        .clock = run,
        .save = save,
        .engine = run,
        .checkpoint = run->result->checkpoint,
    };
    hr_launcher_begin(&run->launcher);
}

static enum hr_status train(struct hr_run *run)
{
    bool finished = false;
    HR_TRY(hr_resume_open(&run->settled, &run->dataset, &run->resume));
    const struct hr_checkpoint *checkpoint = run->resume.checkpoint;
    if (!run->resume.classes.list.count)
        HR_TRY(hr_task_check(run->options, run->dataset));
    HR_TRY(hr_run_prepare(run));
    HR_TRY(hr_run_needs(run, checkpoint, &run->needs));
    HR_TRY(hr_run_fits(run->options, run->dataset, &run->needs));
    if (run->options->normalize)
        HR_TRY(hr_scaling_measure(run->dataset, &run->scaling));
    hr_state_describe(run);
    if (checkpoint) {
        HR_TRY(hr_resume_position(&run->saver, checkpoint));
        HR_TRY(hr_state_check(run, checkpoint));
        if (!run->replay)
            HR_TRY(hr_resume_finished(&run->saver, checkpoint, run->result, &finished));
    }
    HR_TRY(hr_kernels_check()); /* behind every refusal */
    if (checkpoint && !run->replay)
        HR_TRY(hr_kept_check(checkpoint, run->micro_shards > 0));
    HR_TRY(hr_save_prepare(&run->saver, checkpoint));
    hr_segment_sweep();
    HR_TRY(hr_memory_take(run));
    HR_TRY(init_state(run, checkpoint));
    run->wall_began_ns = hr_clock_ns();
    if (finished)
        return hr_result_fill(run);
    if (run->replay)
        HR_TRY(hr_replay_check_state(run));
    HR_TRY(hr_record_begin(run));
    hr_announce(run);
    begin_launcher(run);
    run->wall_began_ns = hr_clock_ns();
    HR_TRY(hr_divergence_explain(run, drive(run)));
    HR_TRY(hr_launcher_tick(&run->launcher)); /* the last points and the last save */
    HR_TRY(hr_result_fill(run));
    HR_TRY(hr_record_end(run));
    if (run->options->calibrate[0])
        HR_TRY(hr_calibrate_write(run));
    if (run->launcher.save_status != HR_OK)
        return hr_fail(run->launcher.save_status,
                       "the last checkpoint could not be saved: see above");
    return HR_OK;
}

static void finish(struct hr_run *run)
{
    hr_record_abandon(run); /* unless it ended well */
    hr_claim_drop(&run->saver.claim);
    hr_model_destroy(run->model);
    hr_scaling_free(&run->scaling);
    hr_conditions_close(&run->conditions);
    hr_local_group_destroy(run->local);
    hr_wires_close(&run->wires);
    hr_resume_close(&run->resume);
    hr_strategy_forget(&run->shared);
    free(run->tensors);
    free(run->shared.weights);
    hr_segment_destroy(&run->segment);
    hr_segment_destroy(&run->control_segment);
}

enum hr_status hr_train_as(const struct hr_train_options *options, const struct hr_replay *replay,
                           const struct hr_recorded_times *times, const struct hr_dataset *dataset,
                           const struct hr_observer *observer, struct hr_run_result *result)
{
    static const struct hr_observer nobody;
    struct hr_run *run = calloc(1, sizeof *run);
    memset(result, 0, sizeof *result);
    if (!run)
        return hr_fail(HR_E_NOMEM, "no memory for a run");
    *run = (struct hr_run){.options = &run->settled,
                           .settled = *options,
                           .dataset = dataset,
                           .launcher = {.observer = observer ? observer : &nobody},
                           .replay = replay,
                           .conditions = {.times = times},
                           .result = result};
    const enum hr_status status = train(run);
    if (status != HR_OK)
        hr_run_result_free(result);
    finish(run);
    free(run);
    return status;
}

enum hr_status hr_train(const struct hr_train_options *options, const struct hr_dataset *dataset,
                        const struct hr_observer *observer, struct hr_run_result *result)
{
    if (hr_sparse_is_model(options->model))
        return hr_sparse_train(options, dataset, observer, result);
    return hr_train_as(options, NULL, NULL, dataset, observer, result);
}

enum hr_status hr_train_needs(const struct hr_train_options *options,
                              const struct hr_dataset *dataset, struct hr_needs *out)
{
    if (hr_sparse_is_model(options->model))
        return hr_sparse_needs(options, dataset, out);
    struct hr_run *run = calloc(1, sizeof *run);
    if (!run)
        return hr_fail(HR_E_NOMEM, "no memory for a run");
    run->settled = *options;
    run->options = &run->settled;
    run->dataset = dataset;
    enum hr_status status = hr_run_prepare(run);
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
    if (hr_sparse_is_model(options->model))
        return hr_sparse_check_run(options, dataset);
    HR_TRY(hr_task_check(options, dataset));
    HR_TRY(hr_train_needs(options, dataset, &needs));
    return hr_run_fits(options, dataset, &needs);
}
