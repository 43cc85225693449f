/* What the one who speaks left undone, its copy does, once: by hand. */
#include "server/server_replica.h"
#include "strategies/strategies.h"
#include "unit/server/replica_script.h"

/* Take what may be taken first. */
static void step(size_t owner)
{
    struct hr_shard *shard = &script.shard[owner];
    unsigned char enabled[WORKERS];
    size_t w = 0;
    memset(enabled, 1, sizeof enabled);
    hr_replica_look(shard);
    hr_replica_enabled(shard, enabled);
    while (w < WORKERS && !enabled[w])
        w++;
    if (w < WORKERS)
        hr_replica_take(shard, w);
}

/* --- replicas of workers --- */

/* What worker 0 has after two exchanges with the center, the second of which is torn: on its way
 * the one who speaks dies. */
static float after_an_exchange(size_t copies)
{
    struct hr_train_options options;
    hr_train_defaults(&options);
    options.sync_every = 1;
    open_with(&hr_strategy_elastic_averaging, 1, copies, &options);
    for (size_t exchange = 0; exchange < 3; exchange++) {
        script_ask(&script, 0);
        for (size_t owner = 0; owner < copies; owner++)
            step(owner);
        if (exchange == 2 && copies == 2) {
            struct hr_ring *ring = hr_server_replies(shared(), 0, 0);
            hr_atom64_store_relaxed(&ring->tail, hr_atom64_load_relaxed(&ring->tail) - 1);
            memset(shared()->weights[0], 0xff, SCRIPT_PARAMS / 2 * sizeof(float));
            bury(1);
            hr_replica_look(&script.shard[0]);
        }
        script_get(&script, 0);
        script_give(&script, 0, 1);
    }
    const float *weights = shared()->weights[0];
    for (size_t i = 0; i < SCRIPT_PARAMS; i++)
        assert_true(weights[i] == weights[0]);
    const float weight = weights[0];
    script_close(&script);
    return weight;
}

static void an_exchange_with_the_center_is_given_again(void **state)
{
    (void)state;
    const float weight = after_an_exchange(1);
    assert_true(weight < -1);
    assert_true(after_an_exchange(2) == weight);
}

/* --- counters that a shard writes for others --- */

/* The last of three comes too late; the one who speaks dies before it hears of that. */
static void who_came_too_late_is_counted_by_who_is_left(void **state)
{
    (void)state;
    struct hr_train_options options;
    struct hr_run_result result = {.dropped_by = (uint64_t[WORKERS]){0}};
    hr_train_defaults(&options);
    options.backups = 1;
    open_with(&hr_strategy_backup_workers, 1, 2, &options);
    for (size_t w = 0; w < WORKERS; w++) {
        script_ask(&script, w);
        step(0);
        step(1);
        script_get(&script, w);
    }
    for (size_t w = 0; w < WORKERS; w++) {
        script_give(&script, w, 1);
        step(0);
    }
    bury(1);
    hr_replica_look(&script.shard[0]);
    shared()->strategy->report(shared(), &result);
    assert_int_equal(result.dropped, 1);
    assert_int_equal(result.dropped_by[WORKERS - 1], 1);
    assert_int_equal(result.dropped_samples, 1);
    script_close(&script);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_exchange_with_the_center_is_given_again),
        cmocka_unit_test(who_came_too_late_is_counted_by_who_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
