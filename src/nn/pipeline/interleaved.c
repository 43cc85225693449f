/* Interleaved 1F1B: a rank has V parts of the model (Narayanan et al., arXiv 2104.04473).
 *
 *   Words    T = M * V passes a rank each way. Pass n belongs to a group of K micro-batches that go
 *            through all chunks one after the other: micro-batch n / (K V) * K + n % K, chunk
 *            n % (K V) / K; backward the chunks come from the last.
 *   Story    as 1F1B over passes. Rank k begins with (V - 1) K + 2 (K - 1 - k) forward passes: what
 *            is on its way through its other chunks, and to the last rank and back. Half of the 2
 *            would do where messages take no time: the other half lets them travel meanwhile.
 *   Bubble   K - 1 slots of V M + K - 1, a V-th of 1F1B's; V times as many messages
 *   Stored   those forward passes and one, each of a V-th of the rank's layers
 */
#include "pipeline/schedules.h"

static enum hr_status check(const struct hr_pipeline_shape *shape)
{
    const size_t K = shape->stages, M = shape->micro_batches;
    HR_TRY(hr_pipeline_check_sizes(shape));
    if (M % K == 0)
        return HR_OK;
    const size_t below = M / K * K;
    if (below == 0)
        return hr_fail(
            HR_E_USAGE,
            "--micro-batches %zu: interleaved wants a multiple of the %zu stages, as %zu", M, K, K);
    return hr_fail(HR_E_USAGE,
                   "--micro-batches %zu: interleaved wants a multiple of the %zu stages, as %zu or "
                   "%zu",
                   M, K, below, below + K);
}

static size_t passes(const struct hr_pipeline_shape *shape)
{
    return shape->micro_batches * shape->chunks;
}

/* Forward passes before the first backward. */
static size_t passes_ahead(const struct hr_pipeline_shape *shape, size_t rank)
{
    const size_t K = shape->stages, ahead = (shape->chunks - 1) * K + 2 * (K - 1 - rank);
    return ahead < passes(shape) ? ahead : passes(shape);
}

static void put_pass(struct hr_action_list *list, const struct hr_pipeline_shape *shape,
                     enum hr_stage_work work, size_t n)
{
    const size_t K = shape->stages, V = shape->chunks;
    const size_t micro = n / (K * V) * K + n % K, chunk = n % (K * V) / K;
    hr_action_put(list, work, micro, work == HR_FORWARD ? chunk : V - 1 - chunk);
}

static size_t actions(const struct hr_pipeline_shape *shape, size_t rank,
                      struct hr_stage_action *out)
{
    struct hr_action_list list = {.out = out};
    const size_t T = passes(shape), ahead = passes_ahead(shape, rank);
    for (size_t n = 0; n < ahead; n++)
        put_pass(&list, shape, HR_FORWARD, n);
    for (size_t n = 0; n < T; n++) {
        if (n + ahead < T)
            put_pass(&list, shape, HR_FORWARD, n + ahead);
        put_pass(&list, shape, HR_BACKWARD, n);
    }
    return list.count;
}

static double bubble(const struct hr_pipeline_shape *shape)
{
    const double K = (double)shape->stages, T = (double)passes(shape);
    return (K - 1) / (T + K - 1);
}

static size_t stored(const struct hr_pipeline_shape *shape, size_t rank)
{
    const size_t T = passes(shape), ahead = passes_ahead(shape, rank);
    return ahead < T ? ahead + 1 : T;
}

const struct hr_pipeline_schedule hr_schedule_interleaved = {
    .name = "interleaved",
    .about = "1f1b with several parts of the model a stage; stages divide micro-batches",
    .synchronous = true,
    .check = check,
    .actions = actions,
    .bubble = bubble,
    .stored = stored,
};
