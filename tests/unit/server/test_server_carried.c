/* Workers and shards on several machines: what each worker gets is what it gets on one. */
#include <string.h>

#include "server/server_carried.h"
#include "server/server.h"
#include "strategies/strategies.h"
#include "support/check.h"
#include "support/script.h"
#include "support/wire_socket.h"

enum { WORKERS = 3, SERVERS = 2, STEPS = 6, MOST_MACHINES = 3, SETTLES = 100 };

/* One script a machine, each with all ranks; a rank acts in its machine's. */
struct play {
    size_t machines;
    struct hr_homes homes;
    struct script script[MOST_MACHINES];
    struct wire_mesh mesh;
    struct hr_wire *wire[MOST_MACHINES];
    struct hr_carrier *carrier[MOST_MACHINES];
};

static struct script *home_of(struct play *play, size_t rank)
{
    return &play->script[play->homes.machine[rank]];
}

static void open_carrier(struct play *play, size_t m, uint32_t trouble)
{
    struct script *script = &play->script[m];
    struct hr_carrier_options options = {.homes = play->homes,
                                         .control = script->shared.control,
                                         .segment = script->arena,
                                         .segment_bytes = SCRIPT_LINES * HR_LINE,
                                         .part_bytes = trouble ? 60 : 0};
    CHECK_OK(wire_socket_open(&play->mesh, m, (uint32_t)check_seed(), trouble, &play->wire[m]));
    options.wire = play->wire[m];
    options.homes.self = (uint8_t)m;
    script->shared.segment = script->arena;
    CHECK_OK(hr_carrier_open(&options, &play->carrier[m]));
    CHECK_OK(hr_server_carry(&script->shared, play->carrier[m]));
}

/* Worker w lives on machine w mod n, shard s on s mod n. */
static void open_play(struct play *play, const struct hr_strategy *strategy, size_t machines,
                      uint32_t trouble)
{
    memset(play, 0, sizeof *play);
    struct hr_train_options options;
    hr_train_defaults(&options);
    options.sync_every = 2;
    play->machines = machines;
    play->homes.machines = (uint8_t)machines;
    for (size_t w = 0; w < WORKERS; w++)
        play->homes.machine[w] = (uint8_t)(w % machines);
    for (size_t s = 0; s < SERVERS; s++)
        play->homes.machine[WORKERS + s] = (uint8_t)(s % machines);
    wire_mesh_open(&play->mesh, machines);
    for (size_t m = 0; m < machines; m++) {
        script_open(&play->script[m], strategy,
                    (struct script_plan){.workers = WORKERS,
                                         .servers = SERVERS,
                                         .batches = 100,
                                         .options = &options,
                                         .params = 70});
        if (machines > 1)
            open_carrier(play, m, trouble);
    }
}

static void close_play(struct play *play)
{
    for (size_t m = 0; m < play->machines; m++) {
        hr_carrier_close(play->carrier[m]);
        hr_wire_close(play->wire[m]);
        script_close(&play->script[m]);
    }
    wire_mesh_close(&play->mesh);
}

static void settle(struct play *play)
{
    for (size_t i = 0; i < SETTLES && play->machines > 1; i++)
        for (size_t m = 0; m < play->machines; m++)
            hr_carrier_poll(play->carrier[m]);
}

/* Shards take what they may, in one order. */
static void serve(struct play *play)
{
    for (bool any = true; any;) {
        any = false;
        settle(play);
        for (size_t s = 0; s < SERVERS; s++)
            for (size_t w = 0; w < WORKERS; w++) {
                struct script *home = home_of(play, WORKERS + s);
                if (!script_enabled(home, s, w))
                    continue;
                script_serve(home, s, w);
                any = true;
            }
    }
}

/* A step of all workers; what each has then goes to `got` (WORKERS, params). */
static void step(struct play *play, size_t number, float *got)
{
    for (size_t w = 0; w < WORKERS; w++)
        script_ask(home_of(play, w), w);
    serve(play);
    for (size_t w = 0; w < WORKERS; w++) {
        struct script *home = home_of(play, w);
        script_get(home, w);
        memcpy(got + w * 70, home->shared.weights[w], 70 * sizeof *got);
        script_give(home, w, (float)(w + 1) / (float)(number + 3));
    }
    serve(play);
}

/* What shard 0 hands out next, where shard 1 lives: it has what was pushed since. */
static uint64_t next_at_the_other(const struct play *play)
{
    const struct script *script = &play->script[play->homes.machine[WORKERS + 1]];
    return hr_atom64_load_acquire(&script->shared.dispenser->next);
}

static void workers_get_what_they_get_on_one_machine(void **state)
{
    (void)state;
    static const struct hr_strategy *const strategies[] = {&hr_strategy_ps_async,
                                                           &hr_strategy_ps_sync, &hr_strategy_ssp,
                                                           &hr_strategy_elastic_averaging};
    static struct play far, one;
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++)
        for (size_t machines = 2; machines <= MOST_MACHINES; machines++) {
            const uint32_t trouble = machines == 2 ? 0 : 10;
            float of_far[WORKERS * 70], of_one[WORKERS * 70];
            open_play(&far, strategies[i], machines, trouble);
            open_play(&one, strategies[i], 1, 0);
            for (size_t number = 0; number < STEPS; number++) {
                step(&far, number, of_far);
                step(&one, number, of_one);
                CHECK_SAME_FLOATS(of_far, of_one, WORKERS * 70);
                assert_int_equal(next_at_the_other(&far), next_at_the_other(&one));
            }
            assert_true(of_one[0] != 0);
            close_play(&far);
            close_play(&one);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_get_what_they_get_on_one_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
