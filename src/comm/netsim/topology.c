#include "netsim/topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* *list grows by powers of two: room for one more than n. */
static enum hr_status make_room(void **list, size_t n, size_t size)
{
    if (n & (n - 1)) /* not at a power of two */
        return HR_OK;
    void *more = realloc(*list, (n ? 2 * n : 1) * size);
    if (!more)
        return hr_fail(HR_E_NOMEM, "no memory for a topology");
    *list = more;
    return HR_OK;
}

static enum hr_status add_name(struct hr_node **list, size_t *n, const char *name)
{
    void *names = *list;
    HR_TRY(make_room(&names, *n, sizeof **list));
    *list = names;
    snprintf((*list)[(*n)++].name, HR_TOPOLOGY_NAME, "%s", name);
    return HR_OK;
}

enum hr_status hr_topology_add_node(struct hr_topology *topology, const char *name, bool is_rank)
{
    void *ranks = topology->rank_node;
    if (topology->nnodes == HR_TOPOLOGY_NODES)
        return hr_fail(HR_E_FORMAT, "%s: more than %d nodes", name, HR_TOPOLOGY_NODES);
    if (is_rank && topology->nranks == HR_TOPOLOGY_RANKS)
        return hr_fail(HR_E_FORMAT, "%s: more than %d ranks", name, HR_TOPOLOGY_RANKS);
    HR_TRY(add_name(&topology->node, &topology->nnodes, name));
    if (!is_rank)
        return HR_OK;
    HR_TRY(make_room(&ranks, topology->nranks, sizeof *topology->rank_node));
    topology->rank_node = ranks;
    topology->rank_node[topology->nranks++] = (uint16_t)(topology->nnodes - 1);
    return HR_OK;
}

enum hr_status hr_topology_add_wire(struct hr_topology *topology,
                                    const struct hr_topology_wire *wire)
{
    void *wires = topology->wire;
    if (topology->nwires == HR_TOPOLOGY_WIRES)
        return hr_fail(HR_E_FORMAT, "more than %d links", HR_TOPOLOGY_WIRES);
    HR_TRY(make_room(&wires, topology->nwires, sizeof *wire));
    topology->wire = wires;
    topology->wire[topology->nwires++] = *wire;
    return HR_OK;
}

enum hr_status hr_topology_add_medium(struct hr_topology *topology, const char *name,
                                      uint16_t *medium)
{
    size_t i = 0;
    while (i < topology->nmedia && strcmp(topology->medium[i].name, name) != 0)
        i++;
    *medium = (uint16_t)i; /* fewer than wires */
    return i < topology->nmedia ? HR_OK : add_name(&topology->medium, &topology->nmedia, name);
}

size_t hr_topology_node(const struct hr_topology *topology, const char *name)
{
    for (size_t i = 0; i < topology->nnodes; i++)
        if (!strcmp(topology->node[i].name, name))
            return i;
    return HR_TOPOLOGY_NONE;
}

void hr_topology_fini(struct hr_topology *topology)
{
    free(topology->node);
    free(topology->rank_node);
    free(topology->wire);
    free(topology->medium);
    free(topology->next);
    *topology = (struct hr_topology){0};
}
