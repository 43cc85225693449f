/* What bench pipeline shows, as JSON: fields are only ever added. */
#include <math.h>

#include "json/value.h"
#include "bench/pipelines.h"

static json_t *measured_object(const struct hr_pipelines_measured *m)
{
    if (!m->rounds)
        return json_null();
    return json_pack("{so so so so so so}", "rounds", hr_json_count(m->rounds), "bubble",
                     hr_json_number(m->bubble), "bubble_least", hr_json_number(m->least),
                     "bubble_most", hr_json_number(m->most), "samples_per_s",
                     hr_json_number(m->samples_per_s), "speed_up", hr_json_number(m->speed_up));
}

static json_t *row_object(const struct hr_pipelines_row *row)
{
    const struct hr_pipeline_shape *shape = &row->shape;
    return json_pack(
        "{ss ss so so so so so so so so so so so}", "op", "pipeline", "schedule",
        row->schedule->name, "stages", hr_json_count(shape->stages), "micro_batches",
        hr_json_count(shape->micro_batches), "chunks", hr_json_count(shape->chunks), "makespan",
        hr_json_number(row->makespan), "speed_up", hr_json_number(1 / row->makespan), "bubble",
        hr_json_number(row->bubble), "bubble_formula", hr_json_number(row->schedule->bubble(shape)),
        "stored", hr_json_count(row->stored), "balance", hr_json_number(row->balance), "messages",
        hr_json_count(row->messages), "measured", measured_object(&row->measured));
}

/* Of an asynchronous schedule; null of the others. */
static json_t *staleness_object(const struct hr_pipelines_one *one, size_t r)
{
    const struct hr_pipeline_schedule *schedule = one->row->schedule;
    const struct hr_pipeline_shape *shape = &one->row->shape;
    if (schedule->synchronous)
        return json_null();
    return json_pack("{so so so}", "versions", hr_json_count(schedule->versions(shape, r)),
                     "forward", hr_json_count(schedule->staleness(shape, r, HR_FORWARD)),
                     "backward", hr_json_count(schedule->staleness(shape, r, HR_BACKWARD)));
}

static json_t *rank_object(const struct hr_pipelines_one *one, size_t r)
{
    const struct hr_rank_walk *rank = &one->walk->rank[r];
    const double idle = (double)rank->idle / (double)one->walk->makespan;
    return json_pack("{so so so so so so}", "stage", hr_json_count(r), "layers",
                     hr_json_text(one->rank[r].layers), "madds_share",
                     hr_json_number(one->rank[r].share), "idle_share", hr_json_number(idle),
                     "stored", hr_json_count(rank->stored), "staleness", staleness_object(one, r));
}

json_t *hr_json_pipelines(const struct hr_pipelines_table *table,
                          const struct hr_pipelines_one *one)
{
    json_t *rows = json_array(), *ranks = json_array();
    for (size_t i = 0; i < table->n; i++)
        hr_json_append(&rows, row_object(&table->row[i]));
    for (size_t r = 0; one && r < one->row->shape.stages; r++)
        hr_json_append(&ranks, rank_object(one, r));
    return json_pack(
        "{so so so so}", "model", table->model ? hr_json_text(table->model) : json_null(), "madds",
        hr_json_number(table->model ? table->madds : NAN), "rows", rows, "ranks", ranks);
}
