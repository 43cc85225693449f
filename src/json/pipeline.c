/* "pipeline" of a run: its stages, and how much of their time was idle. */
#include <math.h>

#include "json/pipeline.h"
#include "json/value.h"

static json_t *stages(const struct hr_pipeline_report *report)
{
    json_t *array = json_array();
    for (size_t k = 0; k < report->stages; k++) {
        const struct hr_stage_report *s = &report->stage[k];
        json_t *stage = json_pack(
            "{so so so so so so so}", "layers", hr_json_text(s->layers), "params",
            hr_json_count(s->params), "madds_share", hr_json_number(s->madds_share), "busy_seconds",
            hr_json_number(s->busy_s), "wait_seconds", hr_json_number(s->wait_s), "bytes",
            hr_json_count(s->bytes), "peak_micro_batches", hr_json_count(s->peak));
        if (json_array_append_new(array, stage) != 0) {
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
    return json_pack("{so so so so so so so}", "schedule", hr_json_text(report->schedule),
                     "micro_batches", hr_json_count(report->micro_batches), "chunks",
                     hr_json_count(report->chunks), "bubble", hr_json_number(report->bubble),
                     "bubble_formula", hr_json_number(report->formula), "bytes",
                     hr_json_count(report->bytes), "stages", stages(report));
}
