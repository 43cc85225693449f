/* Pipelines, from counters to the result. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/size.h"
#include "train/pipeline_setup.h"
#include "worker/staged.h"

static enum hr_status report_split(const struct hr_train_job *job, struct hr_tensor_report *report)
{
    const struct hr_pipeline *pipeline = job->pipeline;
    const struct hr_model *model = pipeline->options.model;
    const size_t n = hr_model_layer_count(model);
    if (pipeline->split.shards < 2)
        return HR_OK;
    report->layer = calloc(n, sizeof *report->layer);
    if (!report->layer)
        return hr_fail(HR_E_NOMEM, "no memory to describe %zu layers", n);
    for (size_t i = 0; i < n; i++) {
        const struct hr_layer_info info = hr_model_layer(model, i);
        snprintf(report->layer[i].path, sizeof report->layer[i].path, "%s", info.path);
        snprintf(report->layer[i].text, sizeof report->layer[i].text, "%s", info.text);
        report->layer[i].cut = hr_layer_cut_name(pipeline->split.cut[i]);
    }
    for (size_t i = 0; i < job->shared->workers * pipeline->seats; i++)
        report->bytes += job->stage_accounts[i].moved;
    report->nlayers = n;
    report->shards = pipeline->split.shards;
    report->ranks = hr_max_size(job->options->tensor_parallel, 1); /* played: as it was asked */
    return HR_OK;
}

/* Of all workers' k-th stages; a stage that does nothing in a step of its pipeline waits. */
static void count_stage(const struct hr_train_job *job, size_t k, double span,
                        struct hr_stage_report *stage)
{
    const size_t team = job->pipeline->team, seats = job->pipeline->seats;
    int64_t busy_ns = 0, busy_ps = 0, again_ns = 0, again_ps = 0;
    for (size_t i = 0; i < job->shared->workers * team; i++) {
        const struct hr_stage_account *account =
            &job->stage_accounts[i / team * seats + k * team + i % team];
        busy_ns += account->busy_ns;
        busy_ps += account->busy_ps;
        again_ns += account->again_ns;
        again_ps += account->again_ps;
        stage->bytes += account->bytes;
        stage->peak = account->peak > stage->peak ? account->peak : stage->peak;
    }
    stage->busy_s = job->simulated ? hr_ps_seconds(busy_ps) : hr_seconds(busy_ns);
    stage->again_s = job->simulated ? hr_ps_seconds(again_ps) : hr_seconds(again_ns);
    stage->busy_s /= (double)team;
    stage->again_s /= (double)team;
    stage->wait_s = job->played && !job->simulated ? (double)NAN : span - stage->busy_s;
}

/* Micro-batches, or minibatches of a pipeline that never drains, from when it fills to when it is
 * empty. */
static size_t between_drains(const struct hr_run *run)
{
    const struct hr_pipeline_options *o = &run->job.pipeline->options;
    const struct hr_batch_schedule *schedule = &run->shared.schedule;
    const uint64_t epoch = schedule->batches_per_epoch, run_of = schedule->end - schedule->first;
    const uint64_t each = run->shared.strategy->shares_batch ? 1 : run->shared.workers;
    if (o->schedule->synchronous)
        return o->shape.micro_batches;
    const uint64_t n = (epoch < run_of ? epoch : run_of) / each;
    return n ? (size_t)n : 1;
}

/* Every stage makes every update, and the pipeline fills as a whole. */
static void report_staleness(const struct hr_run *run, struct hr_pipeline_report *report)
{
    const struct hr_train_job *job = &run->job;
    const struct hr_pipeline_options *o = &job->pipeline->options;
    report->never_drains = !o->schedule->synchronous;
    for (size_t k = 0; report->never_drains && k < report->stages; k++) {
        struct hr_stage_stale sum = {0};
        for (size_t w = 0; w < job->shared->workers; w++) {
            const struct hr_stage_stale *of = &job->stage_accounts[w * report->stages + k].stale;
            sum.updates += of->updates;
            sum.filling += of->filling;
            sum.forward += of->forward;
            sum.backward += of->backward;
        }
        const double full = (double)(sum.updates - sum.filling);
        report->gradients = sum.updates;
        report->filling = sum.filling;
        report->stage[k].stale_forward = full > 0 ? (double)sum.forward / full : (double)NAN;
        report->stage[k].stale_backward = full > 0 ? (double)sum.backward / full : (double)NAN;
        report->stage[k].versions = o->schedule->versions(&o->shape, k);
    }
}

enum hr_status hr_pipeline_report(struct hr_run *run)
{
    const struct hr_train_job *job = &run->job;
    const struct hr_pipeline *pipeline = job->pipeline;
    struct hr_pipeline_report *report = &run->result->pipeline;
    double span = 0, idle = 0, without = 0;
    if (!pipeline)
        return HR_OK;
    HR_TRY(report_split(job, &run->result->tensor));
    if (!run->options.pipeline)
        return HR_OK;
    const struct hr_pipeline_options *o = &pipeline->options;
    HR_TRY(hr_pipeline_describe(job, &report->stage));
    for (size_t w = 0; w < job->shared->workers; w++) {
        const struct hr_stage_account *lead = &job->stage_accounts[w * pipeline->seats];
        span += job->simulated ? hr_ps_seconds(lead->span_ps) : hr_seconds(lead->span_ns);
        without += hr_ps_seconds(lead->without_ps);
    }
    for (size_t k = 0; k < pipeline->ranks; k++) {
        count_stage(job, k, span, &report->stage[k]);
        idle += report->stage[k].wait_s;
        report->bytes += report->stage[k].bytes;
    }
    report->stages = pipeline->ranks;
    report->micro_batches = o->streams ? 1 : o->shape.micro_batches;
    report->chunks = o->shape.chunks;
    report->bubble = span > 0 ? idle / ((double)pipeline->ranks * span) : (double)NAN;
    HR_TRY(hr_pipeline_recompute(job, &report->recompute));
    report->without_s = job->simulated && o->recompute ? without : (double)NAN;
    report_staleness(run, report);
    const struct hr_pipeline_shape shape = {o->shape.stages, between_drains(run), o->shape.chunks};
    report->formula = o->schedule->bubble(&shape);
    HR_TRY(hr_staged_spans(job, &report->span, &report->nspans));
    snprintf(report->schedule, sizeof report->schedule, "%s", o->schedule->name);
    return HR_OK;
}
