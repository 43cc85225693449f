/* Scores of classes: worked out by hand, and for all answers there can be to a few samples by
 * counting pairs of samples. */
#include "session/class_scores.h"

#include <math.h>

#include "support/check.h"

/* Three classes, of which the last has no samples; one sample has no answer. */
static void each_class_counts_as_much_however_rare(void **state)
{
    (void)state;
    const uint32_t labels[] = {0, 0, 0, 0, 0, 0, 1, 1},
                   answers[] = {0, 0, 0, 0, 1, UINT32_MAX, 1, 2};
    const struct hr_answered answered = {
        .count = 8, .classes = 3, .noutputs = 3, .answers = answers, .labels = labels};
    struct hr_class_score scores[3];
    hr_class_scores(&answered, scores);
    assert_int_equal(scores[0].samples, 6);
    assert_int_equal(scores[0].answers, 4);
    assert_true(scores[0].precision == 1 && isnan(scores[2].recall) && scores[2].f1 == 0);
    const struct hr_fit fit = hr_fit_of_classes(&answered);
    CHECK_NEAR(fit.balanced_accuracy, (4. / 6 + 1. / 2) / 2, 1e-15, 0);
    CHECK_NEAR(fit.macro_f1, (0.8 + 0.5 + 0) / 3, 1e-15, 0);
    assert_true(isnan(fit.roc_auc));
}

/* Of all pairs of a sample of either class, those in which the second's has the larger score. */
static double area_of(const float *outputs, size_t width, const uint32_t *labels, size_t n)
{
    double right = 0, pairs = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++) {
            if (labels[i] != 1 || labels[k] != 0)
                continue;
            const float *a = outputs + i * width, *b = outputs + k * width;
            const double x = width == 2 ? (double)a[1] - (double)a[0] : (double)a[0];
            const double y = width == 2 ? (double)b[1] - (double)b[0] : (double)b[0];
            right += x > y ? 1 : x < y ? 0 : 0.5;
            pairs++;
        }
    return right / pairs;
}

static void the_area_counts_pairs_and_equal_ones_half(void **state)
{
    (void)state;
    enum { N = 7 };
    for (size_t width = 1; width <= 2; width++)
        for (unsigned draw = 0; draw < 500; draw++) {
            float outputs[2 * N];
            uint32_t labels[N], answers[N], rows[N], shown[N];
            unsigned bits = draw * 2654435761U;
            for (size_t i = 0; i < N; i++, bits = bits * 1664525U + 1013904223U) {
                outputs[i] = (float)(bits >> 30); /* four values: many are equal */
                outputs[N + i] = (float)(bits >> 28 & 3);
                labels[i] = bits >> 27 & 1;
                answers[i] = bits >> 26 & 1;
                rows[i] = (uint32_t)(N - 1 - i);
            }
            for (size_t i = 0; i < N; i++)
                shown[i] = labels[rows[i]];
            const struct hr_answered answered = {.count = N,
                                                 .classes = 2,
                                                 .noutputs = width,
                                                 .answers = answers,
                                                 .outputs = outputs,
                                                 .labels = labels,
                                                 .rows = rows};
            const double want = area_of(outputs, width, shown, N);
            const double got = hr_fit_of_classes(&answered).roc_auc;
            assert_true(isnan(want) ? isnan(got) : fabs(got - want) < 1e-12);
        }
}

static void an_output_that_is_no_number_ranks_nothing(void **state)
{
    (void)state;
    const float outputs[] = {1, NAN, 0};
    const uint32_t labels[] = {1, 0, 0}, answers[] = {1, UINT32_MAX, 0};
    const struct hr_fit fit = hr_fit_of_classes(&(struct hr_answered){.count = 3,
                                                                      .classes = 2,
                                                                      .noutputs = 1,
                                                                      .answers = answers,
                                                                      .outputs = outputs,
                                                                      .labels = labels});
    assert_true(isnan(fit.roc_auc));
    CHECK_NEAR(fit.balanced_accuracy, 0.75, 1e-15, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_class_counts_as_much_however_rare),
        cmocka_unit_test(the_area_counts_pairs_and_equal_ones_half),
        cmocka_unit_test(an_output_that_is_no_number_ranks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
