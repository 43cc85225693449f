#include "stages/time.h"

#include <stdlib.h>

#include "pipeline/walk.h"

/* Of each part; backward is what is not forward. */
static void count_costs(const struct hr_pipeline *pipeline, struct hr_part_cost *cost)
{
    for (size_t p = 0; p < pipeline->parts; p++) {
        double forward = 0;
        for (size_t i = pipeline->cut[p]; i < pipeline->cut[p + 1]; i++)
            forward += hr_model_layer(pipeline->options.model, i).madds;
        cost[p].forward = (int64_t)forward;
        cost[p].backward_weights = (int64_t)(hr_model_madds(pipeline->part[p]) - forward);
    }
}

static void measure(const struct hr_pipeline *pipeline, const struct hr_part_cost *cost,
                    const struct hr_pipeline_walk *walk, struct hr_pipeline_time *time)
{
    const double M = (double)pipeline->options.shape.micro_batches;
    const double makespan = (double)walk->makespan;
    double one = 0;
    for (size_t p = 0; p < pipeline->parts; p++)
        one += M * (double)(cost[p].forward + cost[p].backward_weights);
    time->share = makespan / one; /* a part has parameters, and so multiply-adds or 0 / 0 */
    time->bubble = walk->bubble;
    for (size_t k = 0; k < pipeline->ranks; k++)
        time->busy[k] = 1 - (double)walk->rank[k].idle / makespan;
}

enum hr_status hr_pipeline_time(const struct hr_pipeline *pipeline, struct hr_pipeline_time **out)
{
    const struct hr_pipeline_options *o = &pipeline->options;
    struct hr_part_cost *cost = calloc(pipeline->parts, sizeof *cost);
    struct hr_pipeline_time *time = calloc(1, sizeof *time + pipeline->ranks * sizeof *time->busy);
    const struct hr_pipeline_costs costs = {.part = cost};
    struct hr_pipeline_walk walk = {0};
    enum hr_status status = HR_OK;
    if (!cost || !time)
        status = hr_fail(HR_E_NOMEM, "no memory for the times of %zu stages", pipeline->ranks);
    if (status == HR_OK) {
        count_costs(pipeline, cost);
        status = hr_pipeline_walk(o->schedule, &o->shape, &costs, &walk);
    }
    if (status == HR_OK) {
        measure(pipeline, cost, &walk, time);
        *out = time;
        time = NULL;
    }
    hr_pipeline_walk_fini(&walk);
    free(cost);
    free(time);
    return status;
}
