#include "drive/replay_losses.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/server.h"

/* How many gradients a worker computes, or entries of its log a server takes, up to event
 * `until`. */
struct hr_replay_limit {
    uint64_t most;
    size_t until; /* 0: not known yet */
};

static const struct hr_shared_state *shared_of(const struct hr_replay_losses *losses)
{
    return losses->play->shared;
}

enum hr_status hr_replay_losses_open(struct hr_replay_losses *losses, struct hr_play *play,
                                     const struct hr_replay *of, struct hr_trace_cursor *log)
{
    const struct hr_replay_own *own = hr_replay_own(of);
    *losses = (struct hr_replay_losses){.play = play, .log = log, .texts = &own->texts};
    if (!play->shared->outlives)
        return HR_OK;
    losses->limit = calloc(play->shared->workers + play->shared->servers, sizeof *losses->limit);
    losses->beyond =
        calloc(play->shared->workers * play->shared->servers + 1, sizeof *losses->beyond);
    if (!losses->limit || !losses->beyond)
        return hr_fail(HR_E_NOMEM, "no memory for %zu workers", play->shared->workers);
    const enum hr_status status = hr_roll_read(&own->trace, &losses->roll);
    return status == HR_OK ? HR_OK : hr_fail_within(status, "%s", of->path);
}

void hr_replay_losses_close(struct hr_replay_losses *losses)
{
    hr_roll_free(&losses->roll);
    free(losses->limit);
    free(losses->beyond);
    losses->limit = NULL;
    losses->beyond = NULL;
}

static const struct hr_roll_event *next_of(const struct hr_replay_losses *losses)
{
    return losses->next < losses->roll.n ? &losses->roll.event[losses->next] : NULL;
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

/* --- where ranks stand --- */

static uint64_t steps_of(const struct hr_replay_losses *losses, size_t rank)
{
    return losses->play->worker[rank].worker.steps;
}

/* Entries of its log that a shard has taken. */
static uint64_t taken_by(const struct hr_replay_losses *losses, size_t shard)
{
    return losses->log[shard].section->entries - losses->log[shard].left;
}

static bool server_stands(const struct hr_replay_losses *losses, size_t rank, uint64_t entries)
{
    const struct hr_shared_state *shared = shared_of(losses);
    const size_t shard = rank - shared->workers;
    return shard >= shared->servers || taken_by(losses, shard) == entries;
}

static bool worker_stands(const struct hr_replay_losses *losses, size_t rank, uint64_t steps)
{
    const struct hr_play *play = losses->play;
    if (!hr_play_lives(play, rank) || play->state[rank] == HR_RESTS)
        return true;
    return !hr_pool_has(play->pool, rank) && steps_of(losses, rank) == steps;
}

/* Does every rank stand where the event says? */
static bool all_stand(const struct hr_replay_losses *losses, const struct hr_roll_event *event)
{
    for (size_t i = 0; i < event->n; i++) {
        const struct hr_roll_place *at = &event->at[i];
        const bool stands = at->rank < shared_of(losses)->workers
                                ? worker_stands(losses, at->rank, at->step)
                                : server_stands(losses, at->rank, at->value);
        if (!stands)
            return false;
    }
    return true;
}

/* Of one who dies, what it did before; a term says where all stand. */
static bool find_limit(const struct hr_roll_event *event, size_t rank, bool server, uint64_t *most)
{
    const bool dies = event->kind == HR_ROLL_LOST && event->rank == rank;
    const bool all = event->kind == HR_ROLL_TERM;
    if (dies)
        *most = server ? event->value : event->step;
    for (size_t i = 0; all && i < event->n; i++)
        if (event->at[i].rank == rank)
            *most = server ? event->at[i].value : event->at[i].step;
    return dies || all;
}

static uint64_t limit_of(struct hr_replay_losses *losses, size_t rank)
{
    const bool server = rank >= shared_of(losses)->workers;
    struct hr_replay_limit *limit = &losses->limit[rank];
    if (limit->until > losses->next)
        return limit->most;
    *limit = (struct hr_replay_limit){UINT64_MAX, SIZE_MAX};
    for (size_t e = losses->next; e < losses->roll.n; e++)
        if (find_limit(&losses->roll.event[e], rank, server, &limit->most)) {
            limit->until = e + 1;
            break;
        }
    return limit->most;
}

bool hr_replay_may_take(struct hr_replay_losses *losses, size_t shard)
{
    return !losses->limit ||
           taken_by(losses, shard) < limit_of(losses, shared_of(losses)->workers + shard);
}

bool hr_replay_holds(struct hr_replay_losses *losses, size_t rank)
{
    return losses->limit && losses->play->state[rank] == HR_HAS &&
           !hr_pool_has(losses->play->pool, rank) &&
           steps_of(losses, rank) >= limit_of(losses, rank);
}

/* --- losses and returns --- */

static size_t edge(const struct hr_replay_losses *losses, size_t worker, size_t shard)
{
    return worker * shared_of(losses)->servers + shard;
}

static uint64_t sent(const struct hr_replay_losses *losses, size_t worker, size_t shard)
{
    return hr_ring_committed_spsc(hr_server_requests(shared_of(losses), worker, shard));
}

static bool has_sent(const struct hr_replay_losses *losses, const struct hr_roll_event *event)
{
    const struct hr_shared_state *shared = shared_of(losses);
    for (size_t i = 0; i < event->n; i++) {
        const size_t shard = event->at[i].rank - shared->workers;
        if (shard < shared->servers &&
            sent(losses, event->rank, shard) <
                event->at[i].value + losses->beyond[edge(losses, event->rank, shard)])
            return false;
    }
    return true;
}

/* Of what it has sent and the recorded one had not, nobody takes anything. */
static void note_beyond(struct hr_replay_losses *losses, const struct hr_roll_event *event)
{
    const struct hr_shared_state *shared = shared_of(losses);
    for (size_t i = 0; i < event->n; i++) {
        const size_t shard = event->at[i].rank - shared->workers;
        if (shard < shared->servers)
            losses->beyond[edge(losses, event->rank, shard)] =
                sent(losses, event->rank, shard) - event->at[i].value;
    }
}

static bool may_be_lost(const struct hr_replay_losses *losses, const struct hr_roll_event *event)
{
    if (event->rank >= shared_of(losses)->workers)
        return server_stands(losses, event->rank, event->value);
    return !hr_pool_has(losses->play->pool, event->rank) &&
           steps_of(losses, event->rank) >= event->step && has_sent(losses, event);
}

/* When it was, and how, the trailer says; of the pause, too, this run has no clock. */
static enum hr_status tell_loss(struct hr_replay_losses *losses)
{
    struct hr_losses *all = &losses->play->drive->losses;
    const size_t number = all->n - 1;
    struct hr_loss *loss = &all->loss[number];
    struct hr_resumption *resumption = &all->resumptions->loss[number];
    HR_TRY(hr_trace_texts_loss(losses->texts, number, loss));
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
    if (event->rank < play->shared->workers)
        note_beyond(losses, event);
    if (again)
        play->state[event->rank] = HR_DEAD;
    else
        HR_TRY(hr_play_die(play, event->rank));
    if (hr_play_notice(play, event->rank) != HR_OK)
        return misfit(losses, "the run would not go on without it");
    return tell_loss(losses);
}

/* --- terms --- */

/* What servers had taken, and here could not. */
static void skip(struct hr_replay_losses *losses, const struct hr_roll_event *event)
{
    const struct hr_shared_state *shared = shared_of(losses);
    for (size_t i = 0; i < event->n; i++) {
        const size_t shard = event->at[i].rank - shared->workers;
        while (shard < shared->servers && taken_by(losses, shard) < event->at[i].value &&
               hr_trace_peek(&losses->log[shard]))
            hr_trace_next(&losses->log[shard]);
    }
}

static enum hr_status begin_term(struct hr_replay_losses *losses, const struct hr_roll_event *event)
{
    struct hr_play *play = losses->play;
    struct hr_losses *all = &play->drive->losses;
    const size_t ranks = shared_of(losses)->workers + shared_of(losses)->servers;
    if (all->n == 0 || all->rolls != (event->value & 1))
        return misfit(losses, "it would begin at another state");
    for (size_t r = 0; r < ranks; r++)
        if (hr_play_lives(play, r) && play->state[r] != HR_RESTS)
            hr_play_rest(play, r);
    if (!hr_play_all_rest(play))
        return misfit(losses, "not all are there");
    HR_TRY(hr_play_begin_term(play));
    all->loss[all->recalled_by].again_samples += event->step - all->again;
    skip(losses, event);
    memset(losses->beyond, 0,
           play->shared->workers * play->shared->servers * sizeof *losses->beyond); /* new rings */
    return shared_of(losses)->seats->index == event->value / 2
               ? HR_OK
               : misfit(losses, "it began with another batch");
}

/* --- from one event to the next --- */

static bool may_come_back(const struct hr_replay_losses *losses, size_t rank, bool forced)
{
    const bool lost = losses->play->state[rank] == HR_LOST;
    return forced ? lost : hr_play_may_come_back(losses->play, rank);
}

bool hr_replay_force(struct hr_replay_losses *losses)
{
    size_t e = losses->next;
    while (e < losses->roll.n && losses->roll.event[e].kind < HR_ROLL_CUT)
        e++;
    if (e == losses->roll.n || losses->roll.event[e].kind != HR_ROLL_TERM ||
        !(losses->roll.event[e].value & 1) || losses->forced > e)
        return false;
    losses->forced = e + 1;
    return true;
}

/* *done: it has happened. */
static enum hr_status happen(struct hr_replay_losses *losses, bool *done)
{
    struct hr_play *play = losses->play;
    const struct hr_roll_event *event = next_of(losses);
    const bool forced = losses->next < losses->forced;
    *done = false;
    switch (event->kind) {
    case HR_ROLL_LOST:
        if (!forced && !may_be_lost(losses, event))
            return HR_OK;
        HR_TRY(lose(losses, event));
        break;
    case HR_ROLL_BACK:
        if (!may_come_back(losses, event->rank, forced))
            return HR_OK;
        HR_TRY(hr_play_come_back(play, event->rank));
        break;
    case HR_ROLL_TERM:
        if (!hr_losses_recalled(&play->drive->losses) || !(forced || all_stand(losses, event)))
            return HR_OK;
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
    }
    return HR_OK;
}

enum hr_status hr_replay_losses_leave(struct hr_replay_losses *losses, bool *moved)
{
    struct hr_play *play = losses->play;
    const size_t ranks = play->shared->workers + play->shared->servers;
    hr_replay_losses_close(losses);
    play->shared->repeats = false;
    for (size_t r = 0; play->shared->outlives && r < ranks; r++) {
        if (hr_losses_recalled(&play->drive->losses) && hr_play_may_come_back(play, r))
            HR_TRY(hr_play_come_back(play, r));
        if (hr_play_may_rest(play, r))
            hr_play_rest(play, r);
    }
    if (!hr_play_all_rest(play))
        return HR_OK;
    *moved = true;
    return hr_play_begin_term(play);
}

/* --- cuts --- */

bool hr_replay_at_cut(struct hr_replay_losses *losses)
{
    const struct hr_roll_event *event = next_of(losses);
    if (!hr_play_at_cut(losses->play))
        return false;
    return !losses->limit || (event && event->kind == HR_ROLL_CUT);
}

/* Batches that wait to be handed out again are left where the run was stopped. */
enum hr_status hr_replay_cut(struct hr_replay_losses *losses)
{
    struct hr_play *play = losses->play;
    const struct hr_cut *cut = play->drive->leader->cuts.cut;
    const struct hr_roll_event *event = next_of(losses);
    if (!losses->limit)
        return hr_play_cut(play);
    const bool halts = event->value & 1 || hr_replay_is_cut_short(play->drive);
    if (halts && hr_fates_waiting(play->shared->fates))
        hr_atom32_store_release(&play->shared->dispenser->stop, HR_STOP_DONE);
    HR_TRY(hr_play_cut(play));
    if (cut->index != event->value / 2 || (cut->halt && !halts))
        return misfit(losses, "all were at another one");
    losses->next++;
    return HR_OK;
}

enum hr_status hr_replay_losses_end(struct hr_replay_losses *losses)
{
    losses->play->drive->losses.halted = true;
    for (; next_of(losses); losses->next++)
        if (next_of(losses)->kind == HR_ROLL_LOST)
            HR_TRY(lose(losses, next_of(losses)));
    return HR_OK;
}
