/* PipeDream without its stash of weights: what that is for.
 *
 *   Story    as pipedream, but the backward takes the weights as they are by then: not those that
 *            its forward read, so the gradient is of no single state of the weights
 *   Stored   activations as 1F1B, and one version of the weights
 *   Stale    forward by K - 1 - k of the stage's own updates, backward by none
 */
#include "pipeline/one_forward_one_backward.h"
#include "pipeline/schedules.h"

static size_t versions(const struct hr_pipeline_shape *shape, size_t rank)
{
    (void)shape;
    (void)rank;
    return 1;
}

static size_t staleness(const struct hr_pipeline_shape *shape, size_t rank, enum hr_stage_work work)
{
    return work == HR_FORWARD ? shape->stages - 1 - rank : 0;
}

const struct hr_pipeline_schedule hr_schedule_unstashed = {
    .name = "unstashed",
    .about = "pipedream without the stash: backward takes other weights than its forward",
    .check = hr_pipeline_check_one_chunk,
    .actions = hr_1f1b_actions,
    .bubble = hr_1f1b_bubble,
    .stored = hr_1f1b_stored,
    .versions = versions,
    .staleness = staleness,
};
