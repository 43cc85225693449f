#include "play/replay_stand.h"

#include <stdlib.h>

#include "server/server.h"

/* Up to event `until`. */
struct hr_replay_limit {
    uint64_t most;    /* gradients that a worker computes; entries of its log that a server takes */
    uint64_t index;   /* of the first batch whose gradient a worker does not hand in */
    uint64_t entries; /* that a worker repeats of its log, where it has one */
    uint64_t unended; /* what it leaves to others, and does not end; or 0 */
    size_t until;     /* 0: not known yet */
};

static const struct hr_shared_state *shared_of(const struct hr_replay_stand *stand)
{
    return stand->shared;
}

static bool recalls(const struct hr_replay_stand *stand)
{
    return shared_of(stand)->strategy->recalls;
}

enum hr_status hr_stand_open(struct hr_replay_stand *stand)
{
    const struct hr_shared_state *shared = shared_of(stand);
    stand->limit = calloc(shared->workers + shared->servers, sizeof *stand->limit);
    return stand->limit ? HR_OK : hr_fail(HR_E_NOMEM, "no memory for %zu workers", shared->workers);
}

void hr_stand_close(struct hr_replay_stand *stand)
{
    hr_roll_free(&stand->roll);
    free(stand->limit);
    stand->limit = NULL;
}

const struct hr_roll_event *hr_stand_next(const struct hr_replay_stand *stand)
{
    return stand->next < stand->roll.n ? &stand->roll.event[stand->next] : NULL;
}

const struct hr_roll_event *hr_stand_term(const struct hr_replay_stand *stand)
{
    size_t e = stand->next;
    while (e < stand->roll.n && stand->roll.event[e].kind < HR_ROLL_CUT)
        e++;
    return e < stand->roll.n && stand->roll.event[e].kind == HR_ROLL_TERM ? &stand->roll.event[e]
                                                                          : NULL;
}

/* --- how far --- */

static bool is_server(const struct hr_replay_stand *stand, size_t rank)
{
    return rank >= shared_of(stand)->workers;
}

static size_t shard_of(const struct hr_replay_stand *stand, size_t rank)
{
    return rank - shared_of(stand)->workers;
}

static bool is_loss_of(const struct hr_roll_event *event, size_t rank)
{
    return event->kind == HR_ROLL_LOST && event->rank == rank;
}

/* Of a term that goes on: the first batch that this worker does not hand in. Local SGD says which
 * averaging a worker has left its replica for: who has, handed in the one before. */
static uint64_t first_kept(const struct hr_replay_stand *stand, const struct hr_roll_event *term,
                           const struct hr_roll_place *at)
{
    const uint64_t index = term->value / 2;
    const bool rolled = term->value & 1;
    if (rolled || !recalls(stand))
        return UINT64_MAX;
    if (!shared_of(stand)->strategy->left)
        return index;
    return at->value / 2 == index + 1 ? UINT64_MAX : index - 1;
}

/* Of gossip's worker that dies: the first batch that it does not hand in. All that it has handed in
 * has come to somebody, or it says so. */
static uint64_t first_unsent(const struct hr_replay_stand *stand, const struct hr_roll_event *event)
{
    uint64_t done = 0, came = 0;
    if (!shared_of(stand)->strategy->came_from)
        return UINT64_MAX;
    for (size_t i = 0; i < event->n; i++) {
        const struct hr_roll_place *at = &event->at[i];
        if (at->rank == event->rank)
            done = at->value;
        else if (at->value > came)
            came = at->value;
    }
    came += shared_of(stand)->seats->index;
    return done > came ? done : came;
}

/* Returns: it says all about this rank. */
static bool find_limit(const struct hr_replay_stand *stand, const struct hr_roll_event *event,
                       size_t rank, struct hr_replay_limit *limit)
{
    const bool server = is_server(stand, rank), term = event->kind == HR_ROLL_TERM;
    const bool dies = is_loss_of(event, rank);
    if (dies) {
        limit->most = server ? event->value : event->step;
        limit->index = server ? UINT64_MAX : first_unsent(stand, event);
        limit->entries = shared_of(stand)->strategy->replay_log ? event->value : UINT64_MAX;
    }
    for (size_t i = 0; term && i < event->n; i++) {
        if (event->at[i].rank != rank)
            continue;
        if (limit->most == UINT64_MAX)
            limit->most = server ? (&event->at[i])->value : event->at[i].step;
        limit->index = first_kept(stand, event, &event->at[i]);
        limit->unended =
            limit->index == UINT64_MAX && !(event->at[i].value & 1) ? event->at[i].value / 2 : 0;
    }
    return term || (dies && !recalls(stand));
}

static const struct hr_replay_limit *limit_of(struct hr_replay_stand *stand, size_t rank)
{
    struct hr_replay_limit *limit = &stand->limit[rank];
    if (limit->until > stand->next)
        return limit;
    *limit = (struct hr_replay_limit){UINT64_MAX, UINT64_MAX, UINT64_MAX, 0, SIZE_MAX};
    for (size_t e = stand->next; e < stand->roll.n; e++)
        if (find_limit(stand, &stand->roll.event[e], rank, limit)) {
            limit->until = e + 1;
            break;
        }
    return limit;
}

static uint64_t steps_of(const struct hr_replay_stand *stand, size_t rank)
{
    return stand->play->worker[rank].worker.steps;
}

/* What it has left to others; and has not ended. */
static uint64_t left_by(const struct hr_replay_stand *stand, size_t rank)
{
    const struct hr_shared_state *shared = shared_of(stand);
    bool ended;
    return recalls(stand) && shared->strategy->left ? shared->strategy->left(shared, rank, &ended)
                                                    : 0;
}

/* Entries of its log that a shard, or a worker, has taken. */
static uint64_t taken_by(const struct hr_replay_stand *stand, size_t owner)
{
    return stand->log[owner].section->entries - stand->log[owner].left;
}

/* Has a worker repeated what its log has, up to its end? */
static bool is_at_its_end(struct hr_replay_stand *stand, size_t rank)
{
    struct hr_worker *worker = &stand->play->worker[rank].worker;
    const struct hr_strategy *strategy = shared_of(stand)->strategy;
    return strategy->replay_log && stand->play->played[rank].up &&
           !strategy->replay_log(worker)->busy &&
           taken_by(stand, rank) >= limit_of(stand, rank)->entries;
}

uint64_t hr_stand_entries(struct hr_replay_stand *stand, size_t rank)
{
    const uint64_t entries = stand->limit ? limit_of(stand, rank)->entries : UINT64_MAX;
    return entries == UINT64_MAX ? 0 : entries;
}

bool hr_stand_keeps(struct hr_replay_stand *stand, size_t rank)
{
    return stand->limit && (stand->play->task[rank].index >= limit_of(stand, rank)->index ||
                            is_at_its_end(stand, rank));
}

bool hr_stand_holds(struct hr_replay_stand *stand, size_t rank)
{
    const struct hr_play *play = stand->play;
    const struct hr_last_gradient *last = &play->shared->stats[rank].last;
    if (stand->limit && play->state[rank] == HR_ASKED)
        return is_at_its_end(stand, rank) ||
               (left_by(stand, rank) && left_by(stand, rank) == limit_of(stand, rank)->unended);
    if (!stand->limit || play->state[rank] != HR_HAS || hr_pool_has(play->pool, rank))
        return false;
    const bool computed = last->any && last->index == play->task[rank].index;
    return steps_of(stand, rank) >= limit_of(stand, rank)->most ||
           (computed && hr_stand_keeps(stand, rank));
}

bool hr_stand_may_take(struct hr_replay_stand *stand, size_t shard)
{
    return !stand->limit ||
           taken_by(stand, shard) < limit_of(stand, shared_of(stand)->workers + shard)->most;
}

/* --- where --- */

static bool server_stands(const struct hr_replay_stand *stand, size_t rank, uint64_t entries)
{
    return recalls(stand) || !shared_of(stand)->servers ||
           taken_by(stand, shard_of(stand, rank)) == entries;
}

/* Where a term goes on from a batch, everybody has come to it, or to a cut before it; or has left
 * what it had left. */
static bool has_come(struct hr_replay_stand *stand, size_t rank, const struct hr_roll_place *at)
{
    const struct hr_shared_state *shared = shared_of(stand);
    const enum hr_play_state state = stand->play->state[rank];
    const uint64_t index = limit_of(stand, rank)->index;
    if (recalls(stand) && shared->strategy->left)
        return index != UINT64_MAX || left_by(stand, rank) >= at->value / 2;
    return index == UINT64_MAX || state == HR_ARRIVED ||
           (state == HR_HAS && hr_stand_keeps(stand, rank));
}

static bool worker_stands(struct hr_replay_stand *stand, const struct hr_roll_place *at)
{
    const struct hr_play *play = stand->play;
    const size_t rank = at->rank;
    if (!hr_play_lives(play, rank) || play->state[rank] == HR_RESTS)
        return true;
    return !hr_pool_has(play->pool, rank) && steps_of(stand, rank) == limit_of(stand, rank)->most &&
           has_come(stand, rank, at);
}

bool hr_stand_all(struct hr_replay_stand *stand, const struct hr_roll_event *term)
{
    for (size_t i = 0; i < term->n; i++) {
        const struct hr_roll_place *at = &term->at[i];
        const bool stands = is_server(stand, at->rank) ? server_stands(stand, at->rank, (at)->value)
                                                       : worker_stands(stand, at);
        if (!stands)
            return false;
    }
    return true;
}

/* --- losses that are inputs --- */

/* Here it sends each request once, to all servers at once. */
static bool has_sent(const struct hr_replay_stand *stand, const struct hr_roll_event *event)
{
    const struct hr_shared_state *shared = shared_of(stand);
    const uint64_t sent = stand->play->worker[event->rank].worker.requests.sent;
    for (size_t i = 0; i < event->n; i++)
        if (event->at[i].rank - shared->workers < shared->servers && sent < event->at[i].value)
            return false;
    return true;
}

/* The messages of gossip's worker; entries of a log of its own. */
static bool has_done(struct hr_replay_stand *stand, const struct hr_roll_event *event)
{
    const struct hr_shared_state *shared = shared_of(stand);
    if (shared->strategy->replay_log && stand->play->played[event->rank].up &&
        !is_at_its_end(stand, event->rank))
        return false;
    for (size_t i = 0; shared->strategy->came_from && i < event->n; i++) {
        const struct hr_roll_place *at = &event->at[i];
        if (at->rank < shared->workers && at->rank != event->rank &&
            hr_play_lives(stand->play, at->rank) &&
            shared->strategy->came_from(shared, event->rank, at->rank) < at->value)
            return false;
        if (at->rank == event->rank &&
            hr_atom64_load_acquire(&shared->stats[at->rank].done) < at->value) /* one thread */
            return false;
    }
    return true;
}

bool hr_stand_delivers(struct hr_replay_stand *stand, size_t from, size_t to)
{
    const struct hr_shared_state *shared = shared_of(stand);
    const struct hr_roll_event *event = NULL;
    for (size_t e = stand->next; !event && stand->limit && e < stand->roll.n; e++) {
        if (stand->roll.event[e].kind == HR_ROLL_TERM)
            return true;
        if (stand->roll.event[e].kind == HR_ROLL_LOST && stand->roll.event[e].rank == from)
            event = &stand->roll.event[e];
    }
    for (size_t i = 0; event && i < event->n; i++)
        if (event->at[i].rank == to)
            return shared->strategy->came_from(shared, from, to) < event->at[i].value;
    return true;
}

bool hr_stand_may_be_lost(struct hr_replay_stand *stand, const struct hr_roll_event *event)
{
    const struct hr_roll_event *term = hr_stand_term(stand);
    if (recalls(stand))
        return term && hr_stand_all(stand, term);
    if (is_server(stand, event->rank))
        return server_stands(stand, event->rank, event->value);
    return !hr_pool_has(stand->play->pool, event->rank) &&
           steps_of(stand, event->rank) >= event->step && has_sent(stand, event) &&
           has_done(stand, event);
}

void hr_stand_begin_term(struct hr_replay_stand *stand, const struct hr_roll_event *term)
{
    const struct hr_shared_state *shared = shared_of(stand);
    for (size_t i = 0; i < term->n; i++) {
        const size_t shard = term->at[i].rank - shared->workers;
        while (shard < shared->servers && taken_by(stand, shard) < term->at[i].value &&
               hr_trace_peek(&stand->log[shard]))
            hr_trace_next(&stand->log[shard]);
    }
}
