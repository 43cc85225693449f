#include "netsim/topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/parse.h"

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

enum hr_status hr_topology_add_wire(struct hr_topology *topology, const struct hr_wire *wire)
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

/* --- families on paper --- */

static enum hr_status add_ranks(struct hr_topology *topology, size_t n)
{
    for (size_t r = 0; r < n; r++) {
        char name[HR_TOPOLOGY_NAME];
        snprintf(name, sizeof name, "gpu%zu", r);
        HR_TRY(hr_topology_add_node(topology, name, true));
    }
    return HR_OK;
}

static enum hr_status make_star(struct hr_topology *topology, size_t n, const struct hr_link *link)
{
    HR_TRY(add_ranks(topology, n));
    HR_TRY(hr_topology_add_node(topology, "switch", false));
    for (size_t r = 0; r < n; r++)
        HR_TRY(hr_topology_add_wire(topology, &(struct hr_wire){.a = (uint16_t)r,
                                                                .b = (uint16_t)n,
                                                                .lanes = 1,
                                                                .medium = HR_TOPOLOGY_NONE,
                                                                .link = *link}));
    return hr_topology_finish(topology);
}

static enum hr_status make_ring(struct hr_topology *topology, size_t n, const struct hr_link *link)
{
    HR_TRY(add_ranks(topology, n));
    for (size_t r = 0; r < (n == 2 ? 1 : n); r++)
        HR_TRY(hr_topology_add_wire(topology, &(struct hr_wire){.a = (uint16_t)r,
                                                                .b = (uint16_t)((r + 1) % n),
                                                                .lanes = 1,
                                                                .medium = HR_TOPOLOGY_NONE,
                                                                .link = *link}));
    return hr_topology_finish(topology);
}

static enum hr_status make_family(const char *what, const struct hr_link *link,
                                  struct hr_topology *out)
{
    uint64_t n;
    if (!hr_parse_count(strchr(what, ':') + 1, &n) || n < 2 || n > HR_TOPOLOGY_RANKS)
        return hr_fail(HR_E_USAGE, "--topology %s: expected 2 to %d ranks, as star:8", what,
                       HR_TOPOLOGY_RANKS);
    *out = (struct hr_topology){0};
    const enum hr_status status =
        what[0] == 's' ? make_star(out, n, link) : make_ring(out, n, link);
    if (status != HR_OK)
        hr_topology_fini(out);
    return status;
}

static enum hr_status read_file(const char *path, struct hr_topology *out)
{
    char *text;
    size_t bytes;
    HR_TRY(hr_file_read_all(path, 1 << 20, &text, &bytes));
    const enum hr_status status =
        strlen(text) == bytes ? hr_topology_parse(path, text, out)
                              : hr_fail(HR_E_FORMAT, "%s: holds a zero byte: expected text", path);
    free(text);
    return status;
}

enum hr_status hr_topology_open(const char *what, const struct hr_link *link,
                                struct hr_topology *out)
{
    if (!strncmp(what, "star:", 5) || !strncmp(what, "ring:", 5))
        return make_family(what, link, out);
    return read_file(what, out);
}
