/* A pass of matrix factorisation beside its formula in doubles; factors begin as the seed says. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sparse/weights.h"
#include "support/check.h"
#include "support/scratch.h"
#include "support/sparse_data.h"

enum { FACTORS = 4 };

static void load(const struct hr_sparse_run *run, double *out)
{
    for (size_t k = 0; k < run->problem.params / 2; k++) {
        const struct hr_float_pair pair = hr_hogwild_load_relaxed(&run->factors[k]);
        out[2 * k] = (double)pair.first;
        out[2 * k + 1] = (double)pair.second;
    }
}

/* The formula of factors.c, rating by rating; u as it was moves v. */
static void twin_step(const struct hr_sparse_run *run, double rate, size_t user,
                      struct hr_sparse_pair pair, double *factors)
{
    const struct hr_sparse_problem *p = &run->problem;
    double *u = factors + user * FACTORS, *v = factors + (p->users + pair.column) * FACTORS;
    double e = (double)pair.value;
    for (size_t k = 0; k < FACTORS; k++)
        e -= u[k] * v[k];
    for (size_t k = 0; k < FACTORS; k++) {
        const double was = u[k];
        u[k] += rate * (e * v[k] - u[k] / (p->cost * p->degree[user]));
        v[k] += rate * (e * was - v[k] / (p->cost * p->degree[p->users + pair.column]));
    }
}

static void twin(const struct hr_sparse_run *run, double rate, const uint32_t *order,
                 double *factors)
{
    const struct hr_sparse_rows *rows = &run->problem.train;
    for (size_t i = 0; i < rows->count; i++)
        for (size_t k = rows->begin[order[i]]; k < rows->begin[order[i] + 1]; k++)
            twin_step(run, rate, rows->labels[order[i]], rows->pairs[k], factors);
}

static struct hr_sparse_run begin(uint64_t seed, const struct hr_dataset *data)
{
    struct hr_sparse_run run = {.options = sparse_options("mf", "sgd", 1, 1)};
    run.options.factors = FACTORS;
    run.options.cost = 2; /* so that decay is seen */
    run.options.seed = seed;
    CHECK_OK(hr_sparse_problem_make(&run.options, data, 20, &run.problem));
    run.factors = calloc(run.problem.params / 2, sizeof *run.factors);
    assert_non_null(run.factors);
    hr_sparse_factors_begin(&run);
    return run;
}

static void end(struct hr_sparse_run *run)
{
    free(run->factors);
    hr_sparse_problem_free(&run->problem);
}

static void a_pass_is_the_formula(void **state)
{
    (void)state;
    struct hr_dataset data = sparse_ratings(30, 20, 400);
    struct hr_sparse_run run = begin(1, &data);
    struct hr_sparse_tally tally = {0};
    struct hr_sparse_worker worker = {.run = &run, .tally = &tally, .rate = 0.05f};
    const size_t params = run.problem.params, n = run.problem.train.count;
    double *want = calloc(params, sizeof *want), *got = calloc(params, sizeof *got);
    uint32_t *order = calloc(n, sizeof *order);
    assert_true(want && got && order);
    for (size_t i = 0; i < n; i++)
        order[i] = (uint32_t)(n - 1 - i);
    load(&run, want);
    twin(&run, (double)worker.rate, order, want);
    CHECK_OK(hr_sparse_factorise(&worker, order, n));
    load(&run, got);
    for (size_t k = 0; k < params; k++)
        CHECK_NEAR(got[k], want[k], 1e-4, 1e-5);
    assert_int_equal(tally.updates, run.problem.train.begin[n]);
    free(want);
    free(got);
    free(order);
    end(&run);
    hr_dataset_close(&data);
}

static void factors_begin_as_the_seed_says(void **state)
{
    (void)state;
    struct hr_dataset data = sparse_ratings(30, 20, 400);
    struct hr_sparse_run one = begin(1, &data), again = begin(1, &data), two = begin(2, &data);
    const size_t bytes = one.problem.params / 2 * sizeof *one.factors;
    assert_memory_equal(one.factors, again.factors, bytes);
    assert_memory_not_equal(one.factors, two.factors, bytes);
    end(&one);
    end(&again);
    end(&two);
    hr_dataset_close(&data);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_pass_is_the_formula),
        TEST(factors_begin_as_the_seed_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
