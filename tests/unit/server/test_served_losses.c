/* Workers of parameter servers are lost and come back: gates, batches, counters, by hand. */
#include "shm/control.h"
#include "server/server.h"
#include "strategies/strategies.h"
#include "unit/server/lost_workers.h"

static const struct hr_lost_work *fate_of(size_t w)
{
    return &script.shared.lost_work[w];
}

static void check_counts(size_t w, uint64_t samples, double loss, uint64_t updates)
{
    const struct hr_worker_stats *stats = &script.shared.stats[w];
    assert_int_equal(stats->samples, samples);
    assert_int_equal(stats->epoch_samples, samples);
    assert_true(stats->epoch_loss == loss);
    assert_int_equal(stats->updates, updates);
}

static void check_weight(size_t w, double want)
{
    CHECK_NEAR((double)script.shared.weights[w][SCRIPT_PARAMS - 1], want, 1e-6, 0);
}

static void a_gate_opens_when_the_slowest_is_lost(void **state)
{
    (void)state;
    struct hr_train_options options;
    hr_train_defaults(&options);
    options.staleness = 1;
    struct script_plan plan = lost_plan(2, 1, 9);
    plan.options = &options;
    script_open(&script, &hr_strategy_ssp, plan);
    script_read(&script, 1);
    for (int step = 0; step < 2; step++) {
        script_read(&script, 0);
        script_push(&script, 0, 1);
    }
    script_ask(&script, 0);
    assert_false(script_enabled(&script, 0, 0));
    script_lose(&script, 1);
    assert_false(script_enabled(&script, 0, 0)); /* an input that is not taken has no effect */
    script_serve(&script, 0, 1);
    script_serve(&script, 0, 0);
    assert_int_equal(script_get(&script, 0).index, 0); /* the batch that came back */
    assert_int_equal(script.shared.stats[0].max_skew, 1);
    script_close(&script);
}

/* It had computed the gradient, and had not pushed it. */
static void a_batch_in_the_hands_of_the_dead_comes_back(void **state)
{
    (void)state;
    script_open(&script, &hr_strategy_ps_async, lost_plan(2, 2, 3));
    script_read(&script, 1);
    script_push(&script, 1, 1);
    assert_int_equal(script_read(&script, 1).index, 1);
    script_compute(&script, 1, 5);
    script.shared.stats[1].updates++; /* it died on the way into the ring */
    lose(1);
    check_counts(1, 1, 1, 1);
    assert_int_equal(script.shared.stats[1].steps, 1);
    assert_int_equal(fate_of(1)->again_batches, 1);
    assert_int_equal(fate_of(1)->again_samples, 1);
    assert_int_equal(fate_of(1)->lost_samples, 0);
    assert_int_equal(fate_of(1)->partial, 0);
    assert_int_equal(script_read(&script, 0).index, 1);
    script_push(&script, 0, 1);
    assert_int_equal(script_read(&script, 0).index, 2);
    script_push(&script, 0, 1);
    assert_int_equal(script_read(&script, 0).kind, HR_TASK_CUT);
    script_close(&script);
}

static void or_it_is_lost(void **state)
{
    (void)state;
    struct script_plan plan = lost_plan(2, 2, 3);
    plan.reissues = false;
    script_open(&script, &hr_strategy_ps_async, plan);
    script_read(&script, 1);
    lose(1);
    assert_int_equal(fate_of(1)->lost_batches, 1);
    assert_int_equal(fate_of(1)->lost_samples, 1);
    assert_int_equal(fate_of(1)->again_batches, 0);
    assert_int_equal(script_read(&script, 0).index, 1);
    script_close(&script);
}

/* Its push lies in the ring: it is taken, once, and then the loss. What it asked for is not. */
static void a_push_that_was_sent_counts(void **state)
{
    (void)state;
    script_open(&script, &hr_strategy_ps_async, lost_plan(2, 1, 3));
    script_read(&script, 1);
    script_give(&script, 1, 4);
    script_ask(&script, 1);
    script_lose(&script, 1);
    script_serve(&script, 0, 1);
    assert_int_equal(script.shard[0].taken.kind, HR_PUSH);
    script_serve(&script, 0, 1);
    assert_int_equal(script.shard[0].taken.kind, HR_GONE);
    assert_int_equal(script.shard[0].taken.step, 1);
    assert_int_equal(script.shard[0].taken.value, 0); /* nothing in its hands */
    assert_false(script_enabled(&script, 0, 1));
    check_counts(1, 1, 4, 1);
    assert_int_equal(fate_of(1)->again_batches, 0);
    assert_int_equal(script_read(&script, 0).index, 1);
    check_weight(0, -4);
    script_close(&script);
}

/* Workers begin at different shards: worker 1's push reached shard 1, worker 0's shard 0. */
static void a_push_that_reached_some_shards_is_partial(void **state)
{
    (void)state;
    script_open(&script, &hr_strategy_ps_async, lost_plan(3, 2, 4));
    script_read(&script, 0);
    script_read(&script, 1);
    script_give(&script, 1, 1);
    script_unsend(&script, 1, 1);
    script_lose(&script, 1);
    assert_int_equal(fate_of(1)->partial, 0);
    script_serve(&script, 1, 1); /* the push */
    script_serve(&script, 1, 1);
    script_serve(&script, 0, 1);
    assert_int_equal(fate_of(1)->partial, 1);
    assert_int_equal(fate_of(1)->again_batches, 1); /* shard 0 had not seen it */
    check_counts(1, 0, 0, 0);
    script_give(&script, 0, 1);
    script_unsend(&script, 0, 1);
    script_lose(&script, 0);
    script_serve(&script, 0, 0); /* the push */
    script_serve_all(&script, 0);
    assert_int_equal(fate_of(0)->partial, 1);
    assert_int_equal(fate_of(0)->again_batches, 0);
    check_counts(0, 1, 1, 1);
    script_close(&script);
}

/* It begins with the slowest clock and the weights as they are; what was said to its earlier life
 * is forgotten. */
static void a_worker_comes_back(void **state)
{
    (void)state;
    struct hr_train_options options;
    hr_train_defaults(&options);
    options.staleness = 2;
    struct script_plan plan = lost_plan(3, 2, 9);
    plan.options = &options;
    script_open(&script, &hr_strategy_ssp, plan);
    for (int step = 0; step < 2; step++)
        for (size_t w = 0; w < 3; w++) {
            script_read(&script, w);
            script_push(&script, w, 1);
        }
    script_ask(&script, 2);
    script_serve_all(&script, 2);
    lose(2); /* it did not take the reply */
    script_read(&script, 1);
    script_push(&script, 1, 1);
    join(2);
    assert_int_equal(script.shard[1].taken.kind, HR_JOIN);
    assert_int_equal(script.shard[1].taken.step, 2);
    assert_int_equal(script.shard[1].worker[2].clock, 2);
    assert_int_equal(hr_ssp_slowest_clock(&script.shard[1]), 2);
    assert_int_equal(script_read(&script, 2).index, 7);
    check_weight(2, -7);
    script_push(&script, 2, 1);
    assert_int_equal(script.shard[1].taken.value, 0);
    check_counts(2, 3, 3, 3);
    lose(2); /* a second time, with nothing in its hands */
    check_counts(2, 3, 3, 3);
    assert_int_equal(fate_of(2)->again_batches, 1);
    assert_int_equal(fate_of(2)->partial, 0);
    script_close(&script);
}

static void a_worker_may_join_when_all_shards_know(void **state)
{
    (void)state;
    script_open(&script, &hr_strategy_ps_async, lost_plan(2, 2, 9));
    script_lose(&script, 1);
    for (size_t s = 0; s < 2; s++) {
        assert_false(hr_server_may_join(&script.shared, 1));
        script_serve(&script, s, 1);
    }
    assert_true(hr_server_may_join(&script.shared, 1));
    hr_roster_lose(script.shared.control, 1, false); /* it dies before it has joined */
    assert_false(hr_server_may_join(&script.shared, 1));
    script_serve_all(&script, 1);
    assert_true(hr_server_may_join(&script.shared, 1));
    assert_int_equal(script.shard[0].ngone, 1);
    join(1);
    assert_int_equal(script.shard[0].ngone, 0);
    script_close(&script);
}

/* Servers end when all have ended or are gone; while all are gone, one may come back. */
static void the_last_worker_may_come_back(void **state)
{
    (void)state;
    script_open(&script, &hr_strategy_ps_async, lost_plan(2, 1, 2));
    const struct hr_strategy *strategy = script.shared.strategy;
    lose(0);
    script_read(&script, 1);
    lose(1);
    assert_false(hr_shard_over(&script.shard[0]));
    join(1);
    assert_int_equal(script_read(&script, 1).index, 0);
    script_push(&script, 1, 1);
    strategy->leave(&script.worker[1]);
    script_serve(&script, 0, 1);
    assert_true(hr_shard_over(&script.shard[0]));
    script_close(&script);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gate_opens_when_the_slowest_is_lost),
        cmocka_unit_test(a_batch_in_the_hands_of_the_dead_comes_back),
        cmocka_unit_test(or_it_is_lost),
        cmocka_unit_test(a_push_that_was_sent_counts),
        cmocka_unit_test(a_push_that_reached_some_shards_is_partial),
        cmocka_unit_test(a_worker_comes_back),
        cmocka_unit_test(a_worker_may_join_when_all_shards_know),
        cmocka_unit_test(the_last_worker_may_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
