#include "drive/replay.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/parse.h"
#include "base/printable.h"
#include "checkpoint/safetensors.h"
#include "drive/record.h"
#include "hogring/checkpoint.h"
#include "netsim/inject.h"
#include "options/train_options.h"
#include "session/machine_bits.h"
#include "strategy/shared.h"

/* --- owners --- */

size_t hr_record_owners(const struct hr_drive *drive)
{
    const size_t logs = hr_log_count(drive->job->shared);
    return (logs ? logs : 1) + drive->job->shared->outlives;
}

size_t hr_record_ranks(const struct hr_drive *drive, size_t owner)
{
    const struct hr_train_job *job = drive->job;
    const bool launcher = job->shared->outlives && owner + 1 == hr_record_owners(drive);
    return launcher ? job->first_stage : job->shared->workers;
}

/* --- written --- */

static enum hr_status dump(json_t *object, const char *what, char **text)
{
    *text = hr_json_dump(object, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
    json_decref(object);
    return *text ? HR_OK : hr_fail(HR_E_NOMEM, "no memory for a trace's %s", what);
}

static json_t *count(uint64_t n)
{
    return json_integer((json_int_t)n); /* indices and counters stay far below 2^63 */
}

static json_t *data_json(const struct hr_dataset *dataset)
{
    return json_pack("{so ss so}", "name", hr_json_text(dataset->name), "digest", dataset->digest,
                     "options", hr_data_options_json(&dataset->options));
}

/* Where this run begins. */
static void trace_begin_state(const struct hr_drive *drive, struct hr_trace_begin_state *out)
{
    const struct hr_shared_state *shared = drive->job->shared;
    out->index = shared->schedule.first;
    hr_digest_floats(shared->snapshot.weights, shared->params, out->weights);
    hr_digest_floats(shared->snapshot.state,
                     hr_state_floats(shared) * shared->snapshot.state_copies, out->state);
}

static const char *owners_name(const struct hr_shared_state *shared)
{
    return hr_workers_log(shared->strategy) ? "workers" : shared->servers ? "shards" : "none";
}

/* Of --on-loss: NULL where nothing is outlived. */
static json_t *how_losses_are_outlived(const struct hr_drive *drive)
{
    const struct hr_train_options *o = drive->job->options;
    return drive->job->shared->outlives
               ? json_pack("{ss ss so}", "on-loss", o->on_loss, "lost-batch", o->lost_batch,
                           "max-restarts", count(o->max_restarts))
               : NULL;
}

/* A replay may save anywhere. */
static bool saves_are_no_cuts(const struct hr_drive *drive)
{
    const struct hr_batch_schedule *schedule = &drive->job->shared->schedule;
    return schedule->pauses || !schedule->checkpoint_every;
}

enum hr_status hr_trace_header_write(const struct hr_drive *drive, char **text)
{
    struct hr_train_options options = *drive->job->options;
    struct hr_trace_begin_state begin;
    trace_begin_state(drive, &begin);
    hr_inject_to_repeat(drive->job->options->inject, options.inject, sizeof options.inject);
    options.checkpoint_every =
        (struct hr_every){/* cuts decide bits */
                          .steps = drive->job->shared->schedule.checkpoint_every};
    const char *graph = drive->job->shared->graph_digest.hex;
    return dump(json_pack("{ss so so so ss so so ss ss* so* s{so ss ss}}", "hogring", HR_VERSION,
                          "options", hr_train_options_json(&options), "data",
                          data_json(drive->job->dataset), "machine", hr_machine_bits_json(),
                          "model", hr_model_text(drive->job->model), "params",
                          count(drive->job->shared->params), "pauses",
                          json_boolean(saves_are_no_cuts(drive)), "owners",
                          owners_name(drive->job->shared), "gossip_graph", graph[0] ? graph : NULL,
                          "losses", how_losses_are_outlived(drive), "begin", "index",
                          count(begin.index), "weights", begin.weights, "state", begin.state),
                "header", text);
}

/* Of each worker; none where one process ran all. */
static json_t *time_json(const struct hr_run_result *r)
{
    json_t *workers = json_array();
    const bool kept = r->load_s + r->compute_s + r->communicate_s + r->wait_s > 0;
    for (size_t w = 0; kept && w < r->nworker_times; w++)
        json_array_append_new(workers, json_pack("{sf sf sf sf}", "load", r->worker_time[w].load_s,
                                                 "compute", r->worker_time[w].compute_s,
                                                 "communicate", r->worker_time[w].communicate_s,
                                                 "wait", r->worker_time[w].wait_s));
    return workers;
}

static json_t *loss_json(const struct hr_loss *loss)
{
    return json_pack("{sb so so sf sf so so so sb ss}", "server", loss->server, "rank",
                     count(loss->rank), "step", count(loss->step), "seconds", loss->seconds,
                     "pause_s", loss->pause_s, "samples_lost", count(loss->lost_samples),
                     "samples_again", count(loss->again_samples), "partial", count(loss->partial),
                     "back", loss->back, "how", loss->how);
}

static json_t *losses_json(const struct hr_drive *drive)
{
    const struct hr_run_result *r = drive->result;
    json_t *losses = drive->job->shared->outlives ? json_array() : NULL;
    for (size_t i = 0; losses && i < r->nlosses; i++)
        json_array_append_new(losses, loss_json(&r->losses[i]));
    return losses;
}

/* None where no save was asked for between cuts. */
static json_t *rests_json(const struct hr_launcher *launcher)
{
    json_t *rests = launcher->requested_cuts.n ? json_array() : NULL;
    for (size_t i = 0; rests && i < launcher->requested_cuts.n; i++)
        json_array_append_new(rests, count(launcher->requested_cuts.index[i]));
    return rests;
}

enum hr_status hr_trace_trailer_write(const struct hr_drive *drive, char **text)
{
    const struct hr_run_result *r = drive->result;
    return dump(json_pack("{so ss sb so so sf so s{so so so} so* so*}", "index",
                          count(drive->leader->cuts.cut->index), "weights_digest",
                          r->weights_digest, "interrupted", r->interrupted, "updates",
                          count(r->updates), "samples", count(r->samples), "seconds", r->seconds,
                          "time", time_json(r), "staleness", "updates", count(r->stale_updates),
                          "sum", count(r->stale_sum), "max", count(r->stale_max), "losses",
                          losses_json(drive), "rests", rests_json(drive->launcher)),
                "trailer", text);
}

/* --- read --- */

static enum hr_status parse(const char *text, const char *what, json_t **out)
{
    json_error_t error;
    *out = hr_json_load(text, strlen(text), &error);
    if (*out)
        return HR_OK;
    if (hr_json_no_memory())
        return hr_fail(HR_E_NOMEM, "no memory for the %s", what);
    return hr_fail(HR_E_FORMAT, "the %s is not JSON: line %d: %s", what, error.line,
                   hr_printable(error.text).text);
}

static enum hr_status take_text(const json_t *object, const char *name, char *out, size_t size)
{
    const json_t *value = json_object_get(object, name);
    if (!json_is_string(value) || !hr_json_bytes(json_string_value(value), out, size))
        return hr_fail(HR_E_FORMAT, "expected \"%s\" to be a text of fewer than %zu bytes", name,
                       size);
    return HR_OK;
}

static enum hr_status take_count(const json_t *object, const char *name, uint64_t *out)
{
    const json_t *value = json_object_get(object, name);
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return hr_fail(HR_E_FORMAT, "expected \"%s\" to be a whole number", name);
    *out = (uint64_t)json_integer_value(value);
    return HR_OK;
}

/* No "losses": the run ended with the first. */
static enum hr_status take_how_losses_are_outlived(const json_t *losses,
                                                   struct hr_train_options *options)
{
    uint64_t restarts = 0;
    if (!losses)
        return HR_OK;
    HR_TRY(take_text(losses, "on-loss", options->on_loss, sizeof options->on_loss));
    HR_TRY(take_text(losses, "lost-batch", options->lost_batch, sizeof options->lost_batch));
    HR_TRY(take_count(losses, "max-restarts", &restarts));
    options->max_restarts = restarts;
    if (json_object_get(losses, "server-replicas"))
        return hr_fail(HR_E_FORMAT, "it was recorded with --server-replicas, which this version "
                                    "has no longer: a lost server is started again");
    return HR_OK;
}

static enum hr_status take_header(const json_t *header, struct hr_replay *replay,
                                  struct hr_trace_texts *texts)
{
    const json_t *data = json_object_get(header, "data"), *start = json_object_get(header, "begin");
    struct hr_trace_begin_state *begin = &texts->begin;
    HR_TRY(hr_train_options_from_json(json_object_get(header, "options"), &replay->options));
    HR_TRY(take_how_losses_are_outlived(json_object_get(header, "losses"), &replay->options));
    HR_TRY(take_text(data, "name", replay->data, sizeof replay->data));
    HR_TRY(take_text(data, "digest", replay->data_digest, sizeof replay->data_digest));
    HR_TRY(hr_data_options_from_json(json_object_get(data, "options"), replay->path,
                                     &replay->data_options));
    hr_task_resolve(&replay->options, &replay->data_options);
    HR_TRY(take_count(start, "index", &begin->index));
    HR_TRY(take_text(start, "weights", begin->weights, sizeof begin->weights));
    HR_TRY(take_text(start, "state", begin->state, sizeof begin->state));
    if (json_object_get(header, "gossip_graph"))
        HR_TRY(
            take_text(header, "gossip_graph", replay->graph_digest, sizeof replay->graph_digest));
    texts->pauses = json_is_true(json_object_get(header, "pauses"));
    texts->pure_saves = json_object_get(header, "pauses"); /* the builds before did not say */
    texts->machine = json_incref(json_object_get(header, "machine"));
    if (!json_is_object(texts->machine))
        return hr_fail(HR_E_FORMAT, "expected a \"machine\"");
    char kernels[sizeof replay->options.kernels];
    memcpy(kernels, replay->options.kernels, sizeof kernels);
    snprintf(replay->options.kernels, sizeof kernels, "%s",
             hr_machine_bits_kernels(texts->machine, kernels));
    return HR_OK;
}

/* Cuts that somebody asked for; in order. */
static enum hr_status take_rests(const json_t *rests, struct hr_trace_texts *texts)
{
    const size_t n = json_array_size(rests);
    texts->requested_cuts = calloc(n + 1, sizeof *texts->requested_cuts);
    if (!texts->requested_cuts)
        return hr_fail(HR_E_NOMEM, "no memory for %zu cuts", n);
    for (; texts->nrequested_cuts < n; texts->nrequested_cuts++) {
        const json_t *rest = json_array_get(rests, texts->nrequested_cuts);
        const uint64_t before =
            texts->nrequested_cuts ? texts->requested_cuts[texts->nrequested_cuts - 1] : 0;
        const json_int_t index = json_is_integer(rest) ? json_integer_value(rest) : -1;
        if (index < 0 || (uint64_t)index < before)
            return hr_fail(HR_E_FORMAT, "expected \"rests\" to be whole numbers that grow");
        texts->requested_cuts[texts->nrequested_cuts] = (uint64_t)index;
    }
    return HR_OK;
}

static enum hr_status take_trailer(const json_t *trailer, struct hr_replay *replay,
                                   struct hr_trace_texts *texts)
{
    HR_TRY(take_count(trailer, "index", &replay->end));
    HR_TRY(take_text(trailer, "weights_digest", replay->weights_digest,
                     sizeof replay->weights_digest));
    replay->seconds = json_number_value(json_object_get(trailer, "seconds"));
    texts->losses = json_incref(json_object_get(trailer, "losses"));
    HR_TRY(take_rests(json_object_get(trailer, "rests"), texts));
    return strlen(replay->weights_digest) == 32
               ? HR_OK
               : hr_fail(HR_E_FORMAT, "expected \"weights_digest\" to have 32 digits");
}

void hr_trace_texts_free(struct hr_trace_texts *texts)
{
    json_decref(texts->machine);
    json_decref(texts->losses);
    free(texts->requested_cuts);
    *texts = (struct hr_trace_texts){0};
}

enum hr_status hr_trace_text_read(const char *header_text, const char *trailer_text,
                                  struct hr_replay *replay, struct hr_trace_texts *texts)
{
    json_t *header = NULL, *trailer = NULL;
    enum hr_status status;
    *texts = (struct hr_trace_texts){0};
    hr_train_defaults(&replay->options);
    hr_data_defaults(&replay->data_options);
    HR_TRY_GOTO(parse(header_text, "header", &header), status, out);
    HR_TRY_GOTO(parse(trailer_text, "trailer", &trailer), status, out);
    HR_TRY_GOTO(take_header(header, replay, texts), status, out);
    HR_TRY_GOTO(take_trailer(trailer, replay, texts), status, out);
out:
    if (status != HR_OK)
        hr_trace_texts_free(texts);
    json_decref(header);
    json_decref(trailer);
    return status;
}

enum hr_status hr_trace_texts_loss(const struct hr_trace_texts *texts, size_t number,
                                   struct hr_loss *loss)
{
    const json_t *said = json_array_get(texts->losses, number);
    if (!json_is_object(said))
        return hr_fail(HR_E_FORMAT, "the trailer does not tell loss %zu", number);
    char how[sizeof loss->how];
    HR_TRY(take_text(said, "how", how, sizeof how));
    snprintf(loss->how, sizeof loss->how, "%s", hr_printable(how).text);
    loss->seconds = json_number_value(json_object_get(said, "seconds"));
    loss->pause_s = json_number_value(json_object_get(said, "pause_s"));
    HR_TRY(take_count(said, "samples_lost", &loss->lost_samples));
    HR_TRY(take_count(said, "samples_again", &loss->again_samples));
    return take_count(said, "partial", &loss->partial);
}

/* In version 1 the launcher's log said other things. */
static enum hr_status check_version(const struct hr_trace *trace,
                                    const struct hr_train_options *options)
{
    if (trace->version >= HR_TRACE_VERSION_LOSSES || !hr_train_outlives(options))
        return HR_OK;
    return hr_fail(HR_E_FORMAT,
                   "is a trace of version %u of a run with --on-loss %s, expected %d: an earlier "
                   "version of hogring made it; record the run anew",
                   trace->version, hr_printable(options->on_loss).text, HR_TRACE_VERSION_LOSSES);
}

static enum hr_status open_into(const char *path, struct hr_replay *replay,
                                struct hr_replay_own *own)
{
    HR_TRY(hr_trace_open(path, &own->trace));
    enum hr_status status =
        hr_trace_text_read(own->trace.header, own->trace.trailer, replay, &own->texts);
    if (status == HR_OK)
        status = check_version(&own->trace, &replay->options);
    return status == HR_OK ? HR_OK : hr_fail_within(status, "%s", path);
}

enum hr_status hr_replay_open(const char *path, struct hr_replay **out)
{
    struct hr_replay *replay = calloc(1, sizeof *replay);
    struct hr_replay_own *own = calloc(1, sizeof *own);
    if (!replay || !own) {
        free(replay);
        free(own);
        return hr_fail(HR_E_NOMEM, "%s: no memory for a trace", path);
    }
    replay->own = own;
    snprintf(replay->path, sizeof replay->path, "%s", path);
    const enum hr_status status = open_into(path, replay, own);
    if (status == HR_OK)
        *out = replay;
    else
        hr_replay_close(replay);
    return status;
}

void hr_replay_close(struct hr_replay *replay)
{
    if (!replay)
        return;
    struct hr_replay_own *own = replay->own;
    hr_trace_fini(&own->trace);
    hr_trace_texts_free(&own->texts);
    free(own);
    free(replay);
}

static enum hr_status check_data(const struct hr_replay *replay, const struct hr_dataset *dataset)
{
    if (!strcmp(replay->data_digest, dataset->digest))
        return HR_OK;
    return hr_fail(HR_E_USAGE,
                   "%s: was recorded on other data: their digest was %s, that of %s is %s (--data "
                   "names where they are now)",
                   replay->path, hr_printable(replay->data_digest).text, dataset->name,
                   dataset->digest);
}

/* In earlier builds some strategies brought workers together wherever they saved. */
static enum hr_status check_saves(const struct hr_replay *replay,
                                  const struct hr_shared_state *shared)
{
    const struct hr_strategy *strategy = shared->strategy;
    const bool changed =
        strategy->rows.due || strategy->rows.since || shared->staleness_bound < UINT64_MAX;
    if (hr_replay_own(replay)->texts.pure_saves || !changed ||
        !replay->options.checkpoint_every.steps)
        return HR_OK;
    return hr_fail(HR_E_FORMAT,
                   "%s: an earlier version of hogring made it, in which saves inside of an epoch "
                   "(--checkpoint-every %llu) changed a run of %s",
                   replay->path, (unsigned long long)replay->options.checkpoint_every.steps,
                   strategy->name);
}

enum hr_status hr_replay_prepare(struct hr_drive *drive)
{
    const struct hr_replay *replay = drive->replay;
    const struct hr_trace *trace = &hr_replay_own(replay)->trace;
    struct hr_batch_schedule *schedule = &drive->job->shared->schedule;
    const size_t owners = hr_record_owners(drive);
    HR_TRY(check_data(replay, drive->job->dataset));
    HR_TRY(check_saves(replay, drive->job->shared));
    HR_TRY(hr_strategy_same_graph(drive->job->shared, replay->options.gossip_graph,
                                  replay->graph_digest));
    HR_TRY(hr_machine_bits_check(hr_replay_own(replay)->texts.machine,
                                 hr_machine_bits_are_bf16(drive->job->options->precision),
                                 replay->path));
    if (trace->nowners != owners)
        return hr_fail(HR_E_FORMAT, "%s: has logs of %zu owners, expected %zu", replay->path,
                       trace->nowners, owners);
    for (size_t s = 0; s < owners; s++)
        if (trace->owner[s].nranks != hr_record_ranks(drive, s))
            return hr_fail(HR_E_FORMAT, "%s: the log of owner %zu is of %zu rank%s, expected %zu",
                           replay->path, s, trace->owner[s].nranks,
                           trace->owner[s].nranks == 1 ? "" : "s", hr_record_ranks(drive, s));
    schedule->checkpoint_every = drive->job->options->checkpoint_every.steps;
    schedule->pauses &= hr_replay_own(replay)->texts.pauses;
    if (drive->job->shared->outlives) /* its launcher's log has the cuts */
        return HR_OK;
    schedule->requested_cuts = hr_replay_own(replay)->texts.requested_cuts;
    schedule->nrequested_cuts = hr_replay_own(replay)->texts.nrequested_cuts;
    if (replay->end < schedule->end)
        schedule->end = replay->end;
    return HR_OK;
}

enum hr_status hr_replay_check_state(const struct hr_drive *drive)
{
    const struct hr_replay *replay = drive->replay;
    const struct hr_trace_begin_state *there = &hr_replay_own(replay)->texts.begin;
    struct hr_trace_begin_state here;
    trace_begin_state(drive, &here);
    if (there->index == here.index && !strcmp(there->weights, here.weights) &&
        !strcmp(there->state, here.state))
        return HR_OK;
    return hr_fail(HR_E_USAGE,
                   "%s: began at step %llu with weights %s, here it would begin at step %llu with "
                   "%s (--init-weights and --resume name where they are now)",
                   replay->path, (unsigned long long)there->index,
                   hr_printable(there->weights).text, (unsigned long long)here.index, here.weights);
}
