/* Sparse runs that would go on from what another run saved, or somebody has altered. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hogring/checkpoint.h"
#include "hogring/evaluate.h"
#include "support/data_files.h"
#include "support/runs.h"
#include "support/sparse_data.h"

static void what_is_of_another_run_is_refused(void **state)
{
    (void)state;
    struct hr_dataset two = sparse_data(700, 300, 9, 1), other = sparse_data(700, 300, 9, 2);
    struct hr_train_options o = sparse_saving(sparse_options("logistic", "dual", 1, 2), "ckpt");
    struct hr_run_result result = sparse_run(&o, &two);
    hr_run_result_free(&result);
    o = sparse_resuming(o, "ckpt");
    sparse_refuses(o, &two, HR_E_USAGE, "of 1120; raise --epochs to continue");
    o.epochs = 4;
    sparse_refuses(o, &other, HR_E_USAGE, "it was trained with data");
    struct hr_train_options changed = o;
    changed.cost = 2;
    sparse_refuses(changed, &two, HR_E_USAGE, "it was trained with --cost 1, this run has 2");
    changed = o;
    snprintf(changed.solver, sizeof changed.solver, "sgd");
    sparse_refuses(changed, &two, HR_E_USAGE,
                   "it was trained with --solver dual, this run has sgd");
    changed = o;
    snprintf(changed.model, sizeof changed.model, "svm");
    sparse_refuses(changed, &two, HR_E_USAGE,
                   "it was trained with model logistic, this run has svm");
    changed = o;
    snprintf(changed.model, sizeof changed.model, "flatten, dense 2");
    snprintf(changed.strategy, sizeof changed.strategy, "allreduce");
    sparse_refuses(changed, &two, HR_E_USAGE, "it was trained with model logistic");
    changed = o;
    changed.resume[0] = '\0';
    snprintf(changed.init_weights, sizeof changed.init_weights, "%s", scratch("ckpt"));
    sparse_refuses(changed, &two, HR_E_USAGE, ": not with --solver dual: its weights");
    changed = o;
    changed.resume[0] = '\0';
    changed.update_rule = &(struct hr_update_rule){.name = "mine"};
    sparse_refuses(changed, &two, HR_E_USAGE, "an update rule: --model logistic has its own");
    hr_dataset_close(&two);
    hr_dataset_close(&other);
}

static void a_network_s_checkpoint_is_refused(void **state)
{
    (void)state;
    struct hr_dataset data = sparse_data(200, 50, 5, 1);
    struct hr_train_options o = sparse_saving(run_options("allreduce", 1), "ckpt");
    snprintf(o.model, sizeof o.model, "flatten, dense 2");
    o.epochs = 1;
    struct hr_run_result result = sparse_run(&o, &data);
    hr_run_result_free(&result);
    o = sparse_resuming(sparse_saving(sparse_options("logistic", "dual", 1, 2), "ckpt"), "ckpt");
    sparse_refuses(o, &data, HR_E_USAGE, "it was trained with model flatten, dense 2");
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
    struct hr_train_options o = sparse_saving(sparse_options("logistic", "dual", 1, 2), "ckpt");
    struct hr_run_result result = sparse_run(&o, &data);
    hr_run_result_free(&result);
    o = sparse_resuming(o, "ckpt");
    o.epochs = 3;
    resave(lose_alphas);
    sparse_refuses(o, &data, HR_E_FORMAT, "tensor alphas has 0 rows, the data have 560");
    resave(spoil_alphas);
    sparse_refuses(o, &data, HR_E_FORMAT, "tensor alphas has 7, expected 0 to 1");
    resave(narrow_weights);
    sparse_refuses(o, &data, HR_E_FORMAT, "tensor weight is (1, 299), expected (1, 300 or more)");
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
    struct hr_train_options o = sparse_saving(sparse_options("logistic", "dual", 1, 2), "ckpt");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hr_run_result result = sparse_run(&o, &data);
        hr_run_result_free(&result);
        struct hr_train_options on = sparse_resuming(o, "ckpt");
        on.epochs = 3;
        resay(cases[i].key, cases[i].value, false);
        sparse_refuses(on, &data, HR_E_FORMAT, cases[i].text);
    }
    resay("inner_eps", "outer_eps", true);
    o = sparse_resuming(o, "ckpt");
    o.epochs = 3;
    sparse_refuses(o, &data, HR_E_FORMAT, "\"inner_eps\" is missing");
    hr_dataset_close(&data);
}

/* Weights of several workers are not the sum over alpha, and are not made so by going on. */
static void weights_are_gone_on_from_as_saved_by_any_number_of_workers(void **state)
{
    (void)state;
    struct hr_dataset data = sparse_data(700, 300, 9, 1);
    struct hr_train_options o = sparse_saving(sparse_options("svm", "dual", 2, 2), "ckpt");
    struct hr_run_result result = sparse_run(&o, &data);
    hr_run_result_free(&result);
    o = sparse_resuming(o, "ckpt");
    o.checkpoint_dir[0] = '\0';
    o.epochs = 3;
    o.workers = 1;
    struct hr_run_result a = sparse_run(&o, &data);
    resave(move_a_weight);
    struct hr_run_result b = sparse_run(&o, &data);
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
    sparse_refuses(dual, &data, HR_E_DIVERGED, "a smaller --cost may help");
    sparse_refuses(sgd, &data, HR_E_DIVERGED, "a smaller --lr may help");
    hr_dataset_close(&data);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        TEST(what_is_of_another_run_is_refused),
        TEST(a_network_s_checkpoint_is_refused),
        TEST(tensors_that_do_not_fit_are_refused),
        TEST(metadata_out_of_range_are_refused),
        TEST(weights_are_gone_on_from_as_saved_by_any_number_of_workers),
        TEST(advice_is_of_the_solver_s_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
