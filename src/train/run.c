/* hr_train: from options to a run, and from a run to its result. */
#include "train/run.h"
#include "state/model_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/cpus.h"
#include "base/log.h"
#include "checkpoint/digest.h"
#include "data/ahead.h"
#include "drive/record.h"
#include "drive/replay.h"
#include "hogring/checkpoint.h"
#include "launch/runs.h"
#include "nn/model.h"
#include "options/train_options.h"
#include "products/ready.h"
#include "server/staleness.h"
#include "session/model_input.h"
#include "session/saved.h"
#include "sparse/engine.h"
#include "state/state.h"
#include "strategy/shared.h"
#include "train/dense_result.h"
#include "train/shared_memory.h"
#include "train/optimizer_setup.h"
#include "train/pipeline_setup.h"
#include "train/multinode.h"
#include "worker/input.h"
#include "worker/staged.h"

/* --- the state it begins with --- */

static enum hr_status init_state(struct hr_run *run, const struct hr_checkpoint *checkpoint)
{
    struct hr_shared_state *shared = &run->shared;
    const struct hr_batch_schedule *schedule = &shared->schedule;
    if (!run->job.local)
        HR_TRY(hr_group_init(shared->group, &shared->group_options));
    if (shared->leaders.options.nranks)
        HR_TRY(hr_group_init(shared->leaders.group, &shared->leaders.options));
    hr_atom64_store_relaxed(&shared->dispenser->next, schedule->first);
    hr_atom64_store_relaxed(&shared->dispenser->cut,
                            hr_batch_schedule_next_cut(schedule, schedule->first));
    hr_atom64_store_relaxed(&shared->dispenser->stop_at, UINT64_MAX);
    hr_atom64_store_relaxed(&shared->dispenser->begins, schedule->first);
    run->leader.cuts.cut->index = run->leader.cuts.cut->begins = schedule->first;
    hr_active_fill(shared);
    shared->returned->room = hr_returned_room(shared);
    if (checkpoint)
        HR_TRY(hr_state_restore(run, checkpoint));
    else
        HR_TRY(hr_init_weights(&run->job, shared->snapshot.weights));
    if (!checkpoint) { /* else they are restored */
        hr_state_share(run);
        hr_compress_state_begin(run);
    }
    run->job.begins_with =
        hr_digest64(shared->snapshot.weights, shared->params * sizeof *shared->snapshot.weights);
    run->applied = shared->snapshot.applied[0];
    hr_strategy_init(shared);
    hr_staleness_init(shared);
    hr_staged_init(&run->job);
    for (size_t w = 0; w < shared->workers; w++)
        hr_stats_leave_cut(&shared->stats[w], false);
    return HR_OK;
}

/* --- the run --- */

static void begin_launcher(struct hr_run *run)
{
    run->launcher = (struct hr_launcher){
        .observer = run->launcher.observer,
        .cuts = &run->leader.cuts,
        .feed = &run->shared.feed,
        .by_staleness = run->shared.slows,
        .stop = &run->shared.dispenser->stop,
        .seen = &run->shared.stats->seen,
        .seen_stride = sizeof *run->shared.stats,
        .max_seconds =
            run->drive.replay ? run->job.options->max_seconds : hr_run_seconds(run->job.options),
        .now_ns = run->drive.driver->now_ns,
        .clock = &run->drive,
        .saver = &run->saver,
        .result = run->result,
        .alone = run->drive.driver->serial,
    };
    hr_multinode_lead(run);
    hr_launcher_begin(&run->launcher);
}

/* One thread that runs all ranks reads what it writes. */
static void make_room(void *launcher)
{
    hr_launcher_report(launcher);
}

static enum hr_status begin_feed(struct hr_run *run)
{
    struct hr_feed *feed = &run->shared.feed;
    if (!feed->memory)
        return HR_OK;
    feed->launcher = &run->shared.control->launcher_bell;
    feed->make_room = run->drive.driver->serial ? make_room : NULL;
    feed->arg = &run->launcher;
    hr_feed_init(feed, feed->memory);
    if (!feed->spans)
        return HR_OK;
    run->shared.spans = calloc(run->job.nranks, sizeof *run->shared.spans);
    return run->shared.spans ? HR_OK
                             : hr_fail(HR_E_NOMEM, "no memory for %zu ranks", run->job.nranks);
}

/* Only a mapped file is read while a run trains. */
static enum hr_reads reading_of(const struct hr_run *run)
{
    const struct hr_dataset *dataset = run->job.dataset;
    const size_t window = run->options.shuffle_window;
    if (!hr_ahead_may_ask(dataset))
        return HR_READS_MEMORY;
    if (window && window < dataset->train.count) {
        if (hr_ahead_is_too_large(dataset) && window > hr_ahead_largest_window(dataset))
            hr_log(HR_LOG_INFO,
                   "%s: two windows of %zu samples are larger than the memory there is; "
                   "--shuffle-window %zu would fit",
                   dataset->name, window, hr_ahead_largest_window(dataset));
        return HR_READS_WINDOWS;
    }
    if (!hr_ahead_is_too_large(dataset))
        return HR_READS_MEMORY;
    hr_log(HR_LOG_INFO,
           "%s: is larger than the memory there is, and samples are taken from all over it: "
           "--shuffle-window N reads it in order",
           dataset->name);
    hr_ahead_expect_scattered(dataset);
    return HR_READS_SCATTERED;
}

/* From options to constants. */
static enum hr_status prepare(struct hr_run *run)
{
    char note[HR_BATCHNORM_NOTE];
    HR_TRY(hr_resume_open(&run->options, &run->job.dataset, &run->resume));
    HR_TRY(hr_task_check_metrics(run->job.options, run->job.dataset));
    if (!run->resume.classes.list.count)
        HR_TRY(hr_task_check(run->job.options, run->job.dataset));
    HR_TRY(hr_run_prepare(run));
    return hr_batchnorm_check(run, note, sizeof note);
}

/* From constants to the state that it begins with. *finished: it goes on from its own end. */
static enum hr_status get_ready(struct hr_run *run, bool *finished)
{
    const struct hr_checkpoint *checkpoint = run->resume.checkpoint;
    HR_TRY(hr_run_needs(run, checkpoint, &run->needs));
    HR_TRY(hr_run_fits(&(struct hr_train_call){.options = run->job.options,
                                               .dataset = run->job.dataset,
                                               .machines = run->machines},
                       &run->needs));
    HR_TRY(hr_multinode_describe(run));
    if (run->job.options->normalize)
        HR_TRY(hr_scaling_measure(run->job.dataset, &run->job.scaling));
    if (checkpoint) {
        HR_TRY(hr_resume_position(&run->saver, checkpoint));
        HR_TRY(hr_pause_state_position(run, checkpoint));
        hr_pipeline_say_refill(run, checkpoint->path);
        HR_TRY(hr_state_check(run, checkpoint));
        if (!run->drive.replay)
            HR_TRY(hr_resume_finished(&run->saver, checkpoint, run->result, finished));
    }
    run->job.reading = reading_of(run);
    HR_TRY(hr_kernels_check()); /* behind every refusal */
    if (checkpoint && !run->drive.replay)
        HR_TRY(hr_saved_check(
            checkpoint,
            (struct hr_saved_run){.bf16 = hr_machine_bits_are_bf16(run->job.options->precision),
                                  .direct = hr_model_is_direct(run->job.model),
                                  .promised = run->job.micro_shards > 0}));
    if (hr_multinode_is_first(run)) /* who writes */
        HR_TRY(hr_save_prepare(&run->saver, checkpoint));
    hr_runs_sweep();
    HR_TRY(hr_memory_take(run));
    HR_TRY(init_state(run, checkpoint));
    return begin_feed(run);
}

static void begin_clocks(struct hr_run *run)
{
    run->wall_began_ns = hr_clock_ns();
    run->cpu_began_ns = hr_clock_cpu_ns();
}

/* What the run has come to. */
static enum hr_status report(struct hr_run *run)
{
    hr_best_state_end(run);
    HR_TRY(hr_result_fill(run));
    return hr_final_test(run);
}

static enum hr_status drive(struct hr_run *run)
{
    if (run->drive.replay)
        HR_TRY(hr_replay_check_state(&run->drive));
    HR_TRY(hr_record_begin(&run->drive));
    HR_TRY(hr_announce(run));
    begin_launcher(run);
    begin_clocks(run);
    return run->drive.driver->run(&run->drive);
}

/* What is written when the result stands. */
static enum hr_status write_files(struct hr_run *run)
{
    const enum hr_status recorded = hr_record_end(&run->drive);
    if (recorded != HR_OK)
        run->result->trace[0] = '\0';
    HR_TRY(recorded);
    if (run->job.options->calibrate[0])
        HR_TRY(hr_calibrate_write(&run->drive));
    return hr_launcher_saved(&run->launcher);
}

/* whole: the result is, whatever becomes of files. */
static enum hr_status train(struct hr_run *run, bool *whole)
{
    bool finished = false;
    HR_TRY(hr_multinode_agree(run, prepare(run)));
    HR_TRY(hr_multinode_join(run, get_ready(run, &finished)));
    begin_clocks(run);
    HR_TRY(hr_divergence_explain(run, hr_multinode_end(run, finished ? HR_OK : drive(run))));
    if (finished)
        return hr_multinode_is_first(run) ? report(run) : HR_OK;
    HR_TRY(hr_launcher_end(&run->launcher));
    if (!hr_multinode_is_first(run))
        return HR_OK;
    HR_TRY(report(run));
    *whole = true;
    return write_files(run);
}

enum hr_status hr_train_call(const struct hr_train_call *call, struct hr_run_result *result)
{
    struct hr_run *run = calloc(1, sizeof *run);
    memset(result, 0, sizeof *result);
    if (!run)
        return hr_fail(HR_E_NOMEM, "no memory for a run");
    hr_run_begin(run, call);
    run->result = run->drive.result = result;
    bool whole = false;
    const enum hr_status status = train(run, &whole);
    if (status != HR_OK && !whole)
        hr_run_result_free(result);
    hr_run_finish(run);
    return status;
}

enum hr_status hr_train_on(struct hr_machines *machines, const struct hr_train_options *options,
                           const struct hr_dataset *dataset, const struct hr_observer *observer,
                           struct hr_run_result *result)
{
    struct hr_train_options own;
    memset(result, 0, sizeof *result);
    HR_TRY(hr_train_options_take(options, &own));
    if (!machines && hr_sparse_is_model(own.model))
        return hr_sparse_train_whole(&own, dataset, observer, result);
    return hr_train_call(
        &(struct hr_train_call){
            .options = &own, .dataset = dataset, .observer = observer, .machines = machines},
        result);
}

/* The public calls: on error there is no result. */
static enum hr_status all_or_nothing(enum hr_status status, struct hr_run_result *result)
{
    if (status != HR_OK)
        hr_run_result_free(result);
    return status;
}

enum hr_status hr_train(const struct hr_train_options *options, const struct hr_dataset *dataset,
                        const struct hr_observer *observer, struct hr_run_result *result)
{
    return all_or_nothing(hr_train_on(NULL, options, dataset, observer, result), result);
}

enum hr_status hr_replay_run(const struct hr_replay *replay, const struct hr_dataset *dataset,
                             const struct hr_observer *observer, struct hr_run_result *result)
{
    const struct hr_train_call call = {
        .options = &replay->options, .replay = replay, .dataset = dataset, .observer = observer};
    return all_or_nothing(hr_train_call(&call, result), result);
}
