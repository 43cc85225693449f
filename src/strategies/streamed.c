/* One replica, whose stages update their own weights (stages/stream.h).
 *
 *   Story    a worker that is a pipeline which never drains hands in no gradients: each stage makes
 *            its part of an update as soon as it has that part of the gradient, with the one state
 *            of the optimiser, in shared memory. What is left to do here is to say which batch is
 *            next, and to keep the state.
 *   Promise  every minibatch is one update; nothing is on its way at a cut.
 *   In place of allreduce, where there is one worker, in real time. Where one process runs all
 *   ranks, allreduce itself is given gradients, put together to the same bits (stages/versions.h).
 */
#include "strategies/strategies.h"
#include "strategy/rank.h"

static size_t bytes(const struct hr_shared_state *shared)
{
    return hr_state_floats(shared) * sizeof(float);
}

static bool has_one_state(const struct hr_shared_state *shared)
{
    (void)shared;
    return true;
}

static enum hr_status start(struct hr_worker *worker)
{
    (void)worker;
    return HR_OK;
}

static enum hr_status span(struct hr_rank *rank)
{
    struct hr_worker *worker = rank->worker;
    uint64_t index;
    HR_TRY(hr_rank_pass(rank));
    while (hr_next_batch(worker, worker->index + 1, &index)) {
        worker->applied++;
        HR_TRY(hr_rank_gradient(rank, index, NULL));
        HR_TRY(hr_rank_pass(rank));
    }
    return hr_rank_quiesce(rank, worker->index);
}

const struct hr_strategy hr_strategy_streamed = {
    .name = "allreduce",
    .guarantee = "one replica; its stages update their own weights, one update per minibatch",
    .options = (const char *const[]){"algorithm", NULL},
    .rows = {.one_state = has_one_state},
    .synchronous = true,
    .shares_batch = true,
    .bytes = bytes,
    .start = start,
    .span = span,
};
