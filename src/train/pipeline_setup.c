#include "train/pipeline_setup.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/schedules.h"
#include "stages/cut.h"

enum hr_status hr_pipeline_count_ranks(struct hr_run *run)
{
    const size_t K = run->options.pipeline, workers = run->shared.workers;
    struct hr_train_job *job = &run->job;
    job->first_stage = job->nranks;
    if (K < 2 || job->played)
        return HR_OK;
    job->nranks += workers * (K - 1);
    if (job->nranks <= HR_MAX_RANKS)
        return HR_OK;
    return hr_fail(
        HR_E_USAGE,
        "--pipeline %zu: %zu worker%s of %zu stages%s are %zu ranks, expected at most %d "
        "in all",
        K, workers, workers == 1 ? "" : "s", K, run->shared.servers ? ", and servers," : "",
        job->nranks, HR_MAX_RANKS);
}

/* --- what does not go with it --- */

/* Why not, or NULL. */
static const char *obstacle(const struct hr_train_options *o)
{
    if (o->accumulate > 1)
        return "--accumulate: --micro-batches says how many pieces a gradient is added up from";
    if (!strcmp(o->reduce, "repro"))
        return "--reduce repro: its micro-shards are not those of a pipeline";
    if (!strcmp(o->overlap, "on"))
        return "--overlap on: gradients are whole only after the last micro-batch";
    if (o->prefetch)
        return "--prefetch: micro-batches are decoded one by one, while other stages compute";
    if (strcmp(o->on_loss, "stop") != 0)
        return "--on-loss: a worker that is lost would leave its other stages behind";
    if (o->calibrate[0])
        return "--calibrate: it times gradients of single ranks";
    return NULL;
}

static enum hr_status check_batch(const struct hr_train_job *job, size_t M)
{
    const struct hr_train_options *o = job->options;
    const size_t workers = job->shared->workers, global = o->global_batch_size;
    if (global && global % (workers * M))
        return hr_fail(
            HR_E_USAGE,
            "--micro-batches %zu: expected a divisor of the %zu samples that each of %zu "
            "worker%s has of --global-batch-size %zu",
            M, global / workers, workers, workers == 1 ? "" : "s", global);
    if (!global && job->batch_size % M)
        return hr_fail(HR_E_USAGE, "--micro-batches %zu: expected a divisor of --batch-size %zu", M,
                       job->batch_size);
    return HR_OK;
}

static enum hr_status find_schedule(const struct hr_train_options *o,
                                    struct hr_pipeline_options *to)
{
    HR_TRY(hr_pipeline_schedule_find(o->pipeline_schedule, &to->schedule));
    if (to->schedule->splits_backward || !to->schedule->synchronous)
        return hr_fail(HR_E_USAGE,
                       "--pipeline-schedule %s: not there yet: %s; expected gpipe, 1f1b or "
                       "interleaved",
                       o->pipeline_schedule,
                       to->schedule->synchronous
                           ? "layers do not compute the gradients of their inputs and of their "
                             "weights apart"
                           : "a stage has one version of its weights");
    return to->schedule->check(&to->shape);
}

/* A replay, which knows only what decides bits, computes micro-batches in one stage. */
static size_t stages_of(const struct hr_train_options *o)
{
    return o->pipeline == 0 && o->micro_batches > 1 ? 1 : o->pipeline;
}

enum hr_status hr_pipeline_setup(struct hr_run *run)
{
    const struct hr_train_options *o = &run->options;
    struct hr_train_job *job = &run->job;
    const size_t K = stages_of(o), M = o->micro_batches ? o->micro_batches : K;
    const char *why = obstacle(o);
    size_t cut[HR_PIPELINE_STAGES];
    if (!K)
        return HR_OK;
    if (why)
        return hr_fail(HR_E_USAGE, "--pipeline %zu: not with %s", K, why);
    struct hr_pipeline_options options = {
        .model = job->model,
        .shape = {K, M, o->chunks},
        .cut = cut,
        .most = job->batch_size / M,
        .seed = o->seed,
        .threads = o->threads_per_worker,
    };
    HR_TRY(find_schedule(o, &options));
    HR_TRY(check_batch(job, M));
    const size_t parts = K * o->chunks;
    if (parts > HR_PIPELINE_STAGES)
        return hr_fail(HR_E_USAGE, "--chunks %zu: %zu stages would have %zu parts, at most %d",
                       o->chunks, K, parts, HR_PIPELINE_STAGES);
    HR_TRY(hr_cut_model(job->model, o->stages, options.schedule, &options.shape, cut));
    HR_TRY(hr_pipeline_create(&options, &job->pipeline));
    run->options.micro_batches = M; /* a checkpoint says it, whatever grid resumes it */
    job->parts = job->most_parts = M;
    job->piece = options.most;
    return job->simulated ? hr_pipeline_time(job->pipeline, &job->pipeline_time) : HR_OK;
}

/* --- said --- */

static void describe_layers(const struct hr_pipeline *pipeline, size_t k, char *text, size_t size)
{
    for (size_t p = k, used = 0; p < pipeline->parts && used < size; p += pipeline->ranks) {
        char part[80];
        hr_cut_text(pipeline->options.model, pipeline->cut[p], pipeline->cut[p + 1], part,
                    sizeof part);
        used += (size_t)snprintf(text + used, size - used, "%s%s", p == k ? "" : ", ", part);
    }
}

enum hr_status hr_pipeline_describe(const struct hr_train_job *job, struct hr_stage_report **out)
{
    const struct hr_pipeline *pipeline = job->pipeline;
    struct hr_stage_report *stage = calloc(pipeline->ranks, sizeof *stage);
    double all = 0;
    if (!stage)
        return hr_fail(HR_E_NOMEM, "no memory to describe %zu stages", pipeline->ranks);
    for (size_t k = 0; k < pipeline->ranks; k++)
        all += hr_pipeline_madds(pipeline, k);
    for (size_t k = 0; k < pipeline->ranks; k++) {
        describe_layers(pipeline, k, stage[k].layers, sizeof stage[k].layers);
        stage[k].params = hr_pipeline_params(pipeline, k);
        stage[k].madds_share = all > 0 ? hr_pipeline_madds(pipeline, k) / all : 0;
    }
    *out = stage;
    return HR_OK;
}

/* Of all workers' k-th stages; a stage that does nothing in a step of its pipeline waits. */
static void count_stage(const struct hr_train_job *job, size_t k, double span,
                        struct hr_stage_report *stage)
{
    const size_t ranks = job->pipeline->ranks;
    int64_t busy_ns = 0;
    for (size_t w = 0; w < job->shared->workers; w++) {
        const struct hr_stage_account *account = &job->stage_accounts[w * ranks + k];
        busy_ns += account->busy_ns;
        stage->bytes += account->bytes;
        stage->peak = account->peak > stage->peak ? account->peak : stage->peak;
    }
    stage->busy_s = job->simulated ? span * job->pipeline_time->busy[k] : hr_seconds(busy_ns);
    stage->wait_s = job->played && !job->simulated ? (double)NAN : span - stage->busy_s;
}

enum hr_status hr_pipeline_report(struct hr_run *run)
{
    const struct hr_train_job *job = &run->job;
    const struct hr_pipeline *pipeline = job->pipeline;
    struct hr_pipeline_report *report = &run->result->pipeline;
    double span = 0, idle = 0;
    if (!pipeline)
        return HR_OK;
    const struct hr_pipeline_options *o = &pipeline->options;
    HR_TRY(hr_pipeline_describe(job, &report->stage));
    for (size_t w = 0; w < job->shared->workers; w++)
        span += hr_seconds(job->stage_accounts[w * pipeline->ranks].span_ns);
    if (job->simulated)
        span = run->result->compute_s;
    for (size_t k = 0; k < pipeline->ranks; k++) {
        count_stage(job, k, span, &report->stage[k]);
        idle += report->stage[k].wait_s;
        report->bytes += report->stage[k].bytes;
    }
    report->stages = pipeline->ranks;
    report->micro_batches = o->shape.micro_batches;
    report->chunks = o->shape.chunks;
    report->bubble = span > 0 ? idle / ((double)pipeline->ranks * span) : (double)NAN;
    report->formula = o->schedule->bubble(&o->shape);
    snprintf(report->schedule, sizeof report->schedule, "%s", o->schedule->name);
    return HR_OK;
}
