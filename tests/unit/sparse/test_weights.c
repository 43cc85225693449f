/* The inner loops against naive twins, in doubles. */
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "sparse/weights.h"
#include "support/check.h"

enum { FEATURES = 500, MOST = 70 };

static struct hr_atom32 weights[FEATURES];
static struct hr_sparse_pair pairs[MOST];
static float decay[FEATURES];

static float number(uint64_t index)
{
    return 2 * hr_random_unit(hr_random_block(check_seed(), HR_STREAM_TEST, index, 0).v[0]) - 1;
}

static struct hr_sparse_row make(size_t count)
{
    for (size_t f = 0; f < FEATURES; f++) {
        hr_hogwild_store_float_relaxed(&weights[f], number(f));
        decay[f] = 1 / (float)(1 + f % 9);
    }
    for (size_t k = 0; k < count; k++)
        pairs[k] = (struct hr_sparse_pair){(uint32_t)(7 * k + count % 7), number(1000 * count + k)};
    return (struct hr_sparse_row){pairs, count};
}

static void dot_is_the_sum_of_products_for_every_length(void **state)
{
    (void)state;
    for (size_t count = 0; count <= MOST; count++) {
        const struct hr_sparse_row row = make(count);
        double sum = 0;
        for (size_t k = 0; k < count; k++)
            sum += (double)number(pairs[k].column) * (double)pairs[k].value;
        CHECK_NEAR((double)hr_sparse_dot(weights, row), sum, 0, 1e-5);
    }
}

static void check_update(size_t count, struct hr_sparse_step step, bool looking)
{
    const struct hr_sparse_row row = make(count);
    double want[FEATURES];
    step.decay = decay;
    for (size_t f = 0; f < FEATURES; f++)
        want[f] = (double)number(f);
    for (size_t k = 0; k < count; k++) {
        const uint32_t f = pairs[k].column;
        want[f] += (double)step.step * (double)pairs[k].value -
                   (double)step.keep * (double)decay[f] * want[f];
    }
    if (looking)
        assert_int_equal(hr_sparse_update_looking(weights, row, &step), 0);
    else
        hr_sparse_update(weights, row, &step);
    for (size_t f = 0; f < FEATURES; f++)
        CHECK_NEAR((double)hr_hogwild_load_float_relaxed(&weights[f]), want[f], 1e-5, 1e-6);
}

static void update_touches_the_row_s_features_and_no_others(void **state)
{
    (void)state;
    for (size_t count = 0; count <= MOST; count += 3) {
        check_update(count, (struct hr_sparse_step){.step = 0.3f}, false);
        check_update(count, (struct hr_sparse_step){.step = -0.1f, .keep = 0.2f}, false);
        check_update(count, (struct hr_sparse_step){.step = -0.1f, .keep = 0.2f}, true);
    }
}

static void an_overwritten_update_is_seen(void **state)
{
    (void)state;
    struct hr_atom32 weight;
    hr_hogwild_store_float_relaxed(&weight, 1.5f);
    assert_int_equal(hr_hogwild_exchange_float_relaxed(&weight, 1.5f, 2.5f), 0);
    assert_int_equal(hr_hogwild_exchange_float_relaxed(&weight, 1.5f, 3.5f), 1);
    CHECK_NEAR((double)hr_hogwild_load_float_relaxed(&weight), 3.5, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dot_is_the_sum_of_products_for_every_length),
        cmocka_unit_test(update_touches_the_row_s_features_and_no_others),
        cmocka_unit_test(an_overwritten_update_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
