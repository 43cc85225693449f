/* Cuts, launcher and checkpoints of an engine that has one weight, no model and no strategy. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/path.h"
#include "session/carve.h"
#include "session/launcher.h"
#include "session/past.h"
#include "session/result.h"
#include "session/save.h"
#include "support/runs.h"
#include "support/scratch.h"

enum { WORKERS = 2, EPOCHS = 3 };

/* An index is an epoch; each sample adds 1 to the weight, and takes a second. */
struct toy {
    struct hr_train_options options;
    struct hr_batch_schedule schedule;
    struct hr_cuts cuts;
    struct hr_launcher launcher;
    struct hr_saver saver;
    struct hr_run_result result;
    struct hr_observer observer;
    struct hr_control *control;
    struct hr_atom32 stop;
    struct hr_atom64 seen[WORKERS];
    struct hr_account accounts[WORKERS];
    double *weight;
    void *memory;
    int64_t now_ns;
    size_t shown, saved, asked_to_stop;
};

static int64_t toy_now(const void *arg)
{
    const struct toy *toy = arg;
    return toy->now_ns;
}

static void toy_describe(void *arg, struct hr_tensor_file *model, struct hr_tensor_file *trainer)
{
    struct toy *toy = arg;
    (void)trainer;
    hr_saved_put_table(model, "weight", 1, 1, toy->weight);
    hr_saved_put(model, "toy", "yes");
}

static void toy_evaluated(void *arg, const struct hr_curve_point *point)
{
    struct toy *toy = arg;
    toy->shown++;
    assert_true(point->epoch == (double)toy->shown + (double)toy->cuts.past.points);
}

static void toy_saved(void *arg, const char *path)
{
    struct toy *toy = arg;
    toy->saved++;
    assert_true(strstr(path, "step-") != NULL);
}

static int toy_should_stop(void *arg)
{
    const struct toy *toy = arg;
    return (int)toy->asked_to_stop;
}

static void lay_out(struct toy *toy, struct hr_carver *carver)
{
    toy->cuts.cut = hr_carve(carver, "cut", sizeof *toy->cuts.cut);
    toy->cuts.curve = hr_carve(carver, "curve", toy->cuts.curve_room * sizeof *toy->cuts.curve);
    toy->weight = hr_carve(carver, "weight", sizeof *toy->weight);
    toy->control = hr_carve(carver, "control", hr_control_bytes(WORKERS));
    toy->cuts.control = toy->control;
    toy->saver.copy = hr_carve(carver, "copy", hr_save_copy_bytes(&toy->saver));
}

static void prepare(struct toy *toy)
{
    const uint64_t rows = run_digits()->train.count;
    *toy = (struct toy){.options = run_options("hogwild", WORKERS)};
    snprintf(toy->options.checkpoint_dir, sizeof toy->options.checkpoint_dir, "%s", scratch("d"));
    toy->schedule = (struct hr_batch_schedule){
        .samples = rows, .pass = rows, .batch = rows, .batches_per_epoch = 1, .end = EPOCHS};
    toy->cuts =
        (struct hr_cuts){.schedule = &toy->schedule, .saves = true, .curve_room = EPOCHS + 1};
    toy->saver = (struct hr_saver){.options = &toy->options,
                                   .dataset = run_digits(),
                                   .cuts = &toy->cuts,
                                   .schedule = &toy->schedule,
                                   .model = "toy",
                                   .strategy = "hogwild",
                                   .optimizer = "none",
                                   .workers = WORKERS,
                                   .tensors = 1,
                                   .metadata = 1,
                                   .bytes = sizeof *toy->weight,
                                   .describe = toy_describe,
                                   .engine = toy};
    toy->observer = (struct hr_observer){
        .arg = toy, .evaluated = toy_evaluated, .saved = toy_saved, .should_stop = toy_should_stop};
    toy->launcher = (struct hr_launcher){.observer = &toy->observer,
                                         .cuts = &toy->cuts,
                                         .stop = &toy->stop,
                                         .workers = WORKERS,
                                         .seen = toy->seen,
                                         .seen_stride = sizeof *toy->seen,
                                         .now_ns = toy_now,
                                         .clock = toy,
                                         .saver = &toy->saver,
                                         .result = &toy->result,
                                         .alone = true};
}

static void begin(struct toy *toy, const struct hr_checkpoint *from)
{
    struct hr_carver count = {0};
    CHECK_OK(hr_save_prepare(&toy->saver, from));
    lay_out(toy, &count);
    toy->memory = aligned_alloc(HR_LINE, count.used);
    memset(toy->memory, 0, count.used);
    lay_out(toy, &(struct hr_carver){.base = toy->memory});
    hr_control_init(toy->control, WORKERS);
    toy->cuts.cut->index = toy->schedule.first;
    hr_launcher_begin(&toy->launcher);
}

/* To the next cut. */
static void come_to_cut(struct toy *toy)
{
    struct hr_cut *cut = toy->cuts.cut;
    cut->span_began_ns = toy->now_ns;
    *toy->weight += (double)toy->schedule.samples;
    toy->now_ns += (int64_t)toy->schedule.samples * HR_NS_PER_SECOND;
    assert_true(hr_cut_may_arrive(cut));
    cut->span_ended_ns = toy->now_ns;
    hr_cut_decide(&toy->cuts, cut->index + 1, (enum hr_stop)hr_atom32_load_acquire(&toy->stop));
    cut->trained.samples += toy->schedule.samples;
    cut->trained.updates = cut->trained.samples;
    if (cut->evaluate)
        hr_cut_add_point(
            &toy->cuts, (struct hr_curve_point){.epoch = (double)cut->index, .test_accuracy = 0.5});
    hr_cut_conclude(&toy->cuts);
    assert_true(!cut->save || !hr_cut_may_arrive(cut)); /* nobody overwrites what is not copied */
}

/* From a cut to the next; false: that was the last. */
static bool epoch(struct toy *toy)
{
    come_to_cut(toy);
    CHECK_OK(hr_launcher_tick(&toy->launcher));
    CHECK_OK(toy->launcher.save_status);
    return !toy->cuts.cut->halt;
}

static void finish(struct toy *toy)
{
    hr_launcher_stop(&toy->launcher);
    hr_claim_drop(&toy->saver.claim);
    hr_run_result_free(&toy->result);
    free(toy->memory);
}

static void resume(struct toy *toy)
{
    struct hr_checkpoint checkpoint;
    CHECK_OK(hr_checkpoint_load(scratch("d"), &checkpoint));
    CHECK_OK(hr_resume_position(&toy->saver, &checkpoint));
    begin(toy, &checkpoint);
    CHECK_OK(hr_past_restore(&checkpoint, &toy->cuts));
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
    prepare(&toy);
    toy.options.overwrite = true;
    begin(&toy, NULL);
    assert_true(epoch(&toy));
    toy.asked_to_stop = 1;
    CHECK_OK(hr_launcher_tick(&toy.launcher));
    assert_false(epoch(&toy));
    assert_true(toy.cuts.cut->interrupted);
    finish(&toy);
    prepare(&toy);
    resume(&toy);
    assert_int_equal(toy.schedule.first, 2);
    assert_int_equal(toy.cuts.past.points, 2);
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
    prepare(&toy);
    toy.options.overwrite = true;
    begin(&toy, NULL);
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

/* --- saved while training goes on --- */

/* A disk that is slow until `open`. */
struct slow_disk {
    struct hr_saver *saver;
    struct hr_atom32 open; /* partner: the writer */
    struct hr_bell bell;
};

static bool is_open(void *disk)
{
    return hr_atom32_load_acquire(&((struct slow_disk *)disk)->open);
}

static enum hr_status write_slowly(void *arg)
{
    static const struct hr_atom32 no_abort;
    struct slow_disk *disk = arg;
    struct hr_waiter waiter = {.abort = &no_abort, .timeout_ns = 20 * HR_NS_PER_SECOND};
    HR_TRY(hr_wait_until(&waiter, &disk->bell, is_open, disk, "the test"));
    return hr_save_write(disk->saver);
}

/* As the launcher does, but for the disk. */
static void begin_to_write(struct toy *toy, struct slow_disk *disk)
{
    disk->saver = &toy->saver;
    CHECK_OK(hr_save_take(&toy->saver));
    hr_writer_start(&toy->launcher.writer, write_slowly, disk, &toy->control->launcher_bell);
}

static void let_it_write(struct slow_disk *disk)
{
    hr_atom32_store_release(&disk->open, 1);
    hr_bell_ring(&disk->bell);
}

static double weight_of_step(size_t step)
{
    char path[HR_PATH_MAX];
    struct hr_checkpoint checkpoint;
    CHECK_OK(hr_path(path, "%s/step-%08zu", scratch("d"), step));
    CHECK_OK(hr_checkpoint_load(path, &checkpoint));
    const double weight = *(const double *)hr_tensor_get(&checkpoint.model, "weight")->data;
    hr_checkpoint_free(&checkpoint);
    return weight;
}

static void what_is_written_is_the_state_at_the_cut(void **state)
{
    (void)state;
    static struct toy toy;
    struct slow_disk disk = {0};
    prepare(&toy);
    toy.options.overwrite = true;
    begin(&toy, NULL);
    assert_true(epoch(&toy));
    const double weight = *toy.weight;
    hr_launcher_stop(&toy.launcher);
    begin_to_write(&toy, &disk);
    *toy.weight = -1; /* training goes on */
    assert_true(hr_launcher_writes(&toy.launcher));
    let_it_write(&disk);
    hr_launcher_stop(&toy.launcher);
    assert_true(weight_of_step(1) == weight);
    finish(&toy);
}

static void a_save_waits_for_the_one_before_and_is_not_left_out(void **state)
{
    (void)state;
    static struct toy toy;
    struct slow_disk disk = {0};
    prepare(&toy);
    toy.launcher.alone = false;
    toy.options.overwrite = true;
    begin(&toy, NULL);
    begin_to_write(&toy, &disk);
    come_to_cut(&toy);
    CHECK_OK(hr_launcher_tick(&toy.launcher)); /* it does not wait for the disk */
    assert_false(hr_cut_may_arrive(toy.cuts.cut));
    assert_int_equal(toy.saved, 0);
    let_it_write(&disk);
    hr_launcher_take(&toy.launcher); /* it does */
    assert_true(hr_cut_may_arrive(toy.cuts.cut));
    CHECK_OK(hr_launcher_end(&toy.launcher));
    assert_int_equal(toy.saved, 2);
    assert_int_equal(toy.result.saves.written, 2);
    assert_true(toy.result.saves.copy_s > 0 && toy.result.saves.write_s > 0);
    assert_true(weight_of_step(1) == (double)toy.schedule.samples);
    finish(&toy);
}

static void a_run_that_fails_has_written_what_was_asked_for(void **state)
{
    (void)state;
    static struct toy toy;
    struct slow_disk disk = {0};
    prepare(&toy);
    toy.launcher.alone = false;
    toy.options.overwrite = true;
    begin(&toy, NULL);
    begin_to_write(&toy, &disk);
    come_to_cut(&toy);
    CHECK_OK(hr_launcher_tick(&toy.launcher));
    let_it_write(&disk);
    hr_launcher_stop(&toy.launcher);
    assert_int_equal(toy.result.saves.written, 2);
    assert_true(strstr(toy.result.checkpoint, "step-00000001") != NULL);
    finish(&toy);
}

/* It is told, the next may succeed, and the last one decides. */
static void a_save_that_fails_is_counted(void **state)
{
    (void)state;
    static struct toy toy;
    prepare(&toy);
    toy.options.overwrite = true;
    begin(&toy, NULL);
    snprintf(toy.options.checkpoint_dir, sizeof toy.options.checkpoint_dir, "/dev/null/d");
    come_to_cut(&toy);
    CHECK_OK(hr_launcher_end(&toy.launcher));
    CHECK_FAILS(hr_launcher_saved(&toy.launcher), HR_E_IO);
    assert_int_equal(toy.result.saves.failed, 1);
    assert_string_equal(toy.result.checkpoint, "");
    snprintf(toy.options.checkpoint_dir, sizeof toy.options.checkpoint_dir, "%s", scratch("d"));
    come_to_cut(&toy);
    CHECK_OK(hr_launcher_end(&toy.launcher));
    CHECK_OK(hr_launcher_saved(&toy.launcher));
    assert_int_equal(toy.result.saves.written, 1);
    finish(&toy);
}

static void ranks_rest_for_a_save_alone_only_where_nothing_is_measured(void **state)
{
    (void)state;
    static struct toy toy;
    prepare(&toy);
    toy.options.overwrite = true;
    begin(&toy, NULL);
    struct hr_cut *cut = toy.cuts.cut;
    toy.schedule.batches_per_epoch = 2; /* only every second index ends an epoch */
    toy.schedule.checkpoint_every = 1;
    toy.observer.evaluated = NULL;
    for (int i = 0; i < 2; i++) {
        come_to_cut(&toy);
        CHECK_OK(hr_launcher_tick(&toy.launcher));
        toy.now_ns += 1000; /* at rest */
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
    prepare(&toy);
    toy.options.overwrite = true;
    begin(&toy, NULL);
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
        cmocka_unit_test(what_is_written_is_the_state_at_the_cut),
        cmocka_unit_test(a_save_waits_for_the_one_before_and_is_not_left_out),
        cmocka_unit_test(a_run_that_fails_has_written_what_was_asked_for),
        cmocka_unit_test(a_save_that_fails_is_counted),
        cmocka_unit_test(ranks_rest_for_a_save_alone_only_where_nothing_is_measured),
        cmocka_unit_test(whoever_asks_twice_leaves_at_once),
        cmocka_unit_test(who_is_asked_to_stop_first_goes_back_for_what_is_left),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
