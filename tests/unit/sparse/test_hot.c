/* Copies of frequent weights: what they see, and what a merge makes of two workers' moves. */
#include "sparse/hot.h"
#include "support/check.h"

enum { WEIGHTS = 6, HOT = 4 };

static struct hr_atom32 weights[WEIGHTS];

static void set_weights(void)
{
    for (size_t f = 0; f < WEIGHTS; f++)
        hr_hogwild_store_float_relaxed(&weights[f], (float)(10 * f));
}

static float weight(size_t f)
{
    return hr_hogwild_load_float_relaxed(&weights[f]);
}

static float copy(const struct hr_sparse_hot *hot, size_t f)
{
    return hr_hogwild_load_float_relaxed(&hot->mine[f]);
}

static void the_hot_part_is_the_front_of_a_row(void **state)
{
    (void)state;
    static const struct hr_sparse_pair pairs[] = {{0, 1}, {3, 1}, {4, 1}, {5, 1}};
    static const size_t want[][2] = {{0, 0}, {1, 1}, {3, 1}, {4, 2}, {6, 4}}; /* count, part */
    static struct hr_sparse_hot hot;
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        hot.count = want[i][0];
        const struct hr_sparse_row part =
            hr_sparse_hot_part(&hot, (struct hr_sparse_row){pairs, 4});
        assert_ptr_equal(part.pairs, pairs);
        assert_int_equal(part.count, want[i][1]);
    }
    assert_int_equal(hr_sparse_hot_part(&hot, (struct hr_sparse_row){pairs, 0}).count, 0);
}

/* Integers, so that sums are exact. */
static void moves_of_two_workers_add_up(void **state)
{
    (void)state;
    static struct hr_sparse_hot a, b;
    static const struct hr_sparse_pair pairs[] = {{1, 1}, {2, -2}};
    const struct hr_sparse_row row = {pairs, 2};
    set_weights();
    hr_sparse_hot_read(&a, weights, HOT);
    hr_sparse_hot_read(&b, weights, HOT);
    hr_sparse_update(a.mine, row, &(struct hr_sparse_step){.step = 3});
    hr_sparse_update(b.mine, row, &(struct hr_sparse_step){.step = 5});
    assert_true(weight(1) == 10 && weight(2) == 20); /* nobody's yet */
    assert_true(copy(&a, 1) == 13 && copy(&b, 1) == 15);
    assert_int_equal(hr_sparse_hot_merge(&a, weights, false), 0);
    assert_int_equal(hr_sparse_hot_merge(&b, weights, true), 0);
    assert_true(weight(1) == 10 + 3 + 5 && weight(2) == 20 - 6 - 10);
    assert_true(copy(&b, 1) == 18 && copy(&a, 1) == 13); /* a has not heard of b yet */
    hr_sparse_hot_merge(&a, weights, false);
    assert_true(weight(1) == 18 && copy(&a, 1) == 18 && copy(&a, 2) == 4);
    for (size_t f = HOT; f < WEIGHTS; f++)
        assert_true(weight(f) == (float)(10 * f));
}

static void without_copies_nothing_is_touched(void **state)
{
    (void)state;
    static struct hr_sparse_hot hot;
    set_weights();
    hr_sparse_hot_read(&hot, weights, 0);
    hr_hogwild_store_float_relaxed(&hot.mine[0], 77);
    assert_int_equal(hr_sparse_hot_merge(&hot, weights, true), 0);
    assert_true(weight(0) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_hot_part_is_the_front_of_a_row),
        cmocka_unit_test(moves_of_two_workers_add_up),
        cmocka_unit_test(without_copies_nothing_is_touched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
