/* gossip_graph.h - who averages with whom: --gossip-graph, made or read from a file.
 *
 * Memory: the caller's. Test: tests/unit/strategy/test_gossip.c, tests/cli/strategies.bats
 */
#ifndef HR_STRATEGY_GOSSIP_GRAPH_H
#define HR_STRATEGY_GOSSIP_GRAPH_H

#include <stddef.h>

#include "base/error.h"

struct hr_gossip_graph {
    size_t n, *degree;     /* (n) neighbours of each worker */
    unsigned char *linked; /* (n, n) symmetric */
};

/* Fill in a zeroed graph of n workers. text: ring, torus, hypercube, complete, or a file's path.
 * HR_E_USAGE. */
HR_CHECKED enum hr_status hr_gossip_graph_make(struct hr_gossip_graph *graph, const char *text);

#endif
