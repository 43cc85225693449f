/* What a run that goes on knows of the runs before it. */
#include <stdio.h>
#include <string.h>

#include "hogring/checkpoint.h"
#include "support/runs.h"

/* Train to step k and go on in the same folder. */
static struct hr_run_result train_in_two(struct hr_train_options options, uint64_t k,
                                         const char *folder)
{
    snprintf(options.checkpoint_dir, sizeof options.checkpoint_dir, "%s", folder);
    options.max_steps = k;
    struct hr_run_result result = run_train(&options);
    hr_run_result_free(&result);
    options.max_steps = 0;
    snprintf(options.resume, sizeof options.resume, "%s", folder);
    return run_train(&options);
}

/* Points at the ends of epochs; where the first run stopped there is one more. */
static size_t whole_epochs(const struct hr_run_result *result, struct hr_curve_point *points)
{
    size_t n = 0;
    for (size_t i = 0; i < result->ncurve; i++)
        if (result->curve[i].epoch <= (double)(n + 1) && result->curve[i].epoch >= (double)(n + 1))
            points[n++] = result->curve[i];
    return n;
}

static void check_same_point(const struct hr_curve_point *a, const struct hr_curve_point *b)
{
    assert_int_equal(a->samples, b->samples);
    assert_memory_equal(&a->train_loss, &b->train_loss, sizeof a->train_loss);
    assert_memory_equal(&a->test_loss, &b->test_loss, sizeof a->test_loss);
    CHECK_NEAR(a->fit.balanced_accuracy, b->fit.balanced_accuracy, 0, 0);
    CHECK_NEAR(a->fit.macro_f1, b->fit.macro_f1, 0, 0);
}

/* Step 7 is in the first epoch of 30 steps, step 30 at its end, step 41 in the second. */
static void the_curve_of_a_resumed_run_is_that_of_one_never_stopped(void **state)
{
    (void)state;
    static const char *const strategies[] = {"allreduce", "ps-sync", "local-sgd"};
    static const uint64_t steps[] = {7, 30, 41};
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        const struct hr_train_options options = run_options(strategies[i], 3);
        struct hr_run_result whole = run_train(&options);
        for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
            char folder[64];
            struct hr_curve_point points[4];
            run_folder_make(folder);
            struct hr_run_result result = train_in_two(options, steps[k], folder);
            assert_int_equal(whole_epochs(&result, points), whole.ncurve);
            /* local SGD averages where it is stopped: another run from there on */
            for (size_t p = 0; p < whole.ncurve && i < 2; p++)
                check_same_point(&points[p], &whole.curve[p]);
            for (size_t p = 1; p < result.ncurve; p++)
                assert_true(result.curve[p].seconds > result.curve[p - 1].seconds);
            hr_run_result_free(&result);
            run_folder_remove(folder);
        }
        hr_run_result_free(&whole);
    }
}

/* Asked to stop as soon as a step is made: local SGD does so where it averages next, at the end. */
static int stop_once_begun(void *arg)
{
    const struct hr_progress *progress = arg;
    return progress->samples > 0;
}

static void keep_progress(void *arg, const struct hr_progress *progress)
{
    *(struct hr_progress *)arg = *progress;
}

/* An epoch that a run was stopped at the end of is evaluated: who goes on does not come by again,
 * and a run that has nothing left to do tells its result. */
static void an_epoch_that_ends_with_an_interruption_has_its_point(void **state)
{
    (void)state;
    struct hr_train_options options = run_options("local-sgd", 2);
    struct hr_progress progress = {0};
    const struct hr_observer observer = {
        .arg = &progress, .progress = keep_progress, .should_stop = stop_once_begun};
    struct hr_run_result result;
    char folder[64];
    run_folder_make(folder);
    options.epochs = 1;
    options.sync_every = 1000;
    snprintf(options.compute_time, sizeof options.compute_time, "10ms");
    snprintf(options.checkpoint_dir, sizeof options.checkpoint_dir, "%s", folder);
    CHECK_OK(hr_train(&options, run_digits(), &observer, &result));
    assert_int_equal(result.ncurve, 1);
    assert_true(result.test_accuracy > 0);
    hr_run_result_free(&result);

    snprintf(options.resume, sizeof options.resume, "%s", folder);
    options.finished_ok = true;
    struct hr_run_result again = run_train(&options);
    assert_int_equal(again.ncurve, 1);
    assert_true(again.test_accuracy > 0);
    hr_run_result_free(&again);
    run_folder_remove(folder);
}

static void what_is_of_the_whole_training_and_what_of_this_run(void **state)
{
    (void)state;
    const struct hr_train_options options = run_options("ps-async", 3);
    const uint64_t samples = 2 * run_digits()->train.count;
    char folder[64];
    run_folder_make(folder);
    struct hr_run_result result = train_in_two(options, 50, folder);
    assert_true(result.resumed);
    assert_int_equal(result.resumed_step, 50);
    assert_int_equal(result.past_updates, 50);
    assert_int_equal(result.past_updates + result.updates, result.steps);
    assert_int_equal(result.past_samples, 50 * options.batch_size);
    assert_int_equal(result.past_samples + result.samples, samples);
    assert_true(result.past_seconds > 0);
    const struct hr_curve_point *last = &result.curve[result.ncurve - 1];
    assert_int_equal(last->samples, samples);
    CHECK_NEAR(last->seconds, result.past_seconds + result.seconds, 1e-9, 0);
    hr_run_result_free(&result);
    run_folder_remove(folder);
}

static void read_first_loss(const char *folder, char text[64])
{
    struct hr_checkpoint checkpoint;
    CHECK_OK(hr_checkpoint_load(folder, &checkpoint));
    snprintf(text, 64, "%s", hr_metadata_get(&checkpoint.trainer, "first_epoch_loss"));
    hr_checkpoint_free(&checkpoint);
}

/* Sums of several workers: added in another order, they differ in their last bits, once they are
 * long enough for a double to round. */
static void the_loss_of_the_first_epoch_is_the_same_to_the_bit(void **state)
{
    (void)state;
    struct hr_train_options options = run_options("allreduce", 4);
    options.batch_size = 4;
    options.epoch_size = 30000;
    options.epochs = 1;
    char folder[64], other[64], want[64], got[64];
    run_folder_make(folder);
    snprintf(options.checkpoint_dir, sizeof options.checkpoint_dir, "%s", folder);
    struct hr_run_result result = run_train(&options);
    hr_run_result_free(&result);
    read_first_loss(folder, want);
    for (uint64_t k = 30; k < 600; k += 170) {
        run_folder_make(other);
        result = train_in_two(options, k, other);
        read_first_loss(other, got);
        assert_string_equal(got, want);
        hr_run_result_free(&result);
        run_folder_remove(other);
    }
    run_folder_remove(folder);
}

/* As hogring wrote them before: without counts, curve and shares. */
static void make_old(const char *folder)
{
    struct hr_checkpoint checkpoint;
    CHECK_OK(hr_checkpoint_load(folder, &checkpoint));
    struct hr_tensor_file *trainer = &checkpoint.trainer;
    for (size_t i = 0; i < trainer->nmetadata; i++)
        if (!strcmp(trainer->metadata[i].key, "samples"))
            strcpy(trainer->metadata[i].key, "something-else");
    size_t kept = 0;
    for (size_t i = 0; i < trainer->ntensors; i++)
        if (strcmp(trainer->tensors[i].name, "curve") != 0 &&
            strcmp(trainer->tensors[i].name, "epoch_shares") != 0)
            trainer->tensors[kept++] = trainer->tensors[i];
    trainer->ntensors = kept;
    CHECK_OK(hr_checkpoint_save(folder, &checkpoint, 1));
    hr_checkpoint_free(&checkpoint);
}

static void a_checkpoint_that_does_not_know_its_past_is_gone_on_from(void **state)
{
    (void)state;
    struct hr_train_options options = run_options("allreduce", 3);
    char folder[64], want[33];
    run_digest(&options, want);
    run_folder_make(folder);
    snprintf(options.checkpoint_dir, sizeof options.checkpoint_dir, "%s", folder);
    options.max_steps = 37;
    struct hr_run_result result = run_train(&options);
    hr_run_result_free(&result);
    make_old(folder);
    options.max_steps = 0;
    snprintf(options.resume, sizeof options.resume, "%s", folder);
    result = run_train(&options);
    assert_string_equal(result.weights_digest, want);
    assert_int_equal(result.ncurve, 1);
    assert_int_equal(result.past_samples, 0);
    assert_int_equal(result.curve[0].samples, result.samples);
    hr_run_result_free(&result);
    run_folder_remove(folder);
}

static void a_curve_that_is_none_is_refused(void **state)
{
    (void)state;
    struct hr_train_options options = run_options("allreduce", 2);
    struct hr_checkpoint checkpoint;
    struct hr_run_result result;
    char folder[64];
    run_folder_make(folder);
    snprintf(options.checkpoint_dir, sizeof options.checkpoint_dir, "%s", folder);
    options.max_steps = 5;
    result = run_train(&options);
    hr_run_result_free(&result);
    CHECK_OK(hr_checkpoint_load(folder, &checkpoint));
    double *curve = hr_tensor_get(&checkpoint.trainer, "curve")->data;
    curve[0] = -1;
    CHECK_OK(hr_checkpoint_save(folder, &checkpoint, 1));
    hr_checkpoint_free(&checkpoint);
    options.max_steps = 0;
    snprintf(options.resume, sizeof options.resume, "%s", folder);
    CHECK_FAILS(hr_train(&options, run_digits(), NULL, &result), HR_E_FORMAT);
    CHECK_MESSAGE("tensor curve counts -1 samples");
    run_folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_curve_of_a_resumed_run_is_that_of_one_never_stopped),
        cmocka_unit_test(an_epoch_that_ends_with_an_interruption_has_its_point),
        cmocka_unit_test(what_is_of_the_whole_training_and_what_of_this_run),
        cmocka_unit_test(the_loss_of_the_first_epoch_is_the_same_to_the_bit),
        cmocka_unit_test(a_checkpoint_that_does_not_know_its_past_is_gone_on_from),
        cmocka_unit_test(a_curve_that_is_none_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
