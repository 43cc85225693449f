/* aggregate.h - servers on several machines: a machine's workers push as one (--aggregate node).
 *
 *   Words    node: a machine, and the workers on it, k of them, a power of two. Its leader: the
 *            first of them, the only one that pushes and pulls.
 *   Story    a step of a node, in seven parts:
 *              load        each worker reads its share of the batch, and
 *              compute     computes its gradient, in memory that all of the node see
 *              aggregate   when all k are there, each worker adds one stripe of all of them, in
 *                          T(k), into the leader's gradient: the machine's memory is read once
 *              push        the leader sends the sum to the servers: one push a node
 *              update      they add the nodes' sums, update, and send the weights to the leaders
 *              distribute  each worker copies the leader's weights into its own;
 *                          all of them have the new weights
 *            Where a gradient lies on a device beside the processor, it would move to this memory
 *            between compute and aggregate.
 *   Bits     T over nodes of T over a node's workers is T over all of them, since k is a power of
 *            two, and workers are dealt out in equal contiguous runs. So the weights are those of
 *            k pushes, or of one machine.
 *   Arrival  ps-async and ssp, when they are told to: the leader pulls weights and a batch for each
 *            of the node, and their sum, added in T(k), is one update of k batches, whenever it
 *            comes: a node is what a worker was, to gates and staleness. Where fewer than k batches
 *            are left before a cut, the others sit out: they come to the cut, and give for one
 *            request more, which is answered that none is left, without a gradient.
 *   Cost     P parameters: 4 P bytes each way between a node and all servers, for 4 k P without.
 *   Words in memory, a line a worker, each with one writer; n counts requests, which all workers of
 *            a node make together:
 *              given   the gradient that belongs to request n is in its memory, of `samples`
 *              summed  its stripe of all of them is in the leader's gradient
 *              told    the leader's alone: its weights are those of request n
 *   Safety   Stripe i is read of all, and written, by worker i alone. A worker overwrites its
 *            gradient when it has the weights of n, which the leader has when its push was taken,
 *            behind all stripes. The leader's weights are overwritten behind its push n, or (n
 *            begins a span) behind a cut: all have given n, or come to the cut, by then, and had
 *            copied those of n - 1 before. So `told` needs no answer.
 *   Rest     Cuts and ends are as ever: each worker tells the servers of them itself. In between
 *            the servers wait for no other worker than leaders (hr_server_pushes).
 *
 * Not for  a run on one machine: its memory is the servers', which add in place; nor one that is
 *          recorded, since a trace is replayed on one machine, or compressed, since a push leaves
 *          an error with its worker (train/aggregate_setup.h).
 * Threads: a worker's own, as strategy.h; shared memory as above.
 * Memory:  behind that of ps-sync.
 * Source:  as MXNet's store of kind dist_device_sync, which reduces over a machine's devices before
 *          it pushes.
 * Test:    tests/unit/strategies/test_aggregate.c, tests/unit/server/test_served_machines.c
 */
#ifndef HR_STRATEGIES_AGGREGATE_H
#define HR_STRATEGIES_AGGREGATE_H

#include "server/server.h"

/* When a leader's push passed from one part of the step to the next. */
struct hr_aggregate_times {
    int64_t summed_ns, sent_ns, replied_ns;
};

/* A worker's own. */
struct hr_aggregating {
    size_t k, left;  /* whose gradients are in the next sum; in that which it leaves */
    uint64_t asked;  /* requests so far */
    uint64_t ticket; /* its messages to a server up to the push, or pull, in hand */
    int64_t offered_ns;
    int64_t load_ns, compute_ns; /* of its account, when it accepted last */
    struct hr_aggregate_times times;
};

/* Functions of the table. */
size_t hr_aggregate_bytes(const struct hr_shared_state *shared);
enum hr_status hr_aggregate_span(struct hr_rank *rank);

#endif
