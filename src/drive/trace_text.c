#include "drive/trace_text.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "base/printable.h"
#include "checkpoint/safetensors.h"
#include "hogring/checkpoint.h"
#include "netsim/inject.h"
#include "strategy/shared.h"
#include "options/train_options.h"
#include "session/machine_bits.h"

/* --- written --- */

static enum hr_status dump(json_t *object, const char *what, char **text)
{
    *text = object ? json_dumps(object, JSON_INDENT(1) | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(object);
    return *text ? HR_OK
                 : hr_fail(HR_E_NOMEM, "no memory for a trace's %s, or a name is not UTF-8", what);
}

static json_t *count(uint64_t n)
{
    return json_integer((json_int_t)n); /* indices and counters stay far below 2^63 */
}

static json_t *data_json(const struct hr_dataset *dataset)
{
    return json_pack("{ss ss so}", "name", dataset->name, "digest", dataset->digest, "options",
                     hr_data_options_json(&dataset->options));
}

void hr_trace_begin_state(const struct hr_drive *drive, struct hr_trace_begin_state *out)
{
    const struct hr_shared_state *shared = drive->job->shared;
    out->index = shared->schedule.first;
    hr_digest_floats(shared->snapshot.weights, shared->params, out->weights);
    hr_digest_floats(shared->snapshot.state,
                     hr_state_floats(shared) * shared->snapshot.state_copies, out->state);
}

static const char *owners_name(const struct hr_shared_state *shared)
{
    return shared->strategy->replay_log ? "workers" : shared->servers ? "shards" : "none";
}

enum hr_status hr_trace_header_write(const struct hr_drive *drive, char **text)
{
    struct hr_train_options options = *drive->job->options;
    struct hr_trace_begin_state begin;
    hr_trace_begin_state(drive, &begin);
    hr_inject_without_delays(drive->job->options->inject, options.inject, sizeof options.inject);
    options.checkpoint_every = drive->job->shared->schedule.checkpoint_every; /* cuts decide bits */
    const char *graph = drive->job->shared->graph_digest.hex;
    return dump(
        json_pack("{ss so so so ss so ss ss* s{so ss ss}}", "hogring", HR_VERSION, "options",
                  hr_train_options_json(&options), "data", data_json(drive->job->dataset),
                  "machine", hr_machine_bits_json(), "model", hr_model_text(drive->job->model),
                  "params", count(drive->job->shared->params), "owners",
                  owners_name(drive->job->shared), "gossip_graph", graph[0] ? graph : NULL, "begin",
                  "index", count(begin.index), "weights", begin.weights, "state", begin.state),
        "header", text);
}

/* Of each worker; none where one process played all. */
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

enum hr_status hr_trace_trailer_write(const struct hr_drive *drive, char **text)
{
    const struct hr_run_result *r = drive->result;
    return dump(json_pack("{so ss sb so so sf so s{so so so}}", "index",
                          count(drive->leader->cuts.cut->index), "weights_digest",
                          r->weights_digest, "interrupted", r->interrupted, "updates",
                          count(r->updates), "samples", count(r->samples), "seconds", r->seconds,
                          "time", time_json(r), "staleness", "updates", count(r->stale_updates),
                          "sum", count(r->stale_sum), "max", count(r->stale_max)),
                "trailer", text);
}

/* --- read --- */

static enum hr_status parse(const char *text, const char *what, json_t **out)
{
    json_error_t error;
    *out = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (*out)
        return HR_OK;
    return hr_fail(HR_E_FORMAT, "the %s is not JSON: line %d: %s", what, error.line,
                   hr_printable(error.text).text);
}

static enum hr_status take_text(const json_t *object, const char *name, char *out, size_t size)
{
    const json_t *value = json_object_get(object, name);
    if (!json_is_string(value) || json_string_length(value) >= size)
        return hr_fail(HR_E_FORMAT, "expected \"%s\" to be a text of fewer than %zu bytes", name,
                       size);
    memcpy(out, json_string_value(value), json_string_length(value) + 1);
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

static enum hr_status take_header(const json_t *header, struct hr_replay *replay, json_t **machine,
                                  struct hr_trace_begin_state *begin)
{
    const json_t *data = json_object_get(header, "data"), *start = json_object_get(header, "begin");
    HR_TRY(hr_train_options_from_json(json_object_get(header, "options"), &replay->options));
    HR_TRY(take_text(data, "name", replay->data, sizeof replay->data));
    HR_TRY(take_text(data, "digest", replay->data_digest, sizeof replay->data_digest));
    HR_TRY(hr_data_options_from_json(json_object_get(data, "options"), &replay->data_options));
    HR_TRY(take_count(start, "index", &begin->index));
    HR_TRY(take_text(start, "weights", begin->weights, sizeof begin->weights));
    HR_TRY(take_text(start, "state", begin->state, sizeof begin->state));
    if (json_object_get(header, "gossip_graph"))
        HR_TRY(
            take_text(header, "gossip_graph", replay->graph_digest, sizeof replay->graph_digest));
    *machine = json_incref(json_object_get(header, "machine"));
    return json_is_object(*machine) ? HR_OK : hr_fail(HR_E_FORMAT, "expected a \"machine\"");
}

enum hr_status hr_trace_text_read(const char *header_text, const char *trailer_text,
                                  struct hr_replay *replay, json_t **machine,
                                  struct hr_trace_begin_state *begin)
{
    json_t *header = NULL, *trailer = NULL;
    enum hr_status status;
    *machine = NULL;
    hr_train_defaults(&replay->options);
    hr_data_defaults(&replay->data_options);
    HR_TRY_GOTO(parse(header_text, "header", &header), status, out);
    HR_TRY_GOTO(parse(trailer_text, "trailer", &trailer), status, out);
    HR_TRY_GOTO(take_header(header, replay, machine, begin), status, out);
    HR_TRY_GOTO(take_count(trailer, "index", &replay->end), status, out);
    HR_TRY_GOTO(
        take_text(trailer, "weights_digest", replay->weights_digest, sizeof replay->weights_digest),
        status, out);
    replay->seconds = json_number_value(json_object_get(trailer, "seconds"));
    if (strlen(replay->weights_digest) != 32)
        status = hr_fail(HR_E_FORMAT, "expected \"weights_digest\" to have 32 digits");
out:
    if (status != HR_OK) {
        json_decref(*machine);
        *machine = NULL;
    }
    json_decref(header);
    json_decref(trailer);
    return status;
}
