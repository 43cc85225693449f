/* GPipe: all forward, then all backward (Huang et al., arXiv 1811.06965).
 *
 *   Story    a rank does the forward of all micro-batches, then the backward of all
 *   Bubble   K - 1 slots of M + K - 1 while the pipeline fills, and as many while it drains
 *   Stored   all M micro-batches, on every rank
 *   Order    the paper goes backward from the last micro-batch; here it is from the first, as
 *            everywhere, and takes as long
 */
#include "pipeline/schedules.h"

static size_t actions(const struct hr_pipeline_shape *shape, size_t rank,
                      struct hr_stage_action *out)
{
    struct hr_action_list list = {.out = out};
    (void)rank;
    for (size_t m = 0; m < shape->micro_batches; m++)
        hr_action_put(&list, HR_FORWARD, m, 0);
    for (size_t m = 0; m < shape->micro_batches; m++)
        hr_action_put(&list, HR_BACKWARD, m, 0);
    return list.count;
}

static double bubble(const struct hr_pipeline_shape *shape)
{
    const double K = (double)shape->stages, M = (double)shape->micro_batches;
    return (K - 1) / (M + K - 1);
}

static size_t stored(const struct hr_pipeline_shape *shape, size_t rank)
{
    (void)rank;
    return shape->micro_batches;
}

const struct hr_pipeline_schedule hr_schedule_gpipe = {
    .name = "gpipe",
    .about = "all forward, then all backward; stores every micro-batch",
    .synchronous = true,
    .check = hr_pipeline_check_one_chunk,
    .actions = actions,
    .bubble = bubble,
    .stored = stored,
};
