/* "pipeline" of a run: its stages, and how much of their time was idle. */
#include <math.h>

#include "json/pipeline.h"
#include "json/value.h"

static json_t *recompute(const struct hr_pipeline_report *report)
{
    const struct hr_recompute_report *r = &report->recompute;
    if (!r->on)
        return json_null();
    return json_pack("{so so so so}", "activation_bytes", hr_json_count(r->bytes),
                     "activation_bytes_without", hr_json_count(r->bytes_without), "madds_share",
                     hr_json_number(r->share), "compute_seconds_without",
                     hr_json_number(report->without_s));
}

static json_t *stage_staleness(const struct hr_pipeline_report *report,
                               const struct hr_stage_report *s)
{
    if (!report->never_drains)
        return json_null();
    return json_pack("{so so so}", "forward", hr_json_number(s->stale_forward), "backward",
                     hr_json_number(s->stale_backward), "versions", hr_json_count(s->versions));
}

static json_t *staleness(const struct hr_pipeline_report *report)
{
    if (!report->never_drains)
        return json_null();
    return json_pack("{so so}", "gradients", hr_json_count(report->gradients), "filling",
                     hr_json_count(report->filling));
}

static json_t *stages(const struct hr_pipeline_report *report)
{
    json_t *array = json_array();
    for (size_t k = 0; k < report->stages; k++) {
        const struct hr_stage_report *s = &report->stage[k];
        json_t *stage =
            json_pack("{so so so so so so so so so}", "layers", hr_json_text(s->layers), "params",
                      hr_json_count(s->params), "madds_share", hr_json_number(s->madds_share),
                      "busy_seconds", hr_json_number(s->busy_s), "wait_seconds",
                      hr_json_number(s->wait_s), "bytes", hr_json_count(s->bytes),
                      "peak_micro_batches", hr_json_count(s->peak), "recompute_seconds",
                      hr_json_number(s->again_s), "staleness", stage_staleness(report, s));
        if (json_array_append_new(array, stage) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

/* [[stage, "F", micro-batch, chunk, start, end], ...] */
static json_t *spans(const struct hr_pipeline_report *report)
{
    json_t *array = json_array();
    for (size_t i = 0; i < report->nspans; i++) {
        const struct hr_stage_span *s = &report->span[i];
        json_t *span = json_pack("[o s# o o o o]", hr_json_count(s->stage), &s->work, 1,
                                 hr_json_count(s->micro_batch), hr_json_count(s->chunk),
                                 hr_json_number(s->start_s), hr_json_number(s->end_s));
        if (json_array_append_new(array, span) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

json_t *hr_json_pipeline(const struct hr_pipeline_report *report)
{
    if (!report->stages)
        return json_null();
    return json_pack("{so so so so so so so so so so}", "schedule", hr_json_text(report->schedule),
                     "micro_batches", hr_json_count(report->micro_batches), "chunks",
                     hr_json_count(report->chunks), "bubble", hr_json_number(report->bubble),
                     "bubble_formula", hr_json_number(report->formula), "bytes",
                     hr_json_count(report->bytes), "recompute", recompute(report), "staleness",
                     staleness(report), "stages", stages(report), "step", spans(report));
}

static json_t *layers(const struct hr_tensor_report *report)
{
    json_t *array = json_array();
    for (size_t i = 0; i < report->nlayers; i++) {
        const struct hr_tensor_layer *l = &report->layer[i];
        json_t *layer = json_pack("{so so so}", "layer", hr_json_text(l->path), "text",
                                  hr_json_text(l->text), "cut", hr_json_text(l->cut));
        if (json_array_append_new(array, layer) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

json_t *hr_json_tensor(const struct hr_tensor_report *report)
{
    if (!report->shards)
        return json_null();
    return json_pack("{so so so so}", "shards", hr_json_count(report->shards), "ranks",
                     hr_json_count(report->ranks), "bytes", hr_json_count(report->bytes), "layers",
                     layers(report));
}
