/* What outputs mean. */
#include <math.h>
#include <string.h>

#include "support/check.h"
#include "predict/meaning.h"

static void outputs_become_probabilities(void **state)
{
    (void)state;
    const float x[6] = {1, 2, 3, 1000, -1000, 0};
    float p[6];
    struct hr_meaning meaning = hr_meaning_of("dense 3", HR_LOSS_CROSS_ENTROPY, 3, 0);
    hr_meaning_apply(&meaning, 2, x, p);
    CHECK_NEAR(p[0], 0.09003057, 1e-6, 0);
    CHECK_NEAR(p[2], 0.66524096, 1e-6, 0);
    CHECK_NEAR(p[3], 1, 1e-6, 0);
    CHECK_NEAR(p[4], 0, 0, 1e-6);
    meaning = hr_meaning_of("dense 3", HR_LOSS_BCE, 3, 0);
    assert_int_equal(meaning.columns, 3);
    hr_meaning_apply(&meaning, 2, x, p);
    CHECK_NEAR(p[0], 0.73105858, 1e-6, 0);
    CHECK_NEAR(p[4], 0, 0, 1e-6);
    CHECK_NEAR(p[5], 0.5, 1e-6, 0);
}

static void a_single_output_is_two_classes_or_a_score(void **state)
{
    (void)state;
    const float x[2] = {-2, 30};
    float p[4];
    struct hr_meaning meaning = hr_meaning_of("dense 1", HR_LOSS_BCE, 1, 0);
    assert_int_equal(meaning.columns, 2);
    hr_meaning_apply(&meaning, 2, x, p);
    CHECK_NEAR(p[0], 0.88079708, 1e-6, 0);
    CHECK_NEAR(p[1], 0.11920292, 1e-6, 0);
    CHECK_NEAR(p[2], 9.3576230e-14, 1e-5, 0); /* not 1 - p, which is 0 here */
    meaning = hr_meaning_of("dense 1", HR_LOSS_MSE, 1, 0);
    assert_int_equal(meaning.kind, HR_PREDICT_SCORES);
    assert_int_equal(meaning.columns, 1);
    assert_int_equal(hr_meaning_of("logistic", HR_LOSS_CROSS_ENTROPY, 1, 0).columns, 2);
    assert_int_equal(hr_meaning_of("svm", HR_LOSS_CROSS_ENTROPY, 1, 0).kind, HR_PREDICT_SCORES);
    assert_int_equal(hr_meaning_of("mf", HR_LOSS_CROSS_ENTROPY, 1, 0).kind, HR_PREDICT_VALUES);
}

static void columns_are_ranked(void **state)
{
    (void)state;
    const float columns[5] = {0.1f, 0.4f, NAN, 0.4f, 0.2f};
    size_t ranked[5];
    hr_meaning_rank(columns, 5, 5, ranked);
    assert_memory_equal(ranked, ((size_t[]){1, 3, 4, 0, 2}), sizeof ranked);
    memset(ranked, 0, sizeof ranked);
    hr_meaning_rank(columns, 5, 2, ranked);
    assert_memory_equal(ranked, ((size_t[]){1, 3, 0, 0, 0}), sizeof ranked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_become_probabilities),
        cmocka_unit_test(a_single_output_is_two_classes_or_a_score),
        cmocka_unit_test(columns_are_ranked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
