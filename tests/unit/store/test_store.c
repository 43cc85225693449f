/* What workers push and pull, exactly: integers stored as floats, so that every order of addition
 * gives the same bits, in every placement, as threads and as processes. */
#include <stdlib.h>

#include "base/philox.h"
#include "base/vec.h"
#include "hogring/store.h"
#include "support/worlds.h"

/* A key of one float, small ones, one of the largest that are not cut, and large ones. */
static const struct hr_store_key keys[] = {
    {"one", 1, NULL},
    {"bias", 33, NULL},
    {"large", 10007, NULL},
    {"medium", 1024, NULL},
    {"uncut", HR_STORE_SMALL, NULL},
    {"larger", 20000, NULL},
};

enum { NKEYS = sizeof keys / sizeof *keys, ROUNDS = 5 };

struct scene {
    const char *placement;
    size_t workers, servers;
    int synchronous;
    bool arena; /* buffers that processes reach */
};

static struct hr_store_options options_of(const struct scene *scene)
{
    return (struct hr_store_options){.keys = keys,
                                     .nkeys = NKEYS,
                                     .placement = scene->placement,
                                     .servers = scene->servers,
                                     .synchronous = scene->synchronous};
}

/* A worker's buffers: values and results of each key. */
struct buffers {
    float *values[NKEYS], *out[NKEYS];
};

static enum hr_status take(struct hr_group *world, const struct scene *scene, size_t count,
                           float **floats)
{
    if (scene->arena)
        return hr_group_alloc(world, count * sizeof(float), (void **)floats);
    *floats = malloc(count * sizeof(float));
    return *floats ? HR_OK : hr_fail(HR_E_NOMEM, "no memory for a test");
}

static enum hr_status take_buffers(struct hr_group *world, const struct scene *scene,
                                   struct buffers *buffers)
{
    for (size_t k = 0; k < NKEYS; k++) {
        HR_TRY(take(world, scene, keys[k].count, &buffers->values[k]));
        HR_TRY(take(world, scene, keys[k].count, &buffers->out[k]));
    }
    return HR_OK;
}

static void free_buffers(const struct scene *scene, struct buffers *buffers)
{
    for (size_t k = 0; k < NKEYS && !scene->arena; k++) {
        free(buffers->values[k]);
        free(buffers->out[k]);
    }
}

static float value_of(size_t worker, size_t round, size_t key, size_t i)
{
    return (float)((worker + 1) * (round + 2) + key + i % 11);
}

static void fill(float *values, size_t worker, size_t round, size_t key)
{
    for (size_t i = 0; i < keys[key].count; i++)
        values[i] = value_of(worker, round, key, i);
}

/* out has to be what all workers pushed in the first `rounds` rounds. */
static enum hr_status check_sum(const float *out, size_t workers, size_t rounds, size_t key)
{
    for (size_t i = 0; i < keys[key].count; i++) {
        float sum = 0;
        for (size_t w = 0; w < workers; w++)
            for (size_t round = 0; round < rounds; round++)
                sum += value_of(w, round, key, i);
        RANK_CHECK(out[i] == sum, "key %s, element %zu after %zu rounds: %g, not %g",
                   keys[key].name, i, rounds, (double)out[i], (double)sum);
    }
    return HR_OK;
}

typedef enum hr_status (*worker_fn)(struct hr_store *store, const struct scene *scene,
                                    size_t worker, struct buffers *buffers);

struct play {
    struct scene scene;
    worker_fn worker;
};

static enum hr_status rank_main(struct hr_group *world, void *arg)
{
    const struct play *play = arg;
    const struct hr_store_options options = options_of(&play->scene);
    struct hr_store *store;
    HR_TRY(hr_store_open(world, &options, &store));
    if (hr_store_serves(store)) {
        HR_TRY(hr_store_serve(store));
        return hr_store_close(store);
    }
    struct buffers buffers;
    HR_TRY(take_buffers(world, &play->scene, &buffers));
    HR_TRY(play->worker(store, &play->scene, hr_group_rank(world), &buffers));
    const enum hr_status status = hr_store_close(store);
    free_buffers(&play->scene, &buffers);
    return status;
}

static void play_once(struct scene scene, worker_fn worker)
{
    const bool colocated = scene.placement && !strcmp(scene.placement, "colocated");
    struct play play = {scene, worker};
    worlds_pass((struct hr_world_options){.nranks = scene.workers + (colocated ? 0 : scene.servers),
                                          .max_groups = 1,
                                          .arena_bytes = 2 << 20},
                rank_main, &play);
}

/* Placements, numbers of workers and servers, and whether buffers are shared. */
static void play_all(int synchronous, worker_fn worker)
{
    for (size_t workers = 1; workers <= 3; workers++)
        for (size_t servers = 1; servers <= 3; servers++) {
            struct scene scene = {"dedicated", workers, servers, synchronous, servers % 2};
            play_once(scene, worker);
            scene.placement = "colocated";
            if (servers <= workers)
                play_once(scene, worker);
        }
}

/* --- what a worker does --- */

/* When all have pushed ROUNDS times. */
static enum hr_status look_at_all(struct hr_store *store, const struct scene *scene,
                                  struct buffers *b)
{
    uint64_t ticket[NKEYS];
    HR_TRY(hr_store_barrier(store));
    for (size_t k = 0; k < NKEYS; k++)
        HR_TRY(hr_store_pull(store, k, b->out[k], &ticket[k]));
    HR_TRY(hr_store_wait_all(store));
    for (size_t k = 0; k < NKEYS; k++)
        HR_TRY(check_sum(b->out[k], scene->workers, ROUNDS, k));
    return HR_OK;
}

static enum hr_status push_and_look(struct hr_store *store, const struct scene *scene,
                                    size_t worker, struct buffers *b)
{
    uint64_t ticket[NKEYS];
    for (size_t round = 0; round < ROUNDS; round++)
        for (size_t k = 0; k < NKEYS; k++) { /* every key's push is awaited a round later */
            if (round)
                HR_TRY(hr_store_wait(store, ticket[k]));
            fill(b->values[k], worker, round, k);
            HR_TRY(hr_store_push(store, k, b->values[k], &ticket[k]));
        }
    HR_TRY(hr_store_wait_all(store));
    return look_at_all(store, scene, b);
}

static void all_that_was_pushed_is_there_once(void **state)
{
    (void)state;
    play_all(0, push_and_look);
}

/* A pull behind a push reads what all workers' pushes of that round made, and no more. Workers go
 * through the keys in opposite directions: no key waits for another. */
static enum hr_status rounds_in_step(struct hr_store *store, const struct scene *scene,
                                     size_t worker, struct buffers *b)
{
    for (size_t round = 0; round < ROUNDS; round++) {
        for (size_t j = 0; j < NKEYS; j++) {
            const size_t k = worker % 2 ? NKEYS - 1 - j : j;
            uint64_t ticket;
            fill(b->values[k], worker, round, k);
            if (round % 2) {
                HR_TRY(hr_store_push_pull(store, k, b->values[k], b->out[k], &ticket));
            } else {
                HR_TRY(hr_store_push(store, k, b->values[k], &ticket));
                HR_TRY(hr_store_pull(store, k, b->out[k], &ticket));
            }
        }
        HR_TRY(hr_store_wait_all(store));
        for (size_t k = 0; k < NKEYS; k++)
            HR_TRY(check_sum(b->out[k], scene->workers, round + 1, k));
    }
    return HR_OK;
}

static void synchronous_rounds_are_exact_whatever_the_order_of_keys(void **state)
{
    (void)state;
    play_all(1, rounds_in_step);
}

/* More operations than may be under way, on one buffer that is only read; waited for last to
 * first. */
static enum hr_status many_tickets(struct hr_store *store, const struct scene *scene, size_t worker,
                                   struct buffers *b)
{
    enum { MANY = 3 * HR_STORE_OUTSTANDING + 1 };
    uint64_t ticket[MANY], pulled;
    int over = 0;
    (void)worker;
    b->values[0][0] = 1;
    for (size_t i = 0; i < MANY; i++)
        HR_TRY(hr_store_push(store, 0, b->values[0], &ticket[i]));
    for (size_t i = MANY; i-- > 0;)
        HR_TRY(hr_store_wait(store, ticket[i]));
    HR_TRY(hr_store_test(store, ticket[MANY / 2], &over));
    RANK_CHECK(over, "an awaited ticket is not over");
    HR_TRY(hr_store_barrier(store));
    HR_TRY(hr_store_pull(store, 0, b->out[0], &pulled));
    for (over = 0; !over;)
        HR_TRY(hr_store_test(store, pulled, &over));
    const float want = (float)(MANY * scene->workers);
    RANK_CHECK(b->out[0][0] == want, "%g, not %g", (double)b->out[0][0], (double)want);
    return HR_OK;
}

static void any_number_of_tickets_is_awaited_in_any_order(void **state)
{
    (void)state;
    for (int synchronous = 0; synchronous < 2; synchronous++) {
        play_once((struct scene){"dedicated", 2, 1, synchronous, false}, many_tickets);
        play_once((struct scene){"colocated", 2, 2, synchronous, false}, many_tickets);
    }
}

/* One worker's operations on a key keep their order, and the values are those at the time of the
 * push where they are staged; out may be values. */
static enum hr_status in_order(struct hr_store *store, const struct scene *scene, size_t worker,
                               struct buffers *b)
{
    uint64_t first, second, third;
    (void)scene, (void)worker;
    for (size_t k = 0; k < NKEYS; k++) {
        for (size_t i = 0; i < keys[k].count; i++)
            b->values[k][i] = 1;
        HR_TRY(hr_store_pull(store, k, b->out[k], &first));
        HR_TRY(hr_store_push(store, k, b->values[k], &second));
        HR_TRY(hr_store_wait(store, second));
        HR_TRY(hr_store_push_pull(store, k, b->values[k], b->values[k], &third));
        HR_TRY(hr_store_wait(store, third));
        for (size_t i = 0; i < keys[k].count; i++)
            RANK_CHECK(b->out[k][i] == 0 && b->values[k][i] == 2, "element %zu: %g and %g", i,
                       (double)b->out[k][i], (double)b->values[k][i]);
    }
    return HR_OK;
}

static void operations_on_one_key_keep_their_order(void **state)
{
    (void)state;
    for (size_t arena = 0; arena < 2; arena++) {
        play_once((struct scene){"dedicated", 1, 3, 0, arena}, in_order);
        play_once((struct scene){"colocated", 1, 1, 1, arena}, in_order);
    }
}

/* Anything in any order, with as much under way as there may be; results of pulls are only looked
 * at in the end. */
static enum hr_status any_mix(struct hr_store *store, const struct scene *scene, size_t worker,
                              struct buffers *b)
{
    uint64_t ticket[NKEYS] = {0};
    for (uint32_t step = 0; step < 300; step++) {
        const struct hr_philox random =
            hr_random_block(check_seed(), HR_STREAM_TEST, step, (uint32_t)worker);
        const size_t k = random.v[0] % NKEYS;
        int over;
        if (ticket[k] && random.v[1] % 2)
            HR_TRY(hr_store_test(store, ticket[k], &over));
        if (ticket[k] && step < NKEYS * ROUNDS)
            HR_TRY(hr_store_wait(store, ticket[k]));
        if (step < NKEYS * ROUNDS) {
            const size_t mine = step % NKEYS;
            if (ticket[mine])
                HR_TRY(hr_store_wait(store, ticket[mine]));
            fill(b->values[mine], worker, step / NKEYS, mine);
            HR_TRY(random.v[2] % 2 ? hr_store_push(store, mine, b->values[mine], &ticket[mine])
                                   : hr_store_push_pull(store, mine, b->values[mine], b->out[mine],
                                                        &ticket[mine]));
        } else {
            HR_TRY(hr_store_pull(store, k, b->out[k], &ticket[k]));
        }
    }
    return look_at_all(store, scene, b);
}

static void any_mix_of_operations_adds_up(void **state)
{
    (void)state;
    for (int synchronous = 0; synchronous < 2; synchronous++) {
        play_once((struct scene){"dedicated", 3, 2, synchronous, false}, any_mix);
        play_once((struct scene){"dedicated", 4, 3, synchronous, true}, any_mix);
        play_once((struct scene){"colocated", 4, 3, synchronous, true}, any_mix);
        play_once((struct scene){"colocated", 3, 2, synchronous, false}, any_mix);
    }
}

/* --- sums that are not exact: their order shows --- */

static float uneven(size_t worker, size_t i)
{
    return (worker % 2 ? -1.0f : 1.0f) * (1.0f + (float)(i % 97) / 7.0f) *
           (worker == 2 ? 1e6f : 1.0f + (float)worker / 3.0f);
}

static enum hr_status sum_of_five(struct hr_store *store, const struct scene *scene, size_t worker,
                                  struct buffers *b)
{
    enum { KEY = 2 };
    static float x[5][10007], want[10007];
    const float *inputs[5] = {x[0], x[1], x[2], x[3], x[4]};
    float *output = want;
    uint64_t ticket;
    if (worker == 0)
        for (size_t w = 0; w < 5; w++)
            for (size_t i = 0; i < keys[KEY].count; i++)
                x[w][i] = uneven(w, i);
    for (size_t i = 0; i < keys[KEY].count; i++)
        b->values[KEY][i] = uneven(worker, i);
    (void)scene;
    HR_TRY(hr_store_push_pull(store, KEY, b->values[KEY], b->out[KEY], &ticket));
    HR_TRY(hr_store_wait(store, ticket));
    if (worker != 0)
        return HR_OK;
    hr_vec()->tree_sum(&output, 1, inputs, 5, keys[KEY].count);
    RANK_CHECK(!memcmp(want, b->out[KEY], sizeof want), "the sum is not T(5)");
    return HR_OK;
}

static void a_synchronous_sum_is_the_tree_over_workers(void **state)
{
    (void)state;
    play_once((struct scene){"dedicated", 5, 2, 1, true}, sum_of_five);
    play_once((struct scene){"colocated", 5, 3, 1, false}, sum_of_five);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_that_was_pushed_is_there_once),
        cmocka_unit_test(synchronous_rounds_are_exact_whatever_the_order_of_keys),
        cmocka_unit_test(any_number_of_tickets_is_awaited_in_any_order),
        cmocka_unit_test(operations_on_one_key_keep_their_order),
        cmocka_unit_test(any_mix_of_operations_adds_up),
        cmocka_unit_test(a_synchronous_sum_is_the_tree_over_workers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
