/* Tells the observer what the run is about to do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpus.h"
#include "drive/serve.h"
#include "kernels/bf16.h"
#include "nn/model.h"
#include "products/ready.h"
#include "server/server.h"
#include "train/optimizer_setup.h"
#include "train/pipeline_setup.h"
#include "train/run.h"
#include "train/multinode.h"

static const char *compute_text(const struct hr_run *run)
{
    if (run->job.conditions.times)
        return "as long as recorded";
    return run->job.options->compute_time[0] ? run->job.options->compute_time
                                             : "as long as it takes";
}

/* "a gradient lognormal(10ms,0.3); a server's message 1ms; links 1GB/s; faults slow:3x2" */
static void times_text(const struct hr_run *run, char *text, size_t size)
{
    const struct hr_train_options *o = run->job.options;
    const bool simulated = run->job.simulated;
    char servers[160] = "", messages[300] = "";
    text[0] = '\0';
    if (!simulated && !hr_conditions_matter(&run->job.conditions))
        return;
    if (simulated && hr_strategy_is_served(run->shared.strategy))
        snprintf(servers, sizeof servers, "; a server's message %.120s",
                 o->server_time[0] ? o->server_time : "0s");
    if (simulated && (o->link[0] || o->topology[0]))
        snprintf(messages, sizeof messages, "; links %.200s%s%.60s", o->topology,
                 o->link[0] && o->topology[0] ? " " : "", o->link);
    else if (simulated)
        snprintf(messages, sizeof messages, "; links without delay");
    snprintf(text, size, "a gradient %.120s%s%s%s%.120s", compute_text(run), servers, messages,
             o->inject[0] ? "; faults " : "", o->inject);
}

/* What `info` points to. */
struct said {
    struct hr_stage_report *stage; /* malloc'd, and so is: */
    uint64_t *redone;
    char split[400], task[400], compress[160], servers[800], pushes[120], overlap[160];
    char norms[HR_BATCHNORM_NOTE];
};

static enum hr_status add_pipeline(const struct hr_train_job *job, struct hr_run_info *info,
                                   struct said *said)
{
    const struct hr_pipeline *pipeline = job->pipeline;
    if (!pipeline)
        return HR_OK;
    hr_split_text(pipeline, said->split, sizeof said->split);
    info->shards = pipeline->split.shards > 1 ? pipeline->split.shards : 0;
    info->team = pipeline->options.team;
    info->split = said->split;
    if (!job->options->pipeline)
        return HR_OK;
    HR_TRY(hr_pipeline_describe(job, &said->stage));
    info->stages = pipeline->ranks;
    info->micro_batches =
        pipeline->options.schedule->synchronous ? pipeline->options.shape.micro_batches : 0;
    info->pipeline_schedule = pipeline->options.schedule->name;
    info->stage = said->stage;
    return hr_pipeline_recompute(job, &info->recompute);
}

static void add_task(const struct hr_train_job *job, struct hr_run_info *info, struct said *said)
{
    const struct hr_dataset *dataset = job->dataset;
    const size_t T = dataset->tokens.context;
    if (T)
        snprintf(said->task, sizeof said->task,
                 "text: the next of %zu tokens, %zu per sample; %zu to train on, %zu to %s",
                 dataset->classes, T, dataset->train.count * T, dataset->test.count * T,
                 job->options->validation_fraction > 0 || dataset->options.validation_data[0]
                     ? "validate"
                     : "test");
    else if (job->values.count)
        hr_target_scale_text(&job->values, job->options->loss, said->task, sizeof said->task);
    else
        return;
    info->task = said->task;
    info->tokens = T;
}

/* "2 on m0, 1 on m1", where there are several machines. */
static void servers_text(const struct hr_run *run, char *text, size_t size)
{
    const struct hr_shared_state *shared = &run->shared;
    text[0] = '\0';
    for (size_t m = 0; shared->servers && m < shared->hosts.machines; m++) {
        const size_t used = strlen(text);
        size_t n = 0;
        for (size_t s = 0; s < shared->servers; s++)
            n += shared->hosts.machine[hr_shard_rank(shared, s)] == m;
        if (n)
            snprintf(text + used, size - used, "%s%zu on %s", used ? ", " : "", n,
                     hr_multinode_host(run, m));
    }
}

/* Batches that the run begins with, as steps. */
static enum hr_status add_redone(const struct hr_run *run, struct hr_run_info *info,
                                 struct said *said)
{
    const struct hr_begins_with *with = &run->shared.begins_with;
    if (!with->n)
        return HR_OK;
    said->redone = malloc(with->n * sizeof *said->redone);
    if (!said->redone)
        return hr_fail(HR_E_NOMEM, "no memory for %zu steps", (size_t)with->n);
    for (uint64_t i = 0; i < with->n; i++)
        said->redone[i] = 1 + with->index[i] + run->leader.cuts.history.steps;
    info->redone = said->redone;
    info->nredone = (size_t)with->n;
    return HR_OK;
}

static enum hr_status announce(const struct hr_run *run, struct hr_run_info *info)
{
    struct said said = {0};
    add_task(&run->job, info, &said);
    info->machines = run->result->machines;
    info->nmachines = run->result->nmachines;
    hr_compress_text(run, said.compress, sizeof said.compress);
    info->compress = said.compress;
    servers_text(run, said.servers, sizeof said.servers);
    info->server_hosts = said.servers;
    hr_aggregate_text(run, said.pushes, sizeof said.pushes);
    info->pushes = said.pushes;
    info->overlap = said.overlap;
    info->left_out = said.norms;
    HR_TRY(hr_batchnorm_check(run, said.norms, sizeof said.norms));
    enum hr_status status = hr_overlap_text(run, said.overlap, sizeof said.overlap);
    if (status == HR_OK)
        status = add_pipeline(&run->job, info, &said);
    if (status == HR_OK)
        status = add_redone(run, info, &said);
    if (status == HR_OK)
        status = hr_observer_begins(run->launcher.observer, info);
    free(said.stage);
    free(said.redone);
    return status;
}

const char *hr_run_kernels(const struct hr_run *run)
{
    const struct hr_model *model = run->job.model;
    if (hr_model_precision(model) == HR_PRECISION_BF16)
        return hr_bf16_name();
    return hr_model_is_direct(model) ? hr_kernels_name_direct() : hr_kernels_name();
}

/* Updates before this run, [first, ...) of its batches. */
static uint64_t updates_before(const struct hr_run *run)
{
    const uint64_t first = run->shared.schedule.first, made = run->leader.cuts.history.updates;
    const bool arrive =
        hr_strategy_is_served(run->shared.strategy) && !run->shared.strategy->synchronous;
    return arrive && first && made ? made : first; /* earlier versions: not known */
}

/* And of its own: where a machine's workers make one of their batches together, what is left of
 * them before a cut is one. */
static uint64_t updates_from_here(const struct hr_run *run)
{
    const struct hr_batch_schedule *schedule = &run->shared.schedule;
    const size_t together = run->shared.strategy->synchronous ? 0 : run->shared.node_workers;
    uint64_t updates = 0, cut;
    if (schedule->first >= schedule->end)
        return 0;
    if (!together || run->length.epochs <= 0)
        return schedule->end - schedule->first;
    for (uint64_t index = schedule->first; index < schedule->end; index = cut) {
        cut = hr_batch_schedule_next_cut(schedule, index);
        updates += (cut - index + together - 1) / together;
    }
    return updates;
}

enum hr_status hr_announce(const struct hr_run *run)
{
    const struct hr_train_options *o = run->job.options;
    const struct hr_shared_state *shared = &run->shared;
    const struct hr_batch_schedule *schedule = &shared->schedule;
    const bool all_reduces = hr_strategy_obeys(shared->strategy, "algorithm");
    char optimizer[160], rate[160], manner[96], times[600], memory[HR_NEEDS_TEXT], frozen[400];
    hr_optimizer_setup_text(run, optimizer, sizeof optimizer);
    hr_rate_setup_text(run, rate, sizeof rate);
    hr_strategy_describe(shared, manner, sizeof manner);
    times_text(run, times, sizeof times);
    hr_needs_text(&run->needs, memory);
    hr_freeze_text(run->job.model, &shared->optimizer, frozen, sizeof frozen);
    struct hr_run_info info = {
        .strategy = run->job.options->strategy,
        .algorithm = all_reduces ? shared->group_options.algorithm->name : NULL,
        .order = all_reduces ? shared->group_options.algorithm->order : NULL,
        .launch = run->job.serial ? run->drive.driver->title : hr_launch_name(run->job.launch),
        .guarantee = shared->guarantee,
        .model = hr_model_text(run->job.model),
        .kernels = hr_run_kernels(run),
        .optimizer = optimizer,
        .lr_schedule = rate,
        .manner = manner,
        .times = times,
        .memory = memory,
        .frozen = frozen,
        .frozen_params = shared->optimizer.frozen,
        .node_workers = shared->node_workers,
        .workers = shared->workers,
        .servers = shared->servers,
        .processors = hr_cpus_allowed(),
        .batch_size = run->job.batch_size,
        .global_batch = run->job.global_batch,
        .threads_per_worker = o->threads_per_worker,
        .micro_shards = run->job.micro_shards,
        .params = shared->params,
        .lr = (double)hr_batch_schedule_lr(schedule, schedule->first),
        .epochs = run->length.epochs > 0 ? run->length.begun : 0,
        .length_s = run->length.epochs > 0 ? 0 : hr_run_seconds(o),
        .length = run->length.epochs,
        .validation_samples = run->final_test.dataset ? run->job.dataset->test.count : 0,
        .validation_data =
            run->final_test.held_out.chosen ? "" : run->job.dataset->options.validation_data,
        .steps = updates_before(run) + updates_from_here(run),
        .first = updates_before(run),
        .resumed = run->resume.checkpoint != NULL,
        .begins = schedule->first + run->leader.cuts.history.steps,
        .seed = o->seed,
        .staleness = o->staleness,
        .synchronous = shared->strategy->synchronous,
        .shares_batch = shared->strategy->shares_batch,
        .averages = shared->strategy->synchronous && shared->strategy->rows.state == HR_KEPT_OWN,
        .served = hr_strategy_is_served(shared->strategy),
        .colocated = shared->colocated,
        .servers_rest = hr_resting_would(&run->drive),
        .bounded = shared->staleness_bound != 0 && shared->staleness_bound != UINT64_MAX,
        .played = run->job.serial,
    };
    return announce(run, &info);
}
