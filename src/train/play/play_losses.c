#include "play/play_losses.h"

#include <string.h>

#include "strategy/shared.h"

static const char how[] = "killed by --inject";

static struct hr_losses *losses_of(const struct hr_play *play)
{
    return &play->drive->losses;
}

static size_t ranks(const struct hr_play *play)
{
    return play->shared->workers + play->shared->servers;
}

bool hr_play_is_killed(const struct hr_play *play, size_t rank)
{
    const struct hr_drive *drive = play->drive;
    const bool computes = hr_pool_has(play->pool, rank); /* perhaps now: its counters change */
    const uint64_t step = computes ? play->played[rank].step : play->worker[rank].worker.steps;
    return hr_conditions_kill(drive->job, rank, step, hr_launcher_ps(drive->launcher));
}

bool hr_play_server_is_killed(const struct hr_play *play, size_t shard)
{
    const struct hr_drive *drive = play->drive;
    const size_t rank = play->shared->workers + shard;
    return hr_conditions_kill_server(drive->job, shard, play->played[rank].taken,
                                     hr_launcher_ps(drive->launcher));
}

/* --- death, and its notice --- */

static void die_as_worker(struct hr_play *play, size_t rank)
{
    hr_play_drop_gradient(play, rank);
    if (play->played[rank].up)
        hr_train_worker_drop(&play->worker[rank]);
    play->life[rank].rank = (struct hr_rank){.where = HR_DEAD}; /* another life begins anew */
}

/* Nobody may read what a dead server had: let it be no number. */
static void die_as_server(struct hr_play *play, size_t shard)
{
    const struct hr_shared_state *shared = play->shared;
    struct hr_shard *it = &play->shard[shard];
    const size_t states = shared->strategy->rows.state == HR_KEPT_OWN ? 0 : hr_state_floats(shared);
    memset(it->weights, 0xff, it->count * sizeof *it->weights);
    if (it->sum)
        memset(it->sum, 0xff, it->count * sizeof *it->sum);
    for (size_t at = it->first; at < states; at += shared->params)
        memset(it->state + at, 0xff, it->count * sizeof *it->state);
    if (play->played[play->shared->workers + shard].up)
        play->shared->strategy->shard_stop(it);
}

static enum hr_status say_lost(size_t rank)
{
    return hr_fail(HR_E_LOST, "rank %zu: %s", rank, how);
}

enum hr_status hr_play_die(struct hr_play *play, size_t rank)
{
    HR_ASSERT(hr_play_lives(play, rank));
    if (rank < play->shared->workers)
        die_as_worker(play, rank);
    else
        die_as_server(play, rank - play->shared->workers);
    play->played[rank].up = false;
    play->state[rank] = HR_DEAD;
    return play->shared->outlives ? HR_OK : say_lost(rank);
}

enum hr_status hr_play_notice(struct hr_play *play, size_t rank)
{
    HR_ASSERT(play->state[rank] == HR_DEAD);
    if (!hr_losses_lost(losses_of(play), rank, how))
        return hr_fail(HR_E_LOST, "rank %zu: %s%s", rank, how, losses_of(play)->why_not);
    play->state[rank] = HR_LOST;
    for (size_t r = 0; hr_losses_recalled(losses_of(play)) && r < ranks(play); r++)
        if (hr_play_lives(play, r)) {
            if (r < play->shared->workers)
                hr_play_drop_gradient(play, r);
            play->state[r] = HR_RESTS;
        }
    return HR_OK;
}

/* --- return --- */

/* Explored schedules have no time. */
static bool may_start_again(const struct hr_play *play, size_t rank)
{
    const struct hr_drive *drive = play->drive;
    const int64_t *again_ns = drive->losses.again_ns;
    if (play->state[rank] != HR_LOST || !again_ns[rank])
        return false;
    return !drive->driver->simulated || again_ns[rank] <= drive->driver->now_ns(drive);
}

bool hr_play_may_come_back(struct hr_play *play, size_t rank)
{
    if (!may_start_again(play, rank))
        return false;
    if (rank >= play->shared->workers)
        return true;
    return hr_losses_recalled(losses_of(play)) || hr_losses_is_taken(losses_of(play), rank);
}

enum hr_status hr_play_come_back(struct hr_play *play, size_t rank)
{
    hr_losses_start(losses_of(play), rank);
    hr_losses_welcome(losses_of(play), rank);
    play->state[rank] = HR_RESTS;
    play->played[rank].taken = 0; /* messages, of its next life */
    if (rank >= play->shared->workers || hr_losses_recalled(losses_of(play)))
        return HR_OK;
    play->state[rank] = HR_WANTS;
    return hr_play_start_worker(play, rank, true);
}

/* --- terms --- */

bool hr_play_term_is_over(const struct hr_play *play)
{
    if (!play->shared->outlives || !hr_losses_recalled(losses_of(play)))
        return false;
    for (size_t r = 0; r < ranks(play); r++)
        if (play->state[r] == HR_DEAD)
            return false;
    return !hr_losses_await(losses_of(play));
}

/* A worker that lives: it begins from the snapshot, if it has a seat. */
static enum hr_status begin_again(struct hr_play *play, size_t rank)
{
    struct hr_train_worker *worker = &play->worker[rank];
    struct hr_played *played = &play->played[rank];
    worker->job = play->drive->job;
    worker->worker.rank = rank;
    play->life[rank].rank = (struct hr_rank){.where = HR_RESTS}; /* it begins anew */
    play->state[rank] = hr_train_worker_seat(worker) ? HR_WANTS : HR_RESTS;
    if (play->state[rank] == HR_RESTS) {
        hr_worker_sit_out(&worker->worker);
        return HR_OK;
    }
    if (!played->up)
        return hr_play_start_worker(play, rank, false);
    const enum hr_status status = hr_train_worker_restart(worker);
    played->up = status == HR_OK;
    return status;
}

static enum hr_status begin_all_again(struct hr_play *play)
{
    const struct hr_shared_state *shared = play->shared;
    for (size_t s = 0; s < shared->servers; s++) {
        const bool lives = hr_play_lives(play, shared->workers + s);
        if (lives)
            play->state[shared->workers + s] = HR_WANTS;
        if (!lives)
            continue;
        if (play->played[shared->workers + s].up)
            shared->strategy->shard_stop(&play->shard[s]);
        play->played[shared->workers + s].up = false;
        HR_TRY(hr_play_start_shard(play, s));
    }
    for (size_t r = 0; r < shared->workers; r++)
        if (hr_play_lives(play, r))
            HR_TRY(begin_again(play, r));
    return HR_OK;
}

enum hr_status hr_play_begin_term(struct hr_play *play)
{
    const bool recalled = hr_losses_recalled(losses_of(play));
    HR_TRY(hr_losses_begin_term(losses_of(play), false));
    if (recalled)
        return begin_all_again(play);
    for (size_t r = 0; r < play->shared->workers; r++)
        if (hr_play_lives(play, r) && !hr_train_worker_seat(&play->worker[r]))
            play->state[r] = HR_RESTS;
    return HR_OK;
}
