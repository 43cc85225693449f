#include "virtual/simulator.h"

#include <stdlib.h>

#include "server/server.h"
#include "strategy/peers.h"

void hr_virtual_begin(struct hr_virtual_account *account, int64_t now_ps)
{
    account->since_ps = account->looked_ps = now_ps;
    account->under_way = 0;
    for (size_t i = 0; i < account->nmoving; i++)
        account->moving_ps[i] = 0;
}

void hr_virtual_spend(struct hr_virtual_account *account, enum hr_activity activity, int64_t ps)
{
    account->spent_ps[activity] += ps;
    account->account->spent_ns[activity] = account->spent_ps[activity] / 1000;
}

/* While the worker computes, since_ps is in the future, and nothing counts. */
static void count_moving(struct hr_virtual_account *account, int64_t now_ps)
{
    const int64_t looked = account->looked_ps;
    const int64_t since = looked > account->since_ps ? looked : account->since_ps;
    if (account->under_way && now_ps > since)
        account->moving_ps[0] += now_ps - since;
    account->looked_ps = now_ps;
}

/* A message between two workers has left, or arrived. */
static void virtual_move(struct hr_virtual_account *from, struct hr_virtual_account *to,
                         bool leaves, int64_t now_ps)
{
    count_moving(from, now_ps);
    count_moving(to, now_ps);
    from->under_way += leaves ? 1 : (size_t)-1;
    to->under_way += leaves ? 1 : (size_t)-1;
}

/* Book the time since since_ps as communicating and waiting. */
static void virtual_settle(struct hr_virtual_account *account, int64_t now_ps)
{
    const int64_t elapsed = now_ps - account->since_ps;
    int64_t moving = 0;
    count_moving(account, now_ps);
    for (size_t i = 0; i < account->nmoving; i++) {
        moving = account->moving_ps[i] > moving ? account->moving_ps[i] : moving;
        account->moving_ps[i] = 0;
    }
    moving = moving < elapsed ? moving : elapsed;
    hr_virtual_spend(account, HR_COMMUNICATE, moving);
    hr_virtual_spend(account, HR_WAIT, elapsed - moving);
    account->since_ps = now_ps;
}

/* --- events --- */

/* Of one worker alone? All others are of a term. */
static bool is_of_life(enum hr_event_kind kind)
{
    return kind == HR_EVENT_COMPUTED || kind == HR_EVENT_REPLIED || kind == HR_EVENT_DEADLINE ||
           kind == HR_EVENT_FINAL;
}

static bool is_of_term(enum hr_event_kind kind)
{
    return kind == HR_EVENT_ARRIVED || kind == HR_EVENT_LANDED || kind == HR_EVENT_SERVED ||
           kind == HR_EVENT_SUMMED || kind == HR_EVENT_DELIVERED;
}

uint64_t hr_simulator_event(const struct hr_simulator *sim, enum hr_event_kind kind, size_t worker,
                            size_t shard)
{
    const uint32_t stamp = is_of_life(kind) ? sim->worker[worker].life : sim->term;
    return (uint64_t)kind | (uint64_t)worker << 4 | (uint64_t)shard << 16 | (uint64_t)stamp << 32;
}

bool hr_simulator_is_over(const struct hr_simulator *sim, const struct hr_happening *what)
{
    if (is_of_life(what->kind))
        return what->stamp != sim->worker[what->worker].life;
    if (what->kind == HR_EVENT_SERVED && !sim->station[what->shard].busy) /* it has died */
        return true;
    return is_of_term(what->kind) && what->stamp != sim->term;
}

enum hr_status hr_simulator_push(struct hr_simulator *sim, int64_t time_ps, uint64_t what)
{
    if (time_ps >= HR_PS_NEVER)
        return hr_fail(HR_E_USAGE, "this run would take more than 53 days of virtual time");
    return hr_events_push(&sim->events, time_ps, what);
}

/* --- a rank's time, and its end --- */

struct hr_spans *hr_simulator_spans(const struct hr_simulator *sim, size_t rank)
{
    return sim->spans ? &sim->spans[rank] : NULL;
}

static void report(const struct hr_simulator *sim, size_t rank, enum hr_span_kind kind,
                   int64_t begin_ps, int64_t end_ps)
{
    hr_spans_add(hr_simulator_spans(sim, rank), kind, HR_SPAN_WHOLE, begin_ps / 1000,
                 end_ps / 1000);
}

void hr_simulator_settle(struct hr_simulator *sim, size_t rank)
{
    struct hr_virtual_account *account = &sim->worker[rank].account;
    const int64_t since_ps = account->since_ps, moved_ps = account->spent_ps[HR_COMMUNICATE];
    const int64_t now_ps = hr_simulator_now(sim);
    if (sim->worker[rank].absent)
        return;
    virtual_settle(account, now_ps);
    /* The two are counted, not followed: told as if what came, came last. */
    const int64_t waited_ps = now_ps - (account->spent_ps[HR_COMMUNICATE] - moved_ps);
    report(sim, rank, HR_SPAN_WAIT, since_ps, waited_ps);
    report(sim, rank, HR_SPAN_COMMUNICATE, waited_ps, now_ps);
}

/* Its gradient was booked beforehand: stall, then loading, then computing. Take back what was still
 * to come. */
static void stop_computing(struct hr_simulator *sim, struct hr_virtual_worker *own)
{
    const struct {
        enum hr_activity activity;
        int64_t ps;
    } part[] = {{HR_COMPUTE, own->compute_ps}, {HR_LOAD, own->load_ps}, {HR_WAIT, own->stall_ps}};
    const int64_t now = hr_simulator_now(sim);
    for (size_t i = 0; i < sizeof part / sizeof *part && own->account.since_ps > now; i++) {
        const int64_t left = own->account.since_ps - now;
        const int64_t less = left < part[i].ps ? left : part[i].ps;
        hr_virtual_spend(&own->account, part[i].activity, -less);
        own->account.since_ps -= less;
    }
}

static void leave_worker(struct hr_simulator *sim, size_t rank)
{
    struct hr_virtual_worker *own = &sim->worker[rank];
    stop_computing(sim, own);
    hr_spans_stop(hr_simulator_spans(sim, rank), hr_simulator_now(sim) / 1000);
    hr_simulator_settle(sim, rank);
    own->absent = true;
    own->coming = 0;
    own->life++;
}

void hr_simulator_leave_exchange(struct hr_simulator *sim, size_t rank)
{
    if (sim->serial.ranks[rank].up) /* else it has no memory of its own any more */
        hr_stragglers_leave(&sim->serial.worker[rank].worker, hr_simulator_now(sim) / 1000);
}

static void leave_station(struct hr_virtual_station *station)
{
    station->busy = false;
    station->inbox.n = 0;
}

enum hr_status hr_simulator_die(struct hr_simulator *sim, size_t rank)
{
    const size_t workers = sim->serial.shared->workers;
    if (rank < workers)
        leave_worker(sim, rank);
    if (rank >= workers || hr_owns_shard(sim->serial.shared, rank))
        leave_station(&sim->station[rank < workers ? rank : rank - workers]);
    hr_conditions_killed(sim->serial.drive->job, rank);
    HR_TRY(hr_serial_die(&sim->serial, rank));
    return hr_simulator_push(sim, hr_ps_add(hr_simulator_now(sim), HR_NOTICE_PS),
                             hr_simulator_event(sim, HR_EVENT_NOTICED, rank, 0));
}

/* --- memory --- */

static size_t shards_of(const struct hr_shared_state *shared)
{
    return shared->servers ? shared->servers : 1;
}

size_t hr_simulator_bytes(const struct hr_shared_state *shared)
{
    const struct hr_simulator *sim = NULL;
    const size_t shards = shards_of(shared), kinds = shards + 1;
    const size_t of_station =
        sizeof *sim->station + hr_simulator_inbox_room(shared) * sizeof *sim->queue;
    const size_t of_worker = sizeof *sim->worker + kinds * sizeof *sim->moving_ps;
    return shards * of_station + shared->workers * of_worker;
}

static enum hr_status take_memory(struct hr_simulator *sim, const struct hr_shared_state *shared)
{
    const size_t shards = shards_of(shared), stations = shards;
    const size_t slots = hr_simulator_inbox_room(shared), kinds = shards + 1;
    sim->station = calloc(stations, sizeof *sim->station);
    sim->worker = calloc(shared->workers, sizeof *sim->worker);
    sim->moving_ps = calloc(shared->workers * kinds, sizeof *sim->moving_ps);
    sim->queue = calloc(stations * slots, sizeof *sim->queue);
    if (!sim->station || !sim->worker || !sim->moving_ps || !sim->queue)
        return hr_fail(HR_E_NOMEM, "no memory to simulate %zu workers", shared->workers);
    for (size_t s = 0; s < stations; s++)
        sim->station[s].inbox.sender = sim->queue + s * slots;
    for (size_t r = 0; r < shared->workers; r++)
        sim->worker[r].account =
            (struct hr_virtual_account){.account = &shared->stats[r].account,
                                        .moving_ps = sim->moving_ps + r * kinds,
                                        .nmoving = kinds};
    return HR_OK;
}

enum hr_status hr_simulator_open(struct hr_simulator *sim, const struct hr_drive *drive)
{
    HR_TRY(take_memory(sim, drive->job->shared));
    HR_TRY(hr_ahead_list(drive->job->shared, drive->job->model, &sim->part, &sim->nparts));
    return hr_message_queue_open(&sim->messages, &drive->job->conditions.topology,
                                 drive->job->shared->group_options.group_size);
}

void hr_simulator_close(struct hr_simulator *sim)
{
    hr_message_queue_close(&sim->messages);
    hr_events_fini(&sim->events);
    free(sim->station);
    free(sim->worker);
    free(sim->spans);
    free(sim->moving_ps);
    free(sim->queue);
    free(sim->part);
}

/* --- messages --- */

/* A message between two workers has left, or arrived. */
static void move_between(struct hr_simulator *sim, size_t from, size_t to, bool leaves)
{
    virtual_move(&sim->worker[from].account, &sim->worker[to].account, leaves,
                 hr_simulator_now(sim));
}

/* How long a worker's message is under way while it does not compute. */
static int64_t moves_ps(const struct hr_simulator *sim, size_t worker,
                        const struct hr_passage *passage)
{
    const int64_t since = sim->worker[worker].account.since_ps; /* it computes until then */
    const int64_t from = passage->start_ps > since ? passage->start_ps : since;
    return passage->arrival_ps > from ? passage->arrival_ps - from : 0;
}

/* A message is on its way: when it arrives, and when its links are free for others. */
static enum hr_status departed(struct hr_simulator *sim, const struct hr_departure *departure)
{
    const struct hr_happening what = hr_event_unpack(departure->tag);
    const struct hr_passage *passage = &departure->passage;
    if (what.kind == HR_EVENT_DELIVERED)
        move_between(sim, what.shard, what.worker, true);
    else
        sim->worker[what.worker].account.moving_ps[what.shard] +=
            moves_ps(sim, what.worker, passage);
    if (passage->free_ps > hr_simulator_now(sim))
        HR_TRY(hr_simulator_push(sim, passage->free_ps,
                                 hr_simulator_event(sim, HR_EVENT_FREED, 0, 0)));
    return hr_simulator_push(sim, passage->arrival_ps, departure->tag);
}

enum hr_status hr_virtual_depart(struct hr_simulator *sim)
{
    for (;;) {
        struct hr_departure departure;
        HR_TRY(hr_message_queue_depart(&sim->messages, hr_simulator_now(sim), &departure));
        if (!departure.left)
            return HR_OK;
        HR_TRY(departed(sim, &departure));
    }
}

static void count(struct hr_simulator *sim, const struct hr_posted *what)
{
    const struct hr_shared_state *shared = sim->serial.shared;
    const bool reply = what->from >= shared->workers;
    if (reply)
        sim->worker[what->to].coming++;
    else
        sim->worker[what->from].sent++;
}

static struct hr_parcel parcel_of(const struct hr_simulator *sim, const struct hr_posted *what)
{
    const struct hr_shared_state *shared = sim->serial.shared;
    const size_t workers = shared->workers;
    const bool request = what->to >= workers, reply = what->from >= workers;
    return (struct hr_parcel){
        .from = reply ? hr_shard_rank(shared, what->from - workers) : what->from,
        .to = hr_party_rank(shared, what->to),
        .bytes = what->bytes,
        .tag = request ? hr_simulator_event(sim, what->part ? HR_EVENT_LANDED : HR_EVENT_ARRIVED,
                                            what->from, what->to - workers)
               : reply ? hr_simulator_event(sim, HR_EVENT_REPLIED, what->to, what->from - workers)
                       : hr_simulator_event(sim, HR_EVENT_DELIVERED, what->to, what->from),
    };
}

/* true: a message between two workers, which we deliver when it arrives. Messages to or from a
 * shard are in its ring already; the driver makes the receiver look when they arrive. */
static bool posted(void *arg, const struct hr_posted *what)
{
    struct hr_simulator *sim = arg;
    const size_t workers = sim->serial.shared->workers;
    const struct hr_parcel parcel = parcel_of(sim, what);
    count(sim, what);
    enum hr_status status = hr_message_queue_post(&sim->messages, &parcel);
    if (status == HR_OK)
        status = hr_virtual_depart(sim);
    if (sim->status == HR_OK)
        sim->status = status;
    return what->from < workers && what->to < workers;
}

void hr_virtual_deliver(struct hr_simulator *sim, size_t from, size_t to)
{
    move_between(sim, from, to, false);
    sim->worker[from].sent--;
    hr_peers_deliver(sim->serial.shared, from, to);
}

/* --- sums --- */

static void summed(void *arg, const struct hr_local_group_sum *what)
{
    struct hr_simulator *sim = arg;
    const struct hr_active *active = sim->serial.shared->active;
    int64_t sum_ps;
    enum hr_status status = hr_message_queue_all_reduce(&sim->messages, what, active->rank,
                                                        active->n, &sum_ps, &sim->sum_moving_ps);
    if (status == HR_OK)
        status = hr_simulator_push(sim, hr_ps_add(hr_simulator_now(sim), sum_ps),
                                   hr_simulator_event(sim, HR_EVENT_SUMMED, 0, 0));
    if (sim->status == HR_OK)
        sim->status = status;
}

void hr_virtual_release(struct hr_simulator *sim)
{
    const struct hr_active *active = sim->serial.shared->active;
    for (size_t s = 0; sim->sum_moving_ps && s < active->n; s++)
        sim->worker[active->rank[s]].account.moving_ps[0] += sim->sum_moving_ps[s];
    hr_local_group_release(sim->serial.drive->job->local);
}

void hr_virtual_traffic_begin(struct hr_simulator *sim)
{
    const struct hr_train_job *job = sim->serial.drive->job;
    job->shared->posted = posted;
    job->shared->posted_arg = sim;
    hr_local_group_on_sum(job->local, summed, sim);
}
