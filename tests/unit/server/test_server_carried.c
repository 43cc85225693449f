/* Workers and shards on several machines: what each worker gets is what it gets on one, also where
 * pushes leave in parts. */
#include <stdio.h>
#include <string.h>

#include "server/server_worker.h"
#include "server/server.h"
#include "strategies/strategies.h"
#include "support/check.h"
#include "support/script.h"
#include "support/wire_socket.h"

enum { WORKERS = 3, SERVERS = 2, PARAMS = 100, STEPS = 6, MOST_MACHINES = 3, SETTLES = 100 };

/* One script a machine, each with all ranks; a rank acts in its machine's. */
struct play {
    size_t machines;
    struct hr_hosts hosts;
    struct script script[MOST_MACHINES];
    struct wire_mesh mesh;
    struct hr_wire *wire[MOST_MACHINES];
    struct hr_bridge *bridge[MOST_MACHINES];
};

static struct script *host_of(struct play *play, size_t rank)
{
    return &play->script[play->hosts.machine[rank]];
}

static void open_bridge(struct play *play, size_t m, uint32_t trouble)
{
    struct script *script = &play->script[m];
    struct hr_bridge_options options = {.hosts = play->hosts,
                                        .control = script->shared.control,
                                        .segment = script->arena,
                                        .segment_bytes = SCRIPT_LINES * HR_LINE,
                                        .part_bytes = trouble ? 60 : 0};
    CHECK_OK(wire_socket_open(&play->mesh, m, (uint32_t)check_seed(), trouble, &play->wire[m]));
    options.wire = play->wire[m];
    options.hosts.self = (uint8_t)m;
    script->shared.segment = script->arena;
    CHECK_OK(hr_bridge_open(&options, &play->bridge[m]));
    CHECK_OK(hr_server_carry(&script->shared, play->bridge[m]));
}

/* Worker w lives on machine w mod n, shard s on s mod n. part: of a push, bytes at least; "": it
 * leaves whole. */
static void open_play(struct play *play, const struct hr_strategy *strategy, size_t machines,
                      uint32_t trouble, const char *part)
{
    memset(play, 0, sizeof *play);
    struct hr_train_options options;
    hr_train_defaults(&options);
    options.sync_every = 2;
    snprintf(options.overlap, sizeof options.overlap, "%s", part[0] ? "on" : "off");
    if (part[0])
        snprintf(options.bucket_size, sizeof options.bucket_size, "%s", part);
    play->machines = machines;
    play->hosts.machines = (uint8_t)machines;
    for (size_t w = 0; w < WORKERS; w++)
        play->hosts.machine[w] = (uint8_t)(w % machines);
    for (size_t s = 0; s < SERVERS; s++)
        play->hosts.machine[WORKERS + s] = (uint8_t)(s % machines);
    wire_mesh_open(&play->mesh, machines);
    for (size_t m = 0; m < machines; m++) {
        play->hosts.self = (uint8_t)m;
        script_open(&play->script[m], strategy,
                    (struct script_plan){.workers = WORKERS,
                                         .servers = SERVERS,
                                         .batches = 100,
                                         .options = &options,
                                         .params = PARAMS,
                                         .hosts = play->hosts});
        if (machines > 1)
            open_bridge(play, m, trouble);
    }
}

static void close_play(struct play *play)
{
    for (size_t m = 0; m < play->machines; m++) {
        hr_bridge_close(play->bridge[m]);
        hr_wire_close(play->wire[m]);
        script_close(&play->script[m]);
    }
    wire_mesh_close(&play->mesh);
}

static void settle(struct play *play)
{
    for (size_t i = 0; i < SETTLES && play->machines > 1; i++)
        for (size_t m = 0; m < play->machines; m++)
            hr_bridge_poll(play->bridge[m]);
}

/* Shards take what they may, in one order. */
static void serve(struct play *play)
{
    for (bool any = true; any;) {
        any = false;
        settle(play);
        for (size_t s = 0; s < SERVERS; s++)
            for (size_t w = 0; w < WORKERS; w++) {
                struct script *host = host_of(play, WORKERS + s);
                if (!script_enabled(host, s, w))
                    continue;
                do /* with what went ahead of a push, or orders would differ */
                    script_serve(host, s, w);
                while (host->shard[s].taken.kind == HR_PART && script_enabled(host, s, w));
                any = true;
            }
    }
}

/* The gradient is computed, and handed in; where its strategy takes them, in parts. */
static void give(struct script *script, size_t w, float g)
{
    static const size_t layers[] = {92, 71, 66, 20, 0};
    struct hr_worker *worker = &script->worker[w];
    script_compute(script, w, g);
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        if (worker->hooks->final)
            worker->hooks->final(worker, layers[i]);
    script_offer(script, w);
}

/* A step of all workers; what each has then goes to `got` (WORKERS, PARAMS). */
static void step(struct play *play, size_t number, float *got)
{
    for (size_t w = 0; w < WORKERS; w++)
        script_ask(host_of(play, w), w);
    serve(play);
    for (size_t w = 0; w < WORKERS; w++) {
        struct script *host = host_of(play, w);
        script_get(host, w);
        memcpy(got + w * PARAMS, host->shared.weights[w], PARAMS * sizeof *got);
        give(host, w, (float)(w + 1) / (float)(number + 3));
    }
    serve(play);
}

/* What shard 0 hands out next, where shard 1 lives: it has what was pushed since. */
static uint64_t next_at_the_other(const struct play *play)
{
    const struct script *script = &play->script[play->hosts.machine[WORKERS + 1]];
    return hr_atom64_load_acquire(&script->shared.dispenser->next);
}

static void workers_get_what_they_get_on_one_machine(void **state)
{
    (void)state;
    static const struct hr_strategy *const strategies[] = {&hr_strategy_ps_async,
                                                           &hr_strategy_ps_sync, &hr_strategy_ssp,
                                                           &hr_strategy_elastic_averaging};
    static const char *const parts[] = {"", "4", "60", "200"};
    enum { PARTS = sizeof parts / sizeof *parts };
    static struct play far, one;
    for (size_t i = 0; i < PARTS * sizeof strategies / sizeof *strategies; i++)
        for (size_t machines = 2; machines <= MOST_MACHINES; machines++) {
            const uint32_t trouble = machines == 2 ? 0 : 10;
            float of_far[WORKERS * PARAMS], of_one[WORKERS * PARAMS];
            open_play(&far, strategies[i / PARTS], machines, trouble, parts[i % PARTS]);
            open_play(&one, strategies[i / PARTS], 1, 0, "");
            for (size_t number = 0; number < STEPS; number++) {
                step(&far, number, of_far);
                step(&one, number, of_one);
                CHECK_SAME_FLOATS(of_far, of_one, WORKERS * PARAMS);
                assert_int_equal(next_at_the_other(&far), next_at_the_other(&one));
            }
            assert_true(of_one[0] != 0);
            close_play(&far);
            close_play(&one);
        }
}

/* --- parts: worker 0 and shard 0 live on machine 0, shard 1, from SECOND on, on machine 1 --- */

enum { SECOND = 64 };

static uint64_t waits_for(const struct play *play, size_t s, size_t w)
{
    const struct hr_shared_state *shared = &play->script[play->hosts.machine[WORKERS + s]].shared;
    const struct hr_ring *ring = hr_server_requests(shared, w, s);
    return hr_ring_committed_spsc(ring) - hr_ring_taken_spsc(ring);
}

/* Are all weights that a shard has, where it lives, that number? */
static bool all_are(struct play *play, size_t s, float x)
{
    const struct hr_shard *shard = &play->script[play->hosts.machine[WORKERS + s]].shard[s];
    size_t n = 0;
    while (n < shard->count && shard->weights[n] == x)
        n++;
    return n == shard->count;
}

/* Parts have come and were taken, and nothing is changed; the PUSH has, and all of it is applied,
 * once. */
static void half_a_push_changes_nothing(void **state)
{
    (void)state;
    static struct play play;
    open_play(&play, &hr_strategy_ps_async, 2, 0, "4");
    struct script *host = host_of(&play, 0);
    struct hr_shard *there = &play.script[1].shard[1];
    script_ask(host, 0);
    serve(&play);
    script_get(host, 0);
    script_compute(host, 0, 2);
    assert_int_equal(there->first, SECOND);
    hr_push_parts_final(&host->worker[0], 90);
    hr_push_parts_final(&host->worker[0], 20); /* all that shard 1 has, and more */
    settle(&play);
    assert_int_equal(waits_for(&play, 0, 0), 0); /* it reads them in place */
    assert_int_equal(waits_for(&play, 1, 0), 2);
    serve(&play);
    assert_int_equal(waits_for(&play, 1, 0), 0);
    assert_int_equal(there->taken.kind, HR_PART);
    assert_true(all_are(&play, 1, 0));
    assert_int_equal(there->version, 0);
    for (size_t i = SECOND; i < PARAMS; i++)
        assert_true(play.script[1].shared.grads[0][i] == 2); /* it is there */
    script_offer(host, 0);
    serve(&play);
    assert_int_equal(there->version, 1);
    assert_true(all_are(&play, 0, -2) && all_are(&play, 1, -2));
    close_play(&play);
}

/* Nobody carries: rings fill up, but for what a worker sends behind its parts; what stays goes with
 * the PUSH. */
static void without_room_parts_wait_for_the_push(void **state)
{
    (void)state;
    static struct play play;
    open_play(&play, &hr_strategy_ps_async, 2, 0, "4");
    struct script *host = host_of(&play, 0);
    struct hr_ring *ring = hr_server_requests(&host->shared, 0, 1);
    script_ask(host, 0);
    serve(&play);
    script_get(host, 0);
    script_compute(host, 0, 3);
    const uint64_t had = hr_ring_committed_spsc(ring);
    for (size_t offset = PARAMS; offset-- > 0;)
        hr_push_parts_final(&host->worker[0], offset);
    assert_int_equal(hr_ring_committed_spsc(ring) - had, HR_SERVER_SLOTS_OF_PARTS - 3);
    script_offer(host, 0);
    script_ask(host, 0);
    serve(&play);
    assert_true(all_are(&play, 0, -3) && all_are(&play, 1, -3));
    script_get(host, 0);
    close_play(&play);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_get_what_they_get_on_one_machine),
        cmocka_unit_test(half_a_push_changes_nothing),
        cmocka_unit_test(without_room_parts_wait_for_the_push),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
