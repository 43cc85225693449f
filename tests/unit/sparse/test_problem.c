/* Placing, folding and counting, by hand and against the rows themselves; the paper's measures. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sparse/problem.h"
#include "support/data_files.h"
#include "support/sparse_data.h"

static struct hr_sparse_problem problem_of(const struct hr_train_options *options,
                                           const struct hr_dataset *dataset)
{
    struct hr_sparse_problem problem;
    CHECK_OK(hr_sparse_problem_make(options, dataset, 0.4f, &problem));
    return problem;
}

static void check_pair(const struct hr_sparse_rows *rows, size_t at, uint32_t column, float value)
{
    assert_int_equal(rows->pairs[at].column, column);
    CHECK_NEAR((double)rows->pairs[at].value, (double)value, 0, 0);
}

static void frequent_features_come_first_and_labels_are_folded_in(void **state)
{
    (void)state;
    data_text("train", "-1 1:1 3:2\n+1 2:3 3:4\n+1 2:5 3:6 4:7\n");
    data_text("test", "-1 2:8 4:9\n");
    struct hr_data_options from = data_options();
    snprintf(from.test_data, sizeof from.test_data, "%s", scratch("test"));
    struct hr_dataset data = data_open("train", &from);
    struct hr_train_options options = sparse_options("svm", "sgd", 1, 1);
    options.cost = 2;
    struct hr_sparse_problem p = problem_of(&options, &data);
    /* Index 3 is in three rows, 2 in two, 1 and 4 in one. */
    assert_memory_equal(p.place, ((uint32_t[]){2, 1, 0, 3}), 4 * sizeof(uint32_t));
    CHECK_NEAR_FLOATS(p.decay, ((float[]){1 / 6.0f, 1 / 4.0f, 0.4f, 0.4f}), 4, 1e-6, 0);
    check_pair(&p.train, 0, 0, -2);
    check_pair(&p.train, 1, 2, -1);
    check_pair(&p.train, 4, 0, 6);
    check_pair(&p.train, 5, 1, 5);
    check_pair(&p.train, 6, 3, 7);
    check_pair(&p.test, 0, 1, -8);
    check_pair(&p.test, 1, 3, -9);
    hr_sparse_problem_free(&p);
    hr_dataset_close(&data);
}

static void check_row(const struct hr_sparse_problem *p, const struct hr_split *split,
                      const struct hr_sparse_rows *rows, size_t i)
{
    assert_int_equal(rows->begin[i], split->rows[i]);
    for (uint64_t k = rows->begin[i]; k < rows->begin[i + 1]; k++) {
        assert_true(k == rows->begin[i] || rows->pairs[k].column > rows->pairs[k - 1].column);
        uint64_t j = split->rows[i];
        while (p->place[split->columns[j]] != rows->pairs[k].column)
            assert_true(++j < split->rows[i + 1]);
        const float value = split->labels[i] ? split->values[j] : -split->values[j];
        CHECK_NEAR((double)rows->pairs[k].value, (double)value, 0, 0);
    }
}

static void placed_rows_hold_what_the_rows_held(void **state)
{
    (void)state;
    struct hr_dataset data = sparse_data(400, 900, 11, 3);
    const struct hr_train_options options = sparse_options("logistic", "sgd", 1, 1);
    struct hr_sparse_problem p = problem_of(&options, &data);
    for (size_t i = 0; i < data.train.count; i++)
        check_row(&p, &data.train, &p.train, i);
    for (size_t i = 0; i < data.test.count; i++)
        check_row(&p, &data.test, &p.test, i);
    hr_sparse_problem_free(&p);
    hr_dataset_close(&data);
}

static void ratings_are_centred_and_counted_for_users_and_items(void **state)
{
    (void)state;
    data_text("train", "7 1:1\n7 2:3\n9 2:5\n");
    data_text("test", "9 1:2\n");
    struct hr_data_options from = data_options();
    snprintf(from.test_data, sizeof from.test_data, "%s", scratch("test"));
    struct hr_dataset data = data_open("train", &from);
    const struct hr_train_options options = sparse_options("mf", "sgd", 1, 1);
    struct hr_sparse_problem p = problem_of(&options, &data);
    assert_int_equal(p.params, 4 * 16);
    assert_memory_equal(p.degree, ((uint32_t[]){2, 1, 1, 2}), 4 * sizeof(uint32_t));
    CHECK_NEAR((double)p.mean, 3, 0, 0);
    check_pair(&p.train, 0, 0, -2);
    check_pair(&p.train, 2, 1, 2);
    check_pair(&p.test, 0, 0, -1);
    hr_sparse_problem_free(&p);
    hr_dataset_close(&data);
}

static void conflicts_are_the_paper_s_measures(void **state)
{
    (void)state;
    struct hr_conflicts c;
    data_text("train", "0 1:1 2:1\n1 2:1 3:1 4:1\n1 5:1\n0 2:1\n");
    data_text("test", "0 1:1\n");
    struct hr_data_options from = data_options();
    snprintf(from.test_data, sizeof from.test_data, "%s", scratch("test"));
    struct hr_dataset data = data_open("train", &from);
    CHECK_OK(hr_sparse_conflicts(&data, &c));
    assert_int_equal(c.omega, 3);
    CHECK_NEAR(c.delta, 0.75, 0, 0);            /* index 2, in three of four rows */
    CHECK_NEAR(c.rho, 2.0 / 3, 1e-12, 0);       /* a row with index 2 meets two of three others */
    CHECK_NEAR(c.overlap, 11.0 / 36, 1e-12, 0); /* (1/2 2 + 1/3 2 + 0 + 1 2) / 3 / 4 */
    hr_dataset_close(&data);
    CHECK_OK(hr_dataset_open("digits", &data));
    CHECK_FAILS(hr_sparse_conflicts(&data, &c), HR_E_USAGE);
    hr_dataset_close(&data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(frequent_features_come_first_and_labels_are_folded_in,
                                        scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(placed_rows_hold_what_the_rows_held, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(ratings_are_centred_and_counted_for_users_and_items,
                                        scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(conflicts_are_the_paper_s_measures, scratch_setup,
                                        scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
