#include "virtual/simulator.h"

#include "server/server.h"
#include "strategy/peers.h"

/* --- messages --- */

/* A message between two workers has left, or arrived. */
static void move_between(struct hr_simulator *sim, size_t from, size_t to, bool leaves)
{
    hr_virtual_move(&sim->seat[from].account, &sim->seat[to].account, leaves,
                    hr_simulator_now(sim));
}

/* How long a worker's message is under way while it does not compute. */
static int64_t moves_ps(const struct hr_simulator *sim, size_t worker,
                        const struct hr_passage *passage)
{
    const int64_t since = sim->seat[worker].account.since_ps; /* it computes until then */
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
        sim->seat[what.worker].account.moving_ps[what.shard] += moves_ps(sim, what.worker, passage);
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
    const struct hr_shared_state *shared = sim->play.shared;
    const bool reply = what->from >= shared->workers;
    if (reply)
        sim->seat[what->to].coming++;
    else
        sim->seat[what->from].sent++;
}

static struct hr_parcel parcel_of(const struct hr_simulator *sim, const struct hr_posted *what)
{
    const struct hr_shared_state *shared = sim->play.shared;
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
    const size_t workers = sim->play.shared->workers;
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
    sim->seat[from].sent--;
    hr_peers_deliver(sim->play.shared, from, to);
}

/* --- sums --- */

static void summed(void *arg, const struct hr_local_group_sum *what)
{
    struct hr_simulator *sim = arg;
    const struct hr_seats *seats = sim->play.shared->seats;
    int64_t sum_ps;
    enum hr_status status = hr_message_queue_all_reduce(&sim->messages, what, seats->rank, seats->n,
                                                        &sum_ps, &sim->sum_moving_ps);
    if (status == HR_OK)
        status = hr_simulator_push(sim, hr_ps_add(hr_simulator_now(sim), sum_ps),
                                   hr_simulator_event(sim, HR_EVENT_SUMMED, 0, 0));
    if (sim->status == HR_OK)
        sim->status = status;
}

void hr_virtual_release(struct hr_simulator *sim)
{
    const struct hr_seats *seats = sim->play.shared->seats;
    for (size_t s = 0; sim->sum_moving_ps && s < seats->n; s++)
        sim->seat[seats->rank[s]].account.moving_ps[0] += sim->sum_moving_ps[s];
    hr_local_group_release(sim->play.drive->job->local);
}

void hr_virtual_traffic_begin(struct hr_simulator *sim)
{
    const struct hr_train_job *job = sim->play.drive->job;
    job->shared->posted = posted;
    job->shared->posted_arg = sim;
    hr_local_group_on_sum(job->local, summed, sim);
}
