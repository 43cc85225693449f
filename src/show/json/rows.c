/* Rows of bench as JSON. */
#include "json/documents.h"
#include "json/value.h"

static json_t *row_object(const struct hr_bench_row *row)
{
    json_t *time = json_pack("{so so so}", "p10", hr_json_number(row->p10_us), "p50",
                             hr_json_number(row->p50_us), "p90", hr_json_number(row->p90_us));
    return json_pack("{ss ss ss ss ss ss ss ss so so so so so so so}", "op", row->op, "algorithm",
                     row->algorithm, "transport", row->transport, "launch", row->launch, "type",
                     row->type, "redop", row->redop, "buffers", row->buffers, "loop", row->loop,
                     "bytes", hr_json_count(row->bytes), "count", hr_json_count(row->count),
                     "ranks", hr_json_count(row->ranks), "time_us", time, "algbw_gbs",
                     hr_json_number(row->algbw_gbs), "busbw_gbs", hr_json_number(row->busbw_gbs),
                     "wrong", hr_json_count(row->wrong));
}

static json_t *calibration_object(const struct hr_calibration *c)
{
    if (!c)
        return json_null();
    return json_pack("{so so so so so so}", "handoff_us", hr_json_number(c->handoff_us),
                     "message_ns", hr_json_number(c->message_ns), "threads",
                     hr_json_count(c->threads), "memory_gbs", hr_json_number(c->memory_gbs),
                     "l2_bytes", hr_json_count((uint64_t)c->l2_bytes), "l3_bytes",
                     hr_json_count((uint64_t)c->l3_bytes));
}

json_t *hr_json_rows(const struct hr_calibration *calibration, const struct hr_bench_row *rows,
                     size_t n)
{
    json_t *array = json_array();
    int failed = 0;
    for (size_t i = 0; i < n; i++)
        failed |= json_array_append_new(array, row_object(&rows[i]));
    if (failed) {
        json_decref(array);
        array = NULL;
    }
    return json_pack("{so so}", "calibration", calibration_object(calibration), "rows", array);
}
