/* backup-workers: who is dropped, what the others make of it, and that every sample is accounted
 * for, in a script and in many orders. */
#include <stdio.h>

#include "strategies/strategies.h"
#include "support/runs.h"
#include "support/script.h"

static struct script script;

static void open_three(uint64_t steps)
{
    const struct script_plan plan = {.workers = 3, .servers = 1, .batches = steps};
    script_open(&script, &hr_strategy_backup_workers, plan);
}

static void check_step(size_t w, uint64_t index, double weight)
{
    const struct hr_task task = script_read(&script, w);
    assert_int_equal(task.kind, HR_TASK_BATCH);
    assert_int_equal(task.index, index);
    CHECK_NEAR((double)script.shared.weights[w][SCRIPT_PARAMS - 1], weight, 1e-6, 0);
}

static void check_counts(size_t w, uint64_t samples, uint64_t dropped, double loss)
{
    const struct hr_worker_stats *stats = &script.shared.stats[w];
    assert_int_equal(stats->samples, samples);
    assert_int_equal(stats->epoch_samples, samples);
    assert_int_equal(stats->dropped.gradients, dropped);
    assert_true(stats->epoch_loss == loss);
}

/* Step 0: workers 2 and 0 deliver, worker 1 is late; its gradient of step 0 comes in step 1. */
static void the_slowest_is_dropped_and_goes_on_with_the_step_in_hand(void **state)
{
    (void)state;
    open_three(3);
    for (size_t w = 0; w < 3; w++)
        check_step(w, 0, 0);
    script_push(&script, 2, 3);
    script_ask(&script, 2);
    assert_false(script_enabled(&script, 0, 2)); /* it waits for the step's end */
    script_push(&script, 0, 1);
    script_serve(&script, 0, 2);
    assert_int_equal(script_get(&script, 2).index, 1);
    check_step(0, 1, -2); /* the mean of two, not of three */
    script_push(&script, 1, 100);
    assert_int_equal(script.shard[0].taken.value, 1); /* its staleness */
    check_step(1, 1, -2);
    check_counts(1, 0, 1, 0);
    assert_int_equal(script.shared.stats[1].max_skew, 0);
    assert_int_equal(script.shared.stats[2].max_skew, 1);
    script_push(&script, 1, 4); /* now it is in time, and worker 2 is not */
    script_push(&script, 0, 2);
    check_step(0, 2, -5);
    check_step(1, 2, -5);
    check_counts(1, 1, 1, 4);
    check_counts(0, 2, 0, 3);
    assert_int_equal(script.shared.stats[0].updates + script.shared.stats[1].updates, 2);
    script_close(&script);
}

static void push_nothing(size_t w)
{
    struct hr_worker *worker = &script.worker[w];
    worker->samples = 0;
    worker->epoch_loss = worker->stats->epoch_loss;
    script_offer(&script, w);
    script_serve_all(&script, w);
}

/* Of an epoch's last batch only worker 2 has a sample, and it comes too late. */
static void a_step_of_no_samples_is_no_update(void **state)
{
    (void)state;
    open_three(2);
    for (size_t w = 0; w < 3; w++)
        check_step(w, 0, 0);
    for (size_t w = 0; w < 2; w++)
        push_nothing(w);
    script_push(&script, 2, 8);
    for (size_t w = 0; w < 3; w++)
        check_step(w, 1, 0);
    for (size_t w = 0; w < 3; w++)
        script_push(&script, w, 1);
    for (size_t w = 0; w < 3; w++)
        assert_int_equal(script_read(&script, w).kind, HR_TASK_CUT);
    check_counts(2, 0, 2, 0);
    script_cut(&script);
    assert_int_equal(script.shared.snapshot.applied[0], 1);
    assert_int_equal(script.shared.stats[0].updates + script.shared.stats[1].updates, 1);
    script_close(&script);
}

/* The last step's straggler is told at the cut, before anybody counts; and a request to stop lets
 * the step in hand be finished. */
static void cuts_and_stops_leave_nobody_waiting(void **state)
{
    (void)state;
    for (uint32_t stop = 0; stop < 2; stop++) {
        open_three(stop ? 9 : 1);
        for (size_t w = 0; w < 2; w++)
            check_step(w, 0, 0);
        hr_atom32_store_release(&script.shared.dispenser->stop, stop);
        check_step(2, 0, 0);
        for (size_t w = 0; w < 3; w++)
            script_push(&script, w, 1);
        for (size_t w = 0; w < 3; w++)
            assert_int_equal(script_read(&script, w).kind, HR_TASK_CUT);
        check_counts(1, 1, 0, 1);
        check_counts(2, 0, 1, 0);
        script_cut(&script);
        CHECK_NEAR((double)script.shared.snapshot.weights[0], -1, 1e-6, 0);
        assert_int_equal(script.shared.snapshot.applied[0], 1);
        script_close(&script);
    }
}

static void open_outliving(size_t workers, size_t backups)
{
    struct hr_train_options options;
    hr_train_defaults(&options);
    options.backups = backups;
    const struct script_plan plan = {
        .workers = workers, .servers = 1, .batches = 5, .options = &options, .outlives = true};
    script_open(&script, &hr_strategy_backup_workers, plan);
}

static void check_share(size_t w, size_t share, size_t shares)
{
    assert_int_equal(script.worker[w].group_rank, share);
    assert_int_equal(script.worker[w].group_size, shares);
}

static void check_lost(size_t w, uint64_t shares, uint64_t samples)
{
    const struct hr_lost_work *lost = &script.shared.lost_work[w];
    assert_int_equal(lost->lost_batches, shares);
    assert_int_equal(lost->lost_samples, samples);
    assert_int_equal(lost->again_batches, 0);
}

static void lose(size_t w)
{
    script_lose(&script, w);
    script_serve(&script, 0, w);
}

/* Worker 0 dies with its share in its hands, in the next step before it has asked. */
static void those_who_are_left_share_the_next_step(void **state)
{
    (void)state;
    open_outliving(3, 0);
    for (size_t w = 0; w < 3; w++)
        check_step(w, 0, 0);
    check_share(2, 2, 3);
    script_push(&script, 1, 1);
    script_push(&script, 2, 3);
    lose(0); /* it was the last that the step waited for */
    check_lost(0, 1, 1);
    check_step(2, 1, -2);
    check_share(2, 1, 2);
    script_return(&script, 0);
    script_serve(&script, 0, 0);
    script_ask(&script, 0);
    assert_false(script_enabled(&script, 0, 0)); /* it has no share of this step */
    script_push(&script, 2, 1);
    check_step(1, 1, -2);
    check_share(1, 0, 2);
    script_push(&script, 1, 1);
    check_step(2, 2, -3);
    check_share(2, 2, 3);
    lose(0);
    check_lost(0, 2, 2);
    script_push(&script, 2, 1);
    script_ask(&script, 2);
    assert_false(script_enabled(&script, 0, 2));
    lose(2); /* what it has delivered counts */
    check_lost(2, 0, 0);
    check_step(1, 2, -3);
    script_push(&script, 1, 3);
    check_step(1, 3, -5);
    check_share(1, 0, 1);
    check_counts(2, 3, 0, 5);
    assert_int_equal(script.shared.stats[1].updates + script.shared.stats[2].updates, 3);
    script_close(&script);
}

/* It was too late, and did not learn it. */
static void a_late_gradient_of_the_dead_does_not_count(void **state)
{
    (void)state;
    open_outliving(2, 1);
    for (size_t w = 0; w < 2; w++)
        check_step(w, 0, 0);
    script_push(&script, 0, 1);
    script_push(&script, 1, 8);
    lose(1);
    check_counts(1, 0, 1, 0);
    check_lost(1, 0, 0);
    check_step(0, 1, -1); /* of one worker less one, one is needed */
    script_push(&script, 0, 1);
    check_step(0, 2, -2);
    script_close(&script);
}

static struct hr_run_result run_in_order(size_t backups, size_t seed)
{
    struct hr_train_options options = run_options("backup-workers", 4);
    snprintf(options.model, sizeof options.model, "softmax");
    snprintf(options.schedule, sizeof options.schedule, "explore:%zu", seed);
    options.batch_size = 4;
    options.max_steps = 40;
    options.backups = backups;
    return run_train(&options);
}

/* Steps end in any order; samples trained on and dropped are all: each update has n - k gradients,
 * none is stale, and what a worker was too late for is in the total. */
static void every_gradient_is_summed_or_dropped(void **state)
{
    (void)state;
    uint64_t most = 0;
    for (size_t seed = 0; seed < check_count(60, 1000); seed++) {
        const size_t backups = seed % 4;
        struct hr_run_result result = run_in_order(backups, seed);
        uint64_t by_worker = 0;
        for (size_t w = 0; w < result.ndropped_by; w++)
            by_worker += result.dropped_by[w];
        assert_int_equal(result.ndropped_by, 4);
        assert_int_equal(by_worker, result.dropped);
        assert_int_equal(result.dropped_samples, 40 * backups * 4);
        assert_true(4 * result.dropped <= result.dropped_samples); /* some were never begun */
        assert_int_equal(result.updates, 40);
        assert_int_equal(result.samples, 40 * (4 - backups) * 4);
        assert_int_equal(result.stale_updates, 40 * (4 - backups));
        assert_int_equal(result.stale_max, 0);
        assert_true(backups || !result.dropped);
        most = result.dropped > most ? result.dropped : most;
        hr_run_result_free(&result);
    }
    assert_true(most > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_slowest_is_dropped_and_goes_on_with_the_step_in_hand),
        cmocka_unit_test(a_step_of_no_samples_is_no_update),
        cmocka_unit_test(cuts_and_stops_leave_nobody_waiting),
        cmocka_unit_test(those_who_are_left_share_the_next_step),
        cmocka_unit_test(a_late_gradient_of_the_dead_does_not_count),
        cmocka_unit_test(every_gradient_is_summed_or_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
