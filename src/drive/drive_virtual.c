/* The driver for virtual time: a heap of events, ordered by (time, insertion number).
 *
 *   Worker   accepts at t: its gradient takes until t + d, d from a model (conditions.h). The pool
 *            really computes it at any moment before that: d is the lookahead.
 *   Message  is seen when it arrives, at a time that the links decide (message_queue.h).
 *   Shard    takes messages that have arrived, one by one, first come first served among those
 *            it may take; it is busy for --server-time, at whose end come effect and reply.
 *   Colocated  a shard takes nothing while its worker computes. When the worker begins to wait, the
 *            shard takes what has arrived and what arrives from then on; the worker continues
 *            when its replies are there and its shard has nothing left that it may take.
 *   Sum      of all replicas: made when the last has come, seen when the links have carried it.
 *
 * Nothing here looks at the machine's clock, so the run is the same again, bit for bit, on any
 * number of processors. Evaluations and checkpoints take no virtual time.
 */
#include <stdlib.h>
#include <string.h>

#include "netsim/events.h"
#include "strategy/server.h"
#include "drive/message_queue.h"
#include "drive/play_cut.h"
#include "drive/virtual_account.h"
#include "drive/virtual_inbox.h"

enum event { COMPUTED, ARRIVED, REPLIED, SERVED, SUMMED, FREED, DELIVERED };

/* A shard. */
struct station {
    struct hr_virtual_inbox inbox; /* room for (workers * HR_SERVER_SLOTS) */
    bool busy;
    size_t serving;
    uint64_t served;
};

/* A worker. */
struct seat {
    struct hr_virtual_account account;
    size_t coming;   /* messages of shards on their way to it */
    int64_t took_ps; /* its gradient, with stalls and loading */
};

struct simulator {
    struct hr_play play;
    struct hr_events events;
    struct hr_message_queue messages;
    struct station *station;                     /* (servers) owned, with what they point to */
    struct seat *seat;                           /* (workers) owned */
    int64_t *moving_ps;                          /* (workers, max(servers, 1) + 1) owned */
    uint32_t *queue;                             /* owned */
    unsigned char enabled[HR_LOCAL_GROUP_RANKS]; /* (workers) */
    const int64_t *sum_moving_ps; /* (workers) of the sum under way, borrowed; or NULL */
    enum hr_status status;        /* first error of a callback */
};

static int64_t now_of(const struct simulator *sim)
{
    return sim->play.drive->now_ps;
}

static uint64_t what_of(enum event event, size_t worker, size_t shard)
{
    return (uint64_t)event | (uint64_t)worker << 3 | (uint64_t)shard << 32;
}

static enum hr_status push(struct simulator *sim, int64_t time_ps, enum event event, size_t worker,
                           size_t shard)
{
    if (time_ps >= HR_PS_NEVER)
        return hr_fail(HR_E_USAGE, "this run would take more than 53 days of virtual time");
    return hr_events_push(&sim->events, time_ps, what_of(event, worker, shard));
}

/* --- messages and sums on their way --- */

/* A message between two workers has left, or arrived. */
static void move_between(struct simulator *sim, size_t from, size_t to, bool leaves)
{
    hr_virtual_move(&sim->seat[from].account, &sim->seat[to].account, leaves, now_of(sim));
}

/* A message is on its way: when it arrives, and when its links are free for others. */
static enum hr_status departed(struct simulator *sim, const struct hr_departure *departure)
{
    const size_t worker = (departure->tag & UINT32_MAX) >> 3, shard = departure->tag >> 32;
    const struct hr_passage *passage = &departure->passage;
    if ((departure->tag & 7) == DELIVERED)
        move_between(sim, shard, worker, true);
    else
        sim->seat[worker].account.moving_ps[shard] += passage->arrival_ps - passage->start_ps;
    if (passage->free_ps > now_of(sim))
        HR_TRY(push(sim, passage->free_ps, FREED, 0, 0));
    return push(sim, passage->arrival_ps, (enum event)(departure->tag & 7), worker, shard);
}

/* Send all messages whose links are free. */
static enum hr_status depart(struct simulator *sim)
{
    for (;;) {
        struct hr_departure departure;
        HR_TRY(hr_message_queue_depart(&sim->messages, now_of(sim), &departure));
        if (!departure.left)
            return HR_OK;
        HR_TRY(departed(sim, &departure));
    }
}

/* true: a message between two workers, which we deliver when it arrives. Messages to or from a
 * shard are in its ring already; the driver makes the receiver look when they arrive. */
static bool posted(void *arg, const struct hr_posted *what)
{
    struct simulator *sim = arg;
    const size_t workers = sim->play.shared->workers;
    const bool request = what->to >= workers, reply = what->from >= workers;
    const struct hr_parcel parcel = {
        .from = hr_party_rank(sim->play.shared, what->from),
        .to = hr_party_rank(sim->play.shared, what->to),
        .bytes = what->bytes,
        .tag = request ? what_of(ARRIVED, what->from, what->to - workers)
               : reply ? what_of(REPLIED, what->to, what->from - workers)
                       : what_of(DELIVERED, what->to, what->from),
    };
    if (reply)
        sim->seat[what->to].coming++;
    enum hr_status status = hr_message_queue_post(&sim->messages, &parcel);
    if (status == HR_OK)
        status = depart(sim);
    if (sim->status == HR_OK)
        sim->status = status;
    return !request && !reply;
}

static void summed(void *arg, const struct hr_local_group_sum *what)
{
    struct simulator *sim = arg;
    int64_t sum_ps;
    enum hr_status status = hr_message_queue_all_reduce(
        &sim->messages, what, sim->play.shared->workers, &sum_ps, &sim->sum_moving_ps);
    if (status == HR_OK)
        status = push(sim, hr_ps_add(now_of(sim), sum_ps), SUMMED, 0, 0);
    if (sim->status == HR_OK)
        sim->status = status;
}

/* --- a shard --- */

/* Move the first message that may be taken out of the queue; false when there is none. */
static bool next_in_queue(struct simulator *sim, size_t shard)
{
    struct station *station = &sim->station[shard];
    if (!station->inbox.n || !hr_play_may_take(&sim->play, shard))
        return false;
    memset(sim->enabled, 0, sim->play.shared->workers);
    for (size_t i = 0; i < station->inbox.n; i++)
        sim->enabled[station->inbox.sender[i]] = 1;
    sim->play.shared->strategy->enabled(&sim->play.shard[shard], sim->enabled);
    return hr_virtual_inbox_next(&station->inbox, sim->enabled, &station->serving);
}

static void take(struct simulator *sim, size_t shard)
{
    struct station *station = &sim->station[shard];
    station->busy = false;
    hr_play_take(&sim->play, shard, station->serving);
}

/* Take messages until one takes time. */
static enum hr_status serve(struct simulator *sim, size_t shard)
{
    const struct hr_shared_state *shared = sim->play.shared;
    struct station *station = &sim->station[shard];
    while (!station->busy && next_in_queue(sim, shard)) {
        const int64_t ps = hr_conditions_serve_ps(sim->play.drive->job, shard, station->served++);
        sim->seat[station->serving].account.moving_ps[shard] += ps;
        if (shared->colocated)
            sim->seat[shard].account.moving_ps[shared->servers] += ps; /* for all */
        if (ps > 0) {
            station->busy = true;
            return push(sim, hr_ps_add(now_of(sim), ps), SERVED, 0, shard);
        }
        take(sim, shard);
    }
    return HR_OK;
}

/* --- a worker --- */

static void account(struct simulator *sim, size_t rank)
{
    hr_virtual_settle(&sim->seat[rank].account, now_of(sim));
}

static enum hr_status compute(struct simulator *sim, size_t rank)
{
    struct hr_drive *drive = sim->play.drive;
    struct seat *seat = &sim->seat[rank];
    const uint64_t step = sim->play.worker[rank].worker.steps;
    const int64_t stall_ps = hr_conditions_stall_ps(drive->job, rank, step);
    const int64_t load_ps = hr_conditions_load_ps(drive->job, rank);
    const int64_t compute_ps = hr_conditions_compute_ps(drive->job, rank, step, 0);
    seat->took_ps = hr_ps_add(compute_ps, hr_ps_add(load_ps, stall_ps));
    const int64_t due = hr_ps_add(now_of(sim), seat->took_ps);
    HR_TRY(push(sim, due, COMPUTED, rank, 0));
    seat->account.since_ps = due;
    hr_virtual_spend(&seat->account, HR_WAIT, stall_ps);
    hr_virtual_spend(&seat->account, HR_LOAD, load_ps);
    hr_virtual_spend(&seat->account, HR_COMPUTE, compute_ps);
    return hr_play_compute(&sim->play, rank, due);
}

/* Colocated, shard `rank` is the worker's. */
static bool owns_shard(const struct simulator *sim, size_t rank)
{
    return sim->play.shared->colocated && rank < sim->play.shared->servers;
}

/* Let a worker act until it waits for something; also for its own shard to finish a message. */
static enum hr_status act(struct simulator *sim, size_t rank)
{
    struct hr_play *play = &sim->play;
    const enum hr_play_state *state = &play->state[rank];
    bool idle = false;
    const bool serves = owns_shard(sim, rank) && sim->station[rank].busy;
    while (*state != HR_HAS && *state != HR_ARRIVED && !idle && !serves) {
        const bool asks = *state == HR_ASKED || *state == HR_ARRIVING;
        if ((asks && sim->seat[rank].coming) || !hr_play_may_act(play, rank))
            return HR_OK;
        const bool asked = *state == HR_ASKED;
        HR_TRY(hr_play_act(play, rank, &idle));
        if (asked && !idle)
            account(sim, rank);
    }
    return *state == HR_HAS ? compute(sim, rank) : HR_OK;
}

/* Let a worker without a task act as far as it can, and then its shard. */
static enum hr_status look(struct simulator *sim, size_t rank)
{
    if (sim->play.state[rank] == HR_HAS)
        return HR_OK;
    HR_TRY(act(sim, rank));
    return owns_shard(sim, rank) ? serve(sim, rank) : HR_OK;
}

static enum hr_status computed(struct simulator *sim, size_t rank)
{
    struct seat *seat = &sim->seat[rank];
    bool idle;
    sim->play.worker[rank].worker.took_ns = seat->took_ps / 1000;
    seat->account.since_ps = now_of(sim);
    HR_TRY(hr_play_act(&sim->play, rank, &idle)); /* offer */
    return look(sim, rank);
}

static enum hr_status look_at_all(struct simulator *sim)
{
    for (size_t r = 0; r < sim->play.shared->workers; r++) {
        HR_TRY(look(sim, r));
        HR_TRY(hr_play_tick(&sim->play)); /* a worker may have sent to a thousand shards */
    }
    return HR_OK;
}

static enum hr_status release(struct simulator *sim)
{
    const size_t workers = sim->play.shared->workers;
    for (size_t r = 0; sim->sum_moving_ps && r < workers; r++)
        sim->seat[r].account.moving_ps[0] += sim->sum_moving_ps[r];
    hr_local_group_release(sim->play.drive->job->local);
    return look_at_all(sim);
}

static enum hr_status arrived(struct simulator *sim, size_t worker, size_t shard)
{
    struct station *station = &sim->station[shard];
    HR_ASSERT(station->inbox.n < sim->play.shared->workers * HR_SERVER_SLOTS);
    hr_virtual_inbox_add(&station->inbox, worker);
    return serve(sim, shard);
}

/* --- the run --- */

static enum hr_status happen(struct simulator *sim, uint64_t what)
{
    const size_t worker = (what & UINT32_MAX) >> 3, shard = what >> 32;
    switch ((enum event)(what & 7)) {
    case COMPUTED:
        return computed(sim, worker);
    case ARRIVED:
        return arrived(sim, worker, shard);
    case REPLIED:
        sim->seat[worker].coming--;
        return look(sim, worker);
    case SERVED:
        take(sim, shard);
        HR_TRY(serve(sim, shard));
        return owns_shard(sim, shard) ? look(sim, shard) : HR_OK;
    case SUMMED:
        return release(sim);
    case FREED:
        return depart(sim);
    case DELIVERED:
        move_between(sim, shard, worker, false);
        sim->play.shared->strategy->deliver(sim->play.shared, shard, worker);
        return look(sim, worker);
    }
    return HR_OK;
}

static enum hr_status begin(struct simulator *sim)
{
    for (size_t r = 0; r < sim->play.shared->workers; r++)
        sim->seat[r].account.since_ps = now_of(sim);
    HR_TRY(look_at_all(sim));
    return sim->status;
}

/* --max-seconds is of virtual time, so that it stops at the same update again. */
static void stop_in_time(const struct hr_drive *drive)
{
    const double most = drive->launcher->max_seconds;
    if (most > 0 && hr_ps_seconds(drive->now_ps) >= most &&
        hr_atom32_load_relaxed(drive->launcher->stop) == HR_STOP_NOT)
        hr_atom32_store_release(drive->launcher->stop, HR_STOP_DONE);
}

static enum hr_status simulate(struct simulator *sim)
{
    struct hr_drive *drive = sim->play.drive;
    uint64_t what;
    HR_TRY(begin(sim));
    for (;;) {
        if (hr_play_at_cut(&sim->play)) {
            for (size_t r = 0; r < drive->job->shared->workers; r++)
                account(sim, r); /* for the last to come */
            HR_TRY(hr_play_cut(&sim->play));
            if (drive->leader->cuts.cut->halt)
                return HR_OK;
            HR_TRY(begin(sim));
            continue;
        }
        if (!hr_events_pop(&sim->events, &drive->now_ps, &what))
            return hr_fail(HR_E_FAILED, "nothing can happen any more, and the run is not over");
        stop_in_time(drive);
        HR_TRY(happen(sim, what));
        HR_TRY(sim->status);
        HR_TRY(hr_play_tick(&sim->play));
    }
}

static enum hr_status take_memory(struct simulator *sim, const struct hr_shared_state *shared)
{
    const size_t shards = shared->servers ? shared->servers : 1;
    const size_t slots = shared->workers * HR_SERVER_SLOTS, kinds = shards + 1;
    sim->station = calloc(shards, sizeof *sim->station);
    sim->seat = calloc(shared->workers, sizeof *sim->seat);
    sim->moving_ps = calloc(shared->workers * kinds, sizeof *sim->moving_ps);
    sim->queue = calloc(shards * slots, sizeof *sim->queue);
    if (!sim->station || !sim->seat || !sim->moving_ps || !sim->queue)
        return hr_fail(HR_E_NOMEM, "no memory to simulate %zu workers", shared->workers);
    for (size_t s = 0; s < shards; s++)
        sim->station[s].inbox.sender = sim->queue + s * slots;
    for (size_t r = 0; r < shared->workers; r++)
        sim->seat[r].account = (struct hr_virtual_account){.account = &shared->stats[r].account,
                                                           .moving_ps = sim->moving_ps + r * kinds,
                                                           .nmoving = kinds};
    return HR_OK;
}

static enum hr_status set_up(struct simulator *sim, struct hr_drive *drive)
{
    HR_TRY(take_memory(sim, drive->job->shared));
    HR_TRY(hr_message_queue_open(&sim->messages, &drive->job->conditions.topology,
                                 drive->job->shared->group_options.group_size));
    drive->job->shared->posted = posted;
    drive->job->shared->posted_arg = sim;
    hr_local_group_on_sum(drive->job->local, summed, sim);
    return hr_play_start(&sim->play, drive);
}

enum hr_status hr_drive_virtual(struct hr_drive *drive)
{
    struct simulator sim = {.play = {.drive = drive}};
    drive->now_ps = 0;
    enum hr_status status = set_up(&sim, drive);
    if (status == HR_OK)
        status = simulate(&sim);
    drive->job->shared->posted = NULL; /* workers say that they are done when they stop */
    hr_play_stop(&sim.play);
    hr_message_queue_close(&sim.messages);
    hr_events_fini(&sim.events);
    free(sim.station);
    free(sim.seat);
    free(sim.moving_ps);
    free(sim.queue);
    return status;
}
