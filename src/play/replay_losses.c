#include "play/replay_losses.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static struct hr_shared_state *shared_of(const struct hr_replay_losses *losses)
{
    return losses->stand.shared;
}

static const struct hr_roll_event *next_of(const struct hr_replay_losses *losses)
{
    return hr_stand_next(&losses->stand);
}

/* --- where cuts are --- */

/* From that event on. Where all go back before they come to a cut, it is where they would have. */
static void look_ahead(struct hr_replay_losses *losses, size_t from)
{
    struct hr_batch_schedule *schedule = &shared_of(losses)->schedule;
    const struct hr_roll *roll = &losses->stand.roll;
    bool back = false;
    schedule->rests = losses->rests;
    schedule->nrests = 0;
    for (size_t e = from; e < roll->n && schedule->nrests < 2 && !back; e++) {
        const struct hr_roll_event *event = &roll->event[e];
        back = event->kind == HR_ROLL_TERM && event->value & 1;
        if (back || event->kind == HR_ROLL_CUT)
            losses->rests[schedule->nrests++] = back ? event->next : event->value / 2;
    }
}

/* It may be the cut that all stand behind: then nobody begins any batch. */
static void hand_out_before_it(const struct hr_replay_losses *losses)
{
    struct hr_dispenser *dispenser = shared_of(losses)->dispenser;
    if (shared_of(losses)->schedule.nrests &&
        losses->rests[0] < hr_atom64_load_acquire(&dispenser->cut)) /* one thread */
        hr_atom64_store_release(&dispenser->cut, losses->rests[0]);
}

enum hr_status hr_replay_losses_open(struct hr_replay_losses *losses, struct hr_play *play,
                                     const struct hr_drive *drive, struct hr_trace_cursor *log)
{
    const struct hr_replay_own *own = hr_replay_own(drive->replay);
    *losses = (struct hr_replay_losses){
        .stand = {.play = play, .shared = drive->job->shared, .log = log}, .texts = &own->texts};
    if (!shared_of(losses)->outlives)
        return HR_OK;
    HR_TRY(hr_stand_open(&losses->stand));
    const enum hr_status status = hr_roll_read(&own->trace, &losses->stand.roll);
    if (status != HR_OK)
        return hr_fail_within(status, "%s", drive->replay->path);
    look_ahead(losses, 0);
    hand_out_before_it(losses);
    return HR_OK;
}

void hr_replay_losses_close(struct hr_replay_losses *losses)
{
    if (losses->stand.limit)
        shared_of(losses)->schedule.nrests = 0;
    hr_stand_close(&losses->stand);
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
                   losses->stand.play->drive->replay->path, awaited, but);
}

/* --- losses --- */

/* When it was, and how, the trailer says; of the pause, too, this run has no clock. */
static enum hr_status tell_loss(struct hr_replay_losses *losses)
{
    struct hr_losses *all = &losses->stand.play->drive->losses;
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
    struct hr_play *play = losses->stand.play;
    const bool again = play->state[event->rank] == HR_LOST; /* on its way back */
    if (!again && !hr_play_lives(play, event->rank))
        return misfit(losses, "it is dead");
    if (again)
        play->state[event->rank] = HR_DEAD;
    else
        HR_TRY(hr_play_die(play, event->rank));
    if (hr_play_notice(play, event->rank) != HR_OK)
        return misfit(losses, "the run would not go on without it");
    return tell_loss(losses);
}

/* --- terms --- */

static enum hr_status begin_term(struct hr_replay_losses *losses, const struct hr_roll_event *event)
{
    struct hr_play *play = losses->stand.play;
    struct hr_losses *all = &play->drive->losses;
    const size_t ranks = shared_of(losses)->workers + shared_of(losses)->servers;
    if (all->n == 0 || all->rolls != (event->value & 1))
        return misfit(losses, "it would begin at another state");
    for (size_t r = 0; r < ranks; r++)
        if (hr_play_lives(play, r) && play->state[r] != HR_RESTS)
            hr_play_rest(play, r);
    if (!hr_play_all_rest(play))
        return misfit(losses, "not all are there");
    look_ahead(losses, losses->stand.next + 1);
    HR_TRY(hr_play_begin_term(play));
    hand_out_before_it(losses);
    all->loss[all->recalled_by].again_samples += event->step - all->again;
    hr_stand_begin_term(&losses->stand, event);
    return shared_of(losses)->seats->index == event->value / 2
               ? HR_OK
               : misfit(losses, "it began with another batch");
}

/* --- from one event to the next --- */

/* Where all are recalled for its return, when they stand; where owners take its loss, then. */
static bool may_come_back(struct hr_replay_losses *losses, size_t rank, bool forced)
{
    struct hr_play *play = losses->stand.play;
    const struct hr_roll_event *term = hr_stand_term(&losses->stand);
    const struct hr_strategy *strategy = shared_of(losses)->strategy;
    const bool recalls = strategy->recalls || strategy->joins_at_cut;
    if (play->state[rank] != HR_LOST || !play->drive->losses.again_ns[rank])
        return false;
    if (recalls && !forced)
        return term && hr_stand_all(&losses->stand, term);
    return forced || hr_play_may_come_back(play, rank);
}

bool hr_replay_force(struct hr_replay_losses *losses)
{
    const struct hr_roll_event *term = hr_stand_term(&losses->stand);
    const size_t behind = term ? (size_t)(term - losses->stand.roll.event) + 1 : 0;
    if (!term || !(term->value & 1) || losses->forced >= behind)
        return false;
    losses->forced = behind;
    return true;
}

/* *done: it has happened. */
static enum hr_status happen(struct hr_replay_losses *losses, bool *done)
{
    struct hr_play *play = losses->stand.play;
    const struct hr_roll_event *event = next_of(losses);
    const bool forced = losses->stand.next < losses->forced;
    *done = false;
    switch (event->kind) {
    case HR_ROLL_LOST:
        if (!forced && !hr_stand_may_be_lost(&losses->stand, event))
            return HR_OK;
        HR_TRY(lose(losses, event));
        break;
    case HR_ROLL_BACK:
        if (!may_come_back(losses, event->rank, forced))
            return HR_OK;
        HR_TRY(hr_play_come_back(play, event->rank));
        break;
    case HR_ROLL_TERM:
        if (!hr_losses_recalled(&play->drive->losses) ||
            !(forced || hr_stand_all(&losses->stand, event)))
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
        losses->stand.next += done;
        *moved = *moved || done;
    }
    return HR_OK;
}

enum hr_status hr_replay_losses_leave(struct hr_replay_losses *losses, bool *moved)
{
    struct hr_play *play = losses->stand.play;
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
    if (!hr_play_at_cut(losses->stand.play))
        return false;
    return !losses->stand.limit || (event && event->kind == HR_ROLL_CUT);
}

/* There all see the request to stop. */
static void stop_at(const struct hr_replay_losses *losses, uint64_t index)
{
    struct hr_dispenser *dispenser = shared_of(losses)->dispenser;
    hr_atom64_store_release(&dispenser->stop_at, index); /* one thread */
    hr_atom32_store_release(&dispenser->stop, HR_STOP_DONE);
}

static bool is_the_last_cut(const struct hr_replay_losses *losses)
{
    const struct hr_roll *roll = &losses->stand.roll;
    size_t e = losses->stand.next + 1;
    while (e < roll->n && roll->event[e].kind != HR_ROLL_CUT)
        e++;
    return e >= roll->n;
}

/* --early-stop ends a run at a cut that the log does not know to be the last. */
enum hr_status hr_replay_cut(struct hr_replay_losses *losses)
{
    struct hr_play *play = losses->stand.play;
    const struct hr_cut *cut = play->drive->leader->cuts.cut;
    const struct hr_roll_event *event = next_of(losses);
    if (!losses->stand.limit)
        return hr_play_cut(play);
    const bool is_short = hr_replay_is_cut_short(play->drive), halts = event->value & 1;
    if (halts && !is_short)
        stop_at(losses, event->value / 2);
    HR_TRY(hr_play_cut(play));
    if (is_short && cut->index >= shared_of(losses)->schedule.end)
        return HR_OK;
    if (cut->index != event->value / 2 || (cut->halt ? !is_the_last_cut(losses) : halts))
        return misfit(losses, "all were at another one");
    losses->stand.next++;
    look_ahead(losses, losses->stand.next);
    hand_out_before_it(losses);
    return HR_OK;
}

/* Until all have left it, too, ranks are lost and started again. */
enum hr_status hr_replay_losses_end(struct hr_replay_losses *losses)
{
    const struct hr_roll *roll = &losses->stand.roll;
    bool done = true;
    if (hr_replay_is_cut_short(losses->stand.play->drive))
        return HR_OK;
    losses->forced = roll->n;
    for (; next_of(losses); losses->stand.next++) {
        losses->stand.play->drive->losses.halted = losses->stand.next >= roll->over;
        HR_TRY(happen(losses, &done));
        if (!done)
            return misfit(losses, "the last cut has passed");
    }
    return HR_OK;
}
