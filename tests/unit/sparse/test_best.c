/* Sparse runs that validate, look for the best, stop early, and go on. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hogring/checkpoint.h"
#include "hogring/evaluate.h"
#include "support/data_files.h"
#include "support/runs.h"
#include "support/sparse_data.h"

static struct hr_dataset linear, ratings;

static int open_data(void **state)
{
    if (scratch_setup(state) != 0)
        return -1;
    linear = sparse_data(900, 300, 9, 1);
    ratings = sparse_ratings(60, 40, 900);
    return 0;
}

static int close_data(void **state)
{
    hr_dataset_close(&linear);
    hr_dataset_close(&ratings);
    return scratch_teardown(state);
}

static const struct kind {
    const char *model, *stop;
    const struct hr_dataset *data;
    float lr; /* 0: the model's own */
} kinds[] = {{"logistic", "loss,2", &linear, 0},
             {"svm", "accuracy,3", &linear, 0},
             {"mf", "loss,2", &ratings, 0.5f}};

enum { KINDS = sizeof kinds / sizeof *kinds };

static struct hr_train_options stopping(const struct kind *kind, size_t workers)
{
    struct hr_train_options options = sparse_options(kind->model, "sgd", workers, 60);
    snprintf(options.early_stop, sizeof options.early_stop, "%s", kind->stop);
    options.validation_fraction = 0.2;
    if (kind->lr > 0)
        options.lr = kind->lr;
    return options;
}

static void save_to(struct hr_train_options *options, char folder[64])
{
    run_folder_make(folder);
    snprintf(options->checkpoint_dir, sizeof options->checkpoint_dir, "%s", folder);
    options->keep = 0;
}

static struct hr_evaluation evaluation_of(const char *folder, const char *name,
                                          const struct hr_dataset *dataset)
{
    char path[128];
    struct hr_evaluation out;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK_OK(hr_evaluate_checkpoint(path, NULL, dataset, &out));
    return out;
}

/* eval gives the same figures: to the bit, since it is the same computation. */
static void check_tested(const struct hr_run_result *result, const char *folder, const char *name,
                         const struct hr_dataset *dataset)
{
    struct hr_evaluation tested = evaluation_of(folder, name, dataset);
    assert_true(!(tested.test_loss < result->test_loss) && !(tested.test_loss > result->test_loss));
    hr_evaluation_free(&tested);
}

static void it_ends_with_the_weights_of_its_best_epoch(void **state)
{
    (void)state;
    for (size_t i = 0; i <= KINDS; i++) {
        const struct kind *kind = &kinds[i % KINDS];
        struct hr_train_options options = stopping(kind, 1 + i / KINDS);
        char folder[64], best[64];
        save_to(&options, folder);
        snprintf(options.keep_best, sizeof options.keep_best, "%.*s", (int)strcspn(kind->stop, ","),
                 kind->stop);
        struct hr_run_result result = sparse_run(&options, kind->data);
        assert_true(result.best.stopped && result.best.restored);
        assert_true(result.best.epoch < result.best.ended && result.best.ended < 60);
        assert_int_equal(result.test_evaluations, 1);
        assert_true(isnan(result.curve[0].test_loss) && result.curve[0].validated);
        check_tested(&result, folder, "latest", kind->data);
        const size_t rows = kind->data->train.count - result.validation_samples;
        snprintf(best, sizeof best, "step-%08zu", (size_t)(result.best.epoch * (double)rows + 0.5));
        check_tested(&result, folder, best, kind->data);
        check_tested(&result, folder, "best", kind->data);
        hr_run_result_free(&result);
        run_folder_remove(folder);
    }
}

static void check_same(const struct hr_run_result *a, const struct hr_run_result *b)
{
    assert_string_equal(a->weights_digest, b->weights_digest);
    assert_int_equal(a->ncurve, b->ncurve);
    for (size_t i = 0; i < a->ncurve; i++)
        assert_true(a->curve[i].train_loss == b->curve[i].train_loss &&
                    a->curve[i].validation_loss == b->curve[i].validation_loss);
    assert_true(a->best.epoch == b->best.epoch && a->best.ended == b->best.ended);
    assert_true(a->test_loss == b->test_loss && a->validation_loss == b->validation_loss);
}

/* Stopped behind its best epoch, and before the patience is over. */
static void one_that_goes_on_stops_where_it_would_have(void **state)
{
    (void)state;
    for (size_t i = 0; i < KINDS; i++) {
        const struct hr_train_options whole = stopping(&kinds[i], 1);
        struct hr_train_options part = whole, rest;
        char folder[64];
        struct hr_run_result a = sparse_run(&whole, kinds[i].data), b, c;
        save_to(&part, folder);
        part.epochs = (size_t)a.best.epoch + 1;
        b = sparse_run(&part, kinds[i].data);
        assert_string_equal(a.weights_digest, b.weights_digest); /* the best ones, too */
        rest = part;
        rest.epochs = whole.epochs;
        snprintf(rest.resume, sizeof rest.resume, "%s", folder);
        c = sparse_run(&rest, kinds[i].data);
        check_same(&a, &c);
        hr_run_result_free(&c);
        CHECK_FAILS(hr_train(&rest, kinds[i].data, NULL, &c), HR_E_USAGE);
        rest.finished_ok = true;
        c = sparse_run(&rest, kinds[i].data);
        check_same(&a, &c);
        hr_run_result_free(&a);
        hr_run_result_free(&b);
        hr_run_result_free(&c);
        run_folder_remove(folder);
    }
}

static void the_held_out_rows_are_not_trained_on(void **state)
{
    (void)state;
    struct hr_train_options options = sparse_options("logistic", "dual", 1, 3);
    options.validation_fraction = 0.25;
    struct hr_run_result result = sparse_run(&options, &linear);
    const size_t held = (size_t)((double)linear.train.count * 0.25 + 0.5);
    assert_int_equal(result.validation_samples, held);
    assert_int_equal(result.samples, 3 * (linear.train.count - held));
    hr_run_result_free(&result);
}

static void check_refused(struct hr_train_options options, const struct hr_dataset *data,
                          const char *why)
{
    struct hr_run_result result;
    CHECK_FAILS(hr_train(&options, data, NULL, &result), HR_E_USAGE);
    if (!strstr(hr_error_message(), why))
        fail_msg("%s is not in: %s", why, hr_error_message());
    CHECK_FAILS(hr_train_check(&options, data), HR_E_USAGE);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    struct hr_train_options options = stopping(&kinds[0], 1);
    snprintf(options.solver, sizeof options.solver, "auto");
    check_refused(options, &linear, "not with --solver dual");
    options = stopping(&kinds[2], 1);
    snprintf(options.early_stop, sizeof options.early_stop, "accuracy,3");
    check_refused(options, &ratings, "there is no accuracy where values are predicted");
    options.early_stop[0] = '\0';
    snprintf(options.keep_best, sizeof options.keep_best, "accuracy");
    check_refused(options, &ratings, "there is no accuracy where values are predicted");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_ends_with_the_weights_of_its_best_epoch),
        cmocka_unit_test(one_that_goes_on_stops_where_it_would_have),
        cmocka_unit_test(the_held_out_rows_are_not_trained_on),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, open_data, close_data);
}
