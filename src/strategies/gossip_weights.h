/* gossip_weights.h - the weights that gossip averages replicas with, made of its options.
 *
 * Threads: constants, once they are prepared.
 * Test:    tests/unit/strategies/test_gossip.c
 */
#ifndef HR_STRATEGIES_GOSSIP_WEIGHTS_H
#define HR_STRATEGIES_GOSSIP_WEIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "compress/compress.h"
#include "strategy/strategy.h"

/* Who averages with whom: gossip:GRAPH, made or read from a file.
 *
 * Memory: the caller's. Test: tests/unit/strategies/test_gossip.c, tests/cli/strategies.bats
 */
struct hr_gossip_graph {
    size_t n, *degree;     /* (n) neighbours of each worker */
    unsigned char *linked; /* (n, n) symmetric */
    bool of_file;          /* and not of a known shape */
};

/* strategy->prepare and describe. HR_E_USAGE, HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_gossip_prepare(struct hr_shared_state *shared);
void hr_gossip_describe(const struct hr_shared_state *shared, char *text, size_t size);

/* A worker's row of W among active workers (workers), 0: no neighbours; see gossip.c. */
void hr_gossip_row(const struct hr_shared_state *shared, size_t worker, float *row);
/* Are two workers linked, whoever is active? */
bool hr_gossip_neighbours(const struct hr_shared_state *shared, size_t i, size_t j);
/* GAMMA of gossip:GRAPH,GAMMA, or what stands for 0: 1, of topk:P% the square root of P / 100. With
 * 1 topk:1% diverges: who averages with public copies that lag behind must not go the whole way.
 * What 1902.00340 proves to converge is smaller by far, and slower. Without --compress 1. */
double hr_consensus_step(const struct hr_train_options *options, const struct hr_compress *how);
/* Links to the worker that is farthest from the first active one, at least 1; UINT64_MAX:
 * an active worker is not reached by the others. */
uint64_t hr_gossip_reach(const struct hr_shared_state *shared);

/* Elements [at, at + count) of the sum over j of weights[j] x[j] go to out (count), which is none
 * of x. In rank order; each product is rounded, then added; what has weight 0 is not read. */
void hr_gossip_average(const struct hr_shared_state *shared, const float *weights,
                       const float *const *x, size_t at, size_t count, float *out);

#endif
