/* The driver for virtual time: a heap of events, ordered by (time, insertion number); what they
 * mean is told in simulator.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpus.h"
#include "serial/serial.h"
#include "server/server.h"
#include "server/server_worker.h"
#include "virtual/simulator.h"
#include "worker/staged.h"

/* Losses in virtual time.
 *
 *   Death    (simulator.h) of a worker at the step or time that --inject names, of a server before
 *            its input; what it had begun is left undone.
 *   Notice   HR_NOTICE_PS after the death, and not before the dead worker's last message has come:
 *            who learns that a connection is closed has read all that was sent on it. Shards take
 *            the loss in its turn, behind these messages.
 *   Term     that a loss ends: nothing happens any more, but who computes ends its gradient, as in
 *            real time. Then, and when those who come back are there, the next one begins, without
 *            messages.
 *   Return   at again_ns (losses.h), as soon as shards have taken the loss. Starting takes no time.
 *   Account  a rank's time is booked while it is there.
 *
 * Threads: a simulator's.
 * Test:    tests/unit/train/test_virtual_losses.c,
 *          tests/unit/virtual/test_virtual_deaths.c
 */

/* --- a shard --- */

/* Move the first message that may be taken out of the queue; false when there is none. */
static bool next_in_queue(struct hr_simulator *sim, size_t owner)
{
    struct hr_virtual_station *station = &sim->station[owner];
    if (!station->inbox.n || !hr_serial_may_take(&sim->serial, owner))
        return false;
    memset(sim->enabled, 0, sim->serial.shared->workers);
    for (size_t i = 0; i < station->inbox.n; i++)
        sim->enabled[station->inbox.sender[i]] = 1;
    sim->serial.shared->strategy->enabled(&sim->serial.shard[owner], sim->enabled);
    return hr_virtual_inbox_next(&station->inbox, sim->enabled, &station->serving);
}

static void take(struct hr_simulator *sim, size_t owner)
{
    struct hr_virtual_station *station = &sim->station[owner];
    const struct hr_shared_state *shared = sim->serial.shared;
    station->busy = false;
    hr_serial_take(&sim->serial, owner, station->serving);
    if (!shared->colocated)
        hr_spans_serve(hr_simulator_spans(sim, shared->workers + owner), station->serving,
                       sim->serial.shard[owner].taken.kind, station->began_ps / 1000,
                       hr_simulator_now(sim) / 1000);
    if (sim->serial.shard[owner].taken.kind == HR_GONE) /* with all that it had sent */
        hr_virtual_inbox_drop(&station->inbox, station->serving);
}

/* Take messages until one takes time. */
static enum hr_status serve(struct hr_simulator *sim, size_t owner)
{
    const struct hr_shared_state *shared = sim->serial.shared;
    struct hr_virtual_station *station = &sim->station[owner];
    for (;;) {
        if (station->busy || !next_in_queue(sim, owner))
            return HR_OK;
        if (hr_serial_is_killed(&sim->serial, shared->workers + owner))
            return hr_simulator_die(sim, shared->workers + owner);
        const int64_t ps = hr_conditions_serve_ps(sim->serial.drive->job, owner, station->served++);
        station->began_ps = hr_simulator_now(sim);
        sim->worker[station->serving].account.moving_ps[owner] += ps;
        if (shared->colocated)
            sim->worker[owner].account.moving_ps[shared->servers] += ps; /* for all */
        if (ps > 0) {
            station->busy = true;
            return hr_simulator_push(sim, hr_ps_add(hr_simulator_now(sim), ps),
                                     hr_simulator_event(sim, HR_EVENT_SERVED, 0, owner));
        }
        take(sim, owner);
    }
}

/* A shard may take an input of that worker: a message, or its loss. */
static enum hr_status virtual_input(struct hr_simulator *sim, size_t owner, size_t worker)
{
    struct hr_virtual_station *station = &sim->station[owner];
    if (!hr_serial_lives(&sim->serial, hr_shard_rank(sim->serial.shared, owner)))
        return HR_OK;
    HR_ASSERT(station->inbox.n < hr_simulator_inbox_room(sim->serial.shared));
    hr_virtual_inbox_add(&station->inbox, worker);
    return serve(sim, owner);
}

/* A worker's message has arrived. */
static enum hr_status virtual_arrive(struct hr_simulator *sim, size_t shard, size_t worker)
{
    sim->worker[worker].sent--;
    return virtual_input(sim, shard, worker);
}

/* --- a worker --- */

/* Its gradient, with what comes before it. */
static int64_t took_ps(const struct hr_virtual_worker *own)
{
    return hr_ps_add(own->compute_ps, hr_ps_add(own->load_ps, own->stall_ps));
}

/* It begins now, and is booked beforehand. */
static void report_gradient(struct hr_simulator *sim, size_t rank)
{
    const struct hr_virtual_worker *own = &sim->worker[rank];
    struct hr_spans *spans = hr_simulator_spans(sim, rank);
    const int64_t now_ps = hr_simulator_now(sim), awake_ps = hr_ps_add(now_ps, own->stall_ps),
                  loaded_ps = hr_ps_add(awake_ps, own->load_ps),
                  computed_ps = hr_ps_add(loaded_ps, own->compute_ps);
    hr_spans_step(spans, sim->serial.task[rank].index, now_ps / 1000);
    hr_spans_add(spans, HR_SPAN_WAIT, HR_SPAN_STALL, now_ps / 1000, awake_ps / 1000);
    hr_spans_add(spans, HR_SPAN_LOAD, HR_SPAN_WHOLE, awake_ps / 1000, loaded_ps / 1000);
    hr_spans_add(spans, HR_SPAN_COMPUTE, HR_SPAN_WHOLE, loaded_ps / 1000, computed_ps / 1000);
}

/* When parts of its gradient, which begins now, are there; before it is. */
static enum hr_status plan_parts(struct hr_simulator *sim, size_t rank)
{
    const struct hr_virtual_worker *own = &sim->worker[rank];
    const int64_t begins = hr_ps_add(hr_simulator_now(sim), hr_ps_add(own->load_ps, own->stall_ps));
    for (size_t i = 0; i < sim->nparts; i++) {
        const int64_t ps = (int64_t)ceil((double)own->compute_ps * sim->part[i].share);
        const int64_t at = hr_ps_add(begins, ps < own->compute_ps ? ps : own->compute_ps);
        HR_TRY(hr_simulator_push(sim, at, hr_simulator_event(sim, HR_EVENT_FINAL, rank, i)));
    }
    return HR_OK;
}

/* Backward has computed that part of its gradient. */
static void virtual_go_ahead(struct hr_simulator *sim, size_t rank, size_t part)
{
    struct hr_worker *worker = &sim->serial.worker[rank].worker;
    if (sim->serial.state[rank] == HR_HAS)
        worker->hooks->final(worker, sim->part[part].offset);
}

static enum hr_status compute(struct hr_simulator *sim, size_t rank)
{
    const struct hr_train_job *job = sim->serial.drive->job;
    struct hr_virtual_worker *own = &sim->worker[rank];
    const uint64_t step = sim->serial.worker[rank].worker.steps;
    if (hr_serial_is_killed(&sim->serial, rank))
        return hr_simulator_die(sim, rank);
    own->stall_ps = hr_inject_stall_ps(&job->conditions.inject, rank, step);
    own->load_ps = hr_inject_load_ps(&job->conditions.inject, rank);
    if (job->timer)
        HR_TRY(hr_staged_compute_ps(job, rank, step, &own->compute_ps));
    else
        own->compute_ps = hr_conditions_compute_ps(job, rank, step, 0);
    const int64_t due = hr_ps_add(hr_simulator_now(sim), took_ps(own));
    HR_TRY(plan_parts(sim, rank));
    HR_TRY(hr_simulator_push(sim, due, hr_simulator_event(sim, HR_EVENT_COMPUTED, rank, 0)));
    own->account.since_ps = due;
    sim->serial.worker[rank].worker.stats->stalled_ns += own->stall_ps / 1000;
    report_gradient(sim, rank);
    hr_virtual_spend(&own->account, HR_WAIT, own->stall_ps);
    hr_virtual_spend(&own->account, HR_LOAD, own->load_ps);
    hr_virtual_spend(&own->account, HR_COMPUTE, own->compute_ps);
    return hr_serial_compute(&sim->serial, rank, due);
}

/* Does it wait for that, and neither rests nor is gone? */
static bool is_unanswered(const struct hr_simulator *sim, size_t rank)
{
    const enum hr_stand state = sim->serial.state[rank];
    return (state == HR_WANTS || state == HR_ASKED) &&
           hr_requests_unanswered(&sim->serial.worker[rank].worker);
}

/* A part of its push is lost: it waits, if it does not do so already. */
static enum hr_status wait_to_repeat(struct hr_simulator *sim, size_t rank)
{
    const int64_t ps = hr_inject_deadline_ps(&sim->serial.drive->job->conditions.inject);
    if (sim->worker[rank].repeats)
        return HR_OK;
    sim->worker[rank].repeats = true;
    return hr_simulator_push(sim, hr_ps_add(hr_simulator_now(sim), ps > 0 ? ps : 1),
                             hr_simulator_event(sim, HR_EVENT_DEADLINE, rank, 0));
}

/* It has what it asked for. */
static void leave_exchange(struct hr_simulator *sim, size_t rank)
{
    struct hr_worker *worker = &sim->serial.worker[rank].worker;
    hr_simulator_settle(sim, rank);
    hr_stragglers_leave(worker, hr_simulator_now(sim) / 1000);
    if (sim->serial.state[rank] == HR_AT_CUT)
        hr_stragglers_arrive_at_cut(worker, hr_simulator_now(sim) / 1000);
}

/* Let a worker act until it waits for something; also for its own shard to finish a message. */
static enum hr_status act(struct hr_simulator *sim, size_t rank)
{
    struct hr_serial *serial = &sim->serial;
    const enum hr_stand *state = &serial->state[rank];
    bool idle = false;
    const bool serves = hr_owns_shard(sim->serial.shared, rank) && sim->station[rank].busy;
    while (*state != HR_HAS && *state != HR_ARRIVED && !idle && !serves) {
        const bool asks = *state == HR_ASKED || *state == HR_ARRIVING;
        if (is_unanswered(sim, rank))
            return wait_to_repeat(sim, rank);
        if ((asks && sim->worker[rank].coming) || !hr_serial_may_act(serial, rank))
            return HR_OK;
        const bool asked = *state == HR_ASKED;
        HR_TRY(hr_serial_act(serial, rank, &idle));
        if (asked && !idle)
            leave_exchange(sim, rank);
        if (asked && *state == HR_HAS)
            HR_TRY(hr_report_steps(&serial->worker[rank], hr_drive_trained_ns(serial->drive)));
    }
    return *state == HR_HAS ? compute(sim, rank) : HR_OK;
}

static enum hr_status virtual_look(struct hr_simulator *sim, size_t rank)
{
    if (sim->serial.state[rank] == HR_HAS)
        return HR_OK;
    HR_TRY(act(sim, rank));
    return hr_owns_shard(sim->serial.shared, rank) ? serve(sim, rank) : HR_OK;
}

/* Let it act as far as it can, if it has no task; and then the shard that it owns. */
static enum hr_status virtual_look_at_all(struct hr_simulator *sim)
{
    for (size_t r = 0; r < sim->serial.shared->workers; r++) {
        HR_TRY(virtual_look(sim, r));
        HR_TRY(hr_serial_tick(&sim->serial)); /* a worker may have sent to a thousand shards */
    }
    return HR_OK;
}

/* Its gradient is there. */
static enum hr_status virtual_computed(struct hr_simulator *sim, size_t rank)
{
    struct hr_virtual_worker *own = &sim->worker[rank];
    bool idle;
    sim->serial.worker[rank].worker.took_ns = took_ps(own) / 1000;
    own->account.since_ps = hr_simulator_now(sim);
    hr_stragglers_offer(&sim->serial.worker[rank].worker, sim->serial.task[rank].index,
                        hr_simulator_now(sim) / 1000);
    HR_TRY(hr_serial_act(&sim->serial, rank, &idle)); /* offer */
    return virtual_look(sim, rank);
}

/* The deadline of its push has passed. */
static enum hr_status virtual_deadline(struct hr_simulator *sim, size_t rank)
{
    bool idle;
    sim->worker[rank].repeats = false;
    if (!is_unanswered(sim, rank))
        return HR_OK;
    if (!hr_requests_are_taken(&sim->serial.worker[rank].worker))
        return wait_to_repeat(sim, rank);
    HR_TRY(hr_serial_act(&sim->serial, rank, &idle)); /* repeat */
    return virtual_look(sim, rank);
}

/* It has taken the message that it was busy with. */
static enum hr_status virtual_served(struct hr_simulator *sim, size_t owner)
{
    take(sim, owner);
    HR_TRY(serve(sim, owner));
    return hr_owns_shard(sim->serial.shared, owner) ? virtual_look(sim, owner) : HR_OK;
}

static const struct hr_losses *losses_of(const struct hr_simulator *sim)
{
    return &sim->serial.drive->losses;
}

/* --- workers --- */

/* What is on its way to it, and was booked for it, is no more. */
static void clear_worker(struct hr_simulator *sim, size_t rank)
{
    struct hr_virtual_worker *own = &sim->worker[rank];
    hr_virtual_begin(&own->account, hr_simulator_now(sim));
    own->coming = own->sent = 0;
    own->repeats = false;
    own->life++;
}

static void drop_messages(struct hr_simulator *sim)
{
    const struct hr_shared_state *shared = sim->serial.shared;
    hr_message_queue_drop(&sim->messages);
    sim->sum_moving_ps = NULL;
    sim->term++;
    for (size_t s = 0; s < shared->servers; s++) {
        sim->station[s].inbox.n = 0;
        sim->station[s].busy = false;
    }
}

/* A cut is over: nothing is on its way, and others may be active. */
static void virtual_begin_anew(struct hr_simulator *sim)
{
    drop_messages(sim);
    for (size_t r = 0; r < sim->serial.shared->workers; r++) {
        clear_worker(sim, r);
        sim->worker[r].absent =
            sim->serial.state[r] == HR_QUIESCENT || !hr_serial_lives(&sim->serial, r);
    }
}

/* A loss has ended the term. Until the next one all who live wait, behind the gradient that they
 * are computing, as in real time. */
static enum hr_status stop_all(struct hr_simulator *sim)
{
    const int64_t now_ps = hr_simulator_now(sim);
    sim->quiescent_ps = now_ps;
    drop_messages(sim);
    for (size_t r = 0; r < sim->serial.shared->workers; r++) {
        struct hr_virtual_worker *own = &sim->worker[r];
        const int64_t computes_until_ps = own->absent ? 0 : own->account.since_ps;
        if (computes_until_ps <= now_ps)
            hr_simulator_settle(sim, r);
        clear_worker(sim, r);
        if (computes_until_ps > now_ps)
            own->account.since_ps = computes_until_ps;
        if (computes_until_ps > sim->quiescent_ps)
            sim->quiescent_ps = computes_until_ps;
        if (own->overdue) /* its last message will never arrive */
            HR_TRY(hr_simulator_push(sim, now_ps, hr_simulator_event(sim, HR_EVENT_NOTICED, r, 0)));
        own->overdue = false;
    }
    return hr_simulator_push(sim, sim->quiescent_ps, hr_simulator_event(sim, HR_EVENT_AGAIN, 0, 0));
}

/* --- deaths --- */

/* The run's clock shows whole nanoseconds: at the first that is not before it. */
static enum hr_status virtual_plan_deaths(struct hr_simulator *sim)
{
    const struct hr_inject *inject = &sim->serial.drive->job->conditions.inject;
    for (size_t i = 0; i < inject->n; i++) {
        const struct hr_inject_entry *entry = &inject->entry[i];
        const bool server = entry->kind == HR_INJECT_KILL_SERVER;
        const size_t rank = entry->rank + (server ? sim->serial.shared->workers : 0);
        if (!entry->timed || (!server && entry->kind != HR_INJECT_KILL))
            continue;
        HR_TRY(hr_simulator_push(sim, (entry->ps + 999) / 1000 * 1000,
                                 hr_simulator_event(sim, HR_EVENT_DIES, rank, 0)));
    }
    return HR_OK;
}

/* Who is gone then dies when it is back: hr_conditions_kill counts. */
static enum hr_status virtual_die_in_time(struct hr_simulator *sim, size_t rank)
{
    const bool dies =
        hr_serial_lives(&sim->serial, rank) && hr_serial_is_killed(&sim->serial, rank);
    return dies ? hr_simulator_die(sim, rank) : HR_OK;
}

/* Behind all that it has sent. */
static enum hr_status notify_shards(struct hr_simulator *sim, size_t worker)
{
    for (size_t s = 0; s < sim->serial.shared->servers; s++)
        HR_TRY(virtual_input(sim, s, worker));
    return HR_OK;
}

/* Its death is noticed, if its last message is there. HR_E_LOST: the run cannot go on. */
static enum hr_status virtual_notice(struct hr_simulator *sim, size_t rank)
{
    struct hr_serial *serial = &sim->serial;
    const bool worker = rank < serial->shared->workers;
    const int64_t now = hr_simulator_now(sim);
    if (worker) {
        sim->worker[rank].overdue = sim->worker[rank].sent > 0;
        if (sim->worker[rank].overdue)
            return HR_OK;
    }
    HR_TRY(hr_serial_notice(serial, rank));
    if (hr_losses_are_revoked(losses_of(sim)))
        HR_TRY(stop_all(sim));
    const int64_t again_ps = 1000 * losses_of(sim)->again_ns[rank];
    if (again_ps > now)
        HR_TRY(hr_simulator_push(sim, again_ps, hr_simulator_event(sim, HR_EVENT_AGAIN, rank, 0)));
    if (worker && hr_server_takes_losses(serial->shared) && !hr_losses_are_revoked(losses_of(sim)))
        HR_TRY(notify_shards(sim, rank));
    return virtual_look_at_all(sim); /* some may have waited for it alone */
}

/* One of worker `rank`'s messages has arrived: it may have been waited for. */
static enum hr_status virtual_notice_late(struct hr_simulator *sim, size_t rank)
{
    return sim->worker[rank].overdue ? virtual_notice(sim, rank) : HR_OK;
}

/* --- returns and terms --- */

/* Do shards have messages of its earlier life to take? Not behind its loss. */
static bool has_left_messages(const struct hr_simulator *sim, size_t rank)
{
    for (size_t s = 0; s < sim->serial.shared->servers; s++)
        if (hr_virtual_inbox_has(&sim->station[s].inbox, rank))
            return true;
    return false;
}

static enum hr_status come_back(struct hr_simulator *sim, size_t rank)
{
    struct hr_serial *serial = &sim->serial;
    if (rank >= serial->shared->workers)
        return hr_serial_come_back(serial, rank);
    clear_worker(sim, rank); /* a server may have answered the dead */
    HR_TRY(hr_serial_come_back(serial, rank));
    serial->worker[rank].worker.spans = hr_simulator_spans(sim, rank);
    hr_stragglers_begin(&serial->worker[rank].worker, hr_simulator_now(sim) / 1000);
    sim->worker[rank].absent = serial->state[rank] == HR_QUIESCENT;
    HR_ASSERT(sim->worker[rank].absent || !has_left_messages(sim, rank));
    return virtual_look(sim, rank);
}

static enum hr_status let_come_back(struct hr_simulator *sim)
{
    for (size_t r = 0; r < hr_serial_ranks(&sim->serial); r++)
        if (hr_serial_may_come_back(&sim->serial, r))
            HR_TRY(come_back(sim, r));
    return HR_OK;
}

static enum hr_status begin_term(struct hr_simulator *sim)
{
    for (size_t r = 0; r < sim->serial.shared->workers; r++) {
        hr_simulator_settle(sim, r);
        hr_simulator_leave_exchange(sim, r);
    }
    HR_TRY(hr_serial_begin_term(&sim->serial));
    virtual_begin_anew(sim);
    return virtual_look_at_all(sim);
}

/* After every event: who may come back does; where a loss has ended the
 * term and nobody is awaited, a new one begins. */
static enum hr_status virtual_mind_losses(struct hr_simulator *sim)
{
    if (losses_of(sim)->n == 0)
        return HR_OK;
    HR_TRY(let_come_back(sim));
    return hr_serial_term_is_over(&sim->serial) && hr_simulator_now(sim) >= sim->quiescent_ps
               ? begin_term(sim)
               : HR_OK;
}

static enum hr_status happen(struct hr_simulator *sim, const struct hr_happening *what)
{
    if (hr_simulator_is_over(sim, what))
        return HR_OK;
    switch (what->kind) {
    case HR_EVENT_COMPUTED:
        return virtual_computed(sim, what->worker);
    case HR_EVENT_ARRIVED:
        HR_TRY(virtual_arrive(sim, what->shard, what->worker));
        return virtual_notice_late(sim, what->worker);
    case HR_EVENT_LANDED:
        sim->worker[what->worker].sent--;
        return virtual_notice_late(sim, what->worker);
    case HR_EVENT_FINAL:
        virtual_go_ahead(sim, what->worker, what->shard);
        return HR_OK;
    case HR_EVENT_REPLIED:
        sim->worker[what->worker].coming--;
        return virtual_look(sim, what->worker);
    case HR_EVENT_SERVED:
        return virtual_served(sim, what->shard);
    case HR_EVENT_SUMMED:
        hr_virtual_release(sim);
        return virtual_look_at_all(sim);
    case HR_EVENT_FREED:
        return hr_virtual_depart(sim);
    case HR_EVENT_DELIVERED:
        hr_virtual_deliver(sim, what->shard, what->worker);
        HR_TRY(virtual_look(sim, what->worker));
        return virtual_notice_late(sim, what->shard);
    case HR_EVENT_DEADLINE:
        return virtual_deadline(sim, what->worker);
    case HR_EVENT_DIES:
        return virtual_die_in_time(sim, what->worker);
    case HR_EVENT_NOTICED:
        return virtual_notice(sim, what->worker);
    case HR_EVENT_AGAIN:
        return HR_OK; /* it has become late enough */
    }
    return HR_OK;
}

static enum hr_status begin(struct hr_simulator *sim)
{
    for (size_t r = 0; r < sim->serial.shared->workers; r++) {
        sim->worker[r].account.since_ps = hr_simulator_now(sim);
        hr_stragglers_begin(&sim->serial.worker[r].worker, hr_simulator_now(sim) / 1000);
    }
    HR_TRY(virtual_look_at_all(sim));
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

static enum hr_status cut(struct hr_simulator *sim)
{
    const struct hr_shared_state *shared = sim->serial.shared;
    for (size_t r = 0; r < shared->workers; r++) {
        hr_simulator_settle(sim, r); /* for the last to come */
        hr_simulator_leave_exchange(sim, r);
        hr_spans_cut_begins(hr_simulator_spans(sim, r), 0);
    }
    HR_TRY(hr_serial_cut(&sim->serial));
    if (sim->serial.drive->leader->cuts.cut->halt)
        return HR_OK;
    if (shared->outlives)
        virtual_begin_anew(sim);
    return begin(sim);
}

/* The next event. */
static enum hr_status step(struct hr_simulator *sim)
{
    struct hr_drive *drive = sim->serial.drive;
    uint64_t packed;
    if (!hr_events_pop(&sim->events, &drive->now_ps, &packed))
        return hr_fail(HR_E_FAILED, "nothing can happen any more, and the run is not over");
    const struct hr_happening what = hr_event_unpack(packed);
    stop_in_time(drive);
    hr_launcher_mind_time(drive->launcher);
    HR_TRY(happen(sim, &what));
    HR_TRY(virtual_mind_losses(sim));
    hr_losses_mind_copy(&drive->losses);
    HR_TRY(sim->status);
    return hr_serial_tick(&sim->serial);
}

static enum hr_status simulate(struct hr_simulator *sim)
{
    const struct hr_cut *at = sim->serial.drive->leader->cuts.cut;
    HR_TRY(virtual_plan_deaths(sim));
    HR_TRY(begin(sim));
    while (!at->halt) {
        HR_TRY(hr_serial_at_cut(&sim->serial) ? cut(sim) : step(sim));
        HR_TRY(hr_serial_pause(&sim->serial));
    }
    return HR_OK;
}

/* Who looks on is told of all ranks' time. */
static enum hr_status begin_spans(struct hr_simulator *sim)
{
    const struct hr_drive *drive = sim->serial.drive;
    struct hr_shared_state *shared = sim->serial.shared;
    const size_t ranks = hr_serial_ranks(&sim->serial);
    if (!shared->spans)
        return HR_OK;
    sim->spans = calloc(ranks, sizeof *sim->spans);
    if (!sim->spans)
        return hr_fail(HR_E_NOMEM, "no memory for %zu ranks", ranks);
    for (size_t r = 0; r < ranks; r++) {
        struct hr_waiter *waiter = &sim->serial.worker[r < shared->workers ? r : 0].waiter;
        hr_spans_open(&sim->spans[r], &shared->feed, r, waiter, drive->driver->now_ns, drive);
        if (!shared->colocated || r < shared->workers)
            shared->spans[r] = &sim->spans[r];
        if (r < shared->workers)
            sim->serial.worker[r].worker.spans = &sim->spans[r];
    }
    return HR_OK;
}

static enum hr_status set_up(struct hr_simulator *sim, struct hr_drive *drive)
{
    HR_TRY(hr_simulator_open(sim, drive));
    hr_virtual_traffic_begin(sim);
    HR_TRY(hr_serial_start(&sim->serial, drive));
    return begin_spans(sim);
}

static enum hr_status drive_virtual(struct hr_drive *drive)
{
    struct hr_simulator sim = {.serial = {.drive = drive, .shared = drive->job->shared}};
    drive->now_ps = 0;
    enum hr_status status = set_up(&sim, drive);
    if (status == HR_OK)
        status = simulate(&sim);
    for (size_t r = 0; sim.spans && r < sim.serial.shared->workers; r++)
        hr_spans_close(&sim.spans[r]);
    drive->job->shared->posted = NULL; /* the simulator's, which ends here */
    hr_serial_stop(&sim.serial);
    hr_simulator_close(&sim);
    return status;
}

/* Threads that compute: one for each threads_per_worker cores. */
static size_t one_a_gradient(const struct hr_train_options *options)
{
    const size_t threads = hr_cpus_cores() / options->threads_per_worker;
    return threads ? threads : 1;
}

static size_t bytes(const struct hr_shared_state *shared)
{
    return hr_serial_bytes(shared) + hr_simulator_bytes(shared);
}

static int64_t virtual_ns(const void *arg)
{
    const struct hr_drive *drive = arg;
    return drive->now_ps / 1000;
}

const struct hr_driver hr_driver_virtual = {.title = "in virtual time",
                                            .serial = true,
                                            .simulated = true,
                                            .local = true,
                                            .threads = one_a_gradient,
                                            .now_ns = virtual_ns,
                                            .bytes = bytes,
                                            .run = drive_virtual};
