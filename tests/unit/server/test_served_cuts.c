/* Workers of parameter servers are lost and come back around a cut: who waits for whom, by hand. */
#include "server/server.h"
#include "shm/control.h"
#include "strategies/strategies.h"
#include "unit/server/lost_workers.h"

static void arrive(size_t w)
{
    assert_int_equal(script_read(&script, w).kind, HR_TASK_CUT);
    script_arrive(&script, w);
    script_serve_all(&script, w);
}

static bool has_arrived(size_t w)
{
    return script_has_arrived(&script, w);
}

/* Worker 0 waits at the cut; then it goes back for the batch, and arrives once more. */
static void a_loss_completes_a_cut(void **state)
{
    (void)state;
    script_open(&script, &hr_strategy_ps_async, lost_plan(3, 2, 2));
    script_read(&script, 1);
    script_read(&script, 0);
    script_push(&script, 0, 1);
    arrive(0);
    arrive(2);
    assert_false(has_arrived(0));
    lose(1);
    assert_true(has_arrived(0) && has_arrived(2));
    assert_true(hr_returned_any(script.shared.returned));
    assert_true(script.shared.snapshot.weights[0] == -1);
    assert_int_equal(script_read(&script, 0).index, 0);
    script_push(&script, 0, 1);
    arrive(0);
    assert_false(has_arrived(0));
    arrive(2);
    assert_true(has_arrived(0) && has_arrived(2));
    assert_true(script.shared.snapshot.weights[SCRIPT_PARAMS - 1] == -2);
    script_close(&script);
}

/* A request to stop holds; but all batches before the cut are trained on. */
static void what_came_back_goes_out_after_a_stop(void **state)
{
    (void)state;
    script_open(&script, &hr_strategy_ps_async, lost_plan(2, 1, 9));
    script_read(&script, 1);
    hr_atom32_store_release(&script.shared.dispenser->stop, 1);
    lose(1);
    assert_int_equal(script_read(&script, 0).index, 0);
    script_push(&script, 0, 1);
    assert_int_equal(script_read(&script, 0).kind, HR_TASK_CUT);
    script_close(&script);
}

/* The others stand after their cut, and wait for it there. */
static void a_worker_joins_at_a_cut(void **state)
{
    (void)state;
    script_open(&script, &hr_strategy_ps_async, lost_plan(3, 2, 1));
    lose(2);
    script_read(&script, 0);
    script_push(&script, 0, 1);
    arrive(0);
    arrive(1);
    assert_true(has_arrived(0) && has_arrived(1));
    join(2);
    arrive(2);
    assert_true(has_arrived(2));
    assert_false(hr_server_ready(&script.worker[0])); /* nobody asked */
    hr_atom64_store_relaxed(&script.shared.dispenser->cut, 2);
    script_read(&script, 0);
    arrive(1);
    arrive(2);
    assert_false(has_arrived(1)); /* worker 0 has asked for more, and is waited for */
    script_push(&script, 0, 1);
    arrive(0);
    assert_true(has_arrived(0) && has_arrived(1) && has_arrived(2));
    assert_true(script.shared.snapshot.weights[0] == -2);
    script_close(&script);
}

/* Worker 0 waits at its cut while worker 1, which is back, does the work of two that were lost. */
static void who_rests_at_a_cut_holds_up_nobody(void **state)
{
    (void)state;
    struct hr_train_options options;
    hr_train_defaults(&options);
    options.staleness = 1;
    struct script_plan plan = lost_plan(3, 2, 3);
    plan.options = &options;
    script_open(&script, &hr_strategy_ssp, plan);
    for (size_t w = 0; w < 3; w++)
        script_read(&script, w);
    script_push(&script, 0, 1);
    arrive(0);
    lose(1);
    lose(2);
    assert_true(has_arrived(0));
    join(1);
    for (int step = 0; step < 2; step++) {
        script_read(&script, 1);
        script_push(&script, 1, 1);
    }
    arrive(1);
    assert_true(has_arrived(1));
    assert_true(script.shared.snapshot.weights[SCRIPT_PARAMS - 1] == -3);
    hr_atom64_store_relaxed(&script.shared.dispenser->cut, 9);
    script_read(&script, 0);
    assert_int_equal(hr_ssp_slowest_clock(&script.shard[0]), 0);
    script_close(&script);
}

/* Worker 2 comes to the next cut before worker 0 has left the one before; what two have lost is
 * left for worker 0. */
static void who_is_early_at_a_cut_holds_up_nobody(void **state)
{
    (void)state;
    struct hr_train_options options;
    hr_train_defaults(&options);
    options.staleness = 1;
    struct script_plan plan = lost_plan(4, 2, 3);
    plan.options = &options;
    script_open(&script, &hr_strategy_ssp, plan);
    hr_atom64_store_relaxed(&script.shared.dispenser->cut, 0);
    for (size_t w = 0; w < 4; w++)
        arrive(w);
    for (size_t w = 0; w < 4; w++)
        assert_true(has_arrived(w));
    lose(2);
    join(2);
    hr_atom64_store_relaxed(&script.shared.dispenser->cut, 3);
    for (size_t w = 1; w < 4; w++)
        script_read(&script, w);
    script_push(&script, 2, 1);
    arrive(2);
    lose(1);
    lose(3);
    assert_true(has_arrived(2));
    for (int step = 0; step < 2; step++) {
        script_read(&script, 0);
        script_push(&script, 0, 1);
    }
    arrive(0);
    assert_true(has_arrived(0));
    assert_true(script.shared.snapshot.weights[0] == -3);
    script_close(&script);
}

/* What it did while the others rested is in the state of their cut. */
static void a_loss_while_others_rest_exports_again(void **state)
{
    (void)state;
    script_open(&script, &hr_strategy_ps_async, lost_plan(2, 2, 1));
    script_read(&script, 1);
    arrive(0);
    lose(1);
    assert_true(has_arrived(0));
    join(1);
    script_read(&script, 1);
    script_push(&script, 1, 1);
    assert_true(script.shared.snapshot.weights[0] == 0);
    lose(1);
    assert_true(script.shared.snapshot.weights[0] == -1);
    assert_true(script.shared.snapshot.weights[SCRIPT_PARAMS - 1] == -1);
    assert_false(hr_returned_any(script.shared.returned));
    script_close(&script);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loss_completes_a_cut),
        cmocka_unit_test(what_came_back_goes_out_after_a_stop),
        cmocka_unit_test(a_worker_joins_at_a_cut),
        cmocka_unit_test(who_rests_at_a_cut_holds_up_nobody),
        cmocka_unit_test(who_is_early_at_a_cut_holds_up_nobody),
        cmocka_unit_test(a_loss_while_others_rest_exports_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
