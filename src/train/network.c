#include "train/network.h"

#include <stdlib.h>

#include "group/walk.h"

enum hr_status hr_network_open(struct hr_network *network, const struct hr_topology *topology,
                               size_t group_size)
{
    *network = (struct hr_network){.group_size = group_size};
    if (!topology->nnodes)
        return HR_OK;
    network->topology = topology;
    HR_TRY(hr_links_init(&network->links, topology));
    network->outbox = calloc(network->links.nchannels, sizeof *network->outbox);
    return network->outbox ? HR_OK : hr_fail(HR_E_NOMEM, "no memory for the links of a network");
}

void hr_network_close(struct hr_network *network)
{
    hr_links_fini(&network->links);
    free(network->walked);
    free(network->parcel);
    free(network->outbox);
    *network = (struct hr_network){0};
}

/* --- messages --- */

static void depart(struct hr_network *network, const struct hr_parcel *parcel, int channel,
                   int64_t now_ps, struct hr_departure *out)
{
    const uint16_t *node = network->topology->rank_node;
    network->outbox[channel].busy = true;
    *out = (struct hr_departure){
        .left = true,
        .passage = hr_links_send(&network->links, node[parcel->from], node[parcel->to], now_ps,
                                 parcel->bytes),
        .tag = parcel->tag,
        .channel = channel,
    };
}

/* A place for one more message that waits. */
static enum hr_status take_place(struct hr_network *network, size_t *place)
{
    if (!network->unused) {
        const size_t n = network->nparcels ? 2 * network->nparcels : 64;
        struct hr_parcel *more = realloc(network->parcel, n * sizeof *more);
        if (!more)
            return hr_fail(HR_E_NOMEM, "no memory for %zu messages on their way", n);
        for (size_t i = network->nparcels ? network->nparcels : 1; i < n; i++)
            more[i].next = i + 1 < n ? (uint32_t)(i + 1) : 0;
        network->unused = network->nparcels ? network->nparcels : 1;
        network->parcel = more;
        network->nparcels = n;
    }
    *place = network->unused;
    network->unused = network->parcel[*place].next;
    return HR_OK;
}

static enum hr_status wait_in_line(struct hr_network *network, struct hr_outbox *outbox,
                                   const struct hr_parcel *parcel)
{
    size_t place = 0;
    HR_TRY(take_place(network, &place));
    network->parcel[place] = *parcel;
    network->parcel[place].next = 0;
    if (outbox->first)
        network->parcel[outbox->last].next = (uint32_t)place;
    else
        outbox->first = (uint32_t)place;
    outbox->last = (uint32_t)place;
    return HR_OK;
}

enum hr_status hr_network_post(struct hr_network *network, const struct hr_parcel *parcel,
                               int64_t now_ps, struct hr_departure *out)
{
    *out = (struct hr_departure){.left = true,
                                 .passage = {now_ps, now_ps, now_ps},
                                 .tag = parcel->tag,
                                 .channel = HR_NO_CHANNEL};
    if (!network->topology)
        return HR_OK;
    const uint16_t *node = network->topology->rank_node;
    if (node[parcel->from] == node[parcel->to])
        return HR_OK;
    const size_t channel =
        hr_links_first_channel(&network->links, node[parcel->from], node[parcel->to]);
    if (network->outbox[channel].busy) {
        *out = (struct hr_departure){0};
        return wait_in_line(network, &network->outbox[channel], parcel);
    }
    depart(network, parcel, (int)channel, now_ps, out);
    return HR_OK;
}

void hr_network_freed(struct hr_network *network, int channel, int64_t now_ps,
                      struct hr_departure *out)
{
    struct hr_outbox *outbox = &network->outbox[channel];
    const uint32_t place = outbox->first;
    outbox->busy = false;
    *out = (struct hr_departure){0};
    if (!place)
        return;
    outbox->first = network->parcel[place].next;
    depart(network, &network->parcel[place], channel, now_ps, out);
    network->parcel[place].next = (uint32_t)network->unused;
    network->unused = place;
}

/* --- sums --- */

static enum hr_status walk(const struct hr_network *network, const struct hr_hall_sum *sum,
                           size_t nranks, int64_t *ps)
{
    const struct hr_walk_options options = {
        .topology = network->topology,
        .node = network->topology->rank_node,
        .n = nranks,
        .plan = sum->algorithm->plan,
        .group_size = network->group_size,
        .bytes = sum->bytes,
    };
    struct hr_walk result;
    HR_TRY(hr_walk(&options, &result));
    *ps = result.ps;
    hr_walk_fini(&result);
    return HR_OK;
}

enum hr_status hr_network_all_reduce(struct hr_network *network, const struct hr_hall_sum *sum,
                                     size_t nranks, int64_t *ps)
{
    *ps = 0;
    if (!network->topology)
        return HR_OK;
    for (size_t i = 0; i < network->nwalked; i++)
        if (network->walked[i].algorithm == sum->algorithm &&
            network->walked[i].bytes == sum->bytes) {
            *ps = network->walked[i].ps;
            return HR_OK;
        }
    HR_TRY(walk(network, sum, nranks, ps));
    struct hr_walked *more =
        realloc(network->walked, (network->nwalked + 1) * sizeof *network->walked);
    if (!more)
        return hr_fail(HR_E_NOMEM, "no memory to remember how long sums take");
    network->walked = more;
    network->walked[network->nwalked++] = (struct hr_walked){sum->algorithm, sum->bytes, *ps};
    return HR_OK;
}
