/* A forecast for programs. */
#include <math.h>

#include "forecast/forecast.h"
#include "json/value.h"

static json_t *row_object(const struct hr_forecast_row *row)
{
    return json_pack(
        "{ss so so so so so so so so so so so so sb sb}", "strategy", row->options.strategy,
        "workers", hr_json_count(row->options.workers), "servers", hr_json_count(row->servers),
        "batch_size", hr_json_count(row->options.batch_size), "global_batch",
        hr_json_count(row->global_batch), "samples_per_s", hr_json_number(row->samples_per_s),
        "samples_per_s_low", hr_json_number(row->low), "samples_per_s_high",
        hr_json_number(row->high), "speedup", hr_json_number(row->speedup), "epoch_s",
        hr_json_number(row->epoch_s), "memory_bytes", hr_json_count(row->memory),
        "samples_cost_low", hr_json_number(row->cost_low), "samples_cost_high",
        hr_json_number(row->cost_high), "timed", row->timed, "validated", row->validated);
}

static json_t *anchor_object(const struct hr_anchor *anchor)
{
    return json_pack("{ss so so so so}", "strategy", anchor->strategy, "workers",
                     hr_json_count(anchor->workers), "servers", hr_json_count(anchor->servers),
                     "gradient_s", hr_json_number(anchor->gradient), "spread",
                     hr_json_number(anchor->spread));
}

static json_t *timing_object(const struct hr_anchors *anchors)
{
    json_t *runs = json_array();
    for (size_t i = 0; i < anchors->n; i++)
        hr_json_append(&runs, anchor_object(&anchors->anchor[i]));
    return json_pack("{so so so sb so}", "seconds", hr_json_number(anchors->seconds),
                     "evaluation_s", hr_json_number(anchors->evaluation_s), "spread",
                     hr_json_number(anchors->spread), "coarse", anchors->coarse, "runs", runs);
}

static json_t *noise_object(const struct hr_noise *noise, size_t step)
{
    return json_pack("{so so so so so so so so}", "step", hr_json_count(step), "batches",
                     hr_json_count(noise->batches), "batch_size", hr_json_count(noise->batch),
                     "gradient_squared", hr_json_number(noise->gradient2), "trace",
                     hr_json_number(noise->trace), "scale", hr_json_number(noise->scale), "low",
                     hr_json_number(noise->low), "high", hr_json_number(noise->high));
}

static json_t *noise_list(const struct hr_noise_report *noise)
{
    json_t *list = json_array();
    int failed = !list;
    if (!noise->missing && noise->start.batches)
        failed |= json_array_append_new(list, noise_object(&noise->start, 0));
    if (!noise->missing && noise->steps)
        failed |= json_array_append_new(list, noise_object(&noise->later, noise->steps));
    if (!failed)
        return list;
    json_decref(list);
    return NULL;
}

static json_t *conflicts_object(const struct hr_conflicts *c)
{
    if (!c->omega)
        return json_null();
    return json_pack("{so so so so so}", "omega", hr_json_count(c->omega), "delta",
                     hr_json_number(c->delta), "rho", hr_json_number(c->rho), "overlap",
                     hr_json_number(c->overlap), "bound", hr_json_number(hr_forecast_bound(c, 1)));
}

json_t *hr_forecast_json(const struct hr_forecast *forecast)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < forecast->n; i++)
        hr_json_append(&rows, row_object(&forecast->rows[i]));
    return json_pack("{sb so so so so so so so}", "simulated", forecast->simulated, "processors",
                     hr_json_count(forecast->processors), "load", hr_json_number(forecast->load),
                     "alone_samples_per_s", hr_json_number(forecast->alone), "timing",
                     timing_object(&forecast->anchors), "noise", noise_list(&forecast->noise),
                     "conflicts", conflicts_object(&forecast->conflicts), "rows", rows);
}
