#include "netsim/links.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "netsim/topology.h"

enum hr_status hr_links_init(struct hr_links *links, const struct hr_topology *topology)
{
    *links = (struct hr_links){.topology = topology,
                               .nchannels = 2 * topology->nwires + topology->nmedia};
    links->channel = calloc(links->nchannels, sizeof *links->channel);
    if (!links->channel)
        return hr_fail(HR_E_NOMEM, "no memory for %zu links", topology->nwires);
    return HR_OK;
}

void hr_links_fini(struct hr_links *links)
{
    free(links->channel);
    *links = (struct hr_links){0};
}

void hr_links_clear(struct hr_links *links)
{
    links->sent = 0;
    for (size_t i = 0; i < links->nchannels; i++)
        links->channel[i] = (struct hr_channel){0};
}

/* One link of a path: its channel, and the medium's, or NO_MEDIUM. */
struct hop {
    const struct hr_topology_wire *wire;
    size_t channel, medium, from;
};

#define NO_MEDIUM SIZE_MAX

static struct hop hop_at(const struct hr_topology *topology, size_t from, size_t to)
{
    const size_t number = topology->next[from * topology->nnodes + to];
    const struct hr_topology_wire *wire = &topology->wire[number];
    return (struct hop){
        .wire = wire,
        .channel = 2 * number + (wire->b == from),
        .medium =
            wire->medium == HR_TOPOLOGY_NONE ? NO_MEDIUM : 2 * topology->nwires + wire->medium,
        .from = from,
    };
}

static size_t across(const struct hop *hop)
{
    return hr_wire_across(hop->wire, hop->from);
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* A path may cross one medium more than once: it is held once. */
static void hold(struct hr_links *links, struct hr_channel *channel,
                 const struct hr_passage *passage, uint64_t bytes)
{
    if (channel->last == links->sent)
        return;
    channel->last = links->sent;
    channel->busy_ps = hr_ps_add(channel->busy_ps, passage->free_ps - passage->start_ps);
    channel->free_ps = passage->free_ps;
    channel->bytes += bytes;
    channel->messages++;
}

/* When all links of the path are free, and what it is like. */
static struct hr_passage look(const struct hr_links *links, size_t from, size_t to, int64_t now_ps,
                              uint64_t bytes)
{
    struct hr_passage passage = {.start_ps = now_ps};
    double bandwidth = INFINITY;
    int64_t latency_ps = 0;
    while (from != to) {
        const struct hop hop = hop_at(links->topology, from, to);
        passage.start_ps = later(passage.start_ps, links->channel[hop.channel].free_ps);
        if (hop.medium != NO_MEDIUM)
            passage.start_ps = later(passage.start_ps, links->channel[hop.medium].free_ps);
        bandwidth = fmin(bandwidth, hr_wire_bandwidth(hop.wire));
        latency_ps = hr_ps_add(latency_ps, hop.wire->link.latency_ps);
        from = across(&hop);
    }
    passage.free_ps = hr_ps_add(passage.start_ps, hr_link_busy_ps(bytes, bandwidth));
    passage.arrival_ps = hr_ps_add(passage.free_ps, latency_ps);
    return passage;
}

struct hr_passage hr_links_send(struct hr_links *links, size_t from, size_t to, int64_t now_ps,
                                uint64_t bytes)
{
    const struct hr_passage passage = look(links, from, to, now_ps, bytes);
    links->sent++;
    while (from != to) {
        const struct hop hop = hop_at(links->topology, from, to);
        hold(links, &links->channel[hop.channel], &passage, bytes);
        if (hop.medium != NO_MEDIUM)
            hold(links, &links->channel[hop.medium], &passage, bytes);
        from = across(&hop);
    }
    return passage;
}

bool hr_links_busy(const struct hr_links *links, size_t from, size_t to, int64_t now_ps,
                   size_t *channel)
{
    int64_t latest_ps = now_ps;
    while (from != to) {
        const struct hop hop = hop_at(links->topology, from, to);
        const size_t of_hop[] = {hop.channel, hop.medium};
        for (size_t i = 0; i < 2; i++)
            if (of_hop[i] != NO_MEDIUM && links->channel[of_hop[i]].free_ps > latest_ps) {
                latest_ps = links->channel[of_hop[i]].free_ps;
                *channel = of_hop[i];
            }
        from = across(&hop);
    }
    return latest_ps > now_ps;
}

size_t hr_links_first_channel(const struct hr_links *links, size_t from, size_t to)
{
    return hop_at(links->topology, from, to).channel;
}

size_t hr_links_busiest(const struct hr_links *links)
{
    const size_t first = 2 * links->topology->nwires; /* media */
    size_t busiest = first % links->nchannels;
    for (size_t i = 0; i < links->nchannels; i++) {
        const size_t channel = (first + i) % links->nchannels;
        if (links->channel[channel].busy_ps > links->channel[busiest].busy_ps)
            busiest = channel;
    }
    return busiest;
}

char *hr_channel_name(const struct hr_topology *topology, size_t channel,
                      char text[HR_CHANNEL_NAME])
{
    if (channel >= 2 * topology->nwires) {
        snprintf(text, HR_CHANNEL_NAME, "%s (shared)",
                 topology->medium[channel - 2 * topology->nwires].name);
        return text;
    }
    const struct hr_topology_wire *wire = &topology->wire[channel / 2];
    const size_t from = channel % 2 ? wire->b : wire->a;
    snprintf(text, HR_CHANNEL_NAME, "%s>%s", topology->node[from].name,
             topology->node[hr_wire_across(wire, from)].name);
    return text;
}

/* === the same in real time === */

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

static enum hr_status add_hop(struct hr_wire_path *path, const struct hop *hop, double slower)
{
    const double ns_per_byte = 1e9 * slower / hr_wire_bandwidth(hop->wire);
    if (path->hops + 2 > HR_WIRE_HOPS)
        return hr_fail(HR_E_USAGE, "--topology: emulation has paths of at most %d links",
                       HR_WIRE_HOPS / 2);
    path->channel[path->hops++] = (uint16_t)hop->channel;
    if (hop->medium != NO_MEDIUM && !holds(path, (uint16_t)hop->medium)) /* one is held once */
        path->channel[path->hops++] = (uint16_t)hop->medium;
    path->latency_ns += (uint64_t)(hop->wire->link.latency_ps / PS_PER_NS);
    path->ns_per_byte = ns_per_byte > path->ns_per_byte ? ns_per_byte : path->ns_per_byte;
    return HR_OK;
}

static enum hr_status route(struct hr_wires *wires, const struct hr_topology *topology, size_t from,
                            size_t to, double slower)
{
    struct hr_wire_path *path = &wires->path[from * wires->nranks + to];
    const size_t end = topology->rank_node[to];
    for (size_t node = topology->rank_node[from]; node != end;) {
        const struct hop hop = hop_at(topology, node, end);
        HR_TRY(add_hop(path, &hop, slower));
        node = across(&hop);
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

/* Take a channel at `earliest`, or when it is free; returns when the message has passed. */
static uint64_t hold_for(struct hr_atom64 *free_at, uint64_t earliest, uint64_t duration)
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
        passed = hold_for(&wires->free_at[path->channel[hop]], start, duration);
        start = passed - duration; /* cut through: the next link starts with the first byte */
    }
    return passed + path->latency_ns;
}
