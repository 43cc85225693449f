/* What the benches measured, as JSON. Rates are per second, sizes in bytes, times in seconds. */
#include <math.h>

#include "json/documents.h"
#include "json/value.h"

/* --- collectives --- */

static json_t *bench_row(const struct hr_bench_row *row)
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
    for (size_t i = 0; i < n; i++)
        hr_json_append(&array, bench_row(&rows[i]));
    return json_pack("{so so}", "calibration", calibration_object(calibration), "rows", array);
}

/* --- the store --- */

static json_t *store_row(const struct hr_store_table *table, const struct hr_store_row *row)
{
    json_t *time = json_pack("{so so so}", "p10", hr_json_number(row->p10_us), "p50",
                             hr_json_number(row->p50_us), "p90", hr_json_number(row->p90_us));
    return json_pack("{ss ss ss so so ss ss ss so so so so so so so so}", "op", "store", "setup",
                     row->setup, "placement", row->placement, "workers",
                     hr_json_count(row->workers), "servers", hr_json_count(row->servers),
                     "strategy", table->strategy, "launch", table->launch, "buffers",
                     table->buffers, "link", hr_json_text_or_null(table->link), "keys",
                     hr_json_count(table->keys), "bytes", hr_json_count(row->bytes), "time_us",
                     time, "gbs", hr_json_number(row->gbs), "law_us", hr_json_number(row->law_us),
                     "balance", hr_json_number(row->balance), "wrong", hr_json_count(row->wrong));
}

json_t *hr_json_store(const struct hr_store_table *table)
{
    json_t *array = json_array();
    for (size_t i = 0; i < table->n; i++)
        hr_json_append(&array, store_row(table, &table->row[i]));
    return json_pack("{so}", "rows", array);
}

/* --- layers, and training speed --- */

/* A share of a roof; null where that wavered, and where it cannot be. */
static json_t *share(double of_roof, double spread)
{
    return hr_json_number(hr_roofs_is_share(of_roof, spread) ? of_roof : NAN);
}

static json_t *roofs_object(const struct hr_roofs *roofs)
{
    json_t *memory = json_array();
    for (enum hr_level level = 0; level < HR_LEVELS; level++)
        if (roofs->level_bytes[level] > 0)
            hr_json_append(&memory,
                           json_pack("{ss so so so}", "level", hr_level_name(level), "holds_bytes",
                                     hr_json_number(roofs->level_bytes[level]), "bytes_per_s",
                                     hr_json_number(roofs->bytes_per_s[level]), "spread",
                                     hr_json_number(roofs->level_spread[level])));
    return json_pack(
        "{ss so so so ss so so so}", "kind", hr_roof_kind_name(roofs->kind), "threads",
        hr_json_count(roofs->threads), "flops_per_s", hr_json_number(hr_roofs_flops(roofs)),
        "spread", hr_json_number(hr_roofs_flops_spread(roofs)), "source",
        hr_roofs_flops_source(roofs), "blas_flops_per_s", hr_json_number(roofs->blas_flops),
        "tile_flops_per_s", hr_json_number(roofs->tile_flops), "memory", memory);
}

static json_t *layer_row(const struct hr_profile *profile, const struct hr_profile_row *row)
{
    const struct hr_judgement j = hr_roofs_judge(&profile->roofs, row->work, row->seconds);
    const int known = row->seconds > 0;
    return json_pack("{so ss so so so so so so ss so so so}", "layer", hr_json_text(row->layer),
                     "part", hr_part_name(row->part), "seconds", hr_json_number(row->seconds),
                     "share", hr_json_number(row->seconds / profile->step_s), "madds",
                     hr_json_number(row->work.madds), "bytes", hr_json_number(row->work.bytes),
                     "flops_per_s", hr_json_number(j.flops), "bytes_per_s",
                     hr_json_number(j.bytes_per_s), "level", hr_level_name(j.level),
                     "of_compute_roof", share(j.of_compute, hr_roofs_flops_spread(&profile->roofs)),
                     "of_memory_roof", share(j.of_memory, profile->roofs.level_spread[j.level]),
                     "bound", known ? json_string(hr_bound_name(j.bound)) : json_null());
}

static json_t *layer_rows(const struct hr_profile *profile)
{
    json_t *array = json_array();
    for (size_t i = 0; i < profile->n; i++)
        hr_json_append(&array, layer_row(profile, &profile->rows[i]));
    return array;
}

static json_t *total_object(const struct hr_profile *profile)
{
    const double flops = 2 * profile->madds / profile->step_s;
    return json_pack(
        "{so so so so so so}", "seconds", hr_json_number(profile->step_s), "steps",
        hr_json_count(profile->steps), "madds", hr_json_number(profile->madds), "flops_per_s",
        hr_json_number(flops), "of_compute_roof",
        share(flops / hr_roofs_flops(&profile->roofs), hr_roofs_flops_spread(&profile->roofs)),
        "samples_per_s", hr_json_number((double)profile->batch_size / profile->step_s));
}

json_t *hr_json_layers(const struct hr_profile *profile, const char *kernels)
{
    double share[HR_BOUNDS];
    hr_profile_shares(profile, share);
    json_t *bound = json_pack("{so so so}", "compute", hr_json_number(share[HR_BOUND_COMPUTE]),
                              "memory", hr_json_number(share[HR_BOUND_MEMORY]), "overhead",
                              hr_json_number(share[HR_BOUND_OVERHEAD]));
    return json_pack("{ss so so so so so so so so}", "kernels", kernels, "roofs",
                     roofs_object(&profile->roofs), "model", hr_json_text(profile->model), "params",
                     hr_json_count(profile->params), "batch_size",
                     hr_json_count(profile->batch_size), "threads_per_worker",
                     hr_json_count(profile->threads), "rows", layer_rows(profile), "total",
                     total_object(profile), "bound", bound);
}

/* What a share was made of, and why there is none. */
static json_t *roof_object(const struct hr_speed_row *row)
{
    const struct hr_roof_share *roof = &row->roof;
    const bool known = roof->lack == HR_SHARE_IS_KNOWN;
    char text[64];
    json_t *rounds = json_array();
    for (size_t i = 0; i < row->rounds; i++)
        hr_json_append(&rounds,
                       json_pack("{so so so}", "flops_per_s", hr_json_number(row->measured[i].rate),
                                 "roof_before", hr_json_number(row->measured[i].before),
                                 "roof_after", hr_json_number(row->measured[i].after)));
    return json_pack("{ss so so so so so so so}", "kind", hr_roof_kind_name(row->roof_kind),
                     "low_flops_per_s", hr_json_number(roof->roof.low), "high_flops_per_s",
                     hr_json_number(roof->roof.high), "spread",
                     hr_json_number(hr_middle_spread(roof->roof)), "share_low",
                     hr_json_number(known ? roof->share.low : NAN), "share_high",
                     hr_json_number(known ? roof->share.high : NAN), "no_share",
                     hr_json_text_or_null(hr_roof_share_lack(roof, text)), "rounds", rounds);
}

static json_t *speed_object(const struct hr_speed_row *row)
{
    const struct hr_run_result *r = &row->result;
    double share[HR_SPEED_PARTS];
    char label[256];
    hr_speed_parts(r, share);
    hr_speed_curve(row, label, sizeof label);
    json_t *time = json_pack("{so so so so so so}", "load", hr_json_number(share[HR_SPEED_LOAD]),
                             "forward", hr_json_number(share[HR_SPEED_FORWARD]), "backward",
                             hr_json_number(share[HR_SPEED_BACKWARD]), "update",
                             hr_json_number(share[HR_SPEED_UPDATE]), "communicate",
                             hr_json_number(share[HR_SPEED_COMMUNICATE]), "wait",
                             hr_json_number(share[HR_SPEED_WAIT]));
    return json_pack("{so so so so so so so so so so so so so so so so so so so so so so so}",
                     "model", hr_json_text(row->model), "label", hr_json_text(label), "layers",
                     hr_json_text(r->model), "params", hr_json_count(r->params), "strategy",
                     hr_json_text(r->strategy), "launch", hr_json_text(r->launch), "kernels",
                     hr_json_text(r->kernels), "workers", hr_json_count(r->workers), "servers",
                     hr_json_count(r->servers), "clock", hr_json_text(r->clock),
                     "threads_per_worker", hr_json_count(r->threads_per_worker), "batch_size",
                     hr_json_count(r->batch_size), "samples_per_s",
                     hr_json_number(r->samples_per_s), "rounds", hr_json_count(row->rounds),
                     "least_samples_per_s", hr_json_number(row->least), "most_samples_per_s",
                     hr_json_number(row->most), "ideal_samples_per_s", hr_json_number(row->ideal),
                     "flops_per_sample", hr_json_number(2 * row->madds), "flops_per_s",
                     hr_json_number(hr_speed_flops(row)), "roof_flops_per_s",
                     hr_json_number(row->measured ? row->roof.roof.median : NAN), "of_compute_roof",
                     hr_json_number(hr_speed_share(row)), "roof",
                     row->measured ? roof_object(row) : json_null(), "time", time);
}

json_t *hr_json_speed(const struct hr_speed_row *rows, size_t n)
{
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++)
        hr_json_append(&array, speed_object(&rows[i]));
    return json_pack("{so}", "rows", array);
}
