/* What is saved at a cut while training goes on: the state there, in order, nothing left out. */
#include "base/path.h"
#include "unit/session/toy_engine.h"

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

/* Another save is asked for, and that waits for no disk. */
static void ask_again_while_it_writes(struct toy *toy, struct slow_disk *disk)
{
    begin_anew(toy);
    toy->launcher.alone = false;
    begin_to_write(toy, disk);
    come_to_cut(toy);
    CHECK_OK(hr_launcher_tick(&toy->launcher));
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
    begin_anew(&toy);
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
    ask_again_while_it_writes(&toy, &disk);
    assert_false(hr_cut_may_arrive(toy.cuts.cut));
    assert_int_equal(toy.saved, 0);
    let_it_write(&disk);
    hr_launcher_take(&toy.launcher); /* this does wait for the disk */
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
    ask_again_while_it_writes(&toy, &disk);
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
    begin_anew(&toy);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_the_state_at_the_cut),
        cmocka_unit_test(a_save_waits_for_the_one_before_and_is_not_left_out),
        cmocka_unit_test(a_run_that_fails_has_written_what_was_asked_for),
        cmocka_unit_test(a_save_that_fails_is_counted),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
