/* The result of a run, folded from the workers' counters after all ranks have ended. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "hogring/checkpoint.h"
#include "options/train_options.h"
#include "session/result.h"
#include "train/counters.h"
#include "train/pipeline_setup.h"
#include "worker/gradient.h"
#include "drive/replay.h"
#include "strategies/strategies.h"

/* Does the strategy obey --staleness, whatever its value? */
static bool is_bounded(const struct hr_run *run)
{
    const struct hr_strategy *named;
    return hr_strategy_find(run->job.options->strategy, UINT64_MAX, &named) == HR_OK &&
           hr_strategy_obeys(named, "staleness");
}

static void fill_configuration(const struct hr_run *run, struct hr_run_result *result)
{
    const struct hr_dataset *held_out_of = run->final_test.dataset;
    const struct hr_dataset *whole = held_out_of ? held_out_of : run->job.dataset;
    const struct hr_shared_state *shared = &run->shared;
    const bool all_reduces = hr_strategy_obeys(shared->strategy, "algorithm");
    const struct hr_algorithm *algorithm = shared->group_options.algorithm;
    snprintf(result->strategy, sizeof result->strategy, "%s", run->job.options->strategy);
    snprintf(result->algorithm, sizeof result->algorithm, "%s", all_reduces ? algorithm->name : "");
    snprintf(result->order, sizeof result->order, "%s",
             shared->strategy->order ? shared->strategy->order : algorithm->order);
    snprintf(result->launch, sizeof result->launch, "%s",
             run->job.played ? "events" : hr_launch_name(run->job.launch));
    snprintf(result->kernels, sizeof result->kernels, "%s", hr_run_kernels(run));
    snprintf(result->precision, sizeof result->precision, "%s", run->job.options->precision);
    snprintf(result->model, sizeof result->model, "%.1023s", hr_model_text(run->job.model));
    snprintf(result->optimizer, sizeof result->optimizer, "%s", shared->optimizer.rule->name);
    hr_strategy_describe(shared, result->manner, sizeof result->manner);
    result->workers = shared->workers;
    result->servers = shared->servers;
    if (shared->servers)
        snprintf(result->placement, sizeof result->placement, "%s", run->options.placement);
    result->params = shared->params;
    result->frozen_params = shared->optimizer.frozen;
    result->classes = run->job.dataset->classes;
    result->test_samples = whole->test.count;
    result->targets = run->job.values.count;
    result->batch_size = run->job.batch_size;
    result->global_batch = run->job.global_batch;
    result->threads_per_worker = run->job.options->threads_per_worker;
    result->micro_shards = run->job.micro_shards;
    result->repro_cost = hr_micro_shards_cost(&run->job);
    result->seed = run->job.options->seed;
    result->event_order = run->job.options->event_order;
    result->bounded = is_bounded(run);
    result->staleness_bound = run->job.options->staleness;
}

static enum hr_status take_dropped(const struct hr_run *run, struct hr_run_result *result)
{
    result->ndropped_by = run->shared.workers;
    result->dropped_by = calloc(result->ndropped_by, sizeof *result->dropped_by);
    if (!result->dropped_by)
        return hr_fail(HR_E_NOMEM, "no memory for the counts of %zu workers", result->ndropped_by);
    for (size_t w = 0; w < result->ndropped_by; w++)
        result->dropped_by[w] = run->shared.stats[w].dropped.gradients;
    return HR_OK;
}

/* The double that people would write for this float: 0.05, not 0.05000000074505806. */
static double as_written(float value)
{
    char text[32];
    snprintf(text, sizeof text, "%.7g", (double)value);
    return strtod(text, NULL);
}

/* Of the updates that this run made: a rate that fell to 0 has not acted like 0. */
static double mean_lr(const struct hr_batch_schedule *schedule, uint64_t end)
{
    enum { LOOKS = 4096 };
    const uint64_t first = schedule->first < end ? schedule->first : end - 1, n = end - first;
    const uint64_t looks = n < LOOKS ? n : LOOKS;
    double sum = 0;
    for (uint64_t i = 0; i < looks; i++)
        sum += (double)hr_batch_schedule_lr(schedule, first + i * n / looks);
    return as_written((float)(sum / (double)looks));
}

static void name_trace(const struct hr_run *run, struct hr_run_result *result)
{
    const bool to_the_end =
        run->drive.replay && !hr_replay_is_cut_short(&run->drive) && !result->interrupted;
    snprintf(result->trace, sizeof result->trace, "%s",
             run->drive.replay ? run->drive.replay->path : run->job.options->record);
    snprintf(result->recorded_digest, sizeof result->recorded_digest, "%s",
             to_the_end ? run->drive.replay->weights_digest : "");
}

enum hr_status hr_result_fill(struct hr_run *run)
{
    struct hr_run_result *result = run->result;
    const struct hr_batch_schedule *schedule = &run->shared.schedule;
    const struct hr_worker_stats *stats = run->shared.stats;
    const struct hr_accounts accounts = {&stats->account, sizeof *stats, run->shared.workers};
    fill_configuration(run, result);
    hr_result_count(run, result);
    HR_TRY(hr_result_finish(&run->leader.cuts, run->job.options, &accounts, result));
    HR_TRY(hr_account_staleness(run));
    HR_TRY(hr_account_waiting(run));
    HR_TRY(take_dropped(run, result));
    HR_TRY(hr_pipeline_report(run));
    result->wall_s = hr_seconds(hr_clock_ns() - run->wall_began_ns);
    result->cpu_s = hr_seconds(hr_clock_cpu_ns() - run->cpu_began_ns);
    const uint64_t end = run->leader.cuts.cut->index ? run->leader.cuts.cut->index : 1;
    result->lr = as_written(hr_batch_schedule_lr(schedule, end - 1));
    result->asynchrony = hr_asynchrony_of(run, result, mean_lr(schedule, end));
    hr_divergence_cure(run, result);
    hr_digest_floats(run->shared.snapshot.weights, run->shared.params, result->weights_digest);
    result->counts_applied = run->shared.servers && run->shared.strategy->rows.state != HR_KEPT_OWN;
    result->applied = run->shared.snapshot.applied[0] - run->applied;
    name_trace(run, result);
    hr_result_divide_time(run, result);
    hr_losses_report(&run->drive.losses, result);
    result->repeats = run->job.played || (hr_train_repeats(run->job.options) && !result->nlosses);
    hr_conditions_warn(&run->job, (int64_t)(1e12 * result->seconds));
    return HR_OK;
}
