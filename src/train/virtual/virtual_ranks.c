#include "virtual/virtual_ranks.h"

#include <math.h>
#include <string.h>

#include "server/server.h"
#include "server/server_worker.h"
#include "worker/staged.h"

/* --- a shard --- */

/* Move the first message that may be taken out of the queue; false when there is none. */
static bool next_in_queue(struct hr_simulator *sim, size_t owner)
{
    struct hr_virtual_station *station = &sim->station[owner];
    if (!station->inbox.n || !hr_play_may_take(&sim->play, owner))
        return false;
    memset(sim->enabled, 0, sim->play.shared->workers);
    for (size_t i = 0; i < station->inbox.n; i++)
        sim->enabled[station->inbox.sender[i]] = 1;
    sim->play.shared->strategy->enabled(&sim->play.shard[owner], sim->enabled);
    return hr_virtual_inbox_next(&station->inbox, sim->enabled, &station->serving);
}

static void take(struct hr_simulator *sim, size_t owner)
{
    struct hr_virtual_station *station = &sim->station[owner];
    const struct hr_shared_state *shared = sim->play.shared;
    station->busy = false;
    hr_play_take(&sim->play, owner, station->serving);
    if (!shared->colocated)
        hr_spans_serve(hr_simulator_spans(sim, shared->workers + owner), station->serving,
                       sim->play.shard[owner].taken.kind, station->began_ps / 1000,
                       hr_simulator_now(sim) / 1000);
    if (sim->play.shard[owner].taken.kind == HR_GONE) /* with all that it had sent */
        hr_virtual_inbox_drop(&station->inbox, station->serving);
}

/* Take messages until one takes time. */
static enum hr_status serve(struct hr_simulator *sim, size_t owner)
{
    const struct hr_shared_state *shared = sim->play.shared;
    struct hr_virtual_station *station = &sim->station[owner];
    for (;;) {
        if (station->busy || !next_in_queue(sim, owner))
            return HR_OK;
        if (hr_play_is_killed(&sim->play, shared->workers + owner))
            return hr_simulator_die(sim, shared->workers + owner);
        const int64_t ps = hr_conditions_serve_ps(sim->play.drive->job, owner, station->served++);
        station->began_ps = hr_simulator_now(sim);
        sim->seat[station->serving].account.moving_ps[owner] += ps;
        if (shared->colocated)
            sim->seat[owner].account.moving_ps[shared->servers] += ps; /* for all */
        if (ps > 0) {
            station->busy = true;
            return hr_simulator_push(sim, hr_ps_add(hr_simulator_now(sim), ps),
                                     hr_simulator_event(sim, HR_EVENT_SERVED, 0, owner));
        }
        take(sim, owner);
    }
}

enum hr_status hr_virtual_input(struct hr_simulator *sim, size_t owner, size_t worker)
{
    struct hr_virtual_station *station = &sim->station[owner];
    if (!hr_play_lives(&sim->play, hr_shard_rank(sim->play.shared, owner)))
        return HR_OK;
    HR_ASSERT(station->inbox.n < hr_simulator_inbox_room(sim->play.shared));
    hr_virtual_inbox_add(&station->inbox, worker);
    return serve(sim, owner);
}

enum hr_status hr_virtual_arrive(struct hr_simulator *sim, size_t shard, size_t worker)
{
    sim->seat[worker].sent--;
    return hr_virtual_input(sim, shard, worker);
}

/* --- a worker --- */

/* Colocated, shard `rank` is the worker's. */
static bool owns_shard(const struct hr_simulator *sim, size_t rank)
{
    return sim->play.shared->colocated && rank < sim->play.shared->servers;
}

/* Its gradient, with what comes before it. */
static int64_t took_ps(const struct hr_virtual_seat *seat)
{
    return hr_ps_add(seat->compute_ps, hr_ps_add(seat->load_ps, seat->stall_ps));
}

/* It begins now, and is booked beforehand. */
static void tell_gradient(struct hr_simulator *sim, size_t rank)
{
    const struct hr_virtual_seat *seat = &sim->seat[rank];
    struct hr_spans *spans = hr_simulator_spans(sim, rank);
    const int64_t now_ps = hr_simulator_now(sim), awake_ps = hr_ps_add(now_ps, seat->stall_ps),
                  loaded_ps = hr_ps_add(awake_ps, seat->load_ps),
                  computed_ps = hr_ps_add(loaded_ps, seat->compute_ps);
    hr_spans_step(spans, sim->play.task[rank].index, now_ps / 1000);
    hr_spans_add(spans, HR_SPAN_WAIT, HR_SPAN_STALL, now_ps / 1000, awake_ps / 1000);
    hr_spans_add(spans, HR_SPAN_LOAD, HR_SPAN_WHOLE, awake_ps / 1000, loaded_ps / 1000);
    hr_spans_add(spans, HR_SPAN_COMPUTE, HR_SPAN_WHOLE, loaded_ps / 1000, computed_ps / 1000);
}

/* When parts of its gradient, which begins now, are there; before it is. */
static enum hr_status plan_parts(struct hr_simulator *sim, size_t rank)
{
    const struct hr_virtual_seat *seat = &sim->seat[rank];
    const int64_t begins =
        hr_ps_add(hr_simulator_now(sim), hr_ps_add(seat->load_ps, seat->stall_ps));
    for (size_t i = 0; i < sim->nparts; i++) {
        const int64_t ps = (int64_t)ceil((double)seat->compute_ps * sim->part[i].share);
        const int64_t at = hr_ps_add(begins, ps < seat->compute_ps ? ps : seat->compute_ps);
        HR_TRY(hr_simulator_push(sim, at, hr_simulator_event(sim, HR_EVENT_FINAL, rank, i)));
    }
    return HR_OK;
}

void hr_virtual_go_ahead(struct hr_simulator *sim, size_t rank, size_t part)
{
    struct hr_worker *worker = &sim->play.worker[rank].worker;
    if (sim->play.state[rank] == HR_HAS)
        worker->hooks->final(worker, sim->part[part].offset);
}

static enum hr_status compute(struct hr_simulator *sim, size_t rank)
{
    const struct hr_train_job *job = sim->play.drive->job;
    struct hr_virtual_seat *seat = &sim->seat[rank];
    const uint64_t step = sim->play.worker[rank].worker.steps;
    if (hr_play_is_killed(&sim->play, rank))
        return hr_simulator_die(sim, rank);
    seat->stall_ps = hr_conditions_stall_ps(job, rank, step);
    seat->load_ps = hr_conditions_load_ps(job, rank);
    if (job->timer)
        HR_TRY(hr_staged_compute_ps(job, rank, step, &seat->compute_ps));
    else
        seat->compute_ps = hr_conditions_compute_ps(job, rank, step, 0);
    const int64_t due = hr_ps_add(hr_simulator_now(sim), took_ps(seat));
    HR_TRY(plan_parts(sim, rank));
    HR_TRY(hr_simulator_push(sim, due, hr_simulator_event(sim, HR_EVENT_COMPUTED, rank, 0)));
    seat->account.since_ps = due;
    sim->play.worker[rank].worker.stats->stalled_ns += seat->stall_ps / 1000;
    tell_gradient(sim, rank);
    hr_virtual_spend(&seat->account, HR_WAIT, seat->stall_ps);
    hr_virtual_spend(&seat->account, HR_LOAD, seat->load_ps);
    hr_virtual_spend(&seat->account, HR_COMPUTE, seat->compute_ps);
    return hr_play_compute(&sim->play, rank, due);
}

/* Does it wait for that, and neither rests nor is gone? */
static bool is_unanswered(const struct hr_simulator *sim, size_t rank)
{
    const enum hr_stand state = sim->play.state[rank];
    return (state == HR_WANTS || state == HR_ASKED) &&
           hr_requests_unanswered(&sim->play.worker[rank].worker);
}

/* A part of its push is lost: it waits, if it does not do so already. */
static enum hr_status wait_to_repeat(struct hr_simulator *sim, size_t rank)
{
    const int64_t ps = hr_inject_deadline_ps(&sim->play.drive->job->conditions.inject);
    if (sim->seat[rank].repeats)
        return HR_OK;
    sim->seat[rank].repeats = true;
    return hr_simulator_push(sim, hr_ps_add(hr_simulator_now(sim), ps > 0 ? ps : 1),
                             hr_simulator_event(sim, HR_EVENT_DEADLINE, rank, 0));
}

/* It has what it asked for. */
static void leave_exchange(struct hr_simulator *sim, size_t rank)
{
    struct hr_worker *worker = &sim->play.worker[rank].worker;
    hr_simulator_settle(sim, rank);
    hr_arrivals_leave(worker, hr_simulator_now(sim) / 1000);
    if (sim->play.state[rank] == HR_AT_CUT)
        hr_arrivals_come_to_cut(worker, hr_simulator_now(sim) / 1000);
}

/* Let a worker act until it waits for something; also for its own shard to finish a message. */
static enum hr_status act(struct hr_simulator *sim, size_t rank)
{
    struct hr_play *play = &sim->play;
    const enum hr_stand *state = &play->state[rank];
    bool idle = false;
    const bool serves = owns_shard(sim, rank) && sim->station[rank].busy;
    while (*state != HR_HAS && *state != HR_ARRIVED && !idle && !serves) {
        const bool asks = *state == HR_ASKED || *state == HR_ARRIVING;
        if (is_unanswered(sim, rank))
            return wait_to_repeat(sim, rank);
        if ((asks && sim->seat[rank].coming) || !hr_play_may_act(play, rank))
            return HR_OK;
        const bool asked = *state == HR_ASKED;
        HR_TRY(hr_play_act(play, rank, &idle));
        if (asked && !idle)
            leave_exchange(sim, rank);
        if (asked && *state == HR_HAS)
            HR_TRY(hr_tell_steps(&play->worker[rank], hr_drive_trained_ns(play->drive)));
    }
    return *state == HR_HAS ? compute(sim, rank) : HR_OK;
}

enum hr_status hr_virtual_look(struct hr_simulator *sim, size_t rank)
{
    if (sim->play.state[rank] == HR_HAS)
        return HR_OK;
    HR_TRY(act(sim, rank));
    return owns_shard(sim, rank) ? serve(sim, rank) : HR_OK;
}

enum hr_status hr_virtual_look_at_all(struct hr_simulator *sim)
{
    for (size_t r = 0; r < sim->play.shared->workers; r++) {
        HR_TRY(hr_virtual_look(sim, r));
        HR_TRY(hr_play_tick(&sim->play)); /* a worker may have sent to a thousand shards */
    }
    return HR_OK;
}

enum hr_status hr_virtual_computed(struct hr_simulator *sim, size_t rank)
{
    struct hr_virtual_seat *seat = &sim->seat[rank];
    bool idle;
    sim->play.worker[rank].worker.took_ns = took_ps(seat) / 1000;
    seat->account.since_ps = hr_simulator_now(sim);
    hr_arrivals_offer(&sim->play.worker[rank].worker, sim->play.task[rank].index,
                      hr_simulator_now(sim) / 1000);
    HR_TRY(hr_play_act(&sim->play, rank, &idle)); /* offer */
    return hr_virtual_look(sim, rank);
}

enum hr_status hr_virtual_deadline(struct hr_simulator *sim, size_t rank)
{
    bool idle;
    sim->seat[rank].repeats = false;
    if (!is_unanswered(sim, rank))
        return HR_OK;
    if (!hr_requests_are_taken(&sim->play.worker[rank].worker))
        return wait_to_repeat(sim, rank);
    HR_TRY(hr_play_act(&sim->play, rank, &idle)); /* repeat */
    return hr_virtual_look(sim, rank);
}

enum hr_status hr_virtual_served(struct hr_simulator *sim, size_t owner)
{
    take(sim, owner);
    HR_TRY(serve(sim, owner));
    return owns_shard(sim, owner) ? hr_virtual_look(sim, owner) : HR_OK;
}
