/* public_copies.h - gossip with --compress: what all neighbours of a worker know of its weights.
 *
 *   Story    (CHOCO-SGD) of each replica x_i there is a public copy h_i, which its worker and all
 *            its neighbours have, to the bit. In a step, when x_i is updated:
 *              1. q_i = C(x_i - h_i), compressed, goes to the neighbours
 *              2. whoever has h_j: h_j = h_j + q_j
 *              3. x_i = (x_i - h_i) + the sum over j of W_ij h_j, in rank order
 *            What C leaves out stays in x_i - h_i, so it is in the next difference: that is the
 *            error feedback, and no error is kept beside it.
 *   Step     gossip:GRAPH,GAMMA: W is I - gamma (I - W'), of gossip.c's weights W'. So 3. is
 *            the paper's x_i + gamma (the sum over j of W'_ij (h_j - h_i)), in another order.
 *            Columns of W sum to 1: the mean of the replicas stays where it is. What is usual:
 *            hr_consensus_step.
 *   topk     of the largest differences the weights themselves travel, and h_j takes their bits. So
 *            with topk:100% h_i is x_i, and (gamma 1) the run is gossip without compression, bit
 *            for bit, but for the sign of a zero.
 *   What     trained tensors, end to end, are compressed; statistics behind them travel as they
 *            are, and are in h as well. What is frozen does not travel, and stays.
 *   Packet   [statistics | compressed]. In one memory nobody decodes it: neighbours read h_i where
 *            its worker has it. Between machines it travels, and each receiver has its own h_j. Its
 *            bytes are what is counted, and what links carry in virtual time.
 *   Memory   h_i has two places, used by turns, and so has a packet between machines; when they are
 *            overwritten: gossip.c's Memory. x_i has one, which nobody else reads. What is computed
 *            on the way lies in the worker's gradient, which its update has used up.
 *   Begin    h_i is the x_i that the run begins with, which all know: drawn from one seed, or read
 *            from one checkpoint. Checkpoints have the h_i, so a resumed run is one that never
 *            stopped.
 *   Edges    formats, and what is too large for one, infinite or not a number: compress.h. A number
 *            that is not finite gets into h_i at once (topk: while there are no more of them than
 *            it sends), and from there into all neighbours.
 *   Source   Koloskova, Stich, Jaggi, "Decentralized Stochastic Optimization and Gossip Algorithms
 *            with Compressed Communication", ICML 2019, arXiv 1902.00340, algorithm 2; of networks:
 *            Koloskova, Lin, Stich, Jaggi, ICLR 2020, arXiv 1907.09356.
 *
 * Threads: a worker's own; places as above.
 * Test:    tests/unit/strategies/test_public_copies.c, tests/unit/train/test_compress.c
 */
#ifndef HR_STRATEGIES_PUBLIC_COPIES_H
#define HR_STRATEGIES_PUBLIC_COPIES_H

#include "strategy/peers.h"

/* Below, shared->compression is not NULL, and `memory` is so many bytes of the segment. */
size_t hr_public_copies_bytes(const struct hr_shared_state *shared);
/* What start takes, at most; without --compress 0. */
size_t hr_public_copies_worker_bytes(const struct hr_shared_state *shared);

/* What a worker sends to each neighbour in a step. */
size_t hr_public_copies_packet_bytes(const struct hr_shared_state *shared);
/* What worker `worker` sends in its step `step`, counted from the run's first. */
struct hr_payload hr_public_copies_packet(const struct hr_shared_state *shared, void *memory,
                                          size_t worker, uint64_t step);

/* A worker's. */
struct hr_public_copies;

/* From the snapshot. One block: free(*out). HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_public_copies_start(struct hr_worker *worker, void *memory,
                                                 struct hr_public_copies **out);
/* 1., and 2. of its own: x_i is updated. The gradient is lost. */
void hr_public_copies_publish(const struct hr_worker *worker, struct hr_public_copies *copies,
                              uint64_t step);
/* 2. of the others on other machines, and 3.; weights (workers): this worker's row of W. All
 * neighbours' packets of this step are here, and may be overwritten afterwards. The gradient is
 * lost. */
void hr_public_copies_average(const struct hr_worker *worker, struct hr_public_copies *copies,
                              const float *weights, uint64_t step);

#endif
