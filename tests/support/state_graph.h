/* state_graph.h - states that runs have been in, known by a digest of their memory, and which leads
 * to which: how many paths there are from one to the end. */
#ifndef HR_TESTS_SUPPORT_STATE_GRAPH_H
#define HR_TESTS_SUPPORT_STATE_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <xxhash.h>

struct edge {
    size_t to, next; /* the next edge from the same state; 0: none */
};

struct state {
    XXH128_hash_t id;
    size_t edges; /* the first; 0: none */
    double paths; /* from here to the end; < 0: not counted yet */
};

/* Zeroed: empty. States are numbered from 1. */
struct state_graph {
    struct state *state; /* owned, as the others */
    struct edge *edge;
    size_t *slot; /* (nslots) hash table of states */
    size_t nstates, nedges, room, edge_room, nslots;
};

/* The state with that memory; *is_new: nobody has been there. */
size_t state_graph_at(struct state_graph *graph, XXH128_hash_t id, bool *is_new);
/* One event leads from one to the other. */
void state_graph_join(struct state_graph *graph, size_t from, size_t to);
/* How many paths lead from there to states whose paths are set. There is no way in a circle. */
double state_graph_paths(struct state_graph *graph, size_t from);
void state_graph_drop(struct state_graph *graph);

#endif
