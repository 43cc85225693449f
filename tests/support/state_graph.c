#include "support/state_graph.h"

#include <stdlib.h>

#include "support/check.h"

static size_t slot_of(const struct state_graph *graph, XXH128_hash_t id)
{
    size_t at = (size_t)id.low64 & (graph->nslots - 1);
    while (graph->slot[at] && !XXH128_isEqual(graph->state[graph->slot[at]].id, id))
        at = (at + 1) & (graph->nslots - 1);
    return at;
}

static void grow(struct state_graph *graph)
{
    graph->room = graph->room ? 2 * graph->room : 1024;
    graph->nslots = 4 * graph->room;
    graph->state = realloc(graph->state, graph->room * sizeof *graph->state);
    free(graph->slot);
    graph->slot = calloc(graph->nslots, sizeof *graph->slot);
    assert_true(graph->state && graph->slot);
    for (size_t i = 1; i <= graph->nstates; i++)
        graph->slot[slot_of(graph, graph->state[i].id)] = i;
}

/* The state with that memory; *is_new: nobody has been there. */
size_t state_graph_at(struct state_graph *graph, XXH128_hash_t id, bool *is_new)
{
    if (graph->nstates + 2 > graph->room)
        grow(graph);
    size_t *slot = &graph->slot[slot_of(graph, id)];
    *is_new = !*slot;
    if (*is_new) {
        *slot = ++graph->nstates;
        graph->state[*slot] = (struct state){.id = id, .paths = -1};
    }
    return *slot;
}

void state_graph_join(struct state_graph *graph, size_t from, size_t to)
{
    if (from == to)
        return;
    if (graph->nedges + 2 > graph->edge_room) {
        graph->edge_room = graph->edge_room ? 2 * graph->edge_room : 4096;
        graph->edge = realloc(graph->edge, graph->edge_room * sizeof *graph->edge);
        assert_non_null(graph->edge);
    }
    graph->edge[++graph->nedges] = (struct edge){to, graph->state[from].edges};
    graph->state[from].edges = graph->nedges;
}

double state_graph_paths(struct state_graph *graph, size_t from)
{
    struct state *state = &graph->state[from];
    if (state->paths >= 0)
        return state->paths;
    double paths = 0;
    for (size_t e = state->edges; e; e = graph->edge[e].next)
        paths += state_graph_paths(graph, graph->edge[e].to);
    return state->paths = paths;
}

void state_graph_drop(struct state_graph *graph)
{
    free(graph->state);
    free(graph->edge);
    free(graph->slot);
}
