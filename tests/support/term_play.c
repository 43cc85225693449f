#include "support/term_play.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/size.h"
#include "group/group.h"
#include "shm/control.h"
#include "strategy/arrivals.h"
#include "strategy/shared.h"
#include "server/staleness.h"
#include "support/check.h"
#include "support/death.h"

float play_gradient(uint64_t index, size_t seat, size_t seats, size_t i)
{
    const uint64_t mixed = (i * 7919 + seat * 104729 + seats * 1299709 + index * 31337) % 10007;
    return (mixed % 2 ? -1.0f : 1.0f) / (float)(1 + mixed);
}

/* --- memory --- */

static void *carve(struct play *play, size_t bytes)
{
    void *at = play->arena + play->used * HR_LINE;
    play->used += (bytes + HR_LINE - 1) / HR_LINE;
    assert_true(play->used <= PLAY_LINES);
    return at;
}

static size_t group_bytes(const struct play *play)
{
    size_t bytes = 0;
    CHECK_OK(hr_group_bytes(&play->shared.group_options, &bytes));
    return bytes;
}

static void lay_out(struct play *play)
{
    struct hr_shared_state *shared = &play->shared;
    const size_t copies = shared->snapshot.state_copies;
    shared->control = carve(play, hr_control_bytes(shared->workers + shared->servers));
    shared->dispenser = carve(play, sizeof *shared->dispenser);
    shared->stats = carve(play, shared->workers * sizeof *shared->stats);
    shared->seats =
        carve(play, sizeof *shared->seats + shared->workers * sizeof *shared->seats->rank);
    shared->fates = carve(play, hr_fates_bytes(shared->workers, hr_fates_room(shared)));
    shared->staleness = carve(play, hr_staleness_bytes(shared));
    shared->arrivals = carve(play, hr_arrivals_bytes(shared->workers));
    shared->group = carve(play, group_bytes(play));
    for (size_t w = 0; w < shared->workers; w++) {
        shared->weights[w] = carve(play, shared->params * sizeof(float));
        shared->grads[w] = carve(play, shared->params * sizeof(float));
    }
    shared->snapshot.weights = carve(play, shared->params * sizeof(float));
    shared->snapshot.state = carve(play, hr_state_floats(shared) * copies * sizeof(float));
    shared->snapshot.applied = carve(play, copies * sizeof(uint64_t));
    shared->snapshot.losses = carve(play, sizeof *shared->snapshot.losses);
    shared->snapshot.apart = carve(play, sizeof *shared->snapshot.apart);
    if (shared->outlives && shared->strategy->worker_bytes)
        shared->states = carve(play, shared->workers * hr_state_bytes(shared));
    if (shared->strategy->bytes)
        shared->own = carve(play, shared->strategy->bytes(shared));
}

/* --- ranks --- */

static void join_group(struct play *play, size_t w)
{
    const struct hr_shared_state *shared = &play->shared;
    struct hr_group_options options = shared->group_options;
    const struct hr_place place = {.group = shared->group,
                                   .segment = play->arena,
                                   .control = shared->control,
                                   .waiter = &play->waiter[w],
                                   .world_rank = shared->seats->rank};
    options.nranks = shared->seats->n;
    CHECK_OK(hr_member_init(&play->worker[w].member, &options, &place, play->worker[w].seat));
}

void play_seat(struct play *play, size_t w, uint64_t index)
{
    struct hr_worker *worker = &play->worker[w];
    const struct hr_seats *seats = play->shared.seats;
    worker->index = index;
    worker->steps = worker->stats->steps;
    worker->cut = hr_batch_schedule_next_cut(&play->shared.schedule,
                                             index > play->begins ? index - 1 : index);
    worker->seats = seats->n;
    for (size_t s = 0; s < seats->n; s++)
        if (seats->rank[s] == w)
            worker->seat = s;
    play->state[w] = PLAY_WANTS;
    play->waiter[w].recall_seen = hr_atom32_load_relaxed(&play->shared.control->roster.recall);
    join_group(play, w);
}

static void start_ranks(struct play *play)
{
    struct hr_shared_state *shared = &play->shared;
    for (size_t w = 0; w < shared->workers; w++) {
        play->waiter[w] = (struct hr_waiter){.abort = &shared->control->abort,
                                             .recall = &shared->control->roster.recall};
        play->worker[w] = (struct hr_worker){.shared = shared,
                                             .rank = w,
                                             .waiter = &play->waiter[w],
                                             .stats = &shared->stats[w],
                                             .weights = shared->weights[w],
                                             .grads = shared->grads[w]};
        play_seat(play, w, 0);
        CHECK_OK(hr_worker_start(&play->worker[w]));
    }
    for (size_t s = 0; s < shared->servers; s++)
        CHECK_OK(shared->strategy->shard_start(&play->shard[s], shared, s));
}

static struct hr_optimizer optimizer_of(struct play *play, const struct play_plan *plan)
{
    const size_t half = plan->params / 2;
    struct hr_optimizer optimizer = {.momentum = 0.9,
                                     .weight_decay = 0.01,
                                     .beta1 = 0.9,
                                     .beta2 = 0.999,
                                     .eps = 1e-8,
                                     .trust = 0.01,
                                     .clip_norm = plan->clip_norm,
                                     .segments = play->segment,
                                     .nsegments = PLAY_KEYS,
                                     .params = plan->params};
    CHECK_OK(hr_rule_find(plan->optimizer, &optimizer.rule));
    play->segment[0] = (struct hr_param_segment){0, half, HR_SEGMENT_TRAINED};
    play->segment[1] = (struct hr_param_segment){half, plan->params - half, HR_SEGMENT_TRAINED};
    return optimizer;
}

static void settle_constants(struct play *play)
{
    const struct play_plan *plan = &play->plan;
    hr_train_defaults(&play->options);
    snprintf(play->options.bucket_size, sizeof play->options.bucket_size, "64");
    snprintf(play->options.overlap, sizeof play->options.overlap, plan->overlaps ? "on" : "off");
    play->options.sync_every = plan->sync_every ? plan->sync_every : 1;
    const uint64_t samples = PLAY_BATCH * plan->batches;
    play->shared = (struct hr_shared_state){
        .strategy = plan->strategy,
        .options = &play->options,
        .optimizer = optimizer_of(play, plan),
        .schedule = {.samples = samples,
                     .pass = samples,
                     .batch = PLAY_BATCH,
                     .batches_per_epoch = plan->batches,
                     .end = plan->batches,
                     .checkpoint_every = plan->span,
                     .lr = {.kind = HR_LR_CONSTANT, .peak = 0.05f, .epochs = 1},
                     .lr_factor = 1},
        .group_options = {.nranks = plan->workers,
                          .algorithm = &hr_allreduce_direct,
                          .crowded = true},
        .workers = plan->workers,
        .servers = plan->servers,
        .params = plan->params,
        .outlives = !plan->forgets,
        .weights = play->pointers,
        .grads = play->pointers + PLAY_WORKERS,
        .snapshot.state_copies = plan->strategy->private_state ? plan->workers : 1,
    };
    CHECK_OK(hr_strategy_prepare(&play->shared));
}

void play_open(struct play *play, const struct play_plan *plan)
{
    struct hr_shared_state *shared = &play->shared;
    assert_true(plan->workers <= PLAY_WORKERS && plan->servers <= PLAY_SERVERS);
    *play = (struct play){.plan = *plan};
    play->arena =
        mmap(NULL, PLAY_LINES * HR_LINE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(play->arena != MAP_FAILED);
    settle_constants(play);
    lay_out(play);
    for (size_t i = 0; i < plan->params; i++)
        shared->snapshot.weights[i] = play_gradient(1000, 0, 1, i);
    hr_control_init(shared->control, plan->workers + plan->servers);
    hr_atom64_store_relaxed(&shared->dispenser->stop_at, UINT64_MAX);
    hr_seats_fill(shared);
    hr_fates_init(shared->fates, plan->workers, hr_fates_room(shared));
    CHECK_OK(hr_group_init(shared->group, &shared->group_options));
    if (shared->strategy->init)
        shared->strategy->init(shared);
    hr_staleness_init(shared);
    start_ranks(play);
}

/* As one that died would leave it: nobody is told. */
static void put_down(struct hr_worker *worker)
{
    hr_member_fini(&worker->member);
    if (worker->shared->strategy->stop)
        worker->shared->strategy->stop(worker);
    free(worker->own);
    worker->own = NULL;
}

void play_close(struct play *play)
{
    for (size_t w = 0; w < play->shared.workers; w++)
        if (play->worker[w].own)
            put_down(&play->worker[w]);
    for (size_t s = 0; s < play->shared.servers; s++)
        play->shared.strategy->shard_stop(&play->shard[s]);
    hr_strategy_forget(&play->shared);
    munmap(play->arena, PLAY_LINES * HR_LINE);
}

/* --- copies --- */

struct play_copy {
    struct play play;
    struct hr_client client[PLAY_SERVERS][PLAY_WORKERS];
    unsigned char *arena;   /* (play.used lines) owned */
    unsigned char memory[]; /* (workers, worker_own) */
};

struct play_copy *play_save(const struct play *play)
{
    const size_t bytes = play->shared.strategy->worker_own, workers = play->shared.workers;
    struct play_copy *copy = malloc(sizeof *copy + workers * bytes);
    assert_non_null(copy);
    copy->play = *play;
    copy->arena = malloc(play->used * HR_LINE);
    assert_non_null(copy->arena);
    memcpy(copy->arena, play->arena, play->used * HR_LINE);
    for (size_t w = 0; w < workers; w++)
        memcpy(copy->memory + w * bytes, play->worker[w].own, bytes);
    for (size_t s = 0; s < play->shared.servers; s++)
        memcpy(copy->client[s], play->shard[s].worker, workers * sizeof(struct hr_client));
    return copy;
}

void play_restore(struct play *play, const struct play_copy *copy)
{
    const size_t bytes = play->shared.strategy->worker_own, workers = play->shared.workers;
    *play = copy->play;
    memcpy(play->arena, copy->arena, play->used * HR_LINE);
    for (size_t w = 0; w < workers; w++)
        memcpy(play->worker[w].own, copy->memory + w * bytes, bytes);
    for (size_t s = 0; s < play->shared.servers; s++)
        memcpy(play->shard[s].worker, copy->client[s], workers * sizeof(struct hr_client));
}

void play_forget(struct play_copy *copy)
{
    free(copy->arena);
    free(copy);
}

/* --- deaths --- */

static void act(void *arg)
{
    const struct play_death *death = arg;
    play_act(death->play, death->act);
}

void play_deaths(struct play *play, uint64_t seed, void (*look)(void *death), const void *twin)
{
    struct hr_picker picker = {.kind = HR_PICK_EXPLORE, .seed = seed};
    unsigned char can[PLAY_WORKERS * (1 + PLAY_SERVERS)];
    const size_t n = play_acts(play);
    for (;;) {
        for (size_t a = 0; a < n; a++)
            can[a] = play_can(play, a);
        const size_t chosen = hr_pick(&picker, can, n);
        if (chosen == n)
            return;
        struct play_death it = {play, twin, chosen, chosen % play->shared.workers};
        const struct death death = {act, look, &it, play->arena, play->used * HR_LINE};
        death_everywhere(&death);
        play_act(play, chosen);
    }
}
