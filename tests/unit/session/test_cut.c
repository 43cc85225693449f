/* Cuts and launcher of an engine that has one weight, no model and no strategy. */
#include "unit/session/toy_engine.h"

static void resume(struct toy *toy)
{
    struct hr_checkpoint checkpoint;
    CHECK_OK(hr_checkpoint_load(scratch("d"), &checkpoint));
    CHECK_OK(hr_resume_position(&toy->saver, &checkpoint));
    begin(toy, &checkpoint);
    CHECK_OK(hr_history_restore(&checkpoint, &toy->cuts));
    assert_string_equal(hr_metadata_get(&checkpoint.model, "toy"), "yes");
    *toy->weight = *(const double *)hr_tensor_get(&checkpoint.model, "weight")->data;
    hr_checkpoint_free(&checkpoint);
}

static void an_engine_of_its_own_runs_to_the_end(void **state)
{
    (void)state;
    static struct toy toy;
    const struct hr_accounts accounts = {toy.accounts, sizeof *toy.accounts, WORKERS};
    size_t epochs = 1;
    prepare(&toy);
    begin(&toy, NULL);
    for (; epoch(&toy); epochs++)
        ;
    CHECK_OK(hr_launcher_end(&toy.launcher));
    assert_int_equal(epochs, EPOCHS);
    assert_int_equal(toy.shown, EPOCHS);
    assert_int_equal(toy.saved, EPOCHS);
    CHECK_OK(hr_result_finish(&toy.cuts, &toy.options, &accounts, &toy.result));
    assert_int_equal(toy.result.ncurve, EPOCHS);
    assert_true(toy.result.seconds == (double)(EPOCHS * toy.schedule.samples));
    assert_true(toy.result.test_accuracy == 0.5 && !toy.result.interrupted);
    finish(&toy);
}

static void a_run_that_was_interrupted_goes_on_where_it_stood(void **state)
{
    (void)state;
    static struct toy toy;
    begin_anew(&toy);
    assert_true(epoch(&toy));
    toy.asked_to_stop = 1;
    CHECK_OK(hr_launcher_tick(&toy.launcher));
    assert_false(epoch(&toy));
    assert_true(toy.cuts.cut->interrupted);
    finish(&toy);
    prepare(&toy);
    resume(&toy);
    assert_int_equal(toy.schedule.first, 2);
    assert_int_equal(toy.cuts.history.points, 2);
    assert_false(epoch(&toy));
    assert_int_equal(toy.shown, 1);
    assert_true(*toy.weight == (double)(EPOCHS * toy.schedule.samples));
    assert_true(toy.cuts.curve[2].samples == EPOCHS * toy.schedule.samples);
    finish(&toy);
}

/* Batches of a lost worker wait to be handed out again: the run ends behind them. */
static void who_is_asked_to_stop_first_goes_back_for_what_is_left(void **state)
{
    (void)state;
    static struct toy toy;
    begin_anew(&toy);
    struct hr_cut *cut = toy.cuts.cut;
    cut->again = true;
    hr_cut_decide(&toy.cuts, 1, HR_STOP_INTERRUPTED);
    assert_false(cut->halt || cut->evaluate || cut->save);
    hr_cut_decide(&toy.cuts, EPOCHS, HR_STOP_NOT);
    assert_false(cut->halt || cut->evaluate || cut->save);
    cut->again = false;
    hr_cut_decide(&toy.cuts, 1, HR_STOP_INTERRUPTED);
    assert_true(cut->halt && cut->interrupted && cut->save);
    finish(&toy);
}

static void ranks_rest_for_a_save_alone_only_where_nothing_is_measured(void **state)
{
    (void)state;
    static struct toy toy;
    begin_anew(&toy);
    struct hr_cut *cut = toy.cuts.cut;
    toy.schedule.batches_per_epoch = 2; /* only every second index ends an epoch */
    toy.schedule.checkpoint_every = 1;
    toy.observer.evaluated = NULL;
    for (int i = 0; i < 2; i++) {
        come_to_cut(&toy);
        CHECK_OK(hr_launcher_tick(&toy.launcher));
        toy.now_ns += 1000; /* quiescent */
    }
    come_to_cut(&toy);
    assert_int_equal(cut->rest_ns, 1000); /* not behind the second, which was measured */
    finish(&toy);
}

static void of_another_model_nothing_is_resumed(void **state)
{
    (void)state;
    static struct toy toy;
    struct hr_checkpoint checkpoint;
    prepare(&toy);
    toy.saver.model = "another";
    CHECK_OK(hr_checkpoint_load(scratch("d"), &checkpoint));
    CHECK_FAILS(hr_resume_position(&toy.saver, &checkpoint), HR_E_USAGE);
    hr_checkpoint_free(&checkpoint);
}

static void whoever_asks_twice_leaves_at_once(void **state)
{
    (void)state;
    static struct toy toy;
    begin_anew(&toy);
    toy.asked_to_stop = 2;
    CHECK_FAILS(hr_launcher_tick(&toy.launcher), HR_E_INTERRUPTED);
    toy.asked_to_stop = 0;
    toy.launcher.max_seconds = 1;
    toy.now_ns += 2 * HR_NS_PER_SECOND;
    CHECK_OK(hr_launcher_tick(&toy.launcher));
    assert_int_equal(hr_atom32_load_acquire(&toy.stop), HR_STOP_DONE);
    finish(&toy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_engine_of_its_own_runs_to_the_end),
        cmocka_unit_test(a_run_that_was_interrupted_goes_on_where_it_stood),
        cmocka_unit_test(of_another_model_nothing_is_resumed),
        cmocka_unit_test(ranks_rest_for_a_save_alone_only_where_nothing_is_measured),
        cmocka_unit_test(whoever_asks_twice_leaves_at_once),
        cmocka_unit_test(who_is_asked_to_stop_first_goes_back_for_what_is_left),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
