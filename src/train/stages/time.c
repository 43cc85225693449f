#include "stages/time.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "nn/model.h"

/* Costs of parts that `team` ranks share. */
static enum hr_status start_timer(struct hr_pipeline_timer *out, const struct hr_pipeline *pipeline,
                                  size_t team)
{
    const size_t parts = pipeline->parts;
    *out = (struct hr_pipeline_timer){.pipeline = pipeline};
    out->madds = calloc(parts, sizeof *out->madds);
    out->cost = calloc(parts, sizeof *out->cost);
    if (!out->madds || !out->cost)
        return hr_fail(HR_E_NOMEM, "no memory for the times of %zu stages", pipeline->ranks);
    for (size_t p = 0; p < parts; p++) {
        const struct hr_model_madds madds = hr_model_madds_apart(pipeline->part[p], team);
        out->madds[p] = (struct hr_part_cost){(int64_t)madds.forward, (int64_t)madds.data,
                                              (int64_t)madds.weights};
        out->all += hr_model_madds(pipeline->part[p]); /* that one rank has */
    }
    return HR_OK;
}

enum hr_status hr_pipeline_timer_init(struct hr_pipeline_timer *out,
                                      const struct hr_pipeline *pipeline,
                                      const struct hr_topology *topology)
{
    HR_TRY(start_timer(out, pipeline, hr_max_size(pipeline->options.team, 1)));
    return topology ? hr_links_init(&out->links, topology) : HR_OK;
}

void hr_pipeline_timer_fini(struct hr_pipeline_timer *timer)
{
    free(timer->madds);
    free(timer->cost);
    hr_links_fini(&timer->links);
    *timer = (struct hr_pipeline_timer){0};
}

/* Of so many multiply-adds, at so many picoseconds each; so cut that a walk can be counted. */
static int64_t time_of(const struct hr_pipeline_timer *timer, int64_t madds, double ps_each)
{
    const struct hr_pipeline_shape *shape = &timer->pipeline->options.shape;
    const double actions = 4.0 * (double)(shape->micro_batches * timer->pipeline->parts);
    return (int64_t)floor(fmin((double)madds * ps_each, (double)HR_PS_NEVER / actions) + 0.5);
}

static void fill_costs(struct hr_pipeline_timer *timer, const struct hr_pipeline_gradient *gradient)
{
    const struct hr_pipeline *pipeline = timer->pipeline;
    const double M = (double)pipeline->options.shape.micro_batches;
    for (size_t p = 0; p < pipeline->parts; p++) {
        const struct hr_part_cost *madds = &timer->madds[p];
        const double slow = gradient->slow[p % pipeline->ranks];
        const double each = timer->all > 0 ? (double)gradient->ps * slow / (M * timer->all) : 0;
        timer->cost[p] = (struct hr_part_cost){time_of(timer, madds->forward, each),
                                               time_of(timer, madds->backward_data, each),
                                               time_of(timer, madds->backward_weights, each)};
    }
}

/* (hr_arrival_fn) What lies between two parts, there and back, is as large as the output of the
 * first. */
static int64_t arrival(void *arg, size_t from, size_t to, int64_t now)
{
    struct hr_pipeline_timer *timer = arg;
    const struct hr_pipeline *pipeline = timer->pipeline;
    const uint16_t *node = timer->links.topology->rank_node;
    const size_t before = from < to ? from : to, ranks = pipeline->ranks;
    const uint64_t bytes =
        pipeline->options.most * sizeof(float) * hr_model_outputs(pipeline->part[before]);
    return hr_links_send(&timer->links, node[timer->rank[from % ranks]],
                         node[timer->rank[to % ranks]], now, bytes)
        .arrival_ps;
}

enum hr_status hr_pipeline_timer_walk(struct hr_pipeline_timer *timer,
                                      const struct hr_pipeline_gradient *gradient,
                                      size_t micro_batches, struct hr_pipeline_walk *out)
{
    const struct hr_pipeline_options *o = &timer->pipeline->options;
    struct hr_pipeline_shape shape = o->shape;
    const struct hr_pipeline_costs costs = {
        .part = timer->cost,
        .arrival = timer->links.topology ? arrival : NULL,
        .arg = timer,
        .recompute = o->recompute && !timer->once,
    };
    fill_costs(timer, gradient);
    timer->rank = gradient->rank;
    hr_links_clear(&timer->links);
    shape.micro_batches = micro_batches;
    return hr_pipeline_walk(o->schedule, &shape, &costs, out);
}

static enum hr_status makespan_of(struct hr_pipeline_timer *timer,
                                  const struct hr_pipeline_gradient *gradient, size_t micro_batches,
                                  int64_t *ps, struct hr_stage_time *of)
{
    struct hr_pipeline_walk walk;
    HR_TRY(hr_pipeline_timer_walk(timer, gradient, micro_batches, &walk));
    *ps = walk.makespan;
    for (size_t k = 0; of && k < timer->pipeline->ranks; k++)
        of[k] = (struct hr_stage_time){walk.rank[k].again, walk.rank[k].again};
    hr_pipeline_walk_fini(&walk);
    return HR_OK;
}

/* Of a pipeline that never drains, and is full: K minibatches more, over K. */
static enum hr_status time_between(struct hr_pipeline_timer *timer,
                                   const struct hr_pipeline_gradient *gradient, int64_t *ps,
                                   struct hr_stage_time *of)
{
    const size_t K = timer->pipeline->ranks;
    struct hr_stage_time before[HR_PIPELINE_STAGES];
    int64_t less;
    HR_TRY(makespan_of(timer, gradient, 2 * K, &less, before));
    HR_TRY(makespan_of(timer, gradient, 3 * K, ps, of));
    *ps = (*ps - less) / (int64_t)K;
    for (size_t k = 0; of && k < K; k++) {
        const int64_t again = (of[k].again_ps - before[k].again_ps) / (int64_t)K;
        of[k] = (struct hr_stage_time){again, again};
    }
    return HR_OK;
}

static enum hr_status time_of_one(struct hr_pipeline_timer *timer,
                                  const struct hr_pipeline_gradient *gradient, int64_t *ps,
                                  struct hr_stage_time *of)
{
    const struct hr_pipeline_options *o = &timer->pipeline->options;
    return o->schedule->synchronous || gradient->first
               ? makespan_of(timer, gradient, o->shape.micro_batches, ps, of)
               : time_between(timer, gradient, ps, of);
}

enum hr_status hr_pipeline_timer_take(struct hr_pipeline_timer *timer,
                                      const struct hr_pipeline_gradient *gradient, int64_t *ps,
                                      int64_t *without_ps, struct hr_stage_time *of)
{
    const struct hr_pipeline *pipeline = timer->pipeline;
    const struct hr_pipeline_options *o = &pipeline->options;
    const size_t M = o->shape.micro_batches;
    memset(of, 0, pipeline->ranks * sizeof *of);
    if (o->recompute) {
        timer->once = true;
        HR_TRY(time_of_one(timer, gradient, without_ps, NULL));
        timer->once = false;
    }
    HR_TRY(time_of_one(timer, gradient, ps, of));
    if (!o->recompute)
        *without_ps = *ps;
    for (size_t p = 0; p < pipeline->parts; p++) {
        const struct hr_part_cost *cost = &timer->cost[p];
        of[p % pipeline->ranks].busy_ps +=
            (int64_t)M * (cost->forward + cost->backward_data + cost->backward_weights);
    }
    return HR_OK;
}

enum hr_status hr_pipeline_again(const struct hr_pipeline *pipeline, double *share)
{
    struct hr_stage_time of[HR_PIPELINE_STAGES];
    struct hr_pipeline_timer timer;
    double slow[HR_PIPELINE_STAGES];
    const struct hr_pipeline_gradient gradient = {.ps = INT64_C(1000000000000), .slow = slow};
    int64_t ps, without;
    for (size_t k = 0; k < pipeline->ranks; k++)
        slow[k] = 1;
    enum hr_status status = start_timer(&timer, pipeline, 1); /* of work, whoever does it */
    if (status == HR_OK)
        status = hr_pipeline_timer_take(&timer, &gradient, &ps, &without, of);
    *share = 0;
    for (size_t k = 0; status == HR_OK && k < pipeline->ranks; k++)
        *share += (double)of[k].again_ps / (double)gradient.ps;
    hr_pipeline_timer_fini(&timer);
    return status;
}
