#include "netsim/virtual_links.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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

/* One link of a path. */
struct hop {
    const struct hr_topology_wire *wire;
    struct hr_channel *channel, *medium; /* NULL: none */
    size_t from;
};

static struct hop hop_at(const struct hr_links *links, size_t from, size_t to)
{
    const struct hr_topology *topology = links->topology;
    const size_t number = topology->next[from * topology->nnodes + to];
    const struct hr_topology_wire *wire = &topology->wire[number];
    struct hr_channel *media = links->channel + 2 * topology->nwires;
    return (struct hop){
        .wire = wire,
        .channel = &links->channel[2 * number + (wire->b == from)],
        .medium = wire->medium == HR_TOPOLOGY_NONE ? NULL : &media[wire->medium],
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
        const struct hop hop = hop_at(links, from, to);
        passage.start_ps = later(passage.start_ps, hop.channel->free_ps);
        if (hop.medium)
            passage.start_ps = later(passage.start_ps, hop.medium->free_ps);
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
        const struct hop hop = hop_at(links, from, to);
        hold(links, hop.channel, &passage, bytes);
        if (hop.medium)
            hold(links, hop.medium, &passage, bytes);
        from = across(&hop);
    }
    return passage;
}

bool hr_links_busy(const struct hr_links *links, size_t from, size_t to, int64_t now_ps,
                   size_t *channel)
{
    int64_t latest_ps = now_ps;
    while (from != to) {
        const struct hop hop = hop_at(links, from, to);
        const struct hr_channel *const of_hop[] = {hop.channel, hop.medium};
        for (size_t i = 0; i < 2; i++)
            if (of_hop[i] && of_hop[i]->free_ps > latest_ps) {
                latest_ps = of_hop[i]->free_ps;
                *channel = (size_t)(of_hop[i] - links->channel);
            }
        from = across(&hop);
    }
    return latest_ps > now_ps;
}

size_t hr_links_first_channel(const struct hr_links *links, size_t from, size_t to)
{
    return (size_t)(hop_at(links, from, to).channel - links->channel);
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
