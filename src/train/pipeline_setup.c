#include "train/pipeline_setup.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpus.h"
#include "base/log.h"
#include "base/size.h"
#include "pipeline/schedule.h"
#include "stages/cut.h"
#include "strategies/strategies.h"
#include "worker/staged.h"

static size_t team_of(const struct hr_train_options *o)
{
    return o->tensor_parallel ? o->tensor_parallel : 1;
}

static size_t shards_of(const struct hr_train_options *o)
{
    return o->tensor_shards ? o->tensor_shards : team_of(o);
}

enum hr_status hr_pipeline_count_ranks(struct hr_run *run)
{
    const struct hr_train_options *o = &run->options;
    const size_t K = o->pipeline ? o->pipeline : 1, workers = run->shared.workers;
    struct hr_train_job *job = &run->job;
    char grid[60] = "";
    job->first_stage = job->nranks;
    if (K * team_of(o) < 2 || job->serial)
        return HR_OK;
    job->nranks += workers * (K * team_of(o) - 1);
    if (job->nranks <= HR_MAX_RANKS)
        return HR_OK;
    if (o->tensor_parallel)
        snprintf(grid, sizeof grid, ", each shared by %zu ranks,", o->tensor_parallel);
    return hr_fail(
        HR_E_USAGE,
        "--%s %zu: %zu worker%s of %zu stage%s%s%s are %zu ranks, expected at most %d in all",
        o->pipeline ? "pipeline" : "tensor-parallel", o->pipeline ? K : o->tensor_parallel, workers,
        workers == 1 ? "" : "s", K, K == 1 ? "" : "s", grid,
        run->shared.servers ? ", and servers," : "", job->nranks, HR_MAX_RANKS);
}

static enum hr_status check_shards(const struct hr_train_options *o)
{
    if (shards_of(o) % team_of(o) == 0)
        return HR_OK;
    return hr_fail(
        HR_E_USAGE,
        "--tensor-parallel %zu:%zu: expected a multiple of %zu shards: each rank has as many",
        o->tensor_parallel, o->tensor_shards, o->tensor_parallel);
}

static enum hr_status check_batch(const struct hr_train_job *job, size_t M)
{
    const struct hr_train_options *o = job->options;
    const size_t workers = job->shared->workers, global = o->global_batch_size;
    if (job->micro_shards && M != job->parts)
        return hr_fail(HR_E_USAGE,
                       "--pipeline micro-batches=%zu: under --reduce repro they are the %zu of %zu "
                       "micro-shards that each of %zu worker%s has; expected it without",
                       M, job->parts, job->micro_shards, workers, workers == 1 ? "" : "s");
    if (job->micro_shards || o->accumulate > 1)
        return HR_OK;
    if (global && global % (workers * M))
        return hr_fail(
            HR_E_USAGE,
            "--pipeline micro-batches=%zu: expected a divisor of the %zu samples that each of %zu "
            "worker%s has of --global-batch-size %zu",
            M, global / workers, workers, workers == 1 ? "" : "s", global);
    if (!global && job->batch_size % M)
        return hr_fail(HR_E_USAGE,
                       "--pipeline micro-batches=%zu: expected a divisor of --batch-size %zu", M,
                       job->batch_size);
    return HR_OK;
}

static enum hr_status find_schedule(const struct hr_train_options *o,
                                    struct hr_pipeline_options *to)
{
    HR_TRY(hr_pipeline_schedule_find(o->pipeline_schedule, &to->schedule));
    if (!strcmp(to->schedule->name, "interleaved") && to->shape.chunks < 2)
        return hr_fail(HR_E_USAGE,
                       "--pipeline schedule=interleaved: a stage with one part of the "
                       "model has nothing to interleave; expected interleaved:2, or 1f1b");
    return to->schedule->check(&to->shape);
}

/* A replay, which knows only what decides bits, computes micro-batches, or shards, in one stage. */
static size_t stages_of(const struct hr_train_options *o)
{
    const bool is_one = o->micro_batches > 1 || shards_of(o) > 1;
    return o->pipeline == 0 && is_one ? 1 : o->pipeline;
}

/* Without --pipeline, minibatches that are accumulated are what passes through the one stage. */
static size_t micro_batches_of(const struct hr_train_job *job, size_t K)
{
    const size_t given = job->options->micro_batches, accumulate = job->options->accumulate;
    return given ? given : job->micro_shards ? job->parts : accumulate > 1 ? accumulate : K;
}

/* That a worker's ranks live on (multinode.c): the machines of its first and last. */
static size_t machines_of(const struct hr_run *run, size_t members)
{
    const struct hr_hosts *hosts = &run->shared.hosts;
    if (!hr_hosts_are_many(hosts) || run->job.serial || members < 2)
        return 1;
    return (size_t)hosts->machine[run->job.first_stage + members - 2] - hosts->machine[0] + 1;
}

static enum hr_status create(const struct hr_pipeline_options *options,
                             const struct hr_train_options *o, struct hr_pipeline **out)
{
    const enum hr_status status = hr_pipeline_create(options, out);
    if (status == HR_OK || options->shards < 2)
        return status;
    return hr_fail_within(status, "--tensor-parallel %zu:%zu", team_of(o), options->shards);
}

enum hr_status hr_pipeline_setup(struct hr_run *run)
{
    const struct hr_train_options *o = &run->options;
    struct hr_train_job *job = &run->job;
    const size_t K = stages_of(o);
    size_t cut[HR_PIPELINE_STAGES];
    if (!K)
        return HR_OK;
    HR_TRY(check_shards(o));
    struct hr_pipeline_options options = {
        .model = job->model,
        .shape = {K, micro_batches_of(job, K), o->chunks},
        .cut = cut,
        .seed = o->seed,
        .threads = o->threads_per_worker,
        .recompute = o->recompute,
        .shards = shards_of(o),
        .team = team_of(o),
        .serial = job->serial,
        .rounds = job->most_parts / job->parts, /* where fewer share a batch */
        .machines = machines_of(run, K * team_of(o)),
    };
    HR_TRY(find_schedule(o, &options));
    const bool stale = !options.schedule->synchronous;
    if (stale) {
        options.streams = !job->serial;
        options.shape.micro_batches = options.streams ? K : 1; /* on their way */
        if (options.streams)
            run->shared.strategy = &hr_strategy_streamed;
    }
    const size_t M = stale ? 1 : options.shape.micro_batches;
    HR_TRY(check_batch(job, M));
    options.most = (hr_train_job_share(job) + M - 1) / M;
    const size_t parts = K * o->chunks;
    if (parts > HR_PIPELINE_STAGES)
        return hr_fail(HR_E_USAGE,
                       "--pipeline schedule=%s:%zu: %zu stages would have %zu parts, at most %d",
                       o->pipeline_schedule, o->chunks, K, parts, HR_PIPELINE_STAGES);
    HR_TRY(hr_cut_model(job->model, o->stages, options.schedule, &options.shape, cut));
    HR_TRY(create(&options, o, &job->pipeline));
    run->shared.schedule.saves_wait = stale;
    /* A checkpoint says it, whatever grid resumes it. */
    run->options.micro_batches = stale || job->micro_shards || o->accumulate > 1 ? 0 : M;
    run->options.tensor_shards = options.shards > 1 ? options.shards : 0;
    job->parts = M;
    job->most_parts = M * options.rounds;
    job->piece = options.most;
    if (!job->serial) /* ranks that wait leave their processors to their worker's update */
        run->shared.update_threads = hr_min_size(job->pipeline->members, hr_cpus_cores());
    return HR_OK;
}

enum hr_status hr_pipeline_setup_time(struct hr_train_job *job)
{
    const struct hr_topology *topology = &job->conditions.topology;
    if (!job->pipeline || !job->simulated)
        return HR_OK;
    job->timer = calloc(1, sizeof *job->timer);
    if (!job->timer)
        return hr_fail(HR_E_NOMEM, "no memory for the times of a pipeline");
    return hr_pipeline_timer_init(job->timer, job->pipeline, topology->nnodes ? topology : NULL);
}

/* --- said --- */

void hr_pipeline_say_refill(const struct hr_run *run, const char *path)
{
    const struct hr_pipeline *pipeline = run->job.pipeline;
    const struct hr_batch_schedule *schedule = &run->shared.schedule;
    if (pipeline && !pipeline->options.schedule->synchronous &&
        !hr_batch_schedule_ends_epoch(schedule, schedule->first))
        hr_log(HR_LOG_INFO,
               "%s: saved inside of an epoch: the pipeline fills anew here, as that of a run that "
               "never stopped does not",
               path);
}

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

/* Memory of a worker's stages. */
static size_t bytes_of(const struct hr_pipeline *pipeline)
{
    size_t bytes = 0;
    for (size_t p = 0; p < pipeline->parts; p++)
        bytes += hr_pipeline_team_bytes(pipeline, p);
    for (size_t k = 0; k < pipeline->members; k++)
        bytes += hr_stage_bytes(pipeline, k);
    return bytes;
}

static enum hr_status bytes_without(const struct hr_pipeline *pipeline, size_t *bytes)
{
    struct hr_pipeline_options options = pipeline->options;
    struct hr_pipeline *without;
    options.recompute = false;
    HR_TRY(hr_pipeline_create(&options, &without));
    *bytes = bytes_of(without);
    hr_pipeline_destroy(without);
    return HR_OK;
}

enum hr_status hr_pipeline_recompute(const struct hr_train_job *job,
                                     struct hr_recompute_report *out)
{
    if (!job->pipeline->options.recompute)
        return HR_OK;
    out->on = true;
    out->bytes = bytes_of(job->pipeline);
    HR_TRY(bytes_without(job->pipeline, &out->bytes_without));
    return hr_pipeline_again(job->pipeline, &out->share);
}

/* --- split layers --- */

void hr_split_text(const struct hr_pipeline *pipeline, char *text, size_t size)
{
    static const enum hr_layer_cut cuts[] = {HR_CUT_COLUMNS, HR_CUT_ROWS, HR_CUT_HEADS};
    const struct hr_model *model = pipeline->options.model;
    size_t used = 0;
    text[0] = '\0';
    for (size_t c = 0; c < sizeof cuts / sizeof *cuts; c++) {
        const char *before = used ? "; " : "";
        for (size_t i = 0; i < hr_model_layer_count(model) && used < size; i++) {
            if (pipeline->split.cut[i] != cuts[c])
                continue;
            const char *name = strcmp(before, ", ") ? hr_layer_cut_name(cuts[c]) : "";
            used += (size_t)snprintf(text + used, size - used, "%s%s%s%s", before, name,
                                     *name ? " " : "", hr_model_layer(model, i).path);
            before = ", ";
        }
    }
}

/* Pipelines, from counters to the result. */
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
    for (size_t i = 0; i < job->shared->workers * pipeline->members; i++)
        report->bytes += job->stage_accounts[i].moved;
    report->nlayers = n;
    report->shards = pipeline->split.shards;
    report->ranks = hr_max_size(job->options->tensor_parallel, 1); /* serial: as it was asked */
    return HR_OK;
}

/* Of all workers' k-th stages; a stage that does nothing in a step of its pipeline waits. */
static void count_stage(const struct hr_train_job *job, size_t k, double span,
                        struct hr_stage_report *stage)
{
    const size_t team = job->pipeline->team, members = job->pipeline->members;
    int64_t busy_ns = 0, busy_ps = 0, again_ns = 0, again_ps = 0;
    for (size_t i = 0; i < job->shared->workers * team; i++) {
        const struct hr_stage_account *account =
            &job->stage_accounts[i / team * members + k * team + i % team];
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
    stage->wait_s = job->serial && !job->simulated ? (double)NAN : span - stage->busy_s;
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
        const struct hr_stage_account *lead = &job->stage_accounts[w * pipeline->members];
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
