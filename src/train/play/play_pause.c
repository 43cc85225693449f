#include "play/play_pause.h"

#include <stdlib.h>

#include "strategy/pause.h"

/* --- when --- */

/* NULL: it is not there. */
static struct hr_shard *shard_of(const struct hr_play *play, size_t shard)
{
    const struct hr_shared_state *shared = play->shared;
    const bool there = shard < shared->servers && play->state[shared->workers + shard] == HR_WANTS;
    return there ? &play->shard[shard] : NULL;
}

/* The first batch of which nothing is in the state. Where all share one (backup-workers) a step is
 * in it as a whole or not at all. Relaxed here and below: one thread. */
static uint64_t index_of(const struct hr_play *play)
{
    const uint64_t next = hr_atom64_load_relaxed(&play->shared->dispenser->next);
    const struct hr_shard *first = shard_of(play, 0);
    return next - (first && first->open);
}

/* A cut at a multiple has saved. */
static bool is_due(const struct hr_play *play)
{
    const struct hr_dispenser *dispenser = play->shared->dispenser;
    const struct hr_batch_schedule *schedule = &play->shared->schedule;
    const uint64_t index = index_of(play), begins = play->drive->leader->cuts.cut->begins;
    const bool asked = hr_save_is_asked(&dispenser->save) && index > begins;
    const bool comes =
        index >= play->next_save && index >= hr_batch_schedule_next_save(schedule, begins);
    return (asked || comes) && index < hr_atom64_load_relaxed(&dispenser->cut) &&
           hr_atom32_load_relaxed(&dispenser->stop) == HR_STOP_NOT;
}

static bool all_know_of_losses(const struct hr_play *play)
{
    const struct hr_losses *losses = &play->drive->losses;
    if (!play->shared->outlives)
        return true;
    for (size_t r = 0; r < play->shared->workers + play->shared->servers; r++)
        if (play->state[r] == HR_DEAD)
            return false;
    return !hr_losses_recalled(losses) && hr_losses_are_taken(losses);
}

/* --- where all stand --- */

/* (workers) and (servers), owned. */
struct standing {
    enum hr_stands *stands;
    struct hr_worker **worker;
    const struct hr_gradient_counters **before;
    struct hr_shard **shard;
};

static enum hr_status open_standing(const struct hr_play *play, struct standing *standing)
{
    const size_t workers = play->shared->workers;
    *standing = (struct standing){
        .stands = calloc(workers, sizeof *standing->stands),
        .worker = calloc(workers, sizeof *standing->worker),
        .before = calloc(workers, sizeof *standing->before),
        .shard = calloc(play->shared->servers + 1, sizeof *standing->shard),
    };
    return standing->stands && standing->worker && standing->before && standing->shard
               ? HR_OK
               : hr_fail(HR_E_NOMEM, "no memory to save the state of %zu workers", workers);
}

static void close_standing(struct standing *standing)
{
    free(standing->stands);
    free(standing->worker);
    free(standing->before);
    free(standing->shard);
}

static void look_at_worker(struct hr_play *play, size_t rank, struct standing *standing)
{
    const bool computes = play->state[rank] == HR_HAS && hr_pool_has(play->pool, rank);
    standing->worker[rank] = play->played[rank].up ? &play->worker[rank].worker : NULL;
    standing->before[rank] = computes ? &play->played[rank].before : NULL;
    standing->stands[rank] = play->state[rank] == HR_HAS     ? HR_STANDS_HAS
                             : play->state[rank] == HR_ASKED ? HR_STANDS_ASKED
                                                             : HR_STANDS_BETWEEN;
}

/* False: somebody is on the way from one life to the next. */
static bool look(struct hr_play *play, struct standing *standing)
{
    for (size_t r = 0; r < play->shared->workers; r++)
        look_at_worker(play, r, standing);
    for (size_t s = 0; s < play->shared->servers; s++) {
        standing->shard[s] = shard_of(play, s);
        if (!standing->shard[s])
            return false;
    }
    return true;
}

/* --- what is told --- */

/* It has handed its gradient in, and not heard what became of it. */
static bool may_be_untold(enum hr_stand state)
{
    return state == HR_WANTS || state == HR_ASKED || state == HR_AT_CUT || state == HR_ARRIVING;
}

static bool mark_untold(const struct hr_play *play)
{
    bool any = false;
    for (size_t r = 0; r < play->shared->workers; r++) {
        struct hr_played *played = &play->played[r];
        played->untold = may_be_untold(play->state[r]) && play->worker[r].telling.n > 0;
        any = any || played->untold;
    }
    return any;
}

/* Who has a batch again has told, and who was lost never will. */
static bool all_have_told(const struct hr_play *play)
{
    bool all = true;
    for (size_t r = 0; r < play->shared->workers; r++) {
        play->played[r].untold = play->played[r].untold && may_be_untold(play->state[r]);
        all = all && !play->played[r].untold;
    }
    return all;
}

/* --- the save --- */

static struct hr_trained sum_of(const struct hr_pause *pause, size_t workers)
{
    struct hr_trained sum = {0};
    for (size_t w = 0; w < workers; w++) {
        sum.samples += pause->worker[w].samples;
        sum.updates += pause->worker[w].updates;
        sum.epoch_samples += pause->worker[w].epoch_samples;
        sum.epoch_loss += pause->worker[w].epoch_loss;
    }
    return sum;
}

static void save(struct hr_play *play)
{
    struct hr_drive *drive = play->drive;
    struct hr_pause *pause = play->shared->pause;
    const struct hr_trained trained = sum_of(pause, play->shared->workers);
    const uint64_t index = index_of(play);
    pause->is_saved = true;
    const struct hr_cut_words had =
        hr_cut_pause(&drive->leader->cuts, index, &trained, drive->driver->now_ns(drive));
    drive->launcher->holds = mark_untold(play);
    hr_launcher_take(drive->launcher);
    drive->launcher->holds = false;
    hr_cut_end_pause(&drive->leader->cuts, &had);
    pause->is_saved = false;
    play->next_save = hr_batch_schedule_next_save(&play->shared->schedule, index);
}

static void save_if_possible(struct hr_play *play, struct standing *standing)
{
    if (!look(play, standing))
        return;
    const struct hr_standing at = {.shared = play->shared,
                                   .stands = standing->stands,
                                   .worker = standing->worker,
                                   .before = standing->before,
                                   .shard = standing->shard};
    if (hr_pause_copy(&at, play->shared->pause))
        save(play);
}

enum hr_status hr_play_pause(struct hr_play *play)
{
    struct standing standing;
    if (play->drive->launcher->held && all_have_told(play))
        hr_launcher_release(play->drive->launcher);
    if (!play->shared->pause || !is_due(play) || !all_know_of_losses(play))
        return HR_OK;
    const enum hr_status status = open_standing(play, &standing);
    if (status == HR_OK)
        save_if_possible(play, &standing);
    close_standing(&standing);
    return status;
}
