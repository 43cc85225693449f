/* Sparse runs that go on are as if they had never been stopped, and their checkpoints are evaluated
 * to the same figures. */
#include <math.h>
#include <stdio.h>

#include "hogring/checkpoint.h"
#include "hogring/evaluate.h"
#include "support/data_files.h"
#include "support/runs.h"
#include "support/sparse_data.h"

/* Nobody waits for the launcher at cuts. */
static struct hr_train_options saving_at_the_end(struct hr_train_options options, const char *name)
{
    options.checkpoint_every.steps = (uint64_t)1 << 40;
    return sparse_saving(options, name);
}

static void same_end(const struct hr_run_result *a, const struct hr_run_result *b)
{
    assert_string_equal(a->weights_digest, b->weights_digest);
    assert_int_equal(a->steps, b->steps);
    assert_int_equal(a->ncurve, b->ncurve);
    for (size_t i = 0; i < a->ncurve; i++) {
        assert_int_equal(a->curve[i].samples, b->curve[i].samples);
        assert_true(a->curve[i].train_loss == b->curve[i].train_loss);
        assert_true(a->curve[i].test_loss == b->curve[i].test_loss);
    }
}

static const struct {
    const char *model, *solver;
} kinds[] = {{"logistic", "dual"}, {"logistic", "sgd"}, {"svm", "dual"}, {"mf", "sgd"}};

enum { KINDS = sizeof kinds / sizeof *kinds };

static void one_worker_that_goes_on_was_never_stopped(void **state)
{
    (void)state;
    struct hr_dataset linear = sparse_data(700, 300, 9, 1), ratings = sparse_ratings(60, 40, 900);
    for (size_t i = 0; i < KINDS; i++) {
        const struct hr_dataset *data = i == 3 ? &ratings : &linear;
        struct hr_train_options whole = sparse_options(kinds[i].model, kinds[i].solver, 1, 7);
        struct hr_train_options part = sparse_saving(whole, "ckpt");
        part.epochs = 3;
        struct hr_run_result a = sparse_run(&whole, data), b = sparse_run(&part, data);
        assert_string_not_equal(a.weights_digest, b.weights_digest);
        struct hr_train_options rest = sparse_resuming(part, "ckpt");
        rest.epochs = 7;
        struct hr_run_result c = sparse_run(&rest, data);
        same_end(&a, &c);
        assert_true(c.resumed);
        assert_int_equal(c.resumed_step, 3 * data->train.count);
        assert_int_equal(c.past_samples + c.samples, a.samples);
        assert_int_equal(c.past_updates + c.updates, a.updates);
        hr_run_result_free(&a);
        hr_run_result_free(&b);
        hr_run_result_free(&c);
    }
    hr_dataset_close(&linear);
    hr_dataset_close(&ratings);
}

static int stop_after_an_epoch(void *arg)
{
    return *(size_t *)arg > 0;
}

static void count_point(void *arg, const struct hr_curve_point *point)
{
    (void)point;
    ++*(size_t *)arg;
}

/* The first cut wakes the launcher, which stops the workers somewhere in the next epoch. Returns
 * where they stood. */
static uint64_t stop_somewhere(const struct hr_train_options *options,
                               const struct hr_dataset *dataset)
{
    size_t points = 0;
    struct hr_run_result result;
    const struct hr_observer observer = {
        .arg = &points, .evaluated = count_point, .should_stop = stop_after_an_epoch};
    CHECK_OK(hr_train(options, dataset, &observer, &result));
    assert_true(result.interrupted);
    const uint64_t steps = result.steps;
    hr_run_result_free(&result);
    return steps;
}

static void an_epoch_that_was_broken_off_is_finished(void **state)
{
    (void)state;
    size_t broken = 0;
    struct hr_dataset data = sparse_data(12000, 2000, 12, 4);
    for (size_t i = 0; i < 40 && broken < 3; i++) {
        const size_t k = i % 3;
        struct hr_train_options whole = sparse_options(kinds[k].model, kinds[k].solver, 1, 1 << 20);
        const struct hr_train_options part = saving_at_the_end(whole, "ckpt");
        const uint64_t steps = stop_somewhere(&part, &data);
        broken += steps % data.train.count != 0;
        whole.epochs = steps / data.train.count + 2;
        struct hr_train_options rest = sparse_resuming(part, "ckpt");
        rest.epochs = whole.epochs;
        struct hr_run_result a = sparse_run(&whole, &data), b = sparse_run(&rest, &data);
        same_end(&a, &b);
        hr_run_result_free(&a);
        hr_run_result_free(&b);
    }
    assert_true(broken > 0);
    hr_dataset_close(&data);
}

static void a_broken_epoch_of_several_workers_is_for_as_many(void **state)
{
    (void)state;
    uint64_t steps = 0;
    struct hr_dataset data = sparse_data(12000, 2000, 12, 4);
    const struct hr_train_options part =
        saving_at_the_end(sparse_options("logistic", "dual", 2, 1 << 20), "ckpt");
    for (size_t i = 0; i < 300 && steps % data.train.count == 0; i++)
        steps = stop_somewhere(&part, &data);
    assert_true(steps % data.train.count != 0);
    struct hr_train_options rest = sparse_resuming(part, "ckpt");
    struct hr_run_result result;
    rest.epochs = steps / data.train.count + 2;
    rest.workers = 3;
    CHECK_FAILS(hr_train(&rest, &data, NULL, &result), HR_E_USAGE);
    CHECK_MESSAGE("in the middle of an epoch of 2 workers, this run has 3");
    rest.workers = 2;
    result = sparse_run(&rest, &data);
    assert_int_equal(result.steps, rest.epochs * data.train.count);
    hr_run_result_free(&result);
    hr_dataset_close(&data);
}

static void checkpoints_come_at_the_ends_of_epochs(void **state)
{
    (void)state;
    struct hr_checkpoint checkpoint;
    struct hr_dataset data = sparse_data(700, 300, 9, 1);
    struct hr_train_options options = sparse_saving(sparse_options("svm", "dual", 2, 5), "ckpt");
    options.checkpoint_every.steps = data.train.count + 1; /* so at the end of each second epoch */
    options.keep = 0;
    struct hr_run_result result = sparse_run(&options, &data);
    char path[300];
    for (size_t epoch = 1; epoch <= 5; epoch++) {
        snprintf(path, sizeof path, "%s/step-%08zu", scratch("ckpt"), epoch * data.train.count);
        if (epoch == 1 || epoch == 3) {
            CHECK_FAILS(hr_checkpoint_load(path, &checkpoint), HR_E_IO);
            continue;
        }
        CHECK_OK(hr_checkpoint_load(path, &checkpoint));
        assert_non_null(hr_tensor_get(&checkpoint.trainer, "alphas"));
        hr_checkpoint_free(&checkpoint);
    }
    assert_string_equal(result.checkpoint, path);
    hr_run_result_free(&result);
    hr_dataset_close(&data);
}

static void a_checkpoint_is_evaluated_to_the_same_figures(void **state)
{
    (void)state;
    struct hr_dataset linear = sparse_data(3000, 800, 9, 1), ratings = sparse_ratings(60, 40, 900);
    for (size_t i = 0; i < KINDS; i++) {
        const struct hr_dataset *data = i == 3 ? &ratings : &linear;
        const struct hr_train_options options =
            sparse_saving(sparse_options(kinds[i].model, kinds[i].solver, 2, 3), "ckpt");
        struct hr_run_result result = sparse_run(&options, data);
        struct hr_evaluation found;
        CHECK_OK(hr_evaluate_checkpoint(scratch("ckpt"), NULL, data, &found));
        assert_string_equal(found.model, kinds[i].model);
        assert_true(found.test_loss == result.test_loss);
        assert_true(i == 3 ? isnan(found.test_accuracy)
                           : found.test_accuracy == result.test_accuracy);
        assert_int_equal(found.noutputs, 1);
        double squares = 0;
        size_t hits = 0;
        for (size_t k = 0; k < found.count; k++) {
            squares += i == 3 ? pow(found.values[k] - (double)data->test.values[k], 2) : 0;
            hits += i < 3 && (found.outputs[k] > 0) == (data->test.labels[k] == 1);
        }
        if (i == 3)
            CHECK_NEAR(sqrt(squares / (double)found.count), found.test_loss, 1e-5, 0);
        else
            CHECK_NEAR((double)hits / (double)found.count, found.test_accuracy, 1e-9, 0);
        hr_evaluation_free(&found);
        hr_run_result_free(&result);
    }
    hr_dataset_close(&linear);
    hr_dataset_close(&ratings);
}

static void weights_of_a_file_are_begun_with(void **state)
{
    (void)state;
    struct hr_dataset linear = sparse_data(700, 300, 9, 1), ratings = sparse_ratings(60, 40, 900);
    for (size_t i = 1; i < KINDS; i += 2) {
        const struct hr_dataset *data = i == 3 ? &ratings : &linear;
        struct hr_train_options options = sparse_options(kinds[i].model, "sgd", 1, 3);
        const struct hr_train_options first = sparse_saving(options, "ckpt");
        struct hr_run_result a = sparse_run(&first, data);
        snprintf(options.init_weights, sizeof options.init_weights, "%s", scratch("ckpt"));
        options.lr = 1e-12;
        struct hr_run_result b = sparse_run(&options, data);
        CHECK_NEAR(b.curve[0].test_loss, a.test_loss, 1e-5, 0);
        hr_run_result_free(&a);
        hr_run_result_free(&b);
    }
    hr_dataset_close(&linear);
    hr_dataset_close(&ratings);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        TEST(one_worker_that_goes_on_was_never_stopped),
        TEST(an_epoch_that_was_broken_off_is_finished),
        TEST(a_broken_epoch_of_several_workers_is_for_as_many),
        TEST(checkpoints_come_at_the_ends_of_epochs),
        TEST(a_checkpoint_is_evaluated_to_the_same_figures),
        TEST(weights_of_a_file_are_begun_with),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
