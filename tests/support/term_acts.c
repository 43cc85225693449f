/* term_play.h: what ranks do, and what the launcher does when one is lost. */
#include <string.h>

#include "base/size.h"
#include "group/group.h"
#include "shm/control.h"
#include "strategy/shared.h"
#include "support/check.h"
#include "support/term_play.h"

/* --- acts --- */

size_t play_acts(const struct play *play)
{
    return play->shared.workers * (1 + play->shared.servers);
}

/* Has every worker come as far as that? (All who live, or none: a dead one has not.) */
static bool all_are(const struct play *play, enum play_state a, enum play_state b)
{
    for (size_t w = 0; w < play->shared.seats->n; w++) {
        const size_t rank = play->shared.seats->rank[w];
        if (play->gone[rank] || (play->state[rank] != a && play->state[rank] != b))
            return false;
    }
    return true;
}

bool play_can(struct play *play, size_t act)
{
    const struct hr_shared_state *shared = &play->shared;
    const size_t w = act % shared->workers, s = act / shared->workers;
    unsigned char enabled[PLAY_WORKERS] = {0};
    if (s > 0) {
        enabled[w] = 1;
        shared->strategy->enabled(&play->shard[s - 1], enabled);
        return enabled[w] && !play->halted[s - 1];
    }
    if (play->gone[w] || play->state[w] == PLAY_RESTS || play->state[w] == PLAY_ENDED)
        return false;
    if (play->state[w] == PLAY_EXPORTS)
        return all_are(play, PLAY_EXPORTS, PLAY_LEAVES);
    return play->state[w] != PLAY_LEAVES || all_are(play, PLAY_LEAVES, PLAY_LEAVES);
}

static void compute(struct play *play, size_t w)
{
    struct hr_worker *worker = &play->worker[w];
    const struct hr_batch batch = hr_batch_schedule_batch(&play->shared.schedule, play->index[w]);
    const size_t begin = hr_split_begin(batch.count, worker->seats, worker->seat);
    for (size_t i = 0; i < play->shared.params; i++)
        worker->grads[i] = play_gradient(play->index[w], worker->seat, worker->seats, i);
    worker->samples = hr_split_begin(batch.count, worker->seats, worker->seat + 1) - begin;
    hr_stats_begin(worker->stats, play->index[w]);
    worker->stats->steps = ++worker->steps;
    worker->epoch_loss = worker->stats->epoch_loss;
    worker->stats->samples += worker->samples;
    worker->stats->epoch_samples += worker->samples;
    worker->stats->epoch_loss += (double)worker->samples;
    hr_stats_end(worker->stats);
    if (play->plan.overlaps && play->shared.strategy->final)
        play->shared.strategy->final(worker, play->shared.params / 2);
}

/* It waits. */
static bool idle(struct play *play, size_t w)
{
    if (!hr_wait_is_recalled(&play->waiter[w]))
        return false;
    play->state[w] = PLAY_RESTS;
    return true;
}

static bool accept(struct play *play, size_t w)
{
    struct hr_worker *worker = &play->worker[w];
    const struct hr_strategy *strategy = play->shared.strategy;
    struct hr_task task;
    if (!strategy->ready(worker))
        return idle(play, w);
    const enum hr_status status = strategy->accept(worker, &task);
    if (status == HR_E_RECALLED) {
        play->state[w] = PLAY_RESTS;
        return true;
    }
    CHECK_OK(status);
    play->index[w] = task.index;
    play->state[w] = task.kind == HR_TASK_CUT ? PLAY_AT_CUT : PLAY_HAS;
    return true;
}

static void leave_cut(struct play *play)
{
    const struct hr_batch_schedule *schedule = &play->shared.schedule;
    for (size_t s = 0; s < play->shared.seats->n; s++) {
        const size_t w = play->shared.seats->rank[s];
        CHECK_OK(play->shared.strategy->verify(&play->worker[w]));
        play->begins = play->index[w];
        play->state[w] = play->begins == schedule->end ? PLAY_ENDED : PLAY_WANTS;
        if (play->state[w] == PLAY_WANTS)
            play->worker[w].cut = hr_batch_schedule_next_cut(schedule, play->begins);
    }
}

static bool act_of(struct play *play, size_t w)
{
    struct hr_worker *worker = &play->worker[w];
    const struct hr_strategy *strategy = play->shared.strategy;
    switch (play->state[w]) {
    case PLAY_WANTS:
        strategy->request(worker);
        play->state[w] = PLAY_ASKED;
        return true;
    case PLAY_ASKED:
        return accept(play, w);
    case PLAY_HAS:
        compute(play, w);
        strategy->offer(worker);
        play->state[w] = PLAY_WANTS;
        return true;
    case PLAY_AT_CUT:
        strategy->arrive(worker);
        play->state[w] = PLAY_ARRIVING;
        return true;
    case PLAY_ARRIVING:
        if (!strategy->arrived(worker))
            return idle(play, w);
        hr_worker_at_cut(worker);
        play->state[w] = PLAY_EXPORTS;
        return true;
    case PLAY_EXPORTS:
        strategy->export_part(worker);
        play->state[w] = PLAY_LEAVES;
        return true;
    case PLAY_LEAVES:
        leave_cut(play);
        return true;
    default:
        return false;
    }
}

bool play_act(struct play *play, size_t act)
{
    const size_t w = act % play->shared.workers, s = act / play->shared.workers;
    if (s == 0)
        return act_of(play, w);
    play->shared.strategy->take(&play->shard[s - 1], w);
    return true;
}

bool play_any(struct play *play, struct hr_picker *picker)
{
    unsigned char enabled[PLAY_WORKERS * (1 + PLAY_SERVERS)];
    const size_t n = play_acts(play);
    for (size_t act = 0; act < n; act++)
        enabled[act] = play_can(play, act);
    for (;;) {
        const size_t act = hr_pick(picker, enabled, n);
        if (act == n)
            return false;
        if (play_act(play, act))
            return true;
        enabled[act] = 0;
    }
}

void play_on(struct play *play, struct hr_picker *picker, uint64_t acts)
{
    while (acts-- && play_any(play, picker)) {
    }
}

/* --- losses --- */

void play_halt(struct play *play, size_t s)
{
    play->halted[s] = true;
}

void play_die(struct play *play, size_t w)
{
    play->gone[w] = true;
}

void play_lose(struct play *play, size_t w)
{
    play_die(play, w);
    hr_roster_lose(play->shared.control, w, true);
}

void play_recall(struct play *play)
{
    hr_roster_welcome(play->shared.control, 0, true);
}

uint64_t play_settle(struct play *play)
{
    struct hr_seats *seats = play->shared.seats;
    seats->n = 0;
    for (size_t w = 0; w < play->shared.workers; w++)
        if (!play->gone[w])
            seats->rank[seats->n++] = (uint16_t)w;
    return play->shared.strategy->settle(&play->shared);
}

void play_take_back(struct play *play, uint64_t index)
{
    struct hr_shared_state *shared = &play->shared;
    for (size_t w = 0; w < shared->workers; w++) {
        struct hr_worker_stats *stats = &shared->stats[w];
        hr_stats_mend(stats);
        if (stats->last.any && stats->last.index >= index)
            hr_stats_take_back(stats);
    }
}

void play_begin_term(struct play *play, uint64_t index)
{
    struct hr_shared_state *shared = &play->shared;
    struct hr_group_options options = shared->group_options;
    size_t bytes;
    CHECK_OK(hr_group_bytes(&options, &bytes));
    play_take_back(play, index);
    memset(shared->own, 0, shared->strategy->bytes(shared));
    if (shared->strategy->init)
        shared->strategy->init(shared);
    shared->seats->index = index;
    hr_atom64_store_relaxed(&shared->dispenser->stop_at, UINT64_MAX);
    memset(shared->group, 0, bytes);
    options.nranks = shared->seats->n;
    CHECK_OK(hr_group_init(shared->group, &options));
    for (size_t w = 0; w < shared->workers; w++) {
        if (play->gone[w])
            continue;
        hr_member_fini(&play->worker[w].member);
        play_seat(play, w, index);
        CHECK_OK(hr_worker_restart(&play->worker[w]));
    }
    for (size_t s = 0; s < shared->servers; s++) {
        shared->strategy->shard_stop(&play->shard[s]);
        CHECK_OK(shared->strategy->shard_start(&play->shard[s], shared, s));
    }
}
