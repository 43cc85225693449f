/* Synchronous data parallelism by all-reduce.
 *
 *   Story    every worker has a replica of the weights. A step: each computes the gradient of its
 *            share of the global batch; the gradients are summed over workers (--algorithm), and
 *            all replicas are updated alike. Either
 *              fused    (direct) the rank that sums a block of gradients also updates the block's
 *                       weights, with the one optimiser state, and writes them into all replicas:
 *                       the sum never travels, and each update is computed once; or
 *              apart    (other algorithms, and updates that need norms: --clip-norm, lars, lamb)
 *                       every rank gets the sum and updates its own replica, with a state of its
 *                       own.
 *            A worker alone (fused) has nothing to sum: it updates during backward, from pieces of
 *            its gradient that are in the caches, and no gradient is stored; or from a whole one in
 *            place, where ranks have split it, and wait, with as many threads.
 *            With --compress the sum is compressed_sum.h's, and updates are apart.
 *            Gradients are summed at once, or (--overlap) in buckets while backward goes on:
 *            buckets.h.
 *   Promise  all replicas are bit-equal after each step, and both ways give the same bits. The
 *            first is checked at every cut, the second by the tests (direct = master-worker).
 *   Source   the fused form is ZeRO-1 by stripes: Rajbhandari et al., SC 2020.
 */
#include <string.h>

#include "base/size.h"
#include "base/vec.h"
#include "kernels/team.h"
#include "strategy/shared.h"
#include "strategy/rank.h"
#include "strategies/buckets.h"
#include "strategies/strategies.h"

/* Replicas of more bytes in all leave the caches before they are read: write around the caches.
 * Half of a 32 MiB last-level cache. */
static const size_t past_caches_bytes = (size_t)16 << 20;

static bool is_fused(const struct hr_shared_state *shared)
{
    return hr_can_apply(&shared->group_options) && !hr_compression_of(shared) &&
           !hr_optimizer_needs_norms(&shared->optimizer);
}

/* The strategy's memory: the one state of the fused form, or packets. */
static size_t bytes(const struct hr_shared_state *shared)
{
    if (hr_compression_of(shared))
        return hr_compressed_sum_bytes(shared);
    return is_fused(shared) ? hr_round_up(hr_state_floats(shared) * sizeof(float), HR_LINE) : 0;
}

/* Write a block of the first replica into the others. */
static void publish(const struct hr_shared_state *shared, size_t begin, size_t count,
                    const float *first)
{
    enum { AT_A_TIME = 64 };
    float *out[AT_A_TIME];
    const struct hr_active *active = shared->active;
    const bool past = active->n * shared->params * sizeof *first >= past_caches_bytes;
    for (size_t s = 1; s < active->n;) {
        size_t n = 0;
        for (; n < AT_A_TIME && s < active->n; s++)
            out[n++] = shared->weights[active->rank[s]] + begin;
        if (past)
            hr_vec()->copy_past(out, n, first, count);
        for (size_t i = 0; !past && i < n; i++)
            memcpy(out[i], first, count * sizeof *first);
    }
}

/* A worker's own. */
struct own {
    struct hr_step step; /* the update in progress */
    struct hr_buckets buckets;
    bool taken; /* the update has been made in pieces */
};

static struct own *own_of(const struct hr_worker *worker)
{
    return worker->own;
}

/* Fused: update one block, once, and write it into all replicas. */
static void apply(void *arg, size_t begin, size_t count, const float *sum)
{
    struct hr_worker *worker = arg;
    const struct hr_shared_state *shared = worker->shared;
    const enum hr_activity was = hr_account_turn(&worker->stats->account, HR_COMPUTE);
    float *first = shared->weights[shared->active->rank[0]] + begin;
    hr_step_update(&own_of(worker)->step, begin, count, first, worker->state, sum);
    publish(shared, begin, count, first);
    hr_account_turn(&worker->stats->account, was);
}

/* --- a worker alone --- */

enum { PIECE = 1 << 12 }; /* elements that a thread updates at a time */

static bool is_alone(const struct hr_shared_state *shared)
{
    return shared->workers == 1 && is_fused(shared);
}

static void update_piece(void *arg, size_t piece, size_t thread)
{
    const struct hr_worker *worker = arg;
    const size_t begin = piece * PIECE;
    (void)thread;
    hr_step_update(&own_of(worker)->step, begin, hr_min_size(PIECE, worker->shared->params - begin),
                   worker->weights + begin, worker->state, worker->grads + begin);
}

/* The same during backward, out of the caches. */
static void take_piece(struct hr_worker *worker, const struct hr_final_piece *piece)
{
    struct own *own = own_of(worker);
    const size_t run = hr_final_run(piece), rows = run ? 1 : piece->rows;
    own->taken = true;
    for (size_t i = 0; i < rows; i++) {
        const size_t begin = piece->begin + i * piece->step;
        hr_step_update(&own->step, begin, run ? run : piece->columns, worker->weights + begin,
                       worker->state, piece->values + i * piece->stride);
    }
}

static enum hr_status update_alone(struct hr_rank *rank)
{
    struct hr_worker *worker = rank->worker;
    const size_t threads = hr_max_size(worker->shared->update_threads, 1);
    HR_TRY(hr_rank_pass(rank));
    if (!own_of(worker)->taken) {
        const enum hr_activity was = hr_account_turn(&worker->stats->account, HR_COMPUTE);
        hr_team_run(threads, (worker->shared->params + PIECE - 1) / PIECE, update_piece, worker);
        hr_account_turn(&worker->stats->account, was);
    }
    own_of(worker)->taken = false;
    return HR_OK;
}

/* --- workers together --- */

static enum hr_status start(struct hr_worker *worker)
{
    struct hr_shared_state *shared = worker->shared;
    struct hr_buckets *buckets = &own_of(worker)->buckets;
    *buckets = (struct hr_buckets){
        .member = &worker->member,
        .grads = worker->grads,
        .params = shared->params,
        .apply = is_fused(shared) ? apply : NULL,
        .arg = worker,
    };
    HR_TRY(hr_overlap_least(shared, &buckets->least));
    return hr_compressed_sum_begin(&buckets->compressed, worker, shared->own);
}

/* Prepare the update before the batch is computed: its first bucket may be summed and applied
 * before the last is computed. (Backward no longer needs those weights: a bucket is applied when
 * all ranks have finished its layers.) */
static void prepare_update(struct hr_worker *worker, uint64_t index)
{
    const struct hr_shared_state *shared = worker->shared;
    own_of(worker)->step = hr_step_for(
        shared, index, hr_batch_schedule_batch(&shared->schedule, index).count, ++worker->applied);
}

static void final(struct hr_worker *worker, size_t offset)
{
    hr_buckets_final(&own_of(worker)->buckets, offset);
}

/* Finish all sums, and the update. */
static enum hr_status update_together(struct hr_rank *rank, uint64_t index)
{
    struct hr_worker *worker = rank->worker;
    HR_TRY(hr_buckets_sum(rank, &own_of(worker)->buckets, index));
    if (!is_fused(worker->shared)) /* apart */
        hr_step_replica(worker, &own_of(worker)->step);
    return HR_OK;
}

static enum hr_status span(struct hr_rank *rank)
{
    static const struct hr_gradient_hooks by_itself = {.piece = take_piece};
    static const struct hr_gradient_hooks together = {.final = final, .awaits = hr_awaits_all};
    struct hr_worker *worker = rank->worker;
    const bool alone = is_alone(worker->shared);
    uint64_t index;
    HR_TRY(hr_rank_pass(rank));
    while (hr_next_batch(worker, worker->index + 1, &index)) {
        prepare_update(worker, index);
        HR_TRY(hr_rank_gradient(rank, index, alone ? &by_itself : &together));
        HR_TRY(alone ? update_alone(rank) : update_together(rank, index));
        worker->stats->updates += worker->group_rank == 0; /* one per step */
    }
    return hr_rank_quiesce(rank, worker->index);
}

const struct hr_strategy hr_strategy_allreduce = {
    .name = "allreduce",
    .guarantee = "all replicas bit-equal after each step",
    .options = (const char *const[]){"algorithm", "compress", "link", "topology", NULL},
    .rows = {.one_state = is_fused},
    .synchronous = true,
    .shares_batch = true,
    .bytes = bytes,
    .worker_own = sizeof(struct own),
    .start = start,
    .span = span,
};
