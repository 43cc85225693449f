/* Hogwild: no server; workers read and update the shared weights without locks.
 *
 *   Story    a worker draws the index of a batch and computes a gradient from its private copy of
 *            the weights. Then it passes over the shared weights: it loads some, updates what it
 *            loaded, and stores that. It copies what it stores, for its next gradient: a push and
 *            the next pull are one pass, so a line that others wrote is fetched once a step. Only
 *            at the start and after a cut it pulls alone. Each worker has an optimiser state of its
 *            own; norms (--clip-norm, lars, lamb) are of its own gradient, state and copy.
 *            The rate (--staleness-lr) and the gradient (--delay-compensation) may follow the
 *            staleness at the push's start; compensation is with each block's weights as loaded,
 *            norms are those of the uncompensated gradient.
 *   Promise  no torn values; an update that meets another's between its load and its store is lost
 *            (lost.h samples how many are).
 *   Order    each worker starts a pass at its own stripe, so that two rarely meet on one line.
 *   Blocks   the weights, and how they are taken where none of it may be lost: hogwild_weights.h.
 *   Source   Niu, Recht, Re, Wright, "Hogwild!", NIPS 2011.
 */
#include <string.h>

#include "base/size.h"
#include "strategies/hogwild_weights.h"
#include "strategies/lost.h"
#include "strategies/strategies.h"

/* Weights that are loaded, updated and stored at a time: enough that loads do not stall on stores
 * that are not yet in the cache, and few enough that another's update rarely falls between load and
 * store. */
enum { PIECE = 512 };

/* Load some weights into the copy, update them there with the vector kernel, and store them. The
 * watched line is checked before it is overwritten. */
static void update_piece(struct hr_worker *worker, size_t at, size_t count)
{
    const struct hr_hogwild *own = worker->own;
    float *w = worker->weights + at, pulled[PIECE], loaded[HR_LOST_FLOATS];
    const bool watched = own->watched >= at && own->watched < at + count;
    const size_t before = watched ? own->watched - at : count;
    const size_t length = hr_min_size(HR_LOST_FLOATS, count - before), behind = before + length;
    if (own->push.lambda > 0)
        memcpy(pulled, w, count * sizeof *w);
    hr_hogwild_load(&own->weights, at, count, w);
    if (watched)
        memcpy(loaded, w + before, length * sizeof *w);
    hr_push_update(worker, &own->push, at, count, pulled, w);
    hr_hogwild_store(&own->weights, at, before, w);
    if (!watched)
        return;
    hr_lost_store(&worker->stats->lost, own->weights.pairs + own->watched / 2, loaded, w + before,
                  length);
    hr_hogwild_store(&own->weights, at + behind, count - behind, w + behind);
}

static void update_pieces(struct hr_worker *worker, size_t begin, size_t end)
{
    for (size_t at = begin; at < end; at += PIECE)
        update_piece(worker, at, hr_min_size(PIECE, end - at));
}

/* From the worker's own stripe on, where that begins in the block. */
static void update(struct hr_worker *worker, size_t begin, size_t end)
{
    const struct hr_shared_state *shared = worker->shared;
    const size_t stripe = hr_stripe_begin(shared->params, shared->workers, worker->rank);
    const size_t from = stripe > begin && stripe < end ? stripe : begin;
    update_pieces(worker, from, end);
    update_pieces(worker, begin, from);
}

static enum hr_status push(struct hr_rank *rank)
{
    struct hr_worker *worker = rank->worker;
    struct hr_hogwild *own = worker->own;
    hr_hogwild_begin_push(worker);
    own->watched = own->ticket
                       ? SIZE_MAX /* none is lost */
                       : hr_lost_line(worker->shared->params, worker->rank, worker->applied);
    HR_TRY(hr_hogwild_pass(rank, true, update));
    hr_hogwild_end_push(worker);
    return HR_OK;
}

static void load(struct hr_worker *worker, size_t begin, size_t end)
{
    const struct hr_hogwild *own = worker->own;
    hr_hogwild_load(&own->weights, begin, end - begin, worker->weights + begin);
}

static enum hr_status pull(struct hr_rank *rank)
{
    struct hr_hogwild *own = rank->worker->own;
    if (!own->pulls)
        return HR_OK;
    own->seen = hr_pushes_of_others(rank->worker); /* before it loads: later ones it may not see */
    HR_TRY(hr_hogwild_pass(rank, false, load));
    own->pulls = own->ticket;
    return HR_OK;
}

static enum hr_status span(struct hr_rank *rank)
{
    uint64_t index;
    bool batch;
    HR_TRY(hr_hogwild_draw(rank, &index, &batch));
    while (batch) {
        HR_TRY(pull(rank));
        HR_TRY(hr_rank_gradient(rank, index, NULL));
        HR_TRY(push(rank));
        HR_TRY(hr_hogwild_draw(rank, &index, &batch));
    }
    HR_TRY(hr_rank_come_to_cut(rank, index));
    hr_pushes_arrive(rank->worker);
    return hr_rank_await_cut(rank, hr_always_ready, rank->worker);
}

const struct hr_strategy hr_strategy_hogwild = {
    .name = "hogwild",
    .guarantee = "no torn values; updates may be lost; staleness unbounded, measured",
    .options = (const char *const[]){"async-lr", "staleness-lr", "delay-compensation",
                                     "record-block", NULL},
    .rows = {HR_KEPT_SHARED, HR_KEPT_OWN, .memory = hr_hogwild_at_rest},
    .order = hr_order_of_arrival,
    .losses_are_inputs = true,
    .prepare = hr_hogwild_prepare,
    .describe = hr_hogwild_describe,
    .bytes = hr_hogwild_bytes,
    .init = hr_hogwild_init,
    .worker_own = sizeof(struct hr_hogwild),
    .worker_bytes = hr_hogwild_worker_bytes,
    .start = hr_hogwild_start,
    .stop = hr_hogwild_stop,
    .span = span,
    .catch_up = hr_hogwild_catch_up,
    .lost = hr_hogwild_lose,
    .pause = hr_hogwild_pause,
};
