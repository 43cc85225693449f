#include "netsim/emulated_links.h"

#include <stdlib.h>

#include "base/clock.h"
#include "netsim/topology.h"

enum { PS_PER_NS = 1000 };

/* --- paths --- */

static void own_link(struct hr_wires *wires, size_t from, size_t to, const struct hr_link *link,
                     double slower)
{
    wires->path[from * wires->nranks + to] =
        (struct hr_wire_path){.hops = 1,
                              .channel = {(uint16_t)(from * wires->nranks + to)},
                              .latency_ns = (uint64_t)(link->latency_ps / PS_PER_NS),
                              .ns_per_byte = 1e9 * slower / link->bandwidth};
}

static bool holds(const struct hr_wire_path *path, uint16_t channel)
{
    for (size_t hop = 0; hop < path->hops; hop++)
        if (path->channel[hop] == channel)
            return true;
    return false;
}

/* Add a wire to a path, in the direction that leaves `node`. */
static enum hr_status add_hop(struct hr_wire_path *path, const struct hr_topology *topology,
                              size_t wire_number, size_t node, double slower)
{
    const struct hr_topology_wire *wire = &topology->wire[wire_number];
    const double ns_per_byte = 1e9 * slower / hr_wire_bandwidth(wire);
    if (path->hops + 2 > HR_WIRE_HOPS)
        return hr_fail(HR_E_USAGE, "--topology: emulation has paths of at most %d links",
                       HR_WIRE_HOPS / 2);
    path->channel[path->hops++] = (uint16_t)(2 * wire_number + (wire->a != node));
    const uint16_t medium = (uint16_t)(2 * topology->nwires + wire->medium);
    if (wire->medium != HR_TOPOLOGY_NONE && !holds(path, medium)) /* one is held once */
        path->channel[path->hops++] = medium;
    path->latency_ns += (uint64_t)(wire->link.latency_ps / PS_PER_NS);
    path->ns_per_byte = ns_per_byte > path->ns_per_byte ? ns_per_byte : path->ns_per_byte;
    return HR_OK;
}

static enum hr_status route(struct hr_wires *wires, const struct hr_topology *topology, size_t from,
                            size_t to, double slower)
{
    struct hr_wire_path *path = &wires->path[from * wires->nranks + to];
    size_t node = topology->rank_node[from];
    const size_t end = topology->rank_node[to];
    while (node != end) {
        const size_t wire = topology->next[node * topology->nnodes + end];
        HR_TRY(add_hop(path, topology, wire, node, slower));
        node = hr_wire_across(&topology->wire[wire], node);
    }
    return HR_OK;
}

static enum hr_status follow(struct hr_wires *wires, const struct hr_topology *topology,
                             double slower)
{
    if (topology->nranks < wires->nranks)
        return hr_fail(HR_E_USAGE, "--topology has %zu ranks, and %zu are to run (--ranks)",
                       topology->nranks, wires->nranks);
    wires->nchannels = 2 * topology->nwires + topology->nmedia;
    for (size_t from = 0; from < wires->nranks; from++)
        for (size_t to = 0; to < wires->nranks; to++)
            HR_TRY(route(wires, topology, from, to, slower));
    return HR_OK;
}

enum hr_status hr_wires_open(struct hr_wires *wires, size_t nranks, const char *link_text,
                             const char *topology_text, double slower)
{
    struct hr_link link;
    struct hr_topology topology = {0};
    HR_TRY(hr_link_parse("--link ", link_text ? link_text : "16GB/s", &link));
    *wires = (struct hr_wires){.nranks = nranks, .nchannels = nranks * nranks};
    wires->path = calloc(nranks * nranks, sizeof *wires->path);
    if (!wires->path)
        return hr_fail(HR_E_NOMEM, "no memory for the paths of %zu ranks", nranks);
    for (size_t from = 0; from < nranks && !topology_text; from++)
        for (size_t to = 0; to < nranks; to++)
            own_link(wires, from, to, &link, slower);
    enum hr_status status = HR_OK;
    if (topology_text)
        status = hr_topology_open(topology_text, &link, &topology);
    if (topology_text && status == HR_OK)
        status = follow(wires, &topology, slower);
    hr_topology_fini(&topology);
    if (status != HR_OK)
        hr_wires_close(wires);
    return status;
}

size_t hr_wires_bytes(const struct hr_wires *wires)
{
    return wires->nchannels * sizeof(struct hr_atom64);
}

void hr_wires_close(struct hr_wires *wires)
{
    free(wires->path);
    *wires = (struct hr_wires){0};
}

/* --- sending --- */

/* Take a channel at `earliest`, or when it is free; returns when the message has passed. */
static uint64_t hold(struct hr_atom64 *free_at, uint64_t earliest, uint64_t duration)
{
    for (;;) {
        const uint64_t free = hr_atom64_load_acquire(free_at); /* partner: the replacing below */
        const uint64_t start = free > earliest ? free : earliest;
        if (hr_atom64_replace_acq_rel(free_at, free, start + duration))
            return start + duration;
    }
}

uint64_t hr_wires_send(const struct hr_wires *wires, size_t from, size_t to, size_t bytes)
{
    const struct hr_wire_path *path = &wires->path[from * wires->nranks + to];
    const uint64_t now = (uint64_t)hr_clock_ns();
    const uint64_t duration = (uint64_t)((double)bytes * path->ns_per_byte);
    uint64_t start = now, passed = now;
    for (size_t hop = 0; hop < path->hops; hop++) {
        passed = hold(&wires->free_at[path->channel[hop]], start, duration);
        start = passed - duration; /* cut through: the next link starts with the first byte */
    }
    return passed + path->latency_ns;
}
