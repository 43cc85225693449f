/* Elastic averaging (EASGD): workers explore by themselves, tied to a common center.
 *
 *   Story    the servers hold the center c; every worker has a replica x and an optimiser's state
 *            of its own, and updates x with its own minibatches. After every tau of them
 *            (--sync-every) it exchanges with the center: d = alpha (x - c); x -= d; c += d. That
 *            is one message to each shard (PUSHPULL), which does it on the worker's slice while the
 *            worker waits. With the exchange, shard 0 hands out the next tau batches.
 *   Promise  each exchange is whole at each shard, in the order in which the shard takes them; the
 *            model that is evaluated and saved is the center.
 *   Rate     alpha is elastic-averaging:ALPHA; 0.9 / workers unless told otherwise (beta = 0.9).
 *   Stale    the staleness of an exchange at a shard: others' exchanges since the worker's last.
 *   Cuts     a cut ends a range of batches early, and workers exchange. At an epoch's end every
 *            replica restarts at the center: the price is that epochs pull workers together.
 *   Saves    elsewhere replicas stay as they are, and are in the checkpoint. A run that goes on
 *            with as many workers begins with them, and a worker that had made steps since its
 *            last exchange (in a pause: pause.h) exchanges first. Other workers begin at the
 *            center.
 *   Stop     a request to stop holds when a worker has used up its range.
 *   Losses   what a worker has done since its last exchange goes with its replica: its whole range
 *            is handed out again, or is lost, and its counters go back to where the range began. A
 *            worker that comes back begins at the center, without a state of its optimiser.
 *   Source   Zhang, Choromanska, LeCun, "Deep learning with Elastic Averaging SGD", NIPS 2015,
 *            algorithm 1.
 */
#include <stdio.h>
#include <string.h>

#include "base/vec.h"
#include "server/server.h"
#include "server/staleness.h"
#include "strategies/strategies.h"
#include "strategy/pause.h"

struct setup {
    double rate; /* alpha */
};

/* A worker's own: batches [next, end) that it was handed and has not begun. */
struct range {
    uint64_t next, end;
    uint64_t steps;  /* made since its last exchange */
    int64_t took_ns; /* to compute their gradients */
};

static struct range *range_of(const struct hr_worker *worker)
{
    return worker->own;
}

static bool has_batches(const struct hr_worker *worker)
{
    return range_of(worker)->next < range_of(worker)->end;
}

/* --- between two events ---
 *
 * An exchange that one shard has made and another has not is made on the copy; one that nobody has
 * made is made first where the run goes on. */

static bool awaits_range(const struct hr_standing *at, size_t worker)
{
    return at->stands[worker] == HR_STANDS_ASKED && !has_batches(at->worker[worker]);
}

static bool has_taken(const struct hr_standing *at, size_t worker, size_t s)
{
    return at->shard[s]->worker[worker].number >= at->worker[worker]->requests.sent;
}

/* But for what is frozen. */
static void exchange_slice(const struct hr_shard *shard, float *x, float *c)
{
    const struct hr_shared_state *shared = shard->shared;
    const float rate = (float)((const struct setup *)shared->setup)->rate;
    const size_t first = shard->first, end = first + shard->count;
    struct hr_range moves = hr_range_next(&shared->optimizer, false, first, end);
    for (; moves.count;
         moves = hr_range_next(&shared->optimizer, false, moves.begin + moves.count, end)) {
        const size_t at = moves.begin - first;
        hr_vec()->exchange(x + at, c + at, rate, moves.count);
    }
}

/* Has some shard taken the exchange that this worker waits for? */
static bool exchanges(const struct hr_standing *at, size_t worker)
{
    bool begun = false;
    for (size_t s = 0; s < at->shared->servers; s++)
        begun |= has_taken(at, worker, s);
    return begun && awaits_range(at, worker) && range_of(at->worker[worker])->steps;
}

/* A worker that is lost, or has just joined, begins at the center. */
static bool begins(const struct hr_standing *at, size_t worker, size_t s)
{
    const struct hr_client *client = &at->shard[s]->worker[worker];
    return !at->worker[worker] || client->left || client->fresh;
}

/* An exchange that one shard has made and another has not is made on the copy. */
static void pause_replica(const struct hr_standing *at, size_t worker, struct hr_pause *to)
{
    const struct hr_shared_state *shared = at->shared;
    const bool exchanging = at->worker[worker] && exchanges(at, worker);
    for (size_t s = 0; s < shared->servers; s++) {
        const struct hr_shard *shard = at->shard[s];
        float *x = to->snapshot.replicas + worker * shared->params + shard->first;
        float *c = to->snapshot.weights + shard->first;
        memcpy(x, begins(at, worker, s) ? c : shared->weights[worker] + shard->first,
               shard->count * sizeof *x);
        if (exchanging && !has_taken(at, worker, s))
            exchange_slice(shard, x, c);
    }
    to->snapshot.since[worker] =
        at->worker[worker] && !exchanging ? (double)range_of(at->worker[worker])->steps : 0;
}

/* The batches of its range that are not in its replica. */
static void pause_range(const struct hr_standing *at, size_t worker, struct hr_pause *to)
{
    const struct range *range = range_of(at->worker[worker]);
    const struct hr_client *client = &at->shard[0]->worker[worker];
    const bool has = at->stands[worker] == HR_STANDS_HAS;
    if (has)
        to->worker[worker].undone = at->worker[worker]->index;
    if (!awaits_range(at, worker))
        hr_pause_add_hand(to, range->next - has, range->end - range->next + has);
    else if (has_taken(at, worker, 0))
        hr_pause_add_hand(to, client->batch, client->batches);
}

/* strategy->pause */
static bool pause_all(const struct hr_standing *at, struct hr_pause *to)
{
    for (size_t s = 0; s < at->shared->servers; s++)
        hr_shard_copy_to(at->shard[s], &to->snapshot);
    for (size_t w = 0; w < at->shared->workers; w++) {
        pause_replica(at, w, to);
        hr_pause_copy_state(at, w, to);
        if (at->worker[w])
            pause_range(at, w, to);
    }
    return true;
}

static enum hr_status prepare(struct hr_shared_state *shared)
{
    const double rate = shared->options->moving_rate;
    HR_TRY(hr_setup_take(shared, sizeof(struct setup)));
    ((struct setup *)shared->setup)->rate = rate > 0 ? rate : 0.9 / (double)shared->workers;
    return HR_OK;
}

static void describe(const struct hr_shared_state *shared, char *text, size_t size)
{
    snprintf(text, size, "sync-every %zu, moving-rate %g", shared->options->sync_every,
             ((const struct setup *)shared->setup)->rate);
}

/* --- the worker --- */

static uint64_t *steps_of(struct hr_worker *worker)
{
    return &range_of(worker)->steps;
}

/* A worker without a step since its last exchange has nothing to exchange, and asks for batches. */
static enum hr_status exchange(struct hr_rank *rank)
{
    struct hr_worker *worker = rank->worker;
    struct range *range = range_of(worker);
    struct hr_message reply;
    HR_TRY(hr_server_exchange(rank, range->steps ? HR_PUSHPULL : HR_PULL, range->took_ns, &reply));
    if (range->steps)
        hr_staleness_count(worker->shared, worker->rank);
    *range = (struct range){
        .next = reply.word[HR_REPLY_INDEX],
        .end = reply.word[HR_REPLY_INDEX] + reply.word[HR_REPLY_COUNT],
    };
    if (has_batches(worker))
        hr_stats_mark(worker->stats, range->next);
    return HR_OK;
}

static enum hr_status span(struct hr_rank *rank)
{
    struct hr_worker *worker = rank->worker;
    struct range *range = range_of(worker);
    HR_TRY(exchange(rank));
    while (has_batches(worker)) {
        worker->index = range->next++;
        HR_TRY(hr_rank_gradient(rank, worker->index, NULL));
        hr_update_replica(worker, worker->index);
        range->steps++;
        range->took_ns += worker->took_ns;
        worker->stats->updates++;
        HR_TRY(has_batches(worker) ? hr_rank_pass(rank) : exchange(rank));
    }
    return hr_server_cut(rank, range->next);
}

/* --- the shard --- */

static void draw_together(struct hr_shard *shard, size_t worker)
{
    struct hr_client *client = &shard->worker[worker];
    client->clock++;
    client->batches = 0;
    client->staleness = shard->taken.value = shard->version - client->read;
    hr_client_pushed(client);
    exchange_slice(shard, shard->shared->weights[worker] + shard->first, shard->weights);
    client->read = ++shard->version;
}

/* A worker that has just joined begins at the center. */
static void welcome(struct hr_shard *shard, size_t worker)
{
    hr_shard_copy_out(shard, worker);
    shard->worker[worker].read = shard->version;
    shard->worker[worker].fresh = false;
}

static void answer(struct hr_shard *shard, size_t worker, bool exchanges)
{
    struct hr_client *client = &shard->worker[worker];
    struct hr_message message = {.kind = exchanges || client->fresh ? HR_WEIGHTS : HR_RANGE};
    hr_shard_asks(shard, worker);
    if (exchanges)
        draw_together(shard, worker);
    else if (client->fresh)
        welcome(shard, worker);
    const uint64_t slowest = hr_ssp_slowest_clock(shard), clock = client->clock;
    if (shard->number == 0 &&
        hr_shard_hand_out(shard, worker, shard->shared->options->sync_every)) {
        message.word[HR_REPLY_INDEX] = client->batch;
        message.word[HR_REPLY_COUNT] = client->batches;
    }
    if (!exchanges)
        shard->taken.value = message.word[HR_REPLY_INDEX];
    message.word[HR_REPLY_SKEW] = clock > slowest ? clock - slowest : 0;
    hr_shard_reply(shard, worker, message);
}

static void take(struct hr_shard *shard, size_t worker)
{
    const struct hr_message message = hr_shard_next(shard, worker);
    if (message.kind == HR_PULL || message.kind == HR_PUSHPULL)
        answer(shard, worker, message.kind == HR_PUSHPULL);
    else
        hr_shard_end(shard, worker, message.kind);
}

const struct hr_strategy hr_strategy_elastic_averaging = {
    .name = "elastic-averaging",
    .guarantee = "each exchange with the center whole, once; staleness unbounded, measured",
    .options = (const char *const[]){"servers", "placement", "server-placement", "server-time",
                                     "sync-every", "moving-rate", "link", "topology", NULL},
    .rows = {HR_KEPT_SERVED, HR_KEPT_OWN, .since = steps_of},
    .order = hr_order_of_arrival,
    .prepare = prepare,
    .describe = describe,
    .bytes = hr_server_bytes,
    .init = hr_server_init,
    .worker_own = sizeof(struct range),
    .start = hr_server_start,
    .leave = hr_server_leave,
    .span = span,
    .enabled = hr_shard_enabled,
    .take = take,
    .pause = pause_all,
};
