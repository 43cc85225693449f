#include "play/replay_losses.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A worker's, up to event `until`. */
struct hr_replay_limit {
    uint64_t most;    /* gradients that it computes */
    uint64_t entries; /* that it repeats of its log, where it has one */
    size_t until;     /* 0: not known yet */
};

static const struct hr_roll_event *next_of(const struct hr_replay_losses *losses)
{
    return losses->follows && losses->next < losses->roll.n ? &losses->roll.event[losses->next]
                                                            : NULL;
}

/* --- where cuts are --- */

/* The next two; and what happens before them, at once: up to the last term that goes back. */
static void look_ahead(struct hr_replay_losses *losses)
{
    struct hr_batch_schedule *schedule = &losses->shared->schedule;
    const struct hr_roll *roll = &losses->roll;
    schedule->rests = losses->rests;
    schedule->nrests = 0;
    losses->forced = losses->next;
    for (size_t e = losses->next; e < roll->n && schedule->nrests < 2; e++) {
        if (roll->event[e].kind == HR_ROLL_TERM && schedule->nrests == 0)
            losses->forced = e + 1;
        if (roll->event[e].kind == HR_ROLL_CUT)
            losses->rests[schedule->nrests++] = roll->event[e].value / 2;
    }
}

/* It may be the cut that all stand behind: then nobody begins any batch. */
static void hand_out_before_it(const struct hr_replay_losses *losses)
{
    struct hr_dispenser *dispenser = losses->shared->dispenser;
    if (losses->shared->schedule.nrests &&
        losses->rests[0] < hr_atom64_load_acquire(&dispenser->cut)) /* one thread */
        hr_atom64_store_release(&dispenser->cut, losses->rests[0]);
}

enum hr_status hr_replay_losses_open(struct hr_replay_losses *losses, struct hr_play *play,
                                     const struct hr_drive *drive, struct hr_trace_cursor *log)
{
    const struct hr_replay_own *own = hr_replay_own(drive->replay);
    *losses = (struct hr_replay_losses){
        .play = play, .shared = drive->job->shared, .log = log, .texts = &own->texts};
    if (!losses->shared->outlives)
        return HR_OK;
    losses->follows = true;
    losses->limit = calloc(losses->shared->workers, sizeof *losses->limit);
    if (!losses->limit)
        return hr_fail(HR_E_NOMEM, "no memory for %zu workers", losses->shared->workers);
    const enum hr_status status = hr_roll_read(&own->trace, &losses->roll);
    if (status != HR_OK)
        return hr_fail_within(status, "%s", drive->replay->path);
    look_ahead(losses);
    hand_out_before_it(losses);
    return HR_OK;
}

void hr_replay_losses_close(struct hr_replay_losses *losses)
{
    if (losses->follows)
        losses->shared->schedule.nrests = 0;
    losses->follows = false;
    hr_roll_free(&losses->roll);
    free(losses->limit);
    losses->limit = NULL;
}

void hr_replay_losses_awaited(const struct hr_replay_losses *losses, char *text, size_t size)
{
    static const char *const names[] = {"", "the loss", "the return", "a cut", "a new term"};
    const struct hr_roll_event *event = next_of(losses);
    text[0] = '\0';
    if (event)
        snprintf(text, size, "%s of rank %u at step %" PRIu64 " (value %" PRIu64 ")",
                 names[event->kind], event->rank, event->step, event->value);
}

static enum hr_status misfit(const struct hr_replay_losses *losses, const char *but)
{
    char awaited[120];
    hr_replay_losses_awaited(losses, awaited, sizeof awaited);
    return hr_fail(HR_E_FORMAT,
                   "%s: does not fit the run that it describes: the launcher's log next has %s, "
                   "but %s",
                   losses->play->drive->replay->path, awaited, but);
}

/* --- how far a worker goes before its loss, where that is an input --- */

static const struct hr_replay_limit *limit_of(struct hr_replay_losses *losses, size_t rank)
{
    struct hr_replay_limit *limit = &losses->limit[rank];
    if (limit->until > losses->next)
        return limit;
    *limit = (struct hr_replay_limit){UINT64_MAX, UINT64_MAX, SIZE_MAX};
    for (size_t e = losses->next; e < losses->roll.n && limit->until == SIZE_MAX; e++) {
        const struct hr_roll_event *event = &losses->roll.event[e];
        const bool dies = event->kind == HR_ROLL_LOST && event->rank == rank;
        if (dies)
            limit->most = event->step;
        if (dies && hr_workers_log(losses->shared->strategy))
            limit->entries = event->value;
        if (dies || event->kind == HR_ROLL_TERM)
            limit->until = e + 1;
    }
    return limit;
}

static uint64_t steps_of(const struct hr_replay_losses *losses, size_t rank)
{
    return losses->play->worker[rank].worker.steps;
}

/* Entries of its log that a shard, or a worker, has taken. */
static uint64_t taken_by(const struct hr_replay_losses *losses, size_t owner)
{
    return losses->log[owner].section->entries - losses->log[owner].left;
}

/* Has a worker repeated what its log has, up to its end? */
static bool is_at_its_end(struct hr_replay_losses *losses, size_t rank)
{
    return hr_workers_log(losses->shared->strategy) && losses->play->played[rank].up &&
           !losses->play->worker[rank].worker.replay.busy &&
           taken_by(losses, rank) >= limit_of(losses, rank)->entries;
}

uint64_t hr_replay_entries(struct hr_replay_losses *losses, size_t rank)
{
    const uint64_t entries = losses->follows ? limit_of(losses, rank)->entries : UINT64_MAX;
    return entries == UINT64_MAX ? 0 : entries;
}

bool hr_replay_keeps(struct hr_replay_losses *losses, size_t rank)
{
    return losses->follows && is_at_its_end(losses, rank);
}

bool hr_replay_holds(struct hr_replay_losses *losses, size_t rank)
{
    const struct hr_play *play = losses->play;
    const struct hr_last_gradient *last = &play->shared->stats[rank].last;
    if (losses->follows && play->state[rank] == HR_ASKED)
        return is_at_its_end(losses, rank);
    if (!losses->follows || play->state[rank] != HR_HAS || hr_pool_has(play->pool, rank))
        return false;
    const bool computed = last->any && last->index == play->task[rank].index;
    return steps_of(losses, rank) >= limit_of(losses, rank)->most ||
           (computed && hr_replay_keeps(losses, rank));
}

/* Here it sends each request once, to all servers at once. */
static bool has_sent(const struct hr_replay_losses *losses, const struct hr_roll_event *event)
{
    const uint64_t sent = losses->play->worker[event->rank].worker.requests.sent;
    for (size_t i = 0; i < event->n; i++)
        if (sent < event->at[i].value)
            return false;
    return true;
}

static bool may_be_lost(struct hr_replay_losses *losses, const struct hr_roll_event *event)
{
    const struct hr_play *play = losses->play;
    const bool logs = hr_workers_log(losses->shared->strategy) && play->played[event->rank].up;
    return !hr_pool_has(play->pool, event->rank) && steps_of(losses, event->rank) >= event->step &&
           has_sent(losses, event) && (!logs || is_at_its_end(losses, event->rank));
}

/* --- losses --- */

/* When it was, and how, the trailer says; of the pause, too, this run has no clock. What it cost
 * will be counted anew; but not where it is skipped that it was counted. */
static enum hr_status tell_loss(struct hr_replay_losses *losses, uint64_t step)
{
    struct hr_losses *all = &losses->play->drive->losses;
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

static enum hr_status lose(struct hr_replay_losses *losses, const struct hr_roll_event *event)
{
    struct hr_play *play = losses->play;
    const bool again = play->state[event->rank] == HR_LOST; /* on its way back */
    if (!again && !hr_play_lives(play, event->rank))
        return misfit(losses, "it is dead");
    if (again)
        play->state[event->rank] = HR_DEAD;
    else
        HR_TRY(hr_play_die(play, event->rank));
    if (hr_play_notice(play, event->rank) != HR_OK)
        return misfit(losses, "the run would not go on without it");
    return tell_loss(losses, event->step);
}

/* What servers had taken, and here could not, is skipped. */
static enum hr_status begin_term(struct hr_replay_losses *losses, const struct hr_roll_event *event)
{
    struct hr_play *play = losses->play;
    struct hr_losses *all = &play->drive->losses;
    if (!hr_losses_recalled(all) || hr_losses_await(all))
        return misfit(losses, "not all are there");
    HR_TRY(hr_play_begin_term(play));
    hand_out_before_it(losses);
    for (size_t i = 0; i < event->n; i++) {
        const size_t shard = event->at[i].rank - losses->shared->workers;
        while (shard < losses->shared->servers && taken_by(losses, shard) < event->at[i].value &&
               hr_trace_peek(&losses->log[shard]))
            hr_trace_next(&losses->log[shard]);
    }
    return losses->shared->seats->index == event->value
               ? HR_OK
               : misfit(losses, "it began with another batch");
}

/* --- from one event to the next --- */

/* *done: it has happened. */
static enum hr_status happen(struct hr_replay_losses *losses, bool *done)
{
    struct hr_play *play = losses->play;
    const struct hr_roll_event *event = next_of(losses);
    const bool forced = losses->next < losses->forced;
    const size_t rank = event->rank;
    *done = false;
    switch (event->kind) {
    case HR_ROLL_LOST:
        if (!forced && !may_be_lost(losses, event))
            return HR_OK;
        HR_TRY(lose(losses, event));
        break;
    case HR_ROLL_BACK:
        if (play->state[rank] != HR_LOST || !play->drive->losses.again_ns[rank] ||
            !(forced || hr_play_may_come_back(play, rank)))
            return HR_OK;
        HR_TRY(hr_play_come_back(play, rank));
        break;
    case HR_ROLL_TERM:
        HR_TRY(begin_term(losses, event));
        break;
    default:
        return HR_OK;
    }
    *done = true;
    return HR_OK;
}

enum hr_status hr_replay_losses_go_on(struct hr_replay_losses *losses, bool *moved)
{
    bool done = true;
    while (done && next_of(losses)) {
        HR_TRY(happen(losses, &done));
        losses->next += done;
        *moved = *moved || done;
        if (!done && losses->next < losses->forced)
            return misfit(losses, "that cannot be");
    }
    return HR_OK;
}

enum hr_status hr_replay_losses_leave(struct hr_replay_losses *losses, bool *moved)
{
    struct hr_play *play = losses->play;
    struct hr_losses *all = &play->drive->losses;
    const size_t ranks = play->shared->workers + play->shared->servers;
    hr_replay_losses_close(losses);
    play->shared->repeats = false;
    if (!play->shared->outlives || !hr_losses_recalled(all))
        return HR_OK;
    for (size_t r = 0; r < ranks; r++)
        if (hr_play_may_come_back(play, r))
            HR_TRY(hr_play_come_back(play, r));
    if (hr_losses_await(all))
        return HR_OK;
    *moved = true;
    return hr_play_begin_term(play);
}

/* --- cuts --- */

bool hr_replay_at_cut(struct hr_replay_losses *losses)
{
    const struct hr_roll_event *event = next_of(losses);
    return hr_play_at_cut(losses->play) &&
           (!losses->follows || (event && event->kind == HR_ROLL_CUT));
}

/* There all see the request to stop. */
static void stop_at(const struct hr_replay_losses *losses, uint64_t index)
{
    struct hr_dispenser *dispenser = losses->shared->dispenser;
    hr_atom64_store_release(&dispenser->stop_at, index); /* one thread */
    hr_atom32_store_release(&dispenser->stop, HR_STOP_DONE);
}

static bool is_the_last_cut(const struct hr_replay_losses *losses)
{
    const struct hr_roll *roll = &losses->roll;
    size_t e = losses->next + 1;
    while (e < roll->n && roll->event[e].kind != HR_ROLL_CUT)
        e++;
    return e >= roll->n;
}

/* --early-stop ends a run at a cut that the log does not know to be the last. */
enum hr_status hr_replay_cut(struct hr_replay_losses *losses)
{
    struct hr_play *play = losses->play;
    const struct hr_cut *cut = play->drive->leader->cuts.cut;
    const struct hr_roll_event *event = next_of(losses);
    if (!losses->follows)
        return hr_play_cut(play);
    const bool is_short = hr_replay_is_cut_short(play->drive), halts = event->value & 1;
    if (halts && !is_short)
        stop_at(losses, event->value / 2);
    HR_TRY(hr_play_cut(play));
    if (is_short && cut->index >= losses->shared->schedule.end)
        return HR_OK;
    if (cut->index != event->value / 2 || (cut->halt ? !is_the_last_cut(losses) : halts))
        return misfit(losses, "all were at another one");
    losses->next++;
    look_ahead(losses);
    hand_out_before_it(losses);
    return HR_OK;
}

/* Until all have left it, too, ranks are lost and started again. */
enum hr_status hr_replay_losses_end(struct hr_replay_losses *losses)
{
    const struct hr_roll *roll = &losses->roll;
    bool done = true;
    if (hr_replay_is_cut_short(losses->play->drive))
        return HR_OK;
    losses->forced = roll->n;
    for (; next_of(losses); losses->next++) {
        losses->play->drive->losses.halted = losses->next >= roll->over;
        HR_TRY(happen(losses, &done));
        if (!done)
            return misfit(losses, "the last cut has passed");
    }
    return HR_OK;
}
