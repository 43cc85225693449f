#include "virtual/message_queue.h"

#include <stdlib.h>

#include "netsim/walk.h"

/* A message that waits to leave. */
struct hr_waiting {
    size_t from, to; /* nodes; both 0 where there is no topology */
    uint64_t bytes, tag;
    uint64_t number; /* of its posting */
    size_t line;     /* the line that it was last in, or NO_LINE */
    size_t next;     /* next free place */
};

/* The messages that wait for one channel. */
struct hr_queue_line {
    struct hr_events waiting; /* in order of posting */
    int64_t alarm_ps;         /* the last that was set */
};

static const size_t NO_LINE = SIZE_MAX;

enum hr_status hr_message_queue_open(struct hr_message_queue *queue,
                                     const struct hr_topology *topology, size_t group_size)
{
    *queue = (struct hr_message_queue){.group_size = group_size};
    if (!topology->nnodes)
        return HR_OK;
    queue->topology = topology;
    HR_TRY(hr_links_init(&queue->links, topology));
    queue->line = calloc(queue->links.nchannels, sizeof *queue->line);
    return queue->line ? HR_OK : hr_fail(HR_E_NOMEM, "no memory for the links of a network");
}

/* All places from `first` on are free; nobody has one of them, nor is there another free one. */
static void free_places(struct hr_message_queue *queue, size_t first)
{
    for (size_t i = first; i < queue->nwaiting; i++)
        queue->waiting[i].next = i + 1 < queue->nwaiting ? i + 1 : 0;
    queue->unused = first < queue->nwaiting ? first : 0;
}

static void forget_sums(struct hr_message_queue *queue)
{
    for (size_t i = 0; i < queue->nwalked; i++)
        free(queue->walked[i].moving_ps);
    queue->nwalked = 0;
}

void hr_message_queue_drop(struct hr_message_queue *queue)
{
    for (size_t i = 0; queue->line && i < queue->links.nchannels; i++) {
        queue->line[i].waiting.n = 0;
        queue->line[i].alarm_ps = 0;
    }
    queue->alarms.n = queue->ready.n = 0;
    free_places(queue, 1);
    forget_sums(queue);
}

void hr_message_queue_close(struct hr_message_queue *queue)
{
    for (size_t i = 0; queue->line && i < queue->links.nchannels; i++)
        hr_events_fini(&queue->line[i].waiting);
    hr_events_fini(&queue->alarms);
    hr_events_fini(&queue->ready);
    forget_sums(queue);
    free(queue->line);
    free(queue->waiting);
    free(queue->walked);
    hr_links_fini(&queue->links);
    *queue = (struct hr_message_queue){0};
}

/* --- messages --- */

static enum hr_status take_place(struct hr_message_queue *queue, size_t *place)
{
    if (!queue->unused) {
        const size_t have = queue->nwaiting ? queue->nwaiting : 1; /* 0 is none */
        const size_t n = have < 64 ? 64 : 2 * have;
        struct hr_waiting *more = realloc(queue->waiting, n * sizeof *more);
        if (!more)
            return hr_fail(HR_E_NOMEM, "no memory for %zu messages on their way", n);
        queue->waiting = more;
        queue->nwaiting = n;
        free_places(queue, have);
    }
    *place = queue->unused;
    queue->unused = queue->waiting[*place].next;
    return HR_OK;
}

enum hr_status hr_message_queue_post(struct hr_message_queue *queue, const struct hr_parcel *parcel)
{
    const struct hr_topology *topology = queue->topology;
    const uint64_t number = queue->posted++;
    size_t place = 0;
    HR_TRY(take_place(queue, &place));
    queue->waiting[place] = (struct hr_waiting){
        .from = topology ? topology->rank_node[parcel->from] : 0,
        .to = topology ? topology->rank_node[parcel->to] : 0,
        .bytes = parcel->bytes,
        .tag = parcel->tag,
        .number = number,
        .line = NO_LINE,
    };
    return hr_events_push(&queue->ready, (int64_t)number, place);
}

/* Look at the first message of a line when its channel becomes free, which may be now. */
static enum hr_status look_later(struct hr_message_queue *queue, size_t channel, int64_t now_ps)
{
    const int64_t free_ps = queue->links.channel[channel].free_ps;
    struct hr_queue_line *line = &queue->line[channel];
    int64_t number;
    uint64_t place;
    if (free_ps <= now_ps) {
        if (!hr_events_pop(&line->waiting, &number, &place))
            return HR_OK;
        return hr_events_push(&queue->ready, number, place);
    }
    if (!line->waiting.n || line->alarm_ps == free_ps)
        return HR_OK;
    line->alarm_ps = free_ps;
    return hr_events_push(&queue->alarms, free_ps, channel);
}

static enum hr_status hear_alarms(struct hr_message_queue *queue, int64_t now_ps)
{
    int64_t time_ps;
    uint64_t channel;
    while (queue->alarms.n && queue->alarms.heap[0].time <= now_ps) {
        hr_events_pop(&queue->alarms, &time_ps, &channel);
        HR_TRY(look_later(queue, channel, now_ps));
    }
    return HR_OK;
}

static enum hr_status wait_in_line(struct hr_message_queue *queue, size_t place, size_t channel,
                                   int64_t now_ps)
{
    struct hr_waiting *message = &queue->waiting[place];
    message->line = channel;
    HR_TRY(hr_events_push(&queue->line[channel].waiting, (int64_t)message->number, place));
    return look_later(queue, channel, now_ps);
}

static void leave(struct hr_message_queue *queue, size_t place, int64_t now_ps,
                  struct hr_departure *out)
{
    struct hr_waiting *message = &queue->waiting[place];
    *out = (struct hr_departure){
        .left = true,
        .passage = hr_links_send(&queue->links, message->from, message->to, now_ps, message->bytes),
        .tag = message->tag,
    };
    message->next = queue->unused;
    queue->unused = place;
}

/* A message leaves, or waits in the line of the channel of its way that is busy longest. */
static enum hr_status leave_or_wait(struct hr_message_queue *queue, size_t place, int64_t now_ps,
                                    struct hr_departure *out)
{
    const struct hr_waiting *message = &queue->waiting[place];
    size_t channel = NO_LINE;
    if (hr_links_busy(&queue->links, message->from, message->to, now_ps, &channel))
        return wait_in_line(queue, place, channel, now_ps);
    leave(queue, place, now_ps, out);
    return HR_OK;
}

/* `ready` has the first message of every line whose channel is free, and a message that can leave
 * is in such a line. So the first of them that can leave is the one posted first of all. */
enum hr_status hr_message_queue_depart(struct hr_message_queue *queue, int64_t now_ps,
                                       struct hr_departure *out)
{
    int64_t number;
    uint64_t place;
    *out = (struct hr_departure){0};
    HR_TRY(hear_alarms(queue, now_ps));
    while (!out->left && hr_events_pop(&queue->ready, &number, &place)) {
        const size_t line = queue->waiting[place].line;
        HR_TRY(leave_or_wait(queue, place, now_ps, out));
        if (line != NO_LINE)
            HR_TRY(look_later(queue, line, now_ps));
    }
    return HR_OK;
}

/* --- sums --- */

static hr_plan_fn plan_of(const struct hr_local_group_sum *sum)
{
    return sum->plan ? sum->plan : sum->algorithm->plan;
}

static enum hr_status walk(const struct hr_message_queue *queue,
                           const struct hr_local_group_sum *sum, const uint16_t *rank, size_t n,
                           struct hr_walked *out)
{
    uint16_t node[HR_LOCAL_GROUP_RANKS];
    for (size_t i = 0; i < n; i++)
        node[i] = queue->topology->rank_node[rank[i]];
    const struct hr_walk_options options = {
        .topology = queue->topology,
        .node = node,
        .n = n,
        .plan = plan_of(sum),
        .group_size = queue->group_size,
        .bytes = sum->bytes,
        .first = sum->first,
        .blocks = sum->plan != NULL,
    };
    struct hr_walk result;
    HR_TRY(hr_walk(&options, &result));
    *out = (struct hr_walked){plan_of(sum), sum->bytes, sum->first, result.ps, result.moving_ps};
    result.moving_ps = NULL; /* now owned by *out */
    hr_walk_fini(&result);
    return HR_OK;
}

static const struct hr_walked *find_walked(const struct hr_message_queue *queue,
                                           const struct hr_local_group_sum *sum)
{
    for (size_t i = 0; i < queue->nwalked; i++) {
        const struct hr_walked *walked = &queue->walked[i];
        if (walked->plan == plan_of(sum) && walked->bytes == sum->bytes &&
            walked->first == sum->first)
            return walked;
    }
    return NULL;
}

static enum hr_status add_walked(struct hr_message_queue *queue,
                                 const struct hr_local_group_sum *sum, const uint16_t *rank,
                                 size_t n, const struct hr_walked **out)
{
    struct hr_walked *more = realloc(queue->walked, (queue->nwalked + 1) * sizeof *queue->walked);
    if (!more)
        return hr_fail(HR_E_NOMEM, "no memory to remember how long sums take");
    queue->walked = more;
    HR_TRY(walk(queue, sum, rank, n, &more[queue->nwalked]));
    *out = &more[queue->nwalked++];
    return HR_OK;
}

enum hr_status hr_message_queue_all_reduce(struct hr_message_queue *queue,
                                           const struct hr_local_group_sum *sum,
                                           const uint16_t *rank, size_t n, int64_t *ps,
                                           const int64_t **moving_ps)
{
    *ps = 0;
    *moving_ps = NULL;
    if (!queue->topology)
        return HR_OK;
    const struct hr_walked *walked = find_walked(queue, sum);
    if (!walked)
        HR_TRY(add_walked(queue, sum, rank, n, &walked));
    *ps = walked->ps;
    *moving_ps = walked->moving_ps;
    return HR_OK;
}
