/* elastic-averaging: exchanges worked out by hand, their staleness, ranges of batches, cuts. */
#include <stdio.h>

#include "strategies/strategies.h"
#include "support/runs.h"
#include "support/script.h"

static struct script script;

static void check_replica(size_t w, double want)
{
    for (size_t i = 0; i < SCRIPT_PARAMS; i++)
        CHECK_NEAR((double)script.shared.weights[w][i], want, 1e-6, 0);
}

static void check_next(size_t w, uint64_t index)
{
    const struct hr_task task = script_get(&script, w);
    assert_int_equal(task.kind, HR_TASK_BATCH);
    assert_int_equal(task.index, index);
}

/* A step within a range: nobody is asked. */
static void step(size_t w, float g, uint64_t next)
{
    script_give(&script, w, g);
    script_ask(&script, w);
    check_next(w, next);
}

/* Two workers in ranges of two batches, alpha 1/2; the center c begins at 0. */
static void exchanges_move_both_ends(void **state)
{
    (void)state;
    struct hr_train_options options;
    hr_train_defaults(&options);
    options.sync_every = 2;
    options.moving_rate = 0.5;
    const struct hr_strategy *strategy = &hr_strategy_elastic_averaging;
    script_open(
        &script, strategy,
        (struct script_plan){.workers = 2, .servers = 2, .batches = 5, .options = &options});
    assert_int_equal(script_read(&script, 0).index, 0);
    assert_int_equal(script_read(&script, 1).index, 2);
    step(0, 1, 1);
    script_give(&script, 0, 1);
    step(1, 4, 3);
    script_give(&script, 1, 4);
    check_replica(0, -2);
    check_replica(1, -8);
    assert_int_equal(script_read(&script, 1).index,
                     4); /* c = 0 - 8 / 2; the range ends at the cut */
    check_replica(1, -4);
    assert_int_equal(script_read(&script, 0).kind, HR_TASK_CUT); /* c = -4 + (-2 + 4) / 2 */
    assert_int_equal(script.shard[1].taken.value, 1);            /* its staleness */
    check_replica(0, -3);
    script_give(&script, 1, 1);
    assert_int_equal(script_read(&script, 1).kind, HR_TASK_CUT); /* c = -3 + (-5 + 3) / 2 */
    check_replica(1, -4);
    script_cut(&script);
    for (size_t w = 0; w < 2; w++) {
        CHECK_OK(hr_rows_verify(&script.worker[w]));
        check_replica(w, -4); /* c, where all begin again */
        assert_int_equal(script.shared.snapshot.applied[w], 2 + w);
        assert_int_equal(script.shared.stats[w].updates, 2 + w);
        assert_int_equal(script.shared.stats[w].stale.updates, 1 + w);
        assert_int_equal(script.shared.stats[w].stale.sum, 1);
    }
    assert_int_equal(script.shard[0].version, 3);
    hr_atom64_store_relaxed(&script.shared.dispenser->cut, 9);
    assert_int_equal(script_read(&script, 0).index, 5);
    script.worker[0].took_ns = 30;
    step(0, 0, 6);
    script.worker[0].took_ns = 12;
    script_give(&script, 0, 0);
    assert_int_equal(script_read(&script, 0).index, 7);
    assert_int_equal(script.shard[0].taken.took_ns, 42);
    assert_int_equal(script.shard[0].taken.value, 0); /* it began at the center, as it is */
    script_close(&script);
}

/* Worker 1 dies in the middle of its second range: the first is in the center, and stays. */
static void a_lost_range_is_handed_out_again(void **state)
{
    (void)state;
    struct hr_train_options options;
    hr_train_defaults(&options);
    options.sync_every = 2;
    options.moving_rate = 0.5;
    const struct script_plan plan = {.workers = 2,
                                     .servers = 2,
                                     .batches = 9,
                                     .options = &options,
                                     .outlives = true,
                                     .reissues = true};
    script_open(&script, &hr_strategy_elastic_averaging, plan);
    const struct hr_worker_stats *stats = &script.shared.stats[1];
    assert_int_equal(script_read(&script, 1).index, 0);
    step(1, 1, 1);
    script_give(&script, 1, 1);
    assert_int_equal(script_read(&script, 1).index, 2); /* c = 0 + (-2 - 0) / 2 */
    step(1, 7, 3);
    script_lose(&script, 1);
    script_serve_all(&script, 1);
    assert_int_equal(stats->samples, 2);
    assert_int_equal(stats->updates, 2);
    assert_int_equal(stats->steps, 2);
    assert_true(stats->epoch_loss == 2);
    assert_int_equal(script.shared.lost_work[1].again_batches, 2);
    assert_int_equal(script.shared.lost_work[1].again_samples, 2);
    script_return(&script, 1);
    script_serve_all(&script, 1);
    assert_int_equal(script_read(&script, 1).index, 2);
    check_replica(1, -1); /* the center */
    step(1, 1, 3);
    assert_int_equal(script_read(&script, 0).index, 4);
    script_close(&script);
}

static struct hr_train_options options_of(size_t workers, size_t every)
{
    struct hr_train_options options = run_options("elastic-averaging", workers);
    options.sync_every = every;
    return options;
}

/* Any number of servers cuts the same exchange; norms are each worker's own business. */
static void one_worker_repeats_whatever_the_servers(void **state)
{
    (void)state;
    struct hr_train_options options = options_of(1, 3);
    char want[33];
    options.clip_norm = 0.5;
    run_digest(&options, want);
    for (options.servers = 2; options.servers <= 3; options.servers++)
        CHECK_DIGEST(&options, want);
}

static void orders_differ_and_repeat(void **state)
{
    (void)state;
    struct hr_train_options options = options_of(3, 4);
    options.servers = 2;
    run_check_order(options);
}

/* Every batch is somebody's, once; every exchange is counted. */
static void every_batch_is_trained_on(void **state)
{
    (void)state;
    for (size_t seed = 0; seed < check_count(30, 500); seed++) {
        struct hr_train_options options = options_of(4, 1 + seed % 5);
        options.servers = 1 + seed % 2;
        options.epochs = 1;
        snprintf(options.schedule, sizeof options.schedule, "explore:%zu", seed);
        struct hr_run_result result = run_train(&options);
        assert_int_equal(result.samples, run_digits()->train.count);
        assert_int_equal(result.updates, 90);
        assert_in_range(result.stale_updates, 90 / options.sync_every, 90);
        hr_run_result_free(&result);
    }
}

/* One worker's run is a function of its cuts: with the same ones it goes on where it stopped. */
static void resumed_is_never_stopped(void **state)
{
    (void)state;
    char folder[64], want[33];
    struct hr_train_options options = options_of(1, 8);
    snprintf(options.optimizer, sizeof options.optimizer, "adam");
    for (uint64_t k = 50; k <= 100; k += 50) {
        run_folder_make(folder);
        snprintf(options.checkpoint_dir, sizeof options.checkpoint_dir, "%s", folder);
        options.checkpoint_every.steps = 50;
        run_digest(&options, want);
        run_folder_remove(folder);
        run_check_resume(options, k, want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exchanges_move_both_ends),
        cmocka_unit_test(a_lost_range_is_handed_out_again),
        cmocka_unit_test(one_worker_repeats_whatever_the_servers),
        cmocka_unit_test(orders_differ_and_repeat),
        cmocka_unit_test(every_batch_is_trained_on),
        cmocka_unit_test(resumed_is_never_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
