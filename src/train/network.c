#include "train/network.h"

#include <stdlib.h>

#include "netsim/walk.h"

/* A message that has not left. */
struct hr_waiting {
    size_t from, to; /* nodes; both 0 where there is no topology */
    uint64_t bytes, tag;
    uint64_t number; /* of its posting */
    size_t line;     /* it was in last, or NO_LINE */
    size_t next;     /* that is free, of places */
};

/* Those that wait for a channel. */
struct hr_line {
    struct hr_events waiting; /* in order of posting */
    int64_t alarm_ps;         /* the last that was set */
};

static const size_t NO_LINE = SIZE_MAX;

enum hr_status hr_network_open(struct hr_network *network, const struct hr_topology *topology,
                               size_t group_size)
{
    *network = (struct hr_network){.group_size = group_size};
    if (!topology->nnodes)
        return HR_OK;
    network->topology = topology;
    HR_TRY(hr_links_init(&network->links, topology));
    network->line = calloc(network->links.nchannels, sizeof *network->line);
    return network->line ? HR_OK : hr_fail(HR_E_NOMEM, "no memory for the links of a network");
}

void hr_network_close(struct hr_network *network)
{
    for (size_t i = 0; network->line && i < network->links.nchannels; i++)
        hr_events_fini(&network->line[i].waiting);
    hr_events_fini(&network->alarms);
    hr_events_fini(&network->ready);
    for (size_t i = 0; i < network->nwalked; i++)
        free(network->walked[i].moving_ps);
    free(network->line);
    free(network->waiting);
    free(network->walked);
    hr_links_fini(&network->links);
    *network = (struct hr_network){0};
}

/* --- messages --- */

static enum hr_status take_place(struct hr_network *network, size_t *place)
{
    if (!network->unused) {
        const size_t have = network->nwaiting ? network->nwaiting : 1; /* 0 is none */
        const size_t n = have < 64 ? 64 : 2 * have;
        struct hr_waiting *more = realloc(network->waiting, n * sizeof *more);
        if (!more)
            return hr_fail(HR_E_NOMEM, "no memory for %zu messages on their way", n);
        for (size_t i = have; i < n; i++)
            more[i].next = i + 1 < n ? i + 1 : 0;
        network->unused = have;
        network->waiting = more;
        network->nwaiting = n;
    }
    *place = network->unused;
    network->unused = network->waiting[*place].next;
    return HR_OK;
}

enum hr_status hr_network_post(struct hr_network *network, const struct hr_parcel *parcel)
{
    const struct hr_topology *topology = network->topology;
    const uint64_t number = network->posted++;
    size_t place = 0;
    HR_TRY(take_place(network, &place));
    network->waiting[place] = (struct hr_waiting){
        .from = topology ? topology->rank_node[parcel->from] : 0,
        .to = topology ? topology->rank_node[parcel->to] : 0,
        .bytes = parcel->bytes,
        .tag = parcel->tag,
        .number = number,
        .line = NO_LINE,
    };
    return hr_events_push(&network->ready, (int64_t)number, place);
}

/* Look at a line when its channel is free, which may be now: at the first of it. */
static enum hr_status look_later(struct hr_network *network, size_t channel, int64_t now_ps)
{
    const int64_t free_ps = network->links.channel[channel].free_ps;
    struct hr_line *line = &network->line[channel];
    int64_t number;
    uint64_t place;
    if (free_ps <= now_ps) {
        if (!hr_events_pop(&line->waiting, &number, &place))
            return HR_OK;
        return hr_events_push(&network->ready, number, place);
    }
    if (!line->waiting.n || line->alarm_ps == free_ps)
        return HR_OK;
    line->alarm_ps = free_ps;
    return hr_events_push(&network->alarms, free_ps, channel);
}

static enum hr_status hear_alarms(struct hr_network *network, int64_t now_ps)
{
    int64_t time_ps;
    uint64_t channel;
    while (network->alarms.n && network->alarms.heap[0].time <= now_ps) {
        hr_events_pop(&network->alarms, &time_ps, &channel);
        HR_TRY(look_later(network, channel, now_ps));
    }
    return HR_OK;
}

static enum hr_status wait_in_line(struct hr_network *network, size_t place, size_t channel,
                                   int64_t now_ps)
{
    struct hr_waiting *message = &network->waiting[place];
    message->line = channel;
    HR_TRY(hr_events_push(&network->line[channel].waiting, (int64_t)message->number, place));
    return look_later(network, channel, now_ps);
}

static void leave(struct hr_network *network, size_t place, int64_t now_ps,
                  struct hr_departure *out)
{
    struct hr_waiting *message = &network->waiting[place];
    *out = (struct hr_departure){
        .left = true,
        .passage =
            hr_links_send(&network->links, message->from, message->to, now_ps, message->bytes),
        .tag = message->tag,
    };
    message->next = network->unused;
    network->unused = place;
}

/* A message leaves, or waits in the line of the channel that keeps it longest. */
static enum hr_status leave_or_wait(struct hr_network *network, size_t place, int64_t now_ps,
                                    struct hr_departure *out)
{
    const struct hr_waiting *message = &network->waiting[place];
    size_t channel = NO_LINE;
    if (hr_links_busy(&network->links, message->from, message->to, now_ps, &channel))
        return wait_in_line(network, place, channel, now_ps);
    leave(network, place, now_ps, out);
    return HR_OK;
}

/* The first of every line whose channel is free is among those that are ready, and whoever could
 * leave stands in such a line: so the first of them that can leave is the one posted first. */
enum hr_status hr_network_depart(struct hr_network *network, int64_t now_ps,
                                 struct hr_departure *out)
{
    int64_t number;
    uint64_t place;
    *out = (struct hr_departure){0};
    HR_TRY(hear_alarms(network, now_ps));
    while (!out->left && hr_events_pop(&network->ready, &number, &place)) {
        const size_t line = network->waiting[place].line;
        HR_TRY(leave_or_wait(network, place, now_ps, out));
        if (line != NO_LINE)
            HR_TRY(look_later(network, line, now_ps));
    }
    return HR_OK;
}

/* --- sums --- */

static enum hr_status walk(const struct hr_network *network, const struct hr_local_group_sum *sum,
                           size_t nranks, struct hr_walked *out)
{
    const struct hr_walk_options options = {
        .topology = network->topology,
        .node = network->topology->rank_node,
        .n = nranks,
        .plan = sum->algorithm->plan,
        .group_size = network->group_size,
        .bytes = sum->bytes,
        .first = sum->first,
    };
    struct hr_walk result;
    HR_TRY(hr_walk(&options, &result));
    *out = (struct hr_walked){sum->algorithm, sum->bytes, sum->first, result.ps, result.moving_ps};
    result.moving_ps = NULL; /* it is ours now */
    hr_walk_fini(&result);
    return HR_OK;
}

static const struct hr_walked *find_walked(const struct hr_network *network,
                                           const struct hr_local_group_sum *sum)
{
    for (size_t i = 0; i < network->nwalked; i++) {
        const struct hr_walked *walked = &network->walked[i];
        if (walked->algorithm == sum->algorithm && walked->bytes == sum->bytes &&
            walked->first == sum->first)
            return walked;
    }
    return NULL;
}

static enum hr_status add_walked(struct hr_network *network, const struct hr_local_group_sum *sum,
                                 size_t nranks, const struct hr_walked **out)
{
    struct hr_walked *more =
        realloc(network->walked, (network->nwalked + 1) * sizeof *network->walked);
    if (!more)
        return hr_fail(HR_E_NOMEM, "no memory to remember how long sums take");
    network->walked = more;
    HR_TRY(walk(network, sum, nranks, &more[network->nwalked]));
    *out = &more[network->nwalked++];
    return HR_OK;
}

enum hr_status hr_network_all_reduce(struct hr_network *network,
                                     const struct hr_local_group_sum *sum, size_t nranks,
                                     int64_t *ps, const int64_t **moving_ps)
{
    *ps = 0;
    *moving_ps = NULL;
    if (!network->topology)
        return HR_OK;
    const struct hr_walked *walked = find_walked(network, sum);
    if (!walked)
        HR_TRY(add_walked(network, sum, nranks, &walked));
    *ps = walked->ps;
    *moving_ps = walked->moving_ps;
    return HR_OK;
}
