/* The sparse engine: one worker is serial, more reach the same optimum, wrong use is told. */
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/size.h"
#include "hogring/checkpoint.h"
#include "sparse/run.h"
#include "support/data_files.h"
#include "support/sparse_data.h"

static struct hr_run_result run_of(const struct hr_train_options *options,
                                   const struct hr_dataset *dataset)
{
    struct hr_run_result result;
    CHECK_OK(hr_sparse_train(options, dataset, NULL, &result));
    return result;
}

static void same_as_twin(struct hr_train_options options, const struct hr_dataset *dataset)
{
    const size_t features = hr_shape_elems(dataset->shape);
    float *weights = calloc(features, sizeof *weights);
    char digest[33];
    options.lr = options.lr < 0 ? 0.5 : options.lr;
    struct hr_run_result result = run_of(&options, dataset);
    sparse_twin(&options, dataset, weights, NULL);
    hr_digest_floats(weights, features, digest);
    assert_string_equal(result.weights_digest, digest);
    CHECK_NEAR(result.train_loss, sparse_objective(&options, dataset, weights), 1e-5, 0);
    hr_run_result_free(&result);
    free(weights);
}

static void one_worker_is_the_serial_reference_bit_for_bit(void **state)
{
    static const char *const models[] = {"logistic", "svm"}, *const solvers[] = {"sgd", "dual"};
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct hr_dataset data = sparse_data(700, 300, 9, seed);
        for (int i = 0; i < 4; i++) {
            struct hr_train_options options = sparse_options(models[i / 2], solvers[i % 2], 1, 7);
            options.cost = seed == 2 ? 0.02 : 1.5;
            options.seed = seed;
            same_as_twin(options, &data);
        }
        hr_dataset_close(&data);
    }
}

static void one_worker_gives_the_same_bits_however_it_is_started(void **state)
{
    static const struct {
        const char *model, *solver;
    } runs[] = {{"logistic", "dual"}, {"svm", "sgd"}, {"mf", "sgd"}};
    (void)state;
    struct hr_dataset linear = sparse_data(700, 300, 9, 1), ratings = sparse_ratings(60, 40, 900);
    for (size_t i = 0; i < 3; i++) {
        const struct hr_dataset *data = i == 2 ? &ratings : &linear;
        struct hr_train_options options = sparse_options(runs[i].model, runs[i].solver, 1, 4);
        struct hr_run_result a = run_of(&options, data);
        snprintf(options.launch, sizeof options.launch, "process");
        struct hr_run_result b = run_of(&options, data);
        snprintf(options.strategy, sizeof options.strategy, "locked");
        struct hr_run_result c = run_of(&options, data);
        assert_string_equal(a.weights_digest, b.weights_digest);
        assert_string_equal(a.weights_digest, c.weights_digest);
        assert_true(fabs(a.test_loss - b.test_loss) <= 0);
        options.seed = 2;
        struct hr_run_result d = run_of(&options, data);
        assert_string_not_equal(a.weights_digest, d.weights_digest);
        hr_run_result_free(&a);
        hr_run_result_free(&b);
        hr_run_result_free(&c);
        hr_run_result_free(&d);
    }
    hr_dataset_close(&linear);
    hr_dataset_close(&ratings);
}

/* Minus the dual's value, a lower bound of the objective whatever the alphas are. */
static double bound_of(const struct hr_train_options *options, const struct hr_dataset *dataset,
                       const double *alphas)
{
    const struct hr_split *s = &dataset->train;
    const double cost = options->cost;
    double *w = calloc(hr_shape_elems(dataset->shape), sizeof *w), value = 0;
    for (size_t i = 0; i < s->count; i++) {
        const double a = alphas[i], y = s->labels[i] ? 1 : -1;
        value += !strcmp(options->model, "svm") ? a
                 : a > 0 && a < cost ? cost * log(cost) - a * log(a) - (cost - a) * log(cost - a)
                                     : 0;
        for (uint64_t k = s->rows[i]; k < s->rows[i + 1]; k++)
            w[s->columns[k]] += a * y * (double)s->values[k];
    }
    for (size_t f = 0; f < hr_shape_elems(dataset->shape); f++)
        value -= w[f] * w[f] / 2;
    free(w);
    return value;
}

/* The twin's alphas (after a hundred epochs) prove where the optimum is. */
static void all_solvers_and_workers_come_close_to_the_optimum(void **state)
{
    static const char *const models[] = {"logistic", "svm"}, *const solvers[] = {"dual", "sgd"};
    (void)state;
    struct hr_dataset data = sparse_data(1500, 2000, 12, 4);
    float *weights = calloc(2000, sizeof *weights);
    double *alphas = calloc(data.train.count, sizeof *alphas);
    for (int m = 0; m < 2; m++) {
        const struct hr_train_options exact = sparse_options(models[m], "dual", 1, 100);
        sparse_twin(&exact, &data, weights, alphas);
        const double bound = bound_of(&exact, &data, alphas);
        CHECK_NEAR(sparse_objective(&exact, &data, weights), bound, 1e-4, 0);
        for (size_t i = 0; i < 8; i++) {
            struct hr_train_options options =
                sparse_options(models[m], solvers[i % 2], 1 + i / 2, 40);
            options.seed = i;
            struct hr_run_result result = run_of(&options, &data);
            assert_true(result.train_loss > bound * (1 - 1e-5));
            CHECK_NEAR(result.train_loss, bound, i % 2 ? 0.02 : 0.01, 0);
            assert_int_equal(result.samples, 40 * data.train.count);
            hr_run_result_free(&result);
        }
    }
    free(weights);
    free(alphas);
    hr_dataset_close(&data);
}

static void factors_learn_a_planted_factorisation(void **state)
{
    (void)state;
    struct hr_dataset data = sparse_ratings(60, 40, 6000);
    for (size_t workers = 1; workers <= 3; workers++) {
        struct hr_train_options options = sparse_options("mf", "sgd", workers, 60);
        options.factors = 4;
        options.cost = 20;
        struct hr_run_result result = run_of(&options, &data);
        assert_true(result.curve[0].test_loss > 0.2);
        assert_true(result.test_loss < 0.05);
        assert_true(isnan(result.test_accuracy));
        hr_run_result_free(&result);
    }
    hr_dataset_close(&data);
}

static void locked_workers_and_processes_reach_the_same_objective(void **state)
{
    (void)state;
    struct hr_dataset data = sparse_data(1500, 2000, 12, 4);
    struct hr_train_options options = sparse_options("logistic", "dual", 1, 40);
    struct hr_run_result alone = run_of(&options, &data);
    options.workers = 3;
    snprintf(options.strategy, sizeof options.strategy, "locked");
    struct hr_run_result locked = run_of(&options, &data);
    snprintf(options.strategy, sizeof options.strategy, "hogwild");
    snprintf(options.launch, sizeof options.launch, "process");
    struct hr_run_result forked = run_of(&options, &data);
    CHECK_NEAR(locked.train_loss, alone.train_loss, 0.001, 0);
    CHECK_NEAR(forked.train_loss, alone.train_loss, 0.01, 0);
    assert_int_equal(locked.conflicts.lost, 0); /* a lock loses nothing */
    assert_true(locked.conflicts.looked_at > 0);
    hr_run_result_free(&alone);
    hr_run_result_free(&locked);
    hr_run_result_free(&forked);
    hr_dataset_close(&data);
}

/* All weights are copied by all workers, who end before the first merge between rows is due. */
static void copies_of_frequent_weights_are_merged_at_a_block_s_end(void **state)
{
    (void)state;
    struct hr_dataset data = sparse_data(60, 20, 5, 4);
    struct hr_train_options options = sparse_options("logistic", "sgd", 1, 40);
    struct hr_run_result alone = run_of(&options, &data);
    options.workers = 4;
    struct hr_run_result together = run_of(&options, &data);
    CHECK_NEAR(together.train_loss, alone.train_loss, 0.05, 0);
    hr_run_result_free(&alone);
    hr_run_result_free(&together);
    hr_dataset_close(&data);
}

static int stop_at_once(void *arg)
{
    ++*(int *)arg;
    return 1;
}

static void a_run_that_is_stopped_says_so_and_is_evaluated(void **state)
{
    (void)state;
    int asked = 0;
    struct hr_dataset data = sparse_data(1500, 2000, 12, 4);
    const struct hr_train_options options = sparse_options("svm", "sgd", 2, 1 << 20);
    const struct hr_observer observer = {.arg = &asked, .should_stop = stop_at_once};
    struct hr_run_result result;
    CHECK_OK(hr_sparse_train(&options, &data, &observer, &result));
    assert_true(asked > 0);
    assert_true(result.interrupted);
    assert_true(result.ncurve >= 1);
    hr_run_result_free(&result);
    hr_dataset_close(&data);
}

static void a_run_that_used_up_its_seconds_was_not_interrupted(void **state)
{
    (void)state;
    struct hr_dataset data = sparse_data(1500, 2000, 12, 4);
    struct hr_train_options options = sparse_options("svm", "sgd", 2, 1 << 20);
    options.max_seconds = 1e-9;
    struct hr_run_result result = run_of(&options, &data);
    assert_false(result.interrupted);
    assert_true(result.ncurve >= 1);
    hr_run_result_free(&result);
    hr_dataset_close(&data);
}

enum { TURNS = 300 };

/* Others get their turn between a load and its store, but not in. */
struct counting {
    struct hr_sparse_run run;
    struct hr_control *control;
    uint64_t sum;
};

static enum hr_status count_up(void *arg, size_t rank)
{
    struct counting *counting = arg;
    struct hr_sparse_worker worker = {
        .run = &counting->run,
        .rank = rank,
        .waiter = {.abort = &counting->control->abort, .timeout_ns = 20 * HR_NS_PER_SECOND}};
    for (int i = 0; i < TURNS; i++) {
        HR_TRY(hr_sparse_lock_take(&worker));
        const uint64_t seen = counting->sum;
        sched_yield();
        counting->sum = seen + 1;
        hr_sparse_lock_leave(&worker);
    }
    return HR_OK;
}

static void the_lock_lets_one_worker_in_at_a_time(void **state)
{
    (void)state;
    static struct hr_sparse_lock lock;
    static struct counting counting;
    bool stuck;
    counting.control = aligned_alloc(HR_LINE, hr_round_up(hr_control_bytes(4), HR_LINE));
    memset(counting.control, 0, hr_control_bytes(4));
    hr_control_init(counting.control, 4);
    counting.run.lock = &lock;
    const struct hr_launch_options options = {
        .nranks = 4, .control = counting.control, .main = count_up, .arg = &counting};
    CHECK_OK(hr_launch_run(&options, &stuck));
    assert_int_equal(counting.sum, 4 * TURNS);
    free(counting.control);
}

static void refused(struct hr_train_options options, const struct hr_dataset *data,
                    enum hr_status status, const char *text)
{
    struct hr_run_result result;
    CHECK_FAILS(hr_sparse_train(&options, data, NULL, &result), status);
    CHECK_MESSAGE(text);
    assert_null(result.curve);
}

static void what_cannot_be_trained_is_refused_in_one_line(void **state)
{
    (void)state;
    struct hr_dataset two = sparse_data(100, 50, 5, 1), many = sparse_ratings(60, 40, 900), dense;
    CHECK_OK(hr_dataset_open("digits", &dense));
    struct hr_train_options o = sparse_options("logistic", "auto", 2, 3);
    refused(o, &many, HR_E_USAGE, "has 60 classes, expected 2");
    refused(o, &dense, HR_E_USAGE, "digits is not sparse, expected libsvm data");
    o.workers = 65;
    refused(o, &two, HR_E_USAGE, "--workers 65: expected 1 to 64");
    o = sparse_options("mf", "dual", 2, 3);
    refused(o, &many, HR_E_USAGE, "--solver dual: not with --model mf: it has no dual");
    o = sparse_options("mf", "sgd", 2, 3);
    o.factors = 5;
    refused(o, &many, HR_E_USAGE, "--model mf:5: expected an even number");
    o = sparse_options("svm", "sgd", 2, 3);
    o.hot_copies = 1025;
    refused(o, &two, HR_E_USAGE, "N of --solver sgd 1025: expected 0 to 1024");
    o = sparse_options("svm", "newton", 2, 3);
    refused(o, &two, HR_E_USAGE, "--solver newton: expected auto, sgd or dual");
    o = sparse_options("svm", "sgd", 2, 3);
    snprintf(o.strategy, sizeof o.strategy, "ssp");
    refused(o, &two, HR_E_USAGE, "--strategy ssp: --model svm is trained by hogwild or locked");
    hr_dataset_close(&two);
    hr_dataset_close(&many);
    hr_dataset_close(&dense);
}

static void numbers_that_are_not_finite_stop_the_run(void **state)
{
    (void)state;
    struct hr_dataset data = sparse_ratings(60, 40, 900);
    struct hr_train_options options = sparse_options("mf", "sgd", 2, 50);
    options.lr = 1000;
    refused(options, &data, HR_E_DIVERGED, "expected a finite number; a smaller --lr");
    hr_dataset_close(&data);
    data_text("huge", "+1 1:3e38 2:3e38\n-1 1:3e38 2:1\n+1 1:3e38 2:3e38\n-1 2:1\n+1 1:3e38\n");
    data = data_open("huge", NULL);
    options = sparse_options("logistic", "sgd", 1, 50);
    options.lr = 1000;
    refused(options, &data, HR_E_DIVERGED, "the margin of training row");
    hr_dataset_close(&data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_worker_is_the_serial_reference_bit_for_bit,
                                        scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(one_worker_gives_the_same_bits_however_it_is_started,
                                        scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(all_solvers_and_workers_come_close_to_the_optimum,
                                        scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(factors_learn_a_planted_factorisation, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(locked_workers_and_processes_reach_the_same_objective,
                                        scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(copies_of_frequent_weights_are_merged_at_a_block_s_end,
                                        scratch_setup, scratch_teardown),
        cmocka_unit_test(the_lock_lets_one_worker_in_at_a_time),
        cmocka_unit_test_setup_teardown(a_run_that_used_up_its_seconds_was_not_interrupted,
                                        scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(a_run_that_is_stopped_says_so_and_is_evaluated,
                                        scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_trained_is_refused_in_one_line,
                                        scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(numbers_that_are_not_finite_stop_the_run, scratch_setup,
                                        scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
