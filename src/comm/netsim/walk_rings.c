#include "netsim/walk_rings.h"

#include <stdlib.h>
#include <string.h>

/* A topology in which every link has only this ring's lanes. Neighbours on the ring have a link, so
 * routes between them use these lanes alone. */
static enum hr_status walk_one(const struct hr_topology *topology, const struct hr_rings *rings,
                               size_t i, uint64_t bytes, struct hr_walk *out)
{
    struct hr_topology view = *topology;
    uint16_t node[HR_TOPOLOGY_RANKS];
    view.wire = malloc(topology->nwires * sizeof *view.wire);
    if (!view.wire)
        return hr_fail(HR_E_NOMEM, "no memory for the links of a ring");
    memcpy(view.wire, topology->wire, topology->nwires * sizeof *view.wire);
    for (size_t w = 0; w < topology->nwires; w++)
        view.wire[w].lanes = (uint16_t)rings->lanes[i];
    for (size_t r = 0; r < topology->nranks; r++)
        node[r] = topology->rank_node[hr_rings_order(rings, i)[r]];
    const struct hr_walk_options options = {.topology = &view,
                                            .node = node,
                                            .n = topology->nranks,
                                            .plan = hr_allreduce_ring.plan,
                                            .bytes = bytes};
    const enum hr_status status = hr_walk(&options, out);
    free(view.wire);
    if (status != HR_OK)
        return status;
    out->links.topology = topology; /* the view ends here; channels are the same */
    out->last_rank = hr_rings_order(rings, i)[out->last_rank];
    return HR_OK;
}

/* Add one ring's walk to those of the others; all have the same steps. */
static void join(struct hr_walk *whole, const struct hr_walk *one)
{
    if (one->ps > whole->ps) {
        whole->ps = one->ps;
        whole->last_rank = one->last_rank;
    }
    for (size_t s = 0; s < whole->nsteps; s++)
        if (one->step_ps[s] > whole->step_ps[s])
            whole->step_ps[s] = one->step_ps[s];
    whole->messages += one->messages;
    whole->bytes += one->bytes;
    for (size_t c = 0; c < whole->links.nchannels; c++) {
        struct hr_channel *channel = &whole->links.channel[c];
        channel->busy_ps = hr_ps_add(channel->busy_ps, one->links.channel[c].busy_ps);
        channel->bytes += one->links.channel[c].bytes;
        channel->messages += one->links.channel[c].messages;
    }
}

enum hr_status hr_walk_rings(const struct hr_topology *topology, const struct hr_rings *rings,
                             uint64_t bytes, struct hr_walk *out)
{
    uint64_t left = bytes;
    *out = (struct hr_walk){0};
    for (size_t i = 0; i < rings->n; i++) {
        struct hr_walk one;
        const double share = rings->bandwidth[i] / rings->total;
        const uint64_t part = i + 1 < rings->n ? (uint64_t)((double)bytes * share) / 4 * 4 : left;
        const enum hr_status status = walk_one(topology, rings, i, part, i ? &one : out);
        if (status != HR_OK) {
            hr_walk_fini(out);
            return status;
        }
        left -= part;
        if (i) {
            join(out, &one);
            hr_walk_fini(&one);
        }
    }
    return HR_OK;
}
