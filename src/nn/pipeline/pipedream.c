/* PipeDream: no flush, stashed weights (Narayanan et al., arXiv 1806.03377).
 *
 *   Story    every minibatch goes through the stages in 1F1B's order, and a stage applies its
 *            gradient at once. While a minibatch is on its way the stage makes K - 1 - k updates;
 *            its backward takes the weights that its forward read, which the stage has stashed.
 *   Bubble   only while a run of M minibatches fills and drains: K - 1 slots of M + K - 1
 *   Stored   activations as 1F1B, and as many versions of the weights
 *   Stale    forward and backward by K - 1 - k of the stage's own updates
 */
#include "pipeline/one_forward_one_backward.h"
#include "pipeline/schedules.h"

static size_t versions(const struct hr_pipeline_shape *shape, size_t rank)
{
    return shape->stages - rank;
}

static size_t staleness(const struct hr_pipeline_shape *shape, size_t rank, enum hr_stage_work work)
{
    (void)work;
    return shape->stages - 1 - rank;
}

const struct hr_pipeline_schedule hr_schedule_pipedream = {
    .name = "pipedream",
    .about = "1f1b without a flush: an update a minibatch, by gradients of stashed weights",
    .check = hr_pipeline_check_one_chunk,
    .actions = hr_1f1b_actions,
    .bubble = hr_1f1b_bubble,
    .stored = hr_1f1b_stored,
    .versions = versions,
    .staleness = staleness,
};
