/* Gossip (decentralised SGD): workers average their weights with their neighbours on a graph.
 *
 *   Story    every worker i has a replica x_i and an optimiser's state of its own. A step: it
 *            updates x_i with the gradient of its share of the global batch, sends x_i to its
 *            neighbours in the graph, and when theirs are in, x_i = sum over j of W_ij x_j.
 *            A worker waits only for its neighbours: two workers may be as many steps apart as
 *            there are links between them.
 *   Weights  Metropolis: W_ij = 1 / (1 + max(d_i, d_j)) between neighbours, d being how many each
 *            has; W_ii = 1 - the sum of these. W is symmetric, and its rows and columns sum to 1:
 *            averaging leaves the mean of the replicas where it is.
 *   Order    j in rank order, i itself in its place; each product is rounded, then added.
 *   Memory   x_i has two places, used by turns. A place is overwritten two steps later, when all
 *            neighbours have sent their next replica, and so have read this one.
 *   Compressed (--compress) other memory and another average: public_copies.h.
 *   Active   a neighbour that is not active in this term (it was lost) is none: its weight in the
 *            average goes to x_i itself, so that among those that are left W stays symmetric, and
 *            its rows and columns sum to 1.
 *   Cuts     the model is the mean of the replicas, T(n) times 1 / n. No replica changes; the
 *            snapshot has them all, so a resumed run equals one that never stopped.
 *   Stop     news from the first active worker travel one link a step, so a request to stop takes
 *            effect after as many steps as the farthest worker is links away, or at the next cut;
 *            where those that are left do not reach each other, at the next cut.
 *   Source   Lian et al., "Can Decentralized Algorithms Outperform Centralized Algorithms?", NIPS
 *            2017, arXiv 1705.09056. Weights: Xiao, Boyd, "Fast linear iterations for distributed
 *            averaging", 2004.
 */
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/vec.h"
#include "strategies/gossip_weights.h"
#include "strategies/public_copies.h"
#include "strategies/strategies.h"
#include "strategy/compression.h"
#include "strategy/rank.h"

/* --- memory: second places, or public copies --- */

static size_t place_bytes(const struct hr_shared_state *shared)
{
    return hr_round_up(shared->params * sizeof(float), HR_LINE);
}

static size_t bytes(const struct hr_shared_state *shared)
{
    return hr_compression_of(shared) ? hr_public_copies_bytes(shared)
                                     : shared->workers * place_bytes(shared);
}

/* Where the replica of a worker lies in its step `step`, counted from the run's first. */
static float *place_of(const struct hr_shared_state *shared, size_t worker, uint64_t step)
{
    const bool second = step % 2 && !hr_compression_of(shared); /* else nobody else reads it */
    return second ? (float *)(void *)((unsigned char *)shared->own + worker * place_bytes(shared))
                  : shared->weights[worker];
}

/* What goes to the neighbours in a step. */
static struct hr_payload payload_of(const struct hr_shared_state *shared, size_t worker,
                                    uint64_t step)
{
    if (hr_compression_of(shared))
        return hr_public_copies_packet(shared, shared->own, worker, step);
    return (struct hr_payload){place_of(shared, worker, step), shared->params * sizeof(float)};
}

/* --- the worker --- */

/* A worker's own. */
struct own {
    uint64_t steps;                  /* exchanges finished */
    struct hr_public_copies *copies; /* owned; NULL: nothing is compressed */
    uint64_t reach;                  /* hr_gossip_reach */
    float *row;                      /* (workers) owned: this worker's row of W */
};

/* Is it a neighbour that takes part? */
static bool is_linked(const struct hr_worker *worker, size_t peer)
{
    return peer != worker->rank && ((const struct own *)worker->own)->row[peer] > 0;
}

static size_t worker_bytes(const struct hr_shared_state *shared)
{
    return shared->workers * sizeof(float) + hr_public_copies_worker_bytes(shared);
}

static void stop(struct hr_worker *worker)
{
    free(((struct own *)worker->own)->row);
    free(((struct own *)worker->own)->copies);
}

static enum hr_status start(struct hr_worker *worker)
{
    const struct hr_shared_state *shared = worker->shared;
    struct own *own = worker->own;
    own->row = calloc(shared->workers, sizeof *own->row);
    if (!own->row)
        return hr_fail(HR_E_NOMEM, "no memory for weights of %zu workers", shared->workers);
    hr_gossip_row(shared, worker->rank, own->row);
    own->reach = hr_gossip_reach(shared);
    if (!hr_compression_of(shared))
        return HR_OK;
    const enum hr_status status = hr_public_copies_start(worker, shared->own, &own->copies);
    if (status != HR_OK)
        stop(worker);
    return status;
}

/* Has worker j's replica of this step come? */
static bool is_here(const struct hr_worker *worker, size_t j)
{
    return hr_peers_came(worker->shared, worker->rank, j) >
           ((const struct own *)worker->own)->steps;
}

static bool all_are_here(void *arg)
{
    const struct hr_worker *worker = arg;
    for (size_t j = 0; j < worker->shared->workers; j++)
        if (is_linked(worker, j) && !is_here(worker, j))
            return false;
    return true;
}

/* Returns where it lies. */
static float *average_replicas(const struct hr_worker *worker, const float *weights)
{
    enum { NEAR = 2048 }; /* elements that stay in the nearest cache */
    const struct hr_shared_state *shared = worker->shared;
    const uint64_t step = ((const struct own *)worker->own)->steps;
    const float *x[HR_VEC_MAX_INPUTS];
    float *out = place_of(shared, worker->rank, step + 1);
    for (size_t j = 0; j < shared->workers; j++)
        x[j] = place_of(shared, j, step);
    for (size_t at = 0; at < shared->params; at += NEAR)
        hr_gossip_average(shared, weights, x, at, hr_min_size(NEAR, shared->params - at), out + at);
    hr_keep_frozen(&shared->optimizer, 0, shared->params, out, x[worker->rank]);
    return out;
}

static void average(struct hr_worker *worker)
{
    const struct hr_shared_state *shared = worker->shared;
    struct own *own = worker->own;
    const float *weights = own->row;
    if (own->copies)
        hr_public_copies_average(worker, own->copies, weights, own->steps);
    else
        worker->weights = average_replicas(worker, weights);
    for (size_t j = 0; j < shared->workers; j++)
        if (is_linked(worker, j))
            hr_peer_took(worker, j, payload_of(shared, j, own->steps).bytes);
    own->steps++;
}

static void send_replica(struct hr_worker *worker)
{
    const struct hr_shared_state *shared = worker->shared;
    const struct own *own = worker->own;
    const struct hr_payload payload = payload_of(shared, worker->rank, own->steps);
    if (own->copies)
        hr_public_copies_publish(worker, own->copies, own->steps);
    for (size_t j = 0; j < shared->workers; j++)
        if (is_linked(worker, j)) {
            worker->stats->bytes_sent += payload.bytes;
            worker->stats->bytes_plain += shared->params * sizeof(float);
            hr_peer_send(worker, j, payload);
        }
}

/* News of the first active worker come to all before that index. */
static uint64_t meeting(const struct hr_worker *worker)
{
    const struct own *own = worker->own;
    return worker->index + hr_min_size(own->reach, worker->cut - worker->index);
}

static enum hr_status span(struct hr_rank *rank)
{
    static const struct hr_gradient_hooks hooks = {.awaits = is_linked};
    struct hr_worker *worker = rank->worker;
    uint64_t index;
    HR_TRY(hr_rank_pass(rank));
    while (hr_next_batch(worker, meeting(worker), &index)) {
        HR_TRY(hr_rank_gradient(rank, index, &hooks));
        if (worker->samples)
            hr_update_replica(worker, index);
        worker->stats->updates += worker->group_rank == 0; /* one per step, of the mean */
        send_replica(worker);
        HR_TRY(hr_rank_barrier(rank, NULL, all_are_here, worker));
        average(worker);
    }
    return hr_rank_quiesce(rank, worker->index);
}

/* Where that of another worker lies at a cut. */
static float *replica_of(const struct hr_worker *worker, size_t rank)
{
    return place_of(worker->shared, rank, ((const struct own *)worker->own)->steps);
}

const struct hr_strategy hr_strategy_gossip = {
    .name = "gossip",
    .guarantee = "each step averages with its neighbours alone; the model is the mean of replicas "
                 "that differ",
    .options = (const char *const[]){"compress", "link", "topology", NULL},
    .rows = {HR_KEPT_MEAN, HR_KEPT_OWN, .replica = replica_of},
    .synchronous = true,
    .shares_batch = true,
    .order = "weights of a worker and its neighbours, in rank order",
    .prepare = hr_gossip_prepare,
    .describe = hr_gossip_describe,
    .bytes = bytes,
    .worker_own = sizeof(struct own),
    .worker_bytes = worker_bytes,
    .start = start,
    .stop = stop,
    .span = span,
};
