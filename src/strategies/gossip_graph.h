/* gossip_graph.h - who averages with whom: --gossip-graph, made or read from a file.
 *
 * Memory: the caller's. Test: tests/unit/strategies/test_gossip.c, tests/cli/strategies.bats
 */
#ifndef HR_STRATEGIES_GOSSIP_GRAPH_H
#define HR_STRATEGIES_GOSSIP_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct hr_gossip_graph {
    size_t n, *degree;     /* (n) neighbours of each worker */
    unsigned char *linked; /* (n, n) symmetric */
    bool of_file;          /* and not of a known shape */
};

/* Fill in a zeroed graph of n workers. text: ring, torus, hypercube, complete, or a file's path.
 * HR_E_USAGE. */
HR_CHECKED enum hr_status hr_gossip_graph_make(struct hr_gossip_graph *graph, const char *text);

/* W (n, n), 0: no neighbours; see gossip.c. step: the consensus step, 1: the whole way (see
 * public_copies.h). Returns the number of links. */
size_t hr_gossip_graph_weigh(const struct hr_gossip_graph *graph, double step, float *weights);
/* Links from worker 0 to the one that is farthest, at least 1. HR_E_USAGE: not all are joined. */
HR_CHECKED enum hr_status hr_gossip_graph_measure(const struct hr_gossip_graph *graph,
                                                  uint64_t *reach);

/* Of its links, in whatever order and with whatever comments a file has them. */
uint64_t hr_gossip_graph_digest(const struct hr_gossip_graph *graph);

#endif
