#include "virtual/virtual_losses.h"

#include <string.h>

#include "server/server.h"
#include "virtual/virtual_ranks.h"

static const struct hr_losses *losses_of(const struct hr_simulator *sim)
{
    return &sim->play.drive->losses;
}

static size_t ranks(const struct hr_simulator *sim)
{
    return sim->play.shared->workers + sim->play.shared->servers;
}

/* --- seats --- */

/* What is on its way to it, and was booked for it, is no more. */
static void clear_seat(struct hr_simulator *sim, size_t rank)
{
    struct hr_virtual_seat *seat = &sim->seat[rank];
    hr_virtual_begin(&seat->account, hr_simulator_now(sim));
    seat->coming = seat->sent = 0;
    seat->repeats = false;
    seat->life++;
}

static void drop_messages(struct hr_simulator *sim)
{
    const struct hr_shared_state *shared = sim->play.shared;
    hr_message_queue_drop(&sim->messages);
    sim->sum_moving_ps = NULL;
    sim->term++;
    for (size_t s = 0; s < shared->servers; s++) {
        sim->station[s].inbox.n = 0;
        sim->station[s].busy = false;
    }
}

void hr_virtual_begin_anew(struct hr_simulator *sim)
{
    drop_messages(sim);
    for (size_t r = 0; r < sim->play.shared->workers; r++) {
        clear_seat(sim, r);
        sim->seat[r].absent = sim->play.state[r] == HR_RESTS || !hr_play_lives(&sim->play, r);
    }
}

/* A loss has ended the term. Until the next one all who live wait, behind the gradient that they
 * are computing, as in real time. */
static enum hr_status stop_all(struct hr_simulator *sim)
{
    const int64_t now_ps = hr_simulator_now(sim);
    sim->rest_ps = now_ps;
    drop_messages(sim);
    for (size_t r = 0; r < sim->play.shared->workers; r++) {
        struct hr_virtual_seat *seat = &sim->seat[r];
        const int64_t computes_until_ps = seat->absent ? 0 : seat->account.since_ps;
        if (computes_until_ps <= now_ps)
            hr_simulator_settle(sim, r);
        clear_seat(sim, r);
        if (computes_until_ps > now_ps)
            seat->account.since_ps = computes_until_ps;
        if (computes_until_ps > sim->rest_ps)
            sim->rest_ps = computes_until_ps;
        if (seat->overdue) /* its last message will never arrive */
            HR_TRY(hr_simulator_push(sim, now_ps, hr_simulator_event(sim, HR_EVENT_NOTICED, r, 0)));
        seat->overdue = false;
    }
    return hr_simulator_push(sim, sim->rest_ps, hr_simulator_event(sim, HR_EVENT_AGAIN, 0, 0));
}

/* --- deaths --- */

/* The run's clock shows whole nanoseconds: at the first that is not before it. */
enum hr_status hr_virtual_plan_deaths(struct hr_simulator *sim)
{
    const struct hr_inject *inject = &sim->play.drive->job->conditions.inject;
    for (size_t i = 0; i < inject->n; i++) {
        const struct hr_inject_entry *entry = &inject->entry[i];
        const bool server = entry->kind == HR_INJECT_KILL_SERVER;
        const size_t rank = entry->rank + (server ? sim->play.shared->workers : 0);
        if (!entry->timed || (!server && entry->kind != HR_INJECT_KILL))
            continue;
        HR_TRY(hr_simulator_push(sim, (entry->ps + 999) / 1000 * 1000,
                                 hr_simulator_event(sim, HR_EVENT_DIES, rank, 0)));
    }
    return HR_OK;
}

/* Who is gone then dies when it is back: hr_conditions_kill counts. */
enum hr_status hr_virtual_die_in_time(struct hr_simulator *sim, size_t rank)
{
    const bool dies = hr_play_lives(&sim->play, rank) && hr_play_is_killed(&sim->play, rank);
    return dies ? hr_simulator_die(sim, rank) : HR_OK;
}

/* Behind all that it has sent. */
static enum hr_status tell_shards(struct hr_simulator *sim, size_t worker)
{
    for (size_t s = 0; s < sim->play.shared->servers; s++)
        HR_TRY(hr_virtual_input(sim, s, worker));
    return HR_OK;
}

enum hr_status hr_virtual_notice(struct hr_simulator *sim, size_t rank)
{
    struct hr_play *play = &sim->play;
    const bool worker = rank < play->shared->workers;
    const int64_t now = hr_simulator_now(sim);
    if (worker) {
        sim->seat[rank].overdue = sim->seat[rank].sent > 0;
        if (sim->seat[rank].overdue)
            return HR_OK;
    }
    HR_TRY(hr_play_notice(play, rank));
    if (hr_losses_recalled(losses_of(sim)))
        HR_TRY(stop_all(sim));
    const int64_t again_ps = 1000 * losses_of(sim)->again_ns[rank];
    if (again_ps > now)
        HR_TRY(hr_simulator_push(sim, again_ps, hr_simulator_event(sim, HR_EVENT_AGAIN, rank, 0)));
    if (worker && hr_server_takes_losses(play->shared) && !hr_losses_recalled(losses_of(sim)))
        HR_TRY(tell_shards(sim, rank));
    return hr_virtual_look_at_all(sim); /* some may have waited for it alone */
}

enum hr_status hr_virtual_notice_late(struct hr_simulator *sim, size_t rank)
{
    return sim->seat[rank].overdue ? hr_virtual_notice(sim, rank) : HR_OK;
}

/* --- returns and terms --- */

/* Do shards have messages of its earlier life to take? Not behind its loss. */
static bool has_left_messages(const struct hr_simulator *sim, size_t rank)
{
    for (size_t s = 0; s < sim->play.shared->servers; s++)
        if (hr_virtual_inbox_has(&sim->station[s].inbox, rank))
            return true;
    return false;
}

static enum hr_status come_back(struct hr_simulator *sim, size_t rank)
{
    struct hr_play *play = &sim->play;
    if (rank >= play->shared->workers)
        return hr_play_come_back(play, rank);
    clear_seat(sim, rank); /* a server may have answered the dead */
    HR_TRY(hr_play_come_back(play, rank));
    play->worker[rank].worker.spans = hr_simulator_spans(sim, rank);
    hr_arrivals_begin(&play->worker[rank].worker, hr_simulator_now(sim) / 1000);
    sim->seat[rank].absent = play->state[rank] == HR_RESTS;
    HR_ASSERT(sim->seat[rank].absent || !has_left_messages(sim, rank));
    return hr_virtual_look(sim, rank);
}

static enum hr_status let_come_back(struct hr_simulator *sim)
{
    for (size_t r = 0; r < ranks(sim); r++)
        if (hr_play_may_come_back(&sim->play, r))
            HR_TRY(come_back(sim, r));
    return HR_OK;
}

static enum hr_status begin_term(struct hr_simulator *sim)
{
    for (size_t r = 0; r < sim->play.shared->workers; r++) {
        hr_simulator_settle(sim, r);
        hr_simulator_leave_exchange(sim, r);
    }
    HR_TRY(hr_play_begin_term(&sim->play));
    hr_virtual_begin_anew(sim);
    return hr_virtual_look_at_all(sim);
}

enum hr_status hr_virtual_mind_losses(struct hr_simulator *sim)
{
    if (losses_of(sim)->n == 0)
        return HR_OK;
    HR_TRY(let_come_back(sim));
    return hr_play_term_is_over(&sim->play) && hr_simulator_now(sim) >= sim->rest_ps
               ? begin_term(sim)
               : HR_OK;
}
