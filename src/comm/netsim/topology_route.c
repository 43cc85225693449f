/* Routes: for every destination, a breadth-first walk outwards from it. */
#include <stdlib.h>
#include <string.h>

#include "netsim/topology.h"

/* The wires at each node, in the order of the text: those of node v are
 * list[begin[v]] .. list[begin[v + 1]]. One allocation for all working space. */
struct routing {
    uint32_t *begin; /* (nnodes + 1) */
    uint16_t *list;  /* (2 nwires) */
    uint16_t *queue; /* (nnodes) */
    uint16_t *far;   /* (nnodes) links to the destination; NOT_SEEN */
    double *width;   /* (nnodes) bandwidth of the way there */
    void *memory;    /* owned */
};

enum { NOT_SEEN = 0xffff };

static enum hr_status take_memory(struct routing *routing, const struct hr_topology *topology)
{
    const size_t n = topology->nnodes, wires = topology->nwires; /* both are limited */
    const size_t bytes = n * (sizeof(double) + sizeof(uint32_t) + 2 * sizeof(uint16_t)) +
                         sizeof(uint32_t) + 2 * wires * sizeof(uint16_t);
    routing->memory = calloc(1, bytes);
    if (!routing->memory)
        return hr_fail(HR_E_NOMEM, "no memory to route %zu nodes", n);
    routing->width = routing->memory;
    routing->begin = (uint32_t *)(routing->width + n);
    routing->list = (uint16_t *)(routing->begin + n + 1);
    routing->queue = routing->list + 2 * wires;
    routing->far = routing->queue + n;
    return HR_OK;
}

static void list_wires(struct routing *routing, const struct hr_topology *topology)
{
    uint32_t *begin = routing->begin;
    for (size_t w = 0; w < topology->nwires; w++) {
        begin[topology->wire[w].a + 1]++;
        begin[topology->wire[w].b + 1]++;
    }
    for (size_t v = 0; v < topology->nnodes; v++)
        begin[v + 1] += begin[v];
    for (size_t w = topology->nwires; w-- > 0;) { /* from behind: begin[v + 1] falls to begin[v] */
        routing->list[--begin[topology->wire[w].a + 1]] = (uint16_t)w;
        routing->list[--begin[topology->wire[w].b + 1]] = (uint16_t)w;
    }
    memmove(begin, begin + 1, topology->nnodes * sizeof *begin);
    begin[topology->nnodes] = (uint32_t)(2 * topology->nwires);
}

static double narrower(double a, double b)
{
    return a < b ? a : b;
}

/* All that is next to v, which is nearer to `to`. */
static void reach_from(struct routing *routing, struct hr_topology *topology, size_t v, size_t to,
                       size_t *reached)
{
    for (uint32_t i = routing->begin[v]; i < routing->begin[v + 1]; i++) {
        const struct hr_topology_wire *wire = &topology->wire[routing->list[i]];
        const size_t u = hr_wire_across(wire, v);
        const double width = narrower(routing->width[v], hr_wire_bandwidth(wire));
        if (routing->far[u] == NOT_SEEN) {
            routing->far[u] = (uint16_t)(routing->far[v] + 1);
            routing->queue[(*reached)++] = (uint16_t)u;
        } else if (routing->far[u] != routing->far[v] + 1 || width <= routing->width[u]) {
            continue;
        }
        routing->width[u] = width;
        topology->next[u * topology->nnodes + to] = routing->list[i];
    }
}

static void route_to(struct routing *routing, struct hr_topology *topology, size_t to)
{
    size_t reached = 1;
    memset(routing->far, 0xff, topology->nnodes * sizeof *routing->far);
    routing->far[to] = 0;
    routing->width[to] = 1e300;
    routing->queue[0] = (uint16_t)to;
    for (size_t i = 0; i < reached; i++)
        reach_from(routing, topology, routing->queue[i], to, &reached);
}

static enum hr_status check_reach(const struct hr_topology *topology)
{
    if (topology->nranks < 2)
        return hr_fail(HR_E_FORMAT, "%zu gpus: expected 2 to %d (\"gpu NAME...\")",
                       topology->nranks, HR_TOPOLOGY_RANKS);
    const size_t first = topology->rank_node[0];
    for (size_t v = 0; v < topology->nnodes; v++)
        if (v != first && topology->next[first * topology->nnodes + v] == HR_TOPOLOGY_NONE)
            return hr_fail(HR_E_FORMAT, "no links lead from %s to %s", topology->node[first].name,
                           topology->node[v].name);
    return HR_OK;
}

enum hr_status hr_topology_finish(struct hr_topology *topology)
{
    struct routing routing = {0};
    const size_t entries = topology->nnodes * topology->nnodes; /* nodes are limited */
    topology->next = malloc((entries ? entries : 1) * sizeof *topology->next);
    if (!topology->next)
        return hr_fail(HR_E_NOMEM, "no memory for the routes of %zu nodes", topology->nnodes);
    memset(topology->next, 0xff, entries * sizeof *topology->next);
    HR_TRY(take_memory(&routing, topology));
    list_wires(&routing, topology);
    for (size_t to = 0; to < topology->nnodes; to++)
        route_to(&routing, topology, to);
    free(routing.memory);
    return check_reach(topology);
}
