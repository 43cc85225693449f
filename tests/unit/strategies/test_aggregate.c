/* A machine's workers push as one: the bits, what is sent, who waits for whom. */
#include <string.h>

#include "server/server.h"
#include "strategies/strategies.h"
#include "support/check.h"
#include "support/script.h"

enum { WORKERS = 8, STEPS = 5, BATCHES = 100 };

static void open_nodes(struct script *script, size_t node_workers, size_t servers, size_t params)
{
    script_open(script, node_workers ? &hr_strategy_ps_sync_aggregated : &hr_strategy_ps_sync,
                (struct script_plan){.workers = WORKERS,
                                     .servers = servers,
                                     .batches = BATCHES,
                                     .params = params,
                                     .node_workers = node_workers});
}

/* Numbers whose sum depends on the order of addition. */
static void give(struct script *script, size_t w, size_t step)
{
    struct hr_worker *worker = &script->worker[w];
    script_compute(script, w, 1);
    for (size_t i = 0; i < script->shared.params; i++) {
        const uint32_t bits = (uint32_t)(i * 104729 + step * 1299709 + w * 7919 + 1) * 2654435761u;
        worker->grads[i] = (float)(bits >> 8) / (float)(1 << (bits & 15));
    }
    script_offer(script, w);
}

/* Shards take what they may. */
static bool serve(struct script *script)
{
    bool any = false;
    for (size_t s = 0; s < script->shared.servers; s++)
        for (size_t w = 0; w < WORKERS; w++)
            while (script_enabled(script, s, w)) {
                script_serve(script, s, w);
                any = true;
            }
    return any;
}

/* All have asked: until each has its weights; who looks first is drawn. */
static void exchange(struct script *script, uint32_t *draw)
{
    bool got[WORKERS] = {false};
    size_t left = WORKERS;
    for (size_t turns = 0; left; turns++) {
        *draw = *draw * 1664525u + 1013904223u;
        const size_t w = *draw >> 29;
        assert_true(turns < 10000);
        serve(script);
        if (got[w] || !script_look(script, w))
            continue;
        script->index[w] = script->task[w].index;
        got[w] = true;
        left--;
    }
}

static void ask_all(struct script *script)
{
    for (size_t w = 0; w < WORKERS; w++)
        script_ask(script, w);
}

static void step(struct script *script, size_t number, uint32_t *draw)
{
    for (size_t w = 0; w < WORKERS; w++)
        give(script, w, number);
    ask_all(script);
    exchange(script, draw);
}

static void check_weights(const struct script *script, const struct script *other)
{
    for (size_t w = 0; w < WORKERS; w++)
        CHECK_SAME_FLOATS(script->shared.weights[w], other->shared.weights[w],
                          script->shared.params);
}

static void weights_are_those_of_a_push_a_worker(void **state)
{
    static const size_t params[] = {1, 70, 200};
    static struct script nodes, plain;
    uint32_t draw = (uint32_t)check_seed();
    (void)state;
    for (size_t k = 2; k <= WORKERS; k *= 2)
        for (size_t servers = 1; servers <= SCRIPT_SERVERS; servers++)
            for (size_t i = 0; i < sizeof params / sizeof *params; i++) {
                open_nodes(&nodes, k, servers, params[i]);
                open_nodes(&plain, 0, servers, params[i]);
                ask_all(&nodes), ask_all(&plain);
                exchange(&nodes, &draw), exchange(&plain, &draw);
                for (size_t number = 0; number < STEPS; number++) {
                    step(&nodes, number, &draw);
                    step(&plain, number, &draw);
                    check_weights(&nodes, &plain);
                    assert_true(plain.shared.weights[0][0] != 0);
                }
                script_close(&nodes);
                script_close(&plain);
            }
}

static uint64_t bytes_of(const struct script *script)
{
    uint64_t bytes = 0;
    for (size_t w = 0; w < WORKERS; w++)
        bytes += script->shared.stats[w].bytes_sent;
    return bytes;
}

static void a_node_sends_once(void **state)
{
    static struct script nodes;
    uint32_t draw = (uint32_t)check_seed();
    (void)state;
    open_nodes(&nodes, 4, 2, 70);
    ask_all(&nodes);
    exchange(&nodes, &draw);
    for (size_t number = 0; number < STEPS; number++)
        step(&nodes, number, &draw);
    for (size_t w = 0; w < WORKERS; w++) {
        const struct hr_worker_stats *stats = &nodes.shared.stats[w];
        const uint64_t leads = w % 4 == 0;
        assert_int_equal(nodes.worker[w].requests.sent, leads * (2 * STEPS + 1));
        assert_int_equal(stats->bytes_sent, leads * STEPS * 70 * sizeof(float));
        assert_int_equal(stats->bytes_received, leads * (STEPS + 1) * 70 * sizeof(float));
    }
    assert_int_equal(bytes_of(&nodes), 2 * STEPS * 70 * sizeof(float));
    script_close(&nodes);
}

/* Nobody adds before all of its node are there; nor do the servers wait for another node's. */
static void who_is_late_is_waited_for(void **state)
{
    static struct script nodes;
    uint32_t draw = (uint32_t)check_seed();
    float first[70];
    (void)state;
    open_nodes(&nodes, 4, 1, 70);
    ask_all(&nodes);
    exchange(&nodes, &draw);
    for (size_t w = 0; w < WORKERS - 1; w++) {
        give(&nodes, w, 0);
        script_ask(&nodes, w);
    }
    memcpy(first, nodes.shared.grads[4], sizeof first);
    for (size_t turns = 0; turns < 3; turns++) {
        for (size_t w = 0; w < WORKERS - 1; w++)
            assert_false(script_look(&nodes, w));
        serve(&nodes);
    }
    assert_int_equal(nodes.shard[0].worker[0].clock, 1); /* the first node's push is there */
    assert_int_equal(nodes.shard[0].version, 0);
    CHECK_SAME_FLOATS(nodes.shared.grads[4], first, 70);
    give(&nodes, WORKERS - 1, 0);
    script_ask(&nodes, WORKERS - 1);
    exchange(&nodes, &draw);
    assert_int_equal(nodes.shard[0].version, 1);
    script_close(&nodes);
}

/* Its samples are those of all. */
static void the_mean_is_over_all_samples(void **state)
{
    static struct script nodes;
    uint32_t draw = (uint32_t)check_seed();
    (void)state;
    open_nodes(&nodes, 2, 1, 70);
    ask_all(&nodes);
    exchange(&nodes, &draw);
    for (size_t w = 0; w < WORKERS; w++)
        script_give(&nodes, w, (float)w); /* mean 3.5, at rate 1 */
    ask_all(&nodes);
    exchange(&nodes, &draw);
    for (size_t w = 0; w < WORKERS; w++)
        CHECK_NEAR(nodes.shared.weights[w][69], -3.5, 1e-6, 0);
    script_close(&nodes);
}

static void a_cut_is_everybodys(void **state)
{
    static struct script nodes, plain;
    uint32_t draw = (uint32_t)check_seed();
    (void)state;
    open_nodes(&nodes, 4, 3, 70);
    open_nodes(&plain, 0, 3, 70);
    struct script *both[] = {&nodes, &plain};
    for (size_t i = 0; i < 2; i++)
        for (size_t span = 0; span < 3; span++) {
            ask_all(both[i]);
            exchange(both[i], &draw);
            step(both[i], 2 * span, &draw);
            step(both[i], 2 * span + 1, &draw);
            script_cut(both[i]);
        }
    check_weights(&nodes, &plain);
    CHECK_SAME_FLOATS(nodes.shared.snapshot.weights, plain.shared.snapshot.weights, 70);
    script_close(&nodes);
    script_close(&plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_are_those_of_a_push_a_worker),
        cmocka_unit_test(a_node_sends_once),
        cmocka_unit_test(who_is_late_is_waited_for),
        cmocka_unit_test(the_mean_is_over_all_samples),
        cmocka_unit_test(a_cut_is_everybodys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
