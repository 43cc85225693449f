#include "netsim/walk.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "netsim/events.h"
#include "plan/layout.h"

/* A message that waits for its first link. */
struct message {
    uint64_t bytes;
    uint16_t from, to; /* ranks */
    uint32_t next;     /* behind it in the queue; 0: none */
};

/* Before the first link of a way. */
struct queue {
    uint32_t first, last; /* of messages; 0: none */
    bool busy;            /* one is passing */
};

struct walker {
    struct hr_plan plan;
    size_t row;    /* that it does next */
    size_t unread; /* messages sent and not yet taken */
    int64_t moving_until_ps;
};

struct world {
    const struct hr_walk_options *of;
    struct hr_walk *walk;
    int64_t now_ps;
    struct hr_events events;
    struct walker *walker;   /* (n) */
    struct queue *queue;     /* (nchannels) */
    uint32_t *arrived;       /* (n, n) to, from: messages not yet taken */
    struct message *message; /* (nmessages + 1) in order of sending; 0 is none */
    uint32_t nmessages;      /* the plans' */
    uint32_t sent;
};

/* The kind of an event is its two lowest bits; above them stand a channel or ranks. */
enum { CHANNEL_FREE, ARRIVAL, WAKE };

static bool receives(const struct hr_row *row)
{
    return row->action == HR_ROW_RECV || row->action == HR_ROW_ADD || row->action == HR_ROW_COPY;
}

static uint64_t bytes_of(const struct world *world, const struct hr_plan *plan,
                         const struct hr_row *row)
{
    const struct hr_walk_options *of = world->of;
    const size_t count = of->bytes / sizeof(float);
    const struct hr_layout layout = {.count = of->blocks ? count / of->n : count,
                                     .elem_bytes = sizeof(float),
                                     .blocks = of->blocks,
                                     .nchunks = plan->nchunks,
                                     .run = plan->run,
                                     .first = of->first};
    return hr_layout_pieces(&layout, row->chunk, row->span).left;
}

/* --- sending --- */

static enum hr_status announce_arrival(struct world *world, const struct message *message,
                                       int64_t ps)
{
    const uint64_t pair = (uint64_t)message->to * world->of->n + message->from;
    return hr_events_push(&world->events, ps, pair << 2 | ARRIVAL);
}

/* Earlier messages began no later, so only the time after their end is new. */
static void moves(struct world *world, size_t rank, int64_t until_ps)
{
    int64_t *before_ps = &world->walker[rank].moving_until_ps;
    const int64_t from_ps = *before_ps > world->now_ps ? *before_ps : world->now_ps;
    if (until_ps <= from_ps)
        return;
    world->walk->moving_ps[rank] += until_ps - from_ps;
    *before_ps = until_ps;
}

static enum hr_status start(struct world *world, size_t channel, const struct message *message)
{
    const uint16_t *node = world->of->node;
    const struct hr_passage passage = hr_links_send(
        &world->walk->links, node[message->from], node[message->to], world->now_ps, message->bytes);
    world->queue[channel].busy = true;
    moves(world, message->from, passage.arrival_ps);
    moves(world, message->to, passage.arrival_ps);
    HR_TRY(hr_events_push(&world->events, passage.free_ps, (uint64_t)channel << 2 | CHANNEL_FREE));
    return announce_arrival(world, message, passage.arrival_ps);
}

static enum hr_status start_next(struct world *world, size_t channel)
{
    struct queue *queue = &world->queue[channel];
    const struct message *message = &world->message[queue->first];
    queue->busy = false;
    if (!queue->first)
        return HR_OK;
    queue->first = message->next;
    return start(world, channel, message);
}

static enum hr_status send_message(struct world *world, const struct message *message)
{
    const uint16_t *node = world->of->node;
    const uint32_t number = ++world->sent;
    world->message[number] = *message;
    world->walk->bytes += message->bytes;
    if (node[message->from] == node[message->to])
        return announce_arrival(world, message, world->now_ps);
    const size_t channel =
        hr_links_first_channel(&world->walk->links, node[message->from], node[message->to]);
    struct queue *queue = &world->queue[channel];
    if (!queue->busy)
        return start(world, channel, message);
    if (queue->first)
        world->message[queue->last].next = number;
    else
        queue->first = number;
    queue->last = number;
    return HR_OK;
}

/* --- rows --- */

static enum hr_status take_message(struct world *world, size_t rank, size_t peer)
{
    struct walker *sender = &world->walker[peer];
    world->arrived[rank * world->of->n + peer]--;
    if (--sender->unread == 0 && sender->row < sender->plan.nrows &&
        sender->plan.rows[sender->row].action == HR_ROW_DRAIN)
        return hr_events_push(&world->events, world->now_ps, (uint64_t)peer << 2 | WAKE);
    return HR_OK;
}

static bool must_wait(const struct world *world, size_t rank, const struct hr_row *row)
{
    if (receives(row))
        return world->arrived[rank * world->of->n + row->peer] == 0;
    return row->action == HR_ROW_DRAIN && world->walker[rank].unread > 0;
}

static enum hr_status do_row(struct world *world, size_t rank, const struct hr_row *row)
{
    struct walker *walker = &world->walker[rank];
    struct hr_walk *walk = world->walk;
    walk->step_ps[row->step] = world->now_ps; /* time only goes forward */
    if (world->now_ps > walk->ps) {
        walk->ps = world->now_ps;
        walk->last_rank = rank;
    }
    if (receives(row))
        return take_message(world, rank, row->peer);
    if (row->action != HR_ROW_SEND)
        return HR_OK;
    walker->unread++;
    return send_message(world, &(struct message){.bytes = bytes_of(world, &walker->plan, row),
                                                 .from = (uint16_t)rank,
                                                 .to = row->peer});
}

static enum hr_status go_on(struct world *world, size_t rank)
{
    struct walker *walker = &world->walker[rank];
    while (walker->row < walker->plan.nrows) {
        const struct hr_row *row = &walker->plan.rows[walker->row];
        if (must_wait(world, rank, row))
            return HR_OK;
        walker->row++;
        HR_TRY(do_row(world, rank, row));
    }
    return HR_OK;
}

static enum hr_status happen(struct world *world, uint64_t what)
{
    const uint64_t which = what >> 2;
    switch (what & 3) {
    case CHANNEL_FREE:
        return start_next(world, which);
    case ARRIVAL:
        world->arrived[which]++;
        return go_on(world, which / world->of->n);
    default:
        return go_on(world, which);
    }
}

static enum hr_status check_end(const struct world *world)
{
    for (size_t r = 0; r < world->of->n; r++) {
        const struct walker *walker = &world->walker[r];
        if (walker->row < walker->plan.nrows)
            return hr_fail(HR_E_FAILED, "a plan that never ends: rank %zu waits in step %u", r,
                           walker->plan.rows[walker->row].step);
    }
    if (world->walk->ps >= HR_PS_NEVER)
        return hr_fail(HR_E_FAILED, "%llu bytes over these links take more than 53 days",
                       (unsigned long long)world->of->bytes);
    return HR_OK;
}

static enum hr_status run(struct world *world)
{
    uint64_t what;
    for (size_t r = 0; r < world->of->n; r++)
        HR_TRY(go_on(world, r));
    while (hr_events_pop(&world->events, &world->now_ps, &what))
        HR_TRY(happen(world, what));
    return check_end(world);
}

/* --- memory --- */

/* What all ranks have to do; how many messages and steps that makes. */
static enum hr_status make_plans(struct world *world)
{
    const struct hr_walk_options *of = world->of;
    uint64_t messages = 0;
    for (size_t r = 0; r < of->n; r++) {
        struct hr_plan *plan = &world->walker[r].plan;
        const struct hr_plan_for what = {.rank = r,
                                         .n = of->n,
                                         .root = of->root,
                                         .group_size = of->group_size,
                                         .in_place = true};
        HR_TRY(of->plan(plan, &what));
        for (size_t i = 0; i < plan->nrows; i++) {
            messages += plan->rows[i].action == HR_ROW_SEND;
            if (plan->rows[i].step >= world->walk->nsteps)
                world->walk->nsteps = plan->rows[i].step + 1u;
        }
    }
    if (messages >= UINT32_MAX)
        return hr_fail(HR_E_USAGE, "a plan of %llu messages: expected fewer than 2^32",
                       (unsigned long long)messages);
    world->nmessages = (uint32_t)messages;
    world->walk->messages = messages;
    return HR_OK;
}

static enum hr_status take_memory(struct world *world)
{
    const size_t n = world->of->n; /* n is limited, so n * n fits */
    struct hr_walk *walk = world->walk;
    world->walker = calloc(n, sizeof *world->walker);
    if (!world->walker)
        return hr_fail(HR_E_NOMEM, "no memory to walk a plan of %zu ranks", n);
    HR_TRY(make_plans(world));
    HR_TRY(hr_links_init(&walk->links, world->of->topology));
    world->queue = calloc(walk->links.nchannels, sizeof *world->queue);
    world->arrived = calloc(n * n, sizeof *world->arrived);
    world->message = calloc((size_t)world->nmessages + 1, sizeof *world->message);
    walk->step_ps = calloc(walk->nsteps + 1, sizeof *walk->step_ps);
    walk->moving_ps = calloc(n, sizeof *walk->moving_ps);
    if (!world->queue || !world->arrived || !world->message || !walk->step_ps || !walk->moving_ps)
        return hr_fail(HR_E_NOMEM, "no memory to walk a plan of %zu ranks and %u messages", n,
                       world->nmessages);
    return HR_OK;
}

static void free_memory(struct world *world)
{
    for (size_t r = 0; world->walker && r < world->of->n; r++)
        hr_plan_fini(&world->walker[r].plan);
    free(world->walker);
    free(world->queue);
    free(world->arrived);
    free(world->message);
    hr_events_fini(&world->events);
}

enum hr_status hr_walk(const struct hr_walk_options *options, struct hr_walk *out)
{
    struct world world = {.of = options, .walk = out};
    enum hr_status status;
    HR_ASSERT(options->n >= 1 && options->n <= HR_WALK_RANKS);
    *out = (struct hr_walk){0};
    status = take_memory(&world);
    if (status == HR_OK)
        status = run(&world);
    if (status != HR_OK)
        hr_walk_fini(out);
    free_memory(&world);
    return status;
}

void hr_walk_fini(struct hr_walk *walk)
{
    free(walk->step_ps);
    free(walk->moving_ps);
    hr_links_fini(&walk->links);
    *walk = (struct hr_walk){0};
}

/* === what formulas say beside it === */

/* Seconds are `factor` N / B. */
struct law {
    const char *algorithm, *formula;
    double (*factor)(double workers, double others);
};

static double through_one(double workers, double others)
{
    (void)workers;
    return 2 * others;
}

static double in_parts(double workers, double others)
{
    (void)others;
    return 2 * (workers - 1) / workers;
}

static double in_parts_both_ways(double workers, double others)
{
    return in_parts(workers, others) / 2;
}

static double up_a_tree(double workers, double others)
{
    (void)others;
    return log2(workers);
}

static const struct law laws[] = {
    {"master-worker", "2 (P - 1) N / B", through_one},
    {"direct", "2 (N / P) (P - 1) / B", in_parts},
    {"ring", "2 (N / P) (P - 1) / B", in_parts},
    {"bidirectional-ring", "(N / P) (P - 1) / B", in_parts_both_ways},
    {"tree", "log2(P) N / B", up_a_tree},
};

static const struct law *find(const char *algorithm)
{
    for (size_t i = 0; i < sizeof laws / sizeof *laws; i++)
        if (!strcmp(laws[i].algorithm, algorithm))
            return &laws[i];
    return NULL;
}

const char *hr_law_formula(const char *algorithm)
{
    const struct law *law = find(algorithm);
    return law ? law->formula : NULL;
}

double hr_law_seconds(const char *algorithm, size_t workers, size_t others, double bytes,
                      double bandwidth)
{
    const struct law *law = find(algorithm);
    return law ? law->factor((double)workers, (double)others) * bytes / bandwidth : NAN;
}

/* --- parameter server --- */

static enum hr_status worker(struct hr_plan *plan, const struct hr_plan_for *of)
{
    const size_t workers = of->root, servers = of->n - workers;
    for (size_t k = 0; k < servers; k++) { /* each begins with another server */
        const size_t part = (of->rank + k) % servers;
        HR_TRY(hr_plan_send(plan, 0, HR_IN, workers + part, part));
    }
    for (size_t k = 0; k < servers; k++) {
        const size_t part = (of->rank + k) % servers;
        HR_TRY(hr_plan_receive(plan, 1, HR_ROW_COPY, workers + part, part));
    }
    return HR_OK;
}

/* One round of a parameter server: the `root` first ranks are workers, which push part j of the
 * data to server j, who adds and has everybody pull; the other ranks are servers. */
static enum hr_status plan_server_round(struct hr_plan *plan, const struct hr_plan_for *of)
{
    const size_t workers = of->root, part = of->rank - workers;
    plan->nchunks = of->n - workers;
    if (of->rank < workers)
        return worker(plan, of);
    for (size_t w = 0; w < workers; w++)
        HR_TRY(hr_plan_receive(plan, 0, HR_ROW_RECV, w, part));
    HR_TRY(hr_plan_local(plan, 0, HR_ROW_SUM, HR_OUT, part));
    for (size_t k = 0; k < workers; k++)
        HR_TRY(hr_plan_send(plan, 1, HR_OUT, (part + k) % workers, part));
    return HR_OK;
}

enum hr_status hr_law_server_round(size_t workers, size_t servers, uint64_t bytes,
                                   const struct hr_link *link, int64_t *ps)
{
    struct hr_topology star = {0};
    struct hr_walk walk = {0};
    enum hr_status status;
    char what[32];
    snprintf(what, sizeof what, "star:%zu", workers + servers);
    HR_TRY_GOTO(hr_topology_open(what, link, &star), status, out);
    const struct hr_walk_options options = {.topology = &star,
                                            .node = star.rank_node,
                                            .n = workers + servers,
                                            .plan = plan_server_round,
                                            .root = workers,
                                            .bytes = bytes};
    HR_TRY_GOTO(hr_walk(&options, &walk), status, out);
    *ps = walk.ps;
out:
    hr_walk_fini(&walk);
    hr_topology_fini(&star);
    return status;
}

double hr_law_slope(const double *x, const double *y, size_t n)
{
    double mean_x = 0, mean_y = 0, xy = 0, xx = 0;
    for (size_t i = 0; i < n; i++) {
        mean_x += x[i] / (double)n;
        mean_y += y[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        xy += (x[i] - mean_x) * (y[i] - mean_y);
        xx += (x[i] - mean_x) * (x[i] - mean_x);
    }
    return xy / xx;
}
