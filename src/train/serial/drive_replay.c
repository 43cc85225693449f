/* The driver that repeats a recorded run: each owner takes inputs in the order of its log, workers
 * act whenever they can, and all processors compute gradients.
 *
 *   Why it cannot deadlock   the earliest recorded step that is not yet repeated depends only on
 *                            earlier ones, so it can happen: some owner's next entry is enabled, or
 *                            some gradient is being computed. Else the log is of another run.
 *   Why the bits are same    the order in which owners take inputs decides everything else
 *                            (trace/pick.h). Each repeated entry is compared with what was really
 *                            taken: kind, step, batch or staleness.
 *   Cut short                after the index of --max-steps workers get no batch where the
 *                            recorded ones got one; from there on owners take any input.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpus.h"
#include "drive/record.h"
#include "drive/replay.h"
#include "serial/serial.h"
#include "server/server.h"
#include "strategy/peers.h"

/* A replay follows the launcher's log (drive/record.h): ranks are lost and come
 * back, and terms begin, where they did as seen from every owner.
 *
 *   TERM   all went back to the last cut, so nothing that happened between is in the weights:
 *          behind that cut all that the log has up to TERM happens at once, before any rank does
 *          anything, and owners skip what their logs have of it.
 *   LOST   of a worker whose loss is an input: when it has computed as many gradients, and sent as
 *          many messages, as it had; so its last ones may still be taken. Then shards take the loss
 *          where their logs say.
 *   BACK   when all owners have taken the loss.
 *   CUT    when all are at it. Where that is the log says, not who asks to stop, or to save: all
 *          may have been asked, gone back to the last cut, and ended at an earlier one.
 *
 * In the recorded run each of these came after all that it waits for here: so none waits for ever.
 *
 * Threads: a serial run's.
 * Test:    tests/unit/train/test_replay_losses.c, test_replay_ends.c
 */
struct replay_losses {
    struct hr_serial *serial;
    struct hr_shared_state *shared; /* the serial run's */
    struct hr_trace_cursor *log;    /* of shards (servers), or of workers that have logs */
    const struct hr_trace_texts *texts;
    struct hr_membership membership;
    bool follows;               /* the log; else nothing is outlived, or the run has left it */
    size_t next;                /* event */
    size_t forced;              /* events before this one happen at once */
    struct replay_limit *limit; /* (workers) owned */
    uint64_t requested_cuts[2]; /* of the schedule: the next cut, and the one behind it */
};

/* A worker's, up to event `until`. */
struct replay_limit {
    uint64_t most;    /* gradients that it computes */
    uint64_t entries; /* that it repeats of its log, where it has one */
    size_t until;     /* 0: not known yet */
};

static const struct hr_membership_event *next_of(const struct replay_losses *losses)
{
    return losses->follows && losses->next < losses->membership.n
               ? &losses->membership.event[losses->next]
               : NULL;
}

/* --- where cuts are --- */

/* The next two; and what happens before them, at once: up to the last term that goes back. */
static void look_ahead(struct replay_losses *losses)
{
    struct hr_batch_schedule *schedule = &losses->shared->schedule;
    const struct hr_membership *membership = &losses->membership;
    schedule->requested_cuts = losses->requested_cuts;
    schedule->nrequested_cuts = 0;
    losses->forced = losses->next;
    for (size_t e = losses->next; e < membership->n && schedule->nrequested_cuts < 2; e++) {
        if (membership->event[e].kind == HR_MEMBERSHIP_TERM && schedule->nrequested_cuts == 0)
            losses->forced = e + 1;
        if (membership->event[e].kind == HR_MEMBERSHIP_CUT)
            losses->requested_cuts[schedule->nrequested_cuts++] = membership->event[e].value / 2;
    }
}

/* It may be the cut that all stand behind: then nobody begins any batch. */
static void hand_out_before_it(const struct replay_losses *losses)
{
    struct hr_dispenser *dispenser = losses->shared->dispenser;
    if (losses->shared->schedule.nrequested_cuts &&
        losses->requested_cuts[0] < hr_atom64_load_acquire(&dispenser->cut)) /* one thread */
        hr_atom64_store_release(&dispenser->cut, losses->requested_cuts[0]);
}

/* Before the serial run is started. Nothing where no losses are outlived. HR_E_FORMAT, HR_E_NOMEM.
 * */
static enum hr_status replay_losses_open(struct replay_losses *losses, struct hr_serial *serial,
                                         const struct hr_drive *drive, struct hr_trace_cursor *log)
{
    const struct hr_replay_own *own = hr_replay_own(drive->replay);
    *losses = (struct replay_losses){
        .serial = serial, .shared = drive->job->shared, .log = log, .texts = &own->texts};
    if (!losses->shared->outlives)
        return HR_OK;
    losses->follows = true;
    losses->limit = calloc(losses->shared->workers, sizeof *losses->limit);
    if (!losses->limit)
        return hr_fail(HR_E_NOMEM, "no memory for %zu workers", losses->shared->workers);
    const enum hr_status status = hr_membership_read(&own->trace, &losses->membership);
    if (status != HR_OK)
        return hr_fail_within(status, "%s", drive->replay->path);
    look_ahead(losses);
    hand_out_before_it(losses);
    return HR_OK;
}

/* Harmless on a zeroed one. */
static void replay_losses_close(struct replay_losses *losses)
{
    if (losses->follows)
        losses->shared->schedule.nrequested_cuts = 0;
    losses->follows = false;
    hr_membership_free(&losses->membership);
    free(losses->limit);
    losses->limit = NULL;
}

/* What the launcher's log waits for, in a text; "": nothing. */
static void replay_losses_awaited(const struct replay_losses *losses, char *text, size_t size)
{
    static const char *const names[] = {"", "the loss", "the return", "a cut", "a new term"};
    const struct hr_membership_event *event = next_of(losses);
    text[0] = '\0';
    if (event)
        snprintf(text, size, "%s of rank %u at step %" PRIu64 " (value %" PRIu64 ")",
                 names[event->kind], event->rank, event->step, event->value);
}

static enum hr_status loss_misfits(const struct replay_losses *losses, const char *but)
{
    char awaited[120];
    replay_losses_awaited(losses, awaited, sizeof awaited);
    return hr_fail(HR_E_FORMAT,
                   "%s: does not fit the run that it describes: the launcher's log next has %s, "
                   "but %s",
                   losses->serial->drive->replay->path, awaited, but);
}

/* --- how far a worker goes before its loss, where that is an input --- */

static const struct replay_limit *limit_of(struct replay_losses *losses, size_t rank)
{
    struct replay_limit *limit = &losses->limit[rank];
    if (limit->until > losses->next)
        return limit;
    *limit = (struct replay_limit){UINT64_MAX, UINT64_MAX, SIZE_MAX};
    for (size_t e = losses->next; e < losses->membership.n && limit->until == SIZE_MAX; e++) {
        const struct hr_membership_event *event = &losses->membership.event[e];
        const bool dies = event->kind == HR_MEMBERSHIP_LOST && event->rank == rank;
        if (dies)
            limit->most = event->step;
        if (dies && hr_workers_log(losses->shared->strategy))
            limit->entries = event->value;
        if (dies || event->kind == HR_MEMBERSHIP_TERM)
            limit->until = e + 1;
    }
    return limit;
}

static uint64_t steps_of(const struct replay_losses *losses, size_t rank)
{
    return losses->serial->worker[rank].worker.steps;
}

/* Entries of its log that a shard, or a worker, has taken. */
static uint64_t taken_by(const struct replay_losses *losses, size_t owner)
{
    return losses->log[owner].section->entries - losses->log[owner].left;
}

/* Has a worker repeated what its log has, up to its end? */
static bool is_at_its_end(struct replay_losses *losses, size_t rank)
{
    return hr_workers_log(losses->shared->strategy) && losses->serial->ranks[rank].up &&
           !losses->serial->worker[rank].worker.replay.busy &&
           taken_by(losses, rank) >= limit_of(losses, rank)->entries;
}

/* Entries of its log that a worker repeats before it dies; 0: all. */
static uint64_t replay_entries(struct replay_losses *losses, size_t rank)
{
    const uint64_t entries = losses->follows ? limit_of(losses, rank)->entries : UINT64_MAX;
    return entries == UINT64_MAX ? 0 : entries;
}

/* May worker `rank` not go on, since it is lost before? May it compute the gradient, but not hand
 * it in? */
static bool replay_keeps(struct replay_losses *losses, size_t rank)
{
    return losses->follows && is_at_its_end(losses, rank);
}

static bool replay_holds(struct replay_losses *losses, size_t rank)
{
    const struct hr_serial *serial = losses->serial;
    const struct hr_last_gradient *last = &serial->shared->stats[rank].last;
    if (losses->follows && serial->state[rank] == HR_ASKED)
        return is_at_its_end(losses, rank);
    if (!losses->follows || serial->state[rank] != HR_HAS || hr_pool_has(serial->pool, rank))
        return false;
    const bool computed = last->any && last->index == serial->task[rank].index;
    return steps_of(losses, rank) >= limit_of(losses, rank)->most ||
           (computed && replay_keeps(losses, rank));
}

/* Here it sends each request once, to all servers at once. */
static bool has_sent(const struct replay_losses *losses, const struct hr_membership_event *event)
{
    const uint64_t sent = losses->serial->worker[event->rank].worker.requests.sent;
    for (size_t i = 0; i < event->n; i++)
        if (sent < event->at[i].value)
            return false;
    return true;
}

/* A server's loss begins a term, which happens at once with all before it. */
static bool may_be_lost(struct replay_losses *losses, const struct hr_membership_event *event)
{
    const struct hr_serial *serial = losses->serial;
    const bool logs = hr_workers_log(losses->shared->strategy) && serial->ranks[event->rank].up;
    return event->rank < losses->shared->workers && !hr_pool_has(serial->pool, event->rank) &&
           steps_of(losses, event->rank) >= event->step && has_sent(losses, event) &&
           (!logs || is_at_its_end(losses, event->rank));
}

/* --- losses --- */

/* When it was, and how, the trailer says; of the pause, too, this run has no clock. What it cost
 * will be counted anew; but not where it is skipped that it was counted. */
static enum hr_status report_loss(struct replay_losses *losses, uint64_t step)
{
    struct hr_losses *all = &losses->serial->drive->losses;
    const size_t number = all->n - 1;
    struct hr_loss *loss = &all->loss[number], said = *loss;
    struct hr_resumption *resumption = &all->resumptions->loss[number];
    HR_TRY(hr_trace_texts_loss(losses->texts, number, &said));
    if (losses->next >= losses->forced)
        said.lost_samples = said.again_samples = said.partial = 0;
    *loss = said;
    loss->step = step;
    const bool pauses = loss->pause_s >= 0 && loss->pause_s < 1e9;
    const uint64_t pause = pauses ? (uint64_t)(loss->pause_s * 1e9 + 0.5) : 0;
    hr_atom64_store_relaxed(&resumption->lost_ns, pauses ? 1 : INT64_MAX); /* one thread */
    hr_atom64_store_relaxed(&resumption->resumed_ns, pauses ? 1 + pause : 0);
    return HR_OK;
}

static enum hr_status lose(struct replay_losses *losses, const struct hr_membership_event *event)
{
    struct hr_serial *serial = losses->serial;
    const bool again = serial->state[event->rank] == HR_LOST; /* on its way back */
    if (!again && !hr_serial_lives(serial, event->rank))
        return loss_misfits(losses, "it is dead");
    if (again)
        serial->state[event->rank] = HR_DEAD;
    else
        HR_TRY(hr_serial_die(serial, event->rank));
    if (hr_serial_notice(serial, event->rank) != HR_OK)
        return loss_misfits(losses, "the run would not go on without it");
    return report_loss(losses, event->step);
}

/* What servers had taken, and here could not, is skipped. */
static enum hr_status begin_term(struct replay_losses *losses,
                                 const struct hr_membership_event *event)
{
    struct hr_serial *serial = losses->serial;
    struct hr_losses *all = &serial->drive->losses;
    if (!hr_losses_are_revoked(all) || hr_losses_await(all))
        return loss_misfits(losses, "not all are there");
    HR_TRY(hr_serial_begin_term(serial));
    hand_out_before_it(losses);
    for (size_t i = 0; i < event->n; i++) {
        const size_t shard = event->at[i].rank - hr_shard_rank(losses->shared, 0);
        while (shard < losses->shared->servers && taken_by(losses, shard) < event->at[i].value &&
               hr_trace_peek(&losses->log[shard]))
            hr_trace_next(&losses->log[shard]);
    }
    return losses->shared->active->index == event->value
               ? HR_OK
               : loss_misfits(losses, "it began with another batch");
}

/* --- from one event to the next --- */

/* *done: it has happened. */
static enum hr_status happen(struct replay_losses *losses, bool *done)
{
    struct hr_serial *serial = losses->serial;
    const struct hr_membership_event *event = next_of(losses);
    const bool forced = losses->next < losses->forced;
    const size_t rank = event->rank;
    *done = false;
    switch (event->kind) {
    case HR_MEMBERSHIP_LOST:
        if (!forced && !may_be_lost(losses, event))
            return HR_OK;
        HR_TRY(lose(losses, event));
        break;
    case HR_MEMBERSHIP_BACK:
        if (serial->state[rank] != HR_LOST || !serial->drive->losses.again_ns[rank] ||
            !(forced || hr_serial_may_come_back(serial, rank)))
            return HR_OK;
        HR_TRY(hr_serial_come_back(serial, rank));
        break;
    case HR_MEMBERSHIP_TERM:
        HR_TRY(begin_term(losses, event));
        break;
    default:
        return HR_OK;
    }
    *done = true;
    return HR_OK;
}

/* Let happen what may. */
static enum hr_status replay_losses_go_on(struct replay_losses *losses, bool *moved)
{
    bool done = true;
    while (done && next_of(losses)) {
        HR_TRY(happen(losses, &done));
        losses->next += done;
        *moved = *moved || done;
        if (!done && losses->next < losses->forced)
            return loss_misfits(losses, "that cannot be");
    }
    return HR_OK;
}

/* The same where the run has left the recorded order: who is gone comes back. */
static enum hr_status replay_losses_leave(struct replay_losses *losses, bool *moved)
{
    struct hr_serial *serial = losses->serial;
    struct hr_losses *all = &serial->drive->losses;
    const size_t ranks = hr_serial_ranks(serial);
    replay_losses_close(losses);
    serial->shared->repeats = false;
    if (!hr_losses_are_revoked(all))
        return HR_OK;
    for (size_t r = 0; r < ranks; r++)
        if (hr_serial_may_come_back(serial, r))
            HR_TRY(hr_serial_come_back(serial, r));
    if (hr_losses_await(all))
        return HR_OK;
    *moved = true;
    return hr_serial_begin_term(serial);
}

/* --- cuts --- */

static bool replay_at_cut(struct replay_losses *losses)
{
    const struct hr_membership_event *event = next_of(losses);
    return hr_serial_at_cut(losses->serial) &&
           (!losses->follows || (event && event->kind == HR_MEMBERSHIP_CUT));
}

/* There all see the request to stop. */
static void stop_at(const struct replay_losses *losses, uint64_t index)
{
    struct hr_dispenser *dispenser = losses->shared->dispenser;
    hr_atom64_store_release(&dispenser->stop_at, index); /* one thread */
    hr_atom32_store_release(&dispenser->stop, HR_STOP_DONE);
}

static bool is_the_last_cut(const struct replay_losses *losses)
{
    const struct hr_membership *membership = &losses->membership;
    size_t e = losses->next + 1;
    while (e < membership->n && membership->event[e].kind != HR_MEMBERSHIP_CUT)
        e++;
    return e >= membership->n;
}

/* --early-stop ends a run at a cut that the log does not know to be the last. */
static enum hr_status replay_cut(struct replay_losses *losses)
{
    struct hr_serial *serial = losses->serial;
    const struct hr_cut *cut = serial->drive->leader->cuts.cut;
    const struct hr_membership_event *event = next_of(losses);
    if (!losses->follows)
        return hr_serial_cut(serial);
    const bool is_short = hr_replay_is_cut_short(serial->drive), halts = event->value & 1;
    if (halts && !is_short)
        stop_at(losses, event->value / 2);
    HR_TRY(hr_serial_cut(serial));
    if (is_short && cut->index >= losses->shared->schedule.end)
        return HR_OK;
    if (cut->index != event->value / 2 || (cut->halt ? !is_the_last_cut(losses) : halts))
        return loss_misfits(losses, "all were at another one");
    losses->next++;
    look_ahead(losses);
    hand_out_before_it(losses);
    return HR_OK;
}

/* Until all have left it, too, ranks are lost and started again. */
static enum hr_status replay_losses_end(struct replay_losses *losses)
{
    const struct hr_membership *membership = &losses->membership;
    bool done = true;
    if (hr_replay_is_cut_short(losses->serial->drive))
        return HR_OK;
    losses->forced = membership->n;
    for (; next_of(losses); losses->next++) {
        losses->serial->drive->losses.halted = losses->next >= membership->over;
        HR_TRY(happen(losses, &done));
        if (!done)
            return loss_misfits(losses, "the last cut has passed");
    }
    return HR_OK;
}

struct replayer {
    struct hr_serial serial;
    struct hr_trace_cursor *log; /* (owners) owned */
    size_t nlogs;
    struct replay_losses losses;
    unsigned char *enabled; /* (workers) owned; scratch */
    int64_t submitted;      /* gradients, in the order in which they are due */
    size_t idle;            /* looks in a row that changed nothing */
    bool off;               /* cut short: the logs no longer count */
};

static enum hr_status misfit(const struct replayer *replayer, size_t shard,
                             const struct hr_trace_entry *entry, const char *but)
{
    return hr_fail(HR_E_FORMAT,
                   "%s: does not fit the run that it describes: owner %zu next takes input %u of "
                   "worker %u at step %" PRIu64 " (value %" PRIu64 "), but %s",
                   replayer->serial.drive->replay->path, shard, entry->kind, entry->rank,
                   entry->step, entry->value, but);
}

/* Does its rank take messages? */
static bool serves(const struct replayer *replayer, size_t shard)
{
    const struct hr_serial *serial = &replayer->serial;
    return serial->state[serial->shared->workers + shard] == HR_WANTS;
}

static bool is_enabled(struct replayer *replayer, size_t shard, size_t worker)
{
    struct hr_serial *serial = &replayer->serial;
    memset(replayer->enabled, 0, serial->shared->workers);
    replayer->enabled[worker] = 1;
    serial->shared->strategy->enabled(&serial->shard[shard], replayer->enabled);
    return replayer->enabled[worker];
}

/* A loss is taken where the log has it, whatever the dead worker has sent beyond. */
static bool may_take(struct replayer *replayer, size_t shard, const struct hr_trace_entry *entry)
{
    struct hr_serial *serial = &replayer->serial;
    const bool gone = serial->shared->outlives && entry->kind == HR_GONE;
    if (!serves(replayer, shard))
        return false;
    serial->shard[shard].notified = gone ? entry->rank + 1 : 0;
    return gone ? hr_shard_sees_loss(&serial->shard[shard], entry->rank)
                : is_enabled(replayer, shard, entry->rank);
}

static enum hr_status take_entry(struct replayer *replayer, size_t shard,
                                 const struct hr_trace_entry *entry)
{
    struct hr_serial *serial = &replayer->serial;
    char but[120];
    hr_serial_take(serial, shard, entry->rank);
    const struct hr_taken *taken = &serial->shard[shard].taken;
    if (taken->kind == entry->kind && taken->worker == entry->rank && taken->step == entry->step &&
        taken->value == entry->value)
        return HR_OK;
    snprintf(but, sizeof but, "it was input %u at step %" PRIu64 " (value %" PRIu64 ")",
             taken->kind, taken->step, taken->value);
    return misfit(replayer, shard, entry, but);
}

/* Has the run left the recorded order? It was interrupted, or it is cut short and at its end: no
 * batch is left, or some synchronous worker is at the last cut. Relaxed: one thread. */
static bool has_left_the_log(const struct replayer *replayer)
{
    const struct hr_serial *serial = &replayer->serial;
    const struct hr_shared_state *shared = serial->shared;
    if (hr_atom32_load_relaxed(&shared->dispenser->stop) != HR_STOP_NOT)
        return true;
    if (!hr_replay_is_cut_short(serial->drive))
        return false;
    if (!shared->strategy->synchronous)
        return hr_atom64_load_relaxed(&shared->dispenser->next) >= shared->schedule.end;
    for (size_t r = 0; r < shared->workers; r++)
        if (serial->task[r].kind == HR_TASK_CUT && serial->task[r].index >= shared->schedule.end)
            return true;
    return false;
}

/* Take the log's next inputs, as far as they are enabled. */
static enum hr_status follow_log(struct replayer *replayer, size_t shard, bool *moved)
{
    struct hr_trace_cursor *log = &replayer->log[shard];
    const struct hr_trace_entry *entry;
    while (!has_left_the_log(replayer) && (entry = hr_trace_peek(log)) &&
           may_take(replayer, shard, entry)) {
        HR_TRY(take_entry(replayer, shard, entry));
        hr_trace_next(log);
        *moved = true;
    }
    return HR_OK;
}

/* After the end of a run cut short: take any input, workers in turn. */
static void take_any(struct replayer *replayer, size_t shard, bool *moved)
{
    struct hr_serial *serial = &replayer->serial;
    for (size_t w = 0; serves(replayer, shard) && w < serial->shared->workers; w++)
        if (is_enabled(replayer, shard, w)) {
            hr_serial_take(serial, shard, w);
            *moved = true;
        }
}

static struct hr_replay_log *replay_log(struct replayer *replayer, size_t rank)
{
    return &replayer->serial.worker[rank].worker.replay;
}

/* A worker that came back goes on in its log. */
static void give_logs(struct replayer *replayer)
{
    const struct hr_serial *serial = &replayer->serial;
    for (size_t r = 0; r < serial->shared->workers; r++) {
        if (!serial->ranks[r].up || replayer->off)
            continue;
        replay_log(replayer, r)->recorded = &replayer->log[r];
        replay_log(replayer, r)->until = replay_entries(&replayer->losses, r);
    }
}

/* Continue without the logs; an error when a worker's log has batches that the run has not. */
static enum hr_status leave_the_log(struct replayer *replayer)
{
    struct hr_serial *serial = &replayer->serial;
    const size_t workers = serial->shared->workers;
    const bool logs = hr_workers_log(serial->shared->strategy);
    bool beyond = false;
    for (size_t r = 0; r < workers; r++)
        beyond = beyond || (logs && serial->ranks[r].up && replay_log(replayer, r)->beyond);
    if (beyond && !hr_replay_is_cut_short(serial->drive))
        return hr_fail(HR_E_FORMAT,
                       "%s: does not fit the run that it describes: a worker's log has more "
                       "batches than the run",
                       serial->drive->replay->path);
    replayer->off = replayer->off || beyond || has_left_the_log(replayer);
    for (size_t r = 0; r < workers && logs && replayer->off; r++)
        if (serial->ranks[r].up)
            replay_log(replayer, r)->recorded = NULL;
    return HR_OK;
}

static enum hr_status serve_all(struct replayer *replayer, bool *moved)
{
    const struct hr_shared_state *shared = replayer->serial.shared;
    HR_TRY(leave_the_log(replayer));
    HR_TRY(replayer->off ? replay_losses_leave(&replayer->losses, moved)
                         : replay_losses_go_on(&replayer->losses, moved));
    if (hr_workers_log(shared->strategy))
        give_logs(replayer);
    for (size_t s = 0; s < shared->servers; s++) {
        if (replayer->off)
            take_any(replayer, s, moved);
        else
            HR_TRY(follow_log(replayer, s, moved));
    }
    return HR_OK;
}

static uint64_t operations(struct replayer *replayer, size_t rank)
{
    return replayer->serial.ranks[rank].up ? replay_log(replayer, rank)->moved : 0;
}

/* A gradient that was not handed in is computed alone. */
static enum hr_status act_once(struct replayer *replayer, size_t rank, bool *idle)
{
    struct hr_serial *serial = &replayer->serial;
    *idle = false;
    return serial->state[rank] == HR_HAS && replay_keeps(&replayer->losses, rank)
               ? hr_serial_finish_gradient(serial, rank)
               : hr_serial_act(serial, rank, idle);
}

/* Let a worker act until it waits for an owner, or for its gradient. */
static enum hr_status act(struct replayer *replayer, size_t rank, bool *moved)
{
    struct hr_serial *serial = &replayer->serial;
    while (hr_serial_may_act(serial, rank) && !replay_holds(&replayer->losses, rank)) {
        const uint64_t before = operations(replayer, rank);
        bool idle;
        if (serial->state[rank] == HR_HAS && !hr_pool_has(serial->pool, rank))
            HR_TRY(hr_serial_compute(serial, rank, replayer->submitted++));
        if (serial->state[rank] == HR_HAS && !hr_pool_done(serial->pool, rank))
            return HR_OK;
        HR_TRY(act_once(replayer, rank, &idle));
        *moved = *moved || !idle || operations(replayer, rank) != before;
        if (idle)
            return HR_OK;
    }
    return HR_OK;
}

static bool computes(struct replayer *replayer, size_t rank)
{
    return replayer->serial.state[rank] == HR_HAS && !replay_holds(&replayer->losses, rank);
}

/* The worker whose gradient to wait for: preferably one that a log needs next. */
static size_t awaited(struct replayer *replayer)
{
    const struct hr_serial *serial = &replayer->serial;
    const size_t workers = serial->shared->workers;
    for (size_t s = 0; s < serial->shared->servers && !replayer->off; s++) {
        const struct hr_trace_entry *entry = hr_trace_peek(&replayer->log[s]);
        if (entry && computes(replayer, entry->rank))
            return entry->rank;
    }
    for (size_t r = 0; r < workers; r++)
        if (computes(replayer, r))
            return r;
    return workers;
}

static enum hr_status stuck(const struct replayer *replayer)
{
    char event[120];
    replay_losses_awaited(&replayer->losses, event, sizeof event);
    for (size_t s = 0; s < replayer->serial.shared->servers && !event[0]; s++) {
        const struct hr_trace_entry *entry = hr_trace_peek(&replayer->log[s]);
        if (entry)
            return misfit(replayer, s, entry, "that will never be there");
    }
    return hr_fail(HR_E_FORMAT,
                   "%s: does not fit the run that it describes: nothing can happen any more, "
                   "and the run is not over%s%s",
                   replayer->serial.drive->replay->path,
                   event[0] ? "; the launcher's log next has " : "", event);
}

static enum hr_status one_round(struct replayer *replayer)
{
    struct hr_serial *serial = &replayer->serial;
    const size_t workers = serial->shared->workers;
    bool moved = false, idle;
    HR_TRY(serve_all(replayer, &moved));
    for (size_t r = 0; r < workers; r++)
        HR_TRY(act(replayer, r, &moved));
    replayer->idle = moved ? 0 : replayer->idle + 1;
    if (moved || replay_at_cut(&replayer->losses))
        return HR_OK;
    const size_t rank = awaited(replayer);
    if (rank < workers)
        return act_once(replayer, rank, &idle); /* joins */
    /* Without servers only collectives make progress, by looks. */
    if (replayer->idle <= (serial->shared->servers ? 0 : HR_SERIAL_IDLE_LOOKS * workers))
        return HR_OK;
    return stuck(replayer);
}

static enum hr_status play_all(struct replayer *replayer)
{
    struct hr_serial *serial = &replayer->serial;
    for (;;) {
        HR_TRY(one_round(replayer));
        HR_TRY(hr_serial_pause(serial));
        HR_TRY(hr_serial_tick(serial));
        if (!replay_at_cut(&replayer->losses))
            continue;
        HR_TRY(leave_the_log(replayer)); /* if the run has left it */
        HR_TRY(replay_cut(&replayer->losses));
        if (serial->drive->leader->cuts.cut->halt)
            return replay_losses_end(&replayer->losses);
    }
}

static enum hr_status open_logs(struct replayer *replayer, const struct hr_drive *drive)
{
    const struct hr_trace *trace = &hr_replay_own(drive->replay)->trace;
    replayer->log = calloc(trace->nowners, sizeof *replayer->log);
    replayer->enabled = calloc(HR_TRACE_RANKS, sizeof *replayer->enabled);
    if (!replayer->log || !replayer->enabled)
        return hr_fail(HR_E_NOMEM, "no memory to read %zu logs", trace->nowners);
    for (; replayer->nlogs < trace->nowners; replayer->nlogs++)
        HR_TRY(hr_trace_cursor_open(&replayer->log[replayer->nlogs], trace, replayer->nlogs));
    return HR_OK;
}

/* true: a message between two workers, which comes now, or never. */
static bool posted(void *arg, const struct hr_posted *what)
{
    struct replayer *replayer = arg;
    const struct hr_shared_state *shared = replayer->serial.shared;
    const bool between = what->from < shared->workers && what->to < shared->workers;
    if (between)
        hr_peers_deliver(shared, what->from, what->to);
    return between;
}

static enum hr_status start_and_repeat(struct replayer *replayer, struct hr_drive *drive)
{
    enum hr_status status = hr_serial_start(&replayer->serial, drive);
    drive->job->shared->posted = posted;
    drive->job->shared->posted_arg = replayer;
    if (status == HR_OK)
        status = play_all(replayer);
    hr_serial_stop(&replayer->serial);
    drive->job->shared->posted = NULL;
    return status;
}

static enum hr_status drive_replay(struct hr_drive *drive)
{
    struct replayer replayer = {0};
    enum hr_status status = open_logs(&replayer, drive);
    if (status == HR_OK) {
        status = replay_losses_open(&replayer.losses, &replayer.serial, drive, replayer.log);
        if (status == HR_OK)
            status = start_and_repeat(&replayer, drive);
        replay_losses_close(&replayer.losses);
    }
    for (size_t s = 0; s < replayer.nlogs; s++) {
        drive->result->trace_entries += replayer.log[s].section->entries - replayer.log[s].left;
        hr_trace_cursor_close(&replayer.log[s]);
    }
    free(replayer.log);
    free(replayer.enabled);
    return status;
}

static size_t one_a_core(const struct hr_train_options *options)
{
    (void)options;
    return hr_cpus_cores();
}

const struct hr_driver hr_driver_replay = {.title = "one thread runs all ranks",
                                           .serial = true,
                                           .local = true,
                                           .threads = one_a_core,
                                           .now_ns = hr_driver_real_ns,
                                           .bytes = hr_serial_bytes,
                                           .run = drive_replay};
