/* Hogwild through relaxed pairs of floats beside Hogwild with racing vector loads and stores (H3).
 *
 *   hogwild_pairs MODEL THREADS ROUNDS STEPS    MODEL: a layer list for (1,28,28) and 10 classes
 *
 * PAIRS is the product: src/strategies/hogwild.c, with all that it counts. RACY does what its
 * promise forbids, undefined behaviour in C: it copies live weights with memcpy, and updates them
 * where they stand with the vector kernel. It stands here to be compared with, and nowhere else.
 * Both compute the same gradients, of batches of 64, with the same kernels; SGD, momentum 0.9.
 *
 * A round is STEPS steps a thread of one side and as many of the other, which side first changes by
 * round; its time lasts from a barrier to the last thread's end. One JSON line: steps/s, a round;
 * and processor time of a step in us, which others' load on the machine disturbs less.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/cpus.h"
#include "base/fpenv.h"
#include "base/philox.h"
#include "base/size.h"
#include "products/ready.h"
#include "nn/model.h"
#include "shm/control.h"
#include "strategy/shared.h"
#include "strategy/rank.h"
#include "strategies/strategies.h"

enum { MOST_THREADS = 16, MOST_ROUNDS = 64, WARMUP = 2, BATCH = 64, FEATURES = 784 };
enum side { PAIRS, RACY };

struct runs {
    size_t threads, rounds, steps;
    struct hr_model *model;
    struct hr_param_segment whole;
    struct hr_train_options options;
    struct hr_shared_state shared; /* of PAIRS */
    float *arrays[2 * MOST_THREADS];
    float *live; /* (params) of RACY */
    float *x;    /* (BATCH, FEATURES) */
    pthread_barrier_t barrier;
    int64_t end[MOST_THREADS], used[MOST_THREADS]; /* of the last round; used: processor time */
    double rate[2][MOST_ROUNDS], us[2][MOST_ROUNDS];
};

struct player {
    struct runs *runs;
    size_t rank;
    struct hr_worker worker;
    struct hr_workspace *workspace;
    float *state; /* (params) of RACY */
    uint64_t updates;
    size_t left; /* steps of a round */
};

/* --- a step --- */

static void differentiate(struct player *me)
{
    const struct runs *c = me->runs;
    uint32_t *labels = hr_workspace_labels(me->workspace);
    memcpy(hr_workspace_input(me->workspace), c->x, BATCH * FEATURES * sizeof *c->x);
    for (uint32_t i = 0; i < BATCH; i++)
        labels[i] = i % 10;
    hr_model_gradient(c->model, me->workspace, me->worker.weights, BATCH, me->worker.grads);
}

static enum hr_status stand(struct hr_rank *rank)
{
    (void)rank;
    return HR_OK;
}

static enum hr_status spin(struct hr_rank *rank, struct hr_bell *bell)
{
    (void)bell;
    while (!rank->ready(rank->arg))
        continue;
    return HR_OK;
}

static enum hr_status gradient(struct hr_rank *rank)
{
    struct player *me = rank->of;
    if (me->left == 0)
        return hr_fail(HR_E_ABORTED, "the round is over");
    me->left--;
    differentiate(me);
    me->worker.samples = BATCH;
    return HR_OK;
}

/* Its life, until it has made so many steps. */
static enum hr_status steps_in_pairs(struct player *me, size_t steps)
{
    static const struct hr_rank_ways ways = {.stand = stand, .wait = spin, .gradient = gradient};
    struct hr_task task;
    struct hr_rank rank = {.ways = &ways, .of = me, .worker = &me->worker, .task = &task};
    me->left = steps;
    const enum hr_status status = me->runs->shared.strategy->span(&rank);
    return status == HR_E_ABORTED ? HR_OK : status;
}

static void step_in_a_race(struct player *me)
{
    const struct runs *c = me->runs;
    const size_t params = c->shared.params;
    const struct hr_step step = hr_step_for(&c->shared, me->updates, BATCH, me->updates + 1);
    const size_t own = hr_stripe_begin(params, c->threads, me->rank);
    memcpy(me->worker.weights, c->live, params * sizeof *c->live);
    differentiate(me);
    hr_step_update(&step, own, params - own, c->live + own, me->state, me->worker.grads + own);
    hr_step_update(&step, 0, own, c->live, me->state, me->worker.grads);
    me->updates++;
}

/* --- rounds --- */

static int64_t used_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * HR_NS_PER_SECOND + t.tv_nsec;
}

static enum hr_status play_round(struct player *me, enum side side, double *rate, double *us)
{
    struct runs *c = me->runs;
    pthread_barrier_wait(&c->barrier);
    const int64_t began = hr_clock_ns(), used = used_ns();
    if (side == PAIRS)
        HR_TRY(steps_in_pairs(me, c->steps));
    for (size_t i = 0; side == RACY && i < c->steps; i++)
        step_in_a_race(me);
    c->end[me->rank] = hr_clock_ns();
    c->used[me->rank] = used_ns() - used;
    pthread_barrier_wait(&c->barrier);
    int64_t end = began, sum = 0;
    for (size_t t = 0; t < c->threads; t++) {
        end = c->end[t] > end ? c->end[t] : end;
        sum += c->used[t];
    }
    *rate = (double)(c->steps * c->threads) / hr_seconds(end - began);
    *us = 1e6 * hr_seconds(sum) / (double)(c->steps * c->threads);
    pthread_barrier_wait(&c->barrier); /* nobody writes times that others still read */
    return HR_OK;
}

static enum hr_status play(struct player *me)
{
    struct runs *c = me->runs;
    HR_TRY(hr_workspace_create(c->model, BATCH, NULL, &me->workspace));
    HR_TRY(hr_worker_start(&me->worker));
    for (size_t k = 0; k < WARMUP + c->rounds; k++)
        for (size_t turn = 0; turn < 2; turn++) {
            const enum side side = (k + turn) % 2 ? RACY : PAIRS;
            double rate, us;
            HR_TRY(play_round(me, side, &rate, &us));
            if (k < WARMUP || me->rank > 0)
                continue;
            c->rate[side][k - WARMUP] = rate;
            c->us[side][k - WARMUP] = us;
        }
    hr_worker_stop(&me->worker);
    hr_workspace_destroy(me->workspace);
    return HR_OK;
}

static void *player_main(void *arg)
{
    hr_fp_flush_denormals();
    hr_cpus_pin(((struct player *)arg)->rank);
    if (play(arg) != HR_OK) {
        fprintf(stderr, "hogwild_pairs: %s\n", hr_error_message());
        exit(1); /* the others stand at a barrier */
    }
    return NULL;
}

/* --- memory --- */

static void *room(size_t bytes)
{
    void *memory = aligned_alloc(4096, hr_round_up(bytes + 1, 4096));
    HR_ASSERT(memory);
    memset(memory, 0, bytes);
    return memory;
}

static enum hr_status describe(struct runs *c, const char *model)
{
    const struct hr_shape shape = {.channels = 1, .height = 28, .width = 28};
    struct hr_shared_state *shared = &c->shared;
    HR_TRY(hr_model_create(model, shape, 10, &c->model));
    shared->workers = c->threads;
    shared->params = hr_model_param_count(c->model);
    HR_TRY(hr_strategy_find("hogwild", 0, &shared->strategy));
    shared->schedule = (struct hr_batch_schedule){
        .samples = 1, .pass = 1, .batch = 1, .batches_per_epoch = 1, .end = 1};
    shared->schedule.lr = (struct hr_lr_schedule){.peak = 1e-4, .epochs = 1};
    shared->schedule.lr_factor = 1;
    c->whole = (struct hr_param_segment){0, shared->params, HR_SEGMENT_TRAINED};
    shared->optimizer = (struct hr_optimizer){
        .momentum = 0.9, .segments = &c->whole, .nsegments = 1, .params = shared->params};
    hr_train_defaults(&c->options);
    shared->options = &c->options;
    HR_TRY(hr_strategy_prepare(shared));
    return hr_rule_find("sgd", &shared->optimizer.rule);
}

static void take_memory(struct runs *c)
{
    struct hr_shared_state *shared = &c->shared;
    const size_t bytes = shared->params * sizeof(float);
    shared->control = room(hr_control_bytes(c->threads));
    hr_control_init(shared->control, c->threads);
    shared->weights = c->arrays;
    shared->grads = c->arrays + c->threads;
    for (size_t i = 0; i < 2 * c->threads; i++)
        c->arrays[i] = room(bytes);
    shared->stats = room(c->threads * sizeof *shared->stats);
    shared->dispenser = room(sizeof *shared->dispenser);
    shared->returned = room(hr_returned_bytes(1));
    shared->returned->room = 1;
    hr_atom64_store_relaxed(&shared->dispenser->cut, UINT64_MAX);
    shared->snapshot = (struct hr_snapshot){.weights = room(bytes),
                                            .state = room(bytes * c->threads),
                                            .applied = room(c->threads * sizeof(uint64_t)),
                                            .state_copies = c->threads};
    shared->own = room(shared->strategy->bytes(shared));
    hr_model_init(c->model, 1, shared->snapshot.weights);
    hr_strategy_init(shared);
    c->live = room(bytes);
    memcpy(c->live, shared->snapshot.weights, bytes);
    c->x = room(BATCH * FEATURES * sizeof *c->x);
    for (uint32_t i = 0; i < BATCH * FEATURES; i++)
        c->x[i] = hr_random_unit(hr_random_block(1, HR_STREAM_TEST, i, 0).v[0]);
}

static void print_side(const char *name, const double *rate, size_t rounds)
{
    printf(", \"%s\": [", name);
    for (size_t k = 0; k < rounds; k++)
        printf("%s%.2f", k ? ", " : "", rate[k]);
    printf("]");
}

int main(int argc, char **argv)
{
    static struct runs runs;
    static struct player players[MOST_THREADS];
    pthread_t threads[MOST_THREADS];
    struct runs *c = &runs;
    if (argc == 5) {
        c->threads = strtoul(argv[2], NULL, 10);
        c->rounds = strtoul(argv[3], NULL, 10);
        c->steps = strtoul(argv[4], NULL, 10);
    }
    if (!c->threads || c->threads > MOST_THREADS || !c->rounds || c->rounds > MOST_ROUNDS ||
        !c->steps) {
        fprintf(stderr, "hogwild_pairs MODEL THREADS ROUNDS STEPS\n");
        return 2;
    }
    if (hr_kernels_init_process(c->threads) != HR_OK || describe(c, argv[1]) != HR_OK) {
        fprintf(stderr, "hogwild_pairs: %s\n", hr_error_message());
        return 1;
    }
    take_memory(c);
    pthread_barrier_init(&c->barrier, NULL, (unsigned)c->threads);
    for (size_t t = 0; t < c->threads; t++) {
        players[t] = (struct player){.runs = c, .rank = t};
        players[t].state = room(c->shared.params * sizeof(float));
        players[t].worker = (struct hr_worker){.shared = &c->shared,
                                               .rank = t,
                                               .group_rank = t,
                                               .group_size = c->threads,
                                               .stats = &c->shared.stats[t],
                                               .weights = c->shared.weights[t],
                                               .grads = c->shared.grads[t]};
        pthread_create(&threads[t], NULL, player_main, &players[t]);
    }
    for (size_t t = 0; t < c->threads; t++)
        pthread_join(threads[t], NULL);
    printf("{\"op\": \"hogwild\", \"params\": %zu, \"threads\": %zu", c->shared.params, c->threads);
    print_side("pairs", c->rate[PAIRS], c->rounds);
    print_side("racy", c->rate[RACY], c->rounds);
    print_side("pairs_us", c->us[PAIRS], c->rounds);
    print_side("racy_us", c->us[RACY], c->rounds);
    printf("}\n");
    return 0;
}
