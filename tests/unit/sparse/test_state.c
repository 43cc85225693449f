/* Sparse runs and their checkpoints: going on is never having stopped, other files are refused. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hogring/checkpoint.h"
#include "hogring/evaluate.h"
#include "support/data_files.h"
#include "support/runs.h"
#include "support/sparse_data.h"

static struct hr_run_result run_of(const struct hr_train_options *options,
                                   const struct hr_dataset *dataset)
{
    struct hr_run_result result;
    CHECK_OK(hr_train(options, dataset, NULL, &result));
    return result;
}

static struct hr_train_options saving(struct hr_train_options options, const char *name)
{
    snprintf(options.checkpoint_dir, sizeof options.checkpoint_dir, "%s", scratch(name));
    options.overwrite = true;
    return options;
}

/* Nobody waits for the launcher at cuts. */
static struct hr_train_options saving_at_the_end(struct hr_train_options options, const char *name)
{
    options.checkpoint_every.steps = (uint64_t)1 << 40;
    return saving(options, name);
}

static struct hr_train_options resuming(struct hr_train_options options, const char *name)
{
    snprintf(options.resume, sizeof options.resume, "%s", scratch(name));
    options.overwrite = false;
    return options;
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
        struct hr_train_options part = saving(whole, "ckpt");
        part.epochs = 3;
        struct hr_run_result a = run_of(&whole, data), b = run_of(&part, data);
        assert_string_not_equal(a.weights_digest, b.weights_digest);
        struct hr_train_options rest = resuming(part, "ckpt");
        rest.epochs = 7;
        struct hr_run_result c = run_of(&rest, data);
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
        struct hr_train_options rest = resuming(part, "ckpt");
        rest.epochs = whole.epochs;
        struct hr_run_result a = run_of(&whole, &data), b = run_of(&rest, &data);
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
    for (size_t i = 0; i < 40 && steps % data.train.count == 0; i++)
        steps = stop_somewhere(&part, &data);
    assert_true(steps % data.train.count != 0);
    struct hr_train_options rest = resuming(part, "ckpt");
    struct hr_run_result result;
    rest.epochs = steps / data.train.count + 2;
    rest.workers = 3;
    CHECK_FAILS(hr_train(&rest, &data, NULL, &result), HR_E_USAGE);
    CHECK_MESSAGE("in the middle of an epoch of 2 workers, this run has 3");
    rest.workers = 2;
    result = run_of(&rest, &data);
    assert_int_equal(result.steps, rest.epochs * data.train.count);
    hr_run_result_free(&result);
    hr_dataset_close(&data);
}

static void checkpoints_come_at_the_ends_of_epochs(void **state)
{
    (void)state;
    struct hr_checkpoint checkpoint;
    struct hr_dataset data = sparse_data(700, 300, 9, 1);
    struct hr_train_options options = saving(sparse_options("svm", "dual", 2, 5), "ckpt");
    options.checkpoint_every.steps = data.train.count + 1; /* so at the end of each second epoch */
    options.keep = 0;
    struct hr_run_result result = run_of(&options, &data);
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
            saving(sparse_options(kinds[i].model, kinds[i].solver, 2, 3), "ckpt");
        struct hr_run_result result = run_of(&options, data);
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
            squares += i == 3 ? pow((double)(found.outputs[k] - data->test.values[k]), 2) : 0;
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
        const struct hr_train_options first = saving(options, "ckpt");
        struct hr_run_result a = run_of(&first, data);
        snprintf(options.init_weights, sizeof options.init_weights, "%s", scratch("ckpt"));
        options.lr = 1e-12;
        struct hr_run_result b = run_of(&options, data);
        CHECK_NEAR(b.curve[0].test_loss, a.test_loss, 1e-5, 0);
        hr_run_result_free(&a);
        hr_run_result_free(&b);
    }
    hr_dataset_close(&linear);
    hr_dataset_close(&ratings);
}

static void refused(struct hr_train_options options, const struct hr_dataset *data,
                    enum hr_status status, const char *text)
{
    struct hr_run_result result;
    CHECK_FAILS(hr_train(&options, data, NULL, &result), status);
    CHECK_MESSAGE(text);
    assert_null(result.curve);
}

static void what_is_of_another_run_is_refused(void **state)
{
    (void)state;
    struct hr_dataset two = sparse_data(700, 300, 9, 1), other = sparse_data(700, 300, 9, 2);
    struct hr_train_options o = saving(sparse_options("logistic", "dual", 1, 2), "ckpt");
    struct hr_run_result result = run_of(&o, &two);
    hr_run_result_free(&result);
    o = resuming(o, "ckpt");
    refused(o, &two, HR_E_USAGE, "which ends at step 1120; more --epochs would go on");
    o.epochs = 4;
    refused(o, &other, HR_E_USAGE, "it was trained with data");
    struct hr_train_options changed = o;
    changed.cost = 2;
    refused(changed, &two, HR_E_USAGE, "it was trained with --cost 1, this run has 2");
    changed = o;
    snprintf(changed.solver, sizeof changed.solver, "sgd");
    refused(changed, &two, HR_E_USAGE, "it was trained with --solver dual, this run has sgd");
    changed = o;
    snprintf(changed.model, sizeof changed.model, "svm");
    refused(changed, &two, HR_E_USAGE, "it was trained with model logistic, this run has svm");
    changed = o;
    snprintf(changed.model, sizeof changed.model, "flatten, dense 2");
    snprintf(changed.strategy, sizeof changed.strategy, "allreduce");
    refused(changed, &two, HR_E_USAGE, "it was trained with model logistic");
    changed = o;
    changed.resume[0] = '\0';
    snprintf(changed.init_weights, sizeof changed.init_weights, "%s", scratch("ckpt"));
    refused(changed, &two, HR_E_USAGE, "--init-weights: means nothing with --solver dual");
    changed = o;
    changed.resume[0] = '\0';
    changed.update_rule = &(struct hr_update_rule){.name = "mine"};
    refused(changed, &two, HR_E_USAGE, "an update rule: --model logistic has its own");
    hr_dataset_close(&two);
    hr_dataset_close(&other);
}

static void a_network_s_checkpoint_is_refused(void **state)
{
    (void)state;
    struct hr_dataset data = sparse_data(200, 50, 5, 1);
    struct hr_train_options o = saving(run_options("allreduce", 1), "ckpt");
    snprintf(o.model, sizeof o.model, "flatten, dense 2");
    o.epochs = 1;
    struct hr_run_result result = run_of(&o, &data);
    hr_run_result_free(&result);
    o = resuming(saving(sparse_options("logistic", "dual", 1, 2), "ckpt"), "ckpt");
    refused(o, &data, HR_E_USAGE, "it was trained with model flatten, dense 2");
    struct hr_evaluation found;
    CHECK_FAILS(hr_evaluate_checkpoint(scratch("ckpt"), "logistic", &data, &found), HR_E_FORMAT);
    CHECK_MESSAGE("tensor weight is missing");
    hr_dataset_close(&data);
}

/* Save the newest checkpoint once more, as `change` leaves it. */
static void resave(void (*change)(struct hr_checkpoint *checkpoint))
{
    struct hr_checkpoint *c = calloc(1, sizeof *c);
    CHECK_OK(hr_checkpoint_load(scratch("ckpt"), c));
    change(c);
    CHECK_OK(hr_checkpoint_save(scratch("ckpt"), c, 0));
    hr_checkpoint_free(c);
    free(c);
}

static void lose_alphas(struct hr_checkpoint *c)
{
    snprintf(c->trainer.tensors[0].name, sizeof c->trainer.tensors[0].name, "omegas");
}

static void spoil_alphas(struct hr_checkpoint *c)
{
    snprintf(c->trainer.tensors[0].name, sizeof c->trainer.tensors[0].name, "alphas");
    *(double *)c->trainer.tensors[0].data = 7;
}

static void move_a_weight(struct hr_checkpoint *c)
{
    *(float *)c->model.tensors[0].data += 1;
}

static void narrow_weights(struct hr_checkpoint *c)
{
    *(double *)c->trainer.tensors[0].data = 0.5;
    c->model.tensors[0].shape[1]--;
    c->model.tensors[0].bytes -= sizeof(float);
}

static void tensors_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    struct hr_dataset data = sparse_data(700, 300, 9, 1);
    struct hr_train_options o = saving(sparse_options("logistic", "dual", 1, 2), "ckpt");
    struct hr_run_result result = run_of(&o, &data);
    hr_run_result_free(&result);
    o = resuming(o, "ckpt");
    o.epochs = 3;
    resave(lose_alphas);
    refused(o, &data, HR_E_FORMAT, "tensor alphas has 0 rows, the data have 560");
    resave(spoil_alphas);
    refused(o, &data, HR_E_FORMAT, "tensor alphas has 7, expected 0 to 1");
    resave(narrow_weights);
    refused(o, &data, HR_E_FORMAT, "tensor weight is (1, 299), expected (1, 300 or more)");
    hr_dataset_close(&data);
}

/* Save the newest checkpoint's metadata otherwise, or without the key. */
static void resay(const char *key, const char *value, bool rename)
{
    struct hr_checkpoint *c = calloc(1, sizeof *c);
    CHECK_OK(hr_checkpoint_load(scratch("ckpt"), c));
    for (size_t i = 0; i < c->trainer.nmetadata; i++) {
        struct hr_metadata *entry = &c->trainer.metadata[i];
        if (!strcmp(entry->key, key))
            snprintf(rename ? entry->key : entry->value,
                     rename ? sizeof entry->key : sizeof entry->value, "%s", value);
    }
    CHECK_OK(hr_checkpoint_save(scratch("ckpt"), c, 0));
    hr_checkpoint_free(c);
    free(c);
}

static void metadata_out_of_range_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *key, *value, *text;
    } cases[] = {
        {"epoch_size", "561", "an epoch of it has 561 rows, the data have 560"},
        {"seconds", "nan", "\"seconds\" is nan"},
        {"samples", "-1", "\"samples\" is -1"},
        {"inner_eps", "nan", "\"inner_eps\" is nan, expected a finite number of at least 0"},
    };
    struct hr_dataset data = sparse_data(700, 300, 9, 1);
    struct hr_train_options o = saving(sparse_options("logistic", "dual", 1, 2), "ckpt");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hr_run_result result = run_of(&o, &data);
        hr_run_result_free(&result);
        struct hr_train_options on = resuming(o, "ckpt");
        on.epochs = 3;
        resay(cases[i].key, cases[i].value, false);
        refused(on, &data, HR_E_FORMAT, cases[i].text);
    }
    resay("inner_eps", "outer_eps", true);
    o = resuming(o, "ckpt");
    o.epochs = 3;
    refused(o, &data, HR_E_FORMAT, "\"inner_eps\" is missing");
    hr_dataset_close(&data);
}

/* Weights of several workers are not the sum over alpha, and are not made so by going on. */
static void weights_are_gone_on_from_as_saved_by_any_number_of_workers(void **state)
{
    (void)state;
    struct hr_dataset data = sparse_data(700, 300, 9, 1);
    struct hr_train_options o = saving(sparse_options("svm", "dual", 2, 2), "ckpt");
    struct hr_run_result result = run_of(&o, &data);
    hr_run_result_free(&result);
    o = resuming(o, "ckpt");
    o.checkpoint_dir[0] = '\0';
    o.epochs = 3;
    o.workers = 1;
    struct hr_run_result a = run_of(&o, &data);
    resave(move_a_weight);
    struct hr_run_result b = run_of(&o, &data);
    assert_string_not_equal(a.weights_digest, b.weights_digest);
    hr_run_result_free(&a);
    hr_run_result_free(&b);
    hr_dataset_close(&data);
}

static void advice_is_of_the_solver_s_options(void **state)
{
    (void)state;
    struct hr_dataset data = sparse_data(700, 300, 9, 1);
    struct hr_train_options dual = sparse_options("logistic", "dual", 1, 2);
    struct hr_train_options sgd = sparse_options("logistic", "sgd", 1, 2);
    dual.cost = sgd.cost = 1e6;
    for (size_t k = 0; k < 4000; k++)
        ((float *)(void *)(uintptr_t)data.train.values)[k] *= 1e25f;
    refused(dual, &data, HR_E_DIVERGED, "a smaller --cost may help");
    refused(sgd, &data, HR_E_DIVERGED, "a smaller --lr may help");
    hr_dataset_close(&data);
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
        TEST(what_is_of_another_run_is_refused),
        TEST(a_network_s_checkpoint_is_refused),
        TEST(tensors_that_do_not_fit_are_refused),
        TEST(metadata_out_of_range_are_refused),
        TEST(weights_are_gone_on_from_as_saved_by_any_number_of_workers),
        TEST(advice_is_of_the_solver_s_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
