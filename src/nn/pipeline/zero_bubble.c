/* ZB-H1: backward for the data and for the weights apart (Qi et al., arXiv 2401.10241).
 *
 *   Story    1F1B, but a rank's backward is for the data alone, so that the rank before may go on;
 *            that for the weights, which nobody waits for, comes k micro-batches later on rank k,
 *            where 1F1B has less to store, and fills the end, where 1F1B idles
 *   Bubble   K - 1 slots of 3 M + K - 1 where M >= K: a third of 1F1B's idle time. With fewer
 *            micro-batches there are too few gradients of weights to fill with: K - M slots more.
 *   Stored   min(M, K) micro-batches on every rank: what rank 0 stores under 1F1B
 */
#include "pipeline/schedules.h"

static size_t actions(const struct hr_pipeline_shape *shape, size_t rank,
                      struct hr_stage_action *out)
{
    struct hr_action_list list = {.out = out};
    const size_t M = shape->micro_batches, ahead = shape->stages - 1 - rank;
    for (size_t m = 0; m < ahead && m < M; m++)
        hr_action_put(&list, HR_FORWARD, m, 0);
    for (size_t m = 0; m < M; m++) {
        if (m + ahead < M)
            hr_action_put(&list, HR_FORWARD, m + ahead, 0);
        hr_action_put(&list, HR_BACKWARD_DATA, m, 0);
        if (m >= rank)
            hr_action_put(&list, HR_BACKWARD_WEIGHTS, m - rank, 0);
    }
    for (size_t m = M > rank ? M - rank : 0; m < M; m++)
        hr_action_put(&list, HR_BACKWARD_WEIGHTS, m, 0);
    return list.count;
}

static double bubble(const struct hr_pipeline_shape *shape)
{
    const double K = (double)shape->stages, M = (double)shape->micro_batches;
    const double idle = K - 1 + (K > M ? K - M : 0);
    return idle / (3 * M + idle);
}

static size_t stored(const struct hr_pipeline_shape *shape, size_t rank)
{
    (void)rank;
    return shape->micro_batches < shape->stages ? shape->micro_batches : shape->stages;
}

const struct hr_pipeline_schedule hr_schedule_zero_bubble = {
    .name = "zero-bubble",
    .about = "1f1b with the backward for the weights apart, where a stage would idle (ZB-H1)",
    .synchronous = true,
    .splits_backward = true,
    .check = hr_pipeline_check_one_chunk,
    .actions = actions,
    .bubble = bubble,
    .stored = stored,
};
