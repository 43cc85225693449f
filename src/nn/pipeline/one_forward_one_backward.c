/* 1F1B: one forward, one backward (PipeDream-flush, arXiv 2006.09503; Megatron-LM).
 *
 *   Story    rank k begins with the forward of K - 1 - k micro-batches, as many as are on their
 *            way to the last rank and back; then it does one forward and one backward in turn, and
 *            at last the backward that is left
 *   Bubble   as GPipe's: K - 1 slots of M + K - 1
 *   Stored   no more than K - k micro-batches, however many there are
 */
#include "pipeline/one_forward_one_backward.h"

#include "pipeline/schedules.h"

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t hr_1f1b_actions(const struct hr_pipeline_shape *shape, size_t rank,
                       struct hr_stage_action *out)
{
    struct hr_action_list list = {.out = out};
    const size_t M = shape->micro_batches, ahead = least(M, shape->stages - 1 - rank);
    for (size_t m = 0; m < ahead; m++)
        hr_action_put(&list, HR_FORWARD, m, 0);
    for (size_t m = 0; m < M; m++) {
        if (m + ahead < M)
            hr_action_put(&list, HR_FORWARD, m + ahead, 0);
        hr_action_put(&list, HR_BACKWARD, m, 0);
    }
    return list.count;
}

double hr_1f1b_bubble(const struct hr_pipeline_shape *shape)
{
    const double K = (double)shape->stages, M = (double)shape->micro_batches;
    return (K - 1) / (M + K - 1);
}

size_t hr_1f1b_stored(const struct hr_pipeline_shape *shape, size_t rank)
{
    return least(shape->micro_batches, shape->stages - rank);
}

const struct hr_pipeline_schedule hr_schedule_1f1b = {
    .name = "1f1b",
    .about = "one forward, one backward; stores at most as many micro-batches as stages",
    .synchronous = true,
    .check = hr_pipeline_check_one_chunk,
    .actions = hr_1f1b_actions,
    .bubble = hr_1f1b_bubble,
    .stored = hr_1f1b_stored,
};
