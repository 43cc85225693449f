#include "netsim/rings.h"

#include <stdlib.h>
#include <string.h>

struct search {
    const struct hr_topology *topology;
    size_t n;            /* ranks */
    uint16_t *wire;      /* (n, n) between two ranks, or HR_TOPOLOGY_NONE */
    uint16_t *spare;     /* (nwires) lanes that no ring has yet */
    bool *on_path;       /* (n) of the path that is extended */
    double bound;        /* no decomposition has more bandwidth */
    uint64_t looks;      /* left */
    struct hr_rings now; /* rings found so far, and the current path */
    struct hr_rings *best;
};

static enum hr_status take_memory(struct search *search)
{
    const size_t n = search->n; /* limited, as nwires is */
    search->wire = malloc(n * n * sizeof *search->wire);
    search->spare = calloc(search->topology->nwires, sizeof *search->spare);
    search->now.order = calloc(HR_RINGS_MAX * n, sizeof *search->now.order);
    search->best->order = calloc(HR_RINGS_MAX * n, sizeof *search->best->order);
    if (!search->wire || !search->spare || !search->now.order || !search->best->order)
        return hr_fail(HR_E_NOMEM, "no memory to look for rings of %zu ranks", n);
    memset(search->wire, 0xff, n * n * sizeof *search->wire);
    return HR_OK;
}

static void free_memory(struct search *search)
{
    free(search->wire);
    free(search->spare);
    free(search->now.order);
}

/* --- which ranks have links to one another --- */

static size_t rank_of(const struct hr_topology *topology, size_t node)
{
    for (size_t r = 0; r < topology->nranks; r++)
        if (topology->rank_node[r] == node)
            return r;
    return HR_TOPOLOGY_NONE;
}

/* A link on a shared medium belongs to nobody alone, so no ring gets it. */
static void list_wires(struct search *search)
{
    const struct hr_topology *topology = search->topology;
    for (size_t w = 0; w < topology->nwires; w++) {
        const struct hr_topology_wire *wire = &topology->wire[w];
        const size_t a = rank_of(topology, wire->a), b = rank_of(topology, wire->b);
        if (a == HR_TOPOLOGY_NONE || b == HR_TOPOLOGY_NONE || wire->medium != HR_TOPOLOGY_NONE)
            continue;
        search->spare[w] = wire->lanes;
        search->wire[a * search->n + b] = search->wire[b * search->n + a] = (uint16_t)w;
    }
}

/* Half of the bandwidth of the rank that has least: a ring needs two links at each rank. */
static enum hr_status find_bound(struct search *search)
{
    const struct hr_topology *topology = search->topology;
    for (size_t r = 0; r < search->n; r++) {
        double sum = 0;
        size_t links = 0;
        for (size_t p = 0; p < search->n; p++) {
            const size_t w = search->wire[r * search->n + p];
            if (w != HR_TOPOLOGY_NONE) {
                sum += hr_wire_bandwidth(&topology->wire[w]);
                links++;
            }
        }
        if (links < 2)
            return hr_fail(HR_E_FAILED,
                           "no ring: %s has links to %zu other ranks, expected 2 or more",
                           topology->node[topology->rank_node[r]].name, links);
        if (r == 0 || sum / 2 < search->bound)
            search->bound = sum / 2;
    }
    return HR_OK;
}

/* --- the search --- */

static bool done(const struct search *search)
{
    return search->looks == 0 || search->best->complete;
}

static void keep_the_best(struct search *search)
{
    struct hr_rings *best = search->best;
    uint16_t *order = best->order;
    if (search->now.total <= best->total)
        return;
    memcpy(order, search->now.order, search->now.n * search->n * sizeof *order);
    *best = search->now;
    best->order = order;
    best->complete = best->total >= search->bound * (1 - 1e-12);
}

static void next_ring(struct search *search, size_t lanes);

/* The path is closed: keep this ring, and search for rings beside it. */
static void close_ring(struct search *search, const uint16_t *path, size_t lanes)
{
    struct hr_rings *now = &search->now;
    const struct hr_topology *topology = search->topology;
    double bandwidth = 0;
    for (size_t i = 0; i < search->n; i++) {
        const size_t w = search->wire[path[i] * search->n + path[(i + 1) % search->n]];
        const double one = topology->wire[w].link.bandwidth * (double)lanes;
        bandwidth = i == 0 || one < bandwidth ? one : bandwidth;
    }
    const double before = now->total;
    now->lanes[now->n] = lanes;
    now->bandwidth[now->n++] = bandwidth;
    now->total += bandwidth;
    keep_the_best(search);
    if (now->n < HR_RINGS_MAX)
        next_ring(search, lanes);
    now->n--;
    now->total = before;
}

/* Is there a link with enough spare lanes? If so, *wire. */
static bool passes(const struct search *search, size_t from, size_t to, size_t lanes, size_t *wire)
{
    *wire = search->wire[from * search->n + to];
    return *wire != HR_TOPOLOGY_NONE && search->spare[*wire] >= lanes;
}

/* `path` holds `length` ranks. Of the two ways round one is enough: that with the smaller
 * second rank. */
static void extend(struct search *search, uint16_t *path, size_t length, size_t lanes)
{
    const size_t at = path[length - 1];
    size_t wire;
    if (length == search->n) {
        if (path[1] < at && passes(search, at, path[0], lanes, &wire)) {
            search->spare[wire] = (uint16_t)(search->spare[wire] - lanes);
            close_ring(search, path, lanes);
            search->spare[wire] = (uint16_t)(search->spare[wire] + lanes);
        }
        return;
    }
    for (size_t to = 1; to < search->n && !done(search); to++) {
        search->looks--;
        if (search->on_path[to] || !passes(search, at, to, lanes, &wire))
            continue;
        search->on_path[to] = true;
        search->spare[wire] = (uint16_t)(search->spare[wire] - lanes);
        path[length] = (uint16_t)to;
        extend(search, path, length + 1, lanes);
        search->spare[wire] = (uint16_t)(search->spare[wire] + lanes);
        search->on_path[to] = false;
    }
}

static void next_ring(struct search *search, size_t most_lanes)
{
    uint16_t *path = search->now.order + search->now.n * search->n;
    bool *outer = search->on_path;
    bool on_path[HR_TOPOLOGY_RANKS] = {false};
    search->on_path = on_path;
    path[0] = 0;
    for (size_t lanes = most_lanes; lanes >= 1 && !done(search); lanes--)
        extend(search, path, 1, lanes);
    search->on_path = outer;
}

static size_t most_lanes(const struct search *search)
{
    size_t most = 0;
    for (size_t w = 0; w < search->topology->nwires; w++)
        most = search->spare[w] > most ? search->spare[w] : most;
    return most;
}

static enum hr_status find(struct search *search)
{
    if (search->n < 3)
        return hr_fail(HR_E_FAILED, "no ring: %zu ranks, expected 3 or more", search->n);
    HR_TRY(take_memory(search));
    list_wires(search);
    HR_TRY(find_bound(search));
    next_ring(search, most_lanes(search));
    if (search->best->n)
        return HR_OK;
    return hr_fail(HR_E_FAILED, "no ring %s through all %zu ranks over links between them",
                   search->looks ? "leads" : "was found", search->n);
}

enum hr_status hr_rings_find(const struct hr_topology *topology, uint64_t looks,
                             struct hr_rings *out)
{
    *out = (struct hr_rings){.nranks = topology->nranks};
    struct search search = {.topology = topology, .n = topology->nranks, .best = out};
    search.now.nranks = search.n;
    search.looks = looks;
    const enum hr_status status = find(&search);
    if (status == HR_OK)
        out->complete = out->complete || search.looks > 0;
    else
        hr_rings_fini(out);
    free_memory(&search);
    return status;
}

void hr_rings_fini(struct hr_rings *rings)
{
    free(rings->order);
    *rings = (struct hr_rings){0};
}

/* === all-reduce over several rings at once === */

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
