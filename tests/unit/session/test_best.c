/* Which evaluation was the best, and when there were enough without a better one. */
#include "session/cut.h"

#include <math.h>
#include <string.h>

#include "support/check.h"

enum { N = 7 };

static const double losses[N] = {3, 2, 2.5, 1.9, NAN, 1.95, 1.89};

static size_t fill(struct hr_curve_point *curve, bool validated)
{
    for (size_t i = 0; i < N; i++) {
        curve[i] = (struct hr_curve_point){.test_loss = losses[i],
                                           .test_accuracy = -losses[i],
                                           .validated = validated,
                                           .validation_loss = -losses[i],
                                           .validation_accuracy = losses[i]};
    }
    return N;
}

static struct hr_early_stop rule_of(const char *text)
{
    struct hr_early_stop rule;
    CHECK_OK(hr_early_stop_parse(text, &rule));
    return rule;
}

static void the_last_improvement_is_the_best(void **state)
{
    (void)state;
    static const size_t want[N] = {0, 1, 1, 3, 3, 3, 6}, since[N] = {0, 0, 1, 0, 1, 2, 0};
    struct hr_curve_point curve[N];
    fill(curve, false);
    const struct hr_early_stop rules[] = {rule_of("loss,2"), rule_of("accuracy,2")};
    for (size_t r = 0; r < 2; r++)
        for (size_t n = 1; n <= N; n++) {
            const struct hr_best best = hr_best_of(&rules[r], curve, n);
            assert_true(best.any);
            assert_int_equal(best.point, want[n - 1]);
            assert_int_equal(best.since, since[n - 1]);
            assert_int_equal(hr_best_is_over(&rules[r], &best), since[n - 1] >= 2);
        }
}

static void less_than_min_delta_is_no_improvement(void **state)
{
    (void)state;
    struct hr_curve_point curve[N];
    const struct hr_early_stop rule = rule_of("loss,5,0.15");
    const struct hr_best best = hr_best_of(&rule, curve, fill(curve, false));
    assert_int_equal(best.since, 5);
    assert_true(hr_best_is_over(&rule, &best));
    assert_int_equal(best.point, 6); /* the best of all, though it does not reset the patience */
}

/* Each by 0.1: the second time it is more than 0.15 since the mark. */
static void small_improvements_are_one_in_the_end(void **state)
{
    (void)state;
    const struct hr_curve_point curve[] = {
        {.test_loss = 2}, {.test_loss = 1.9}, {.test_loss = 1.8}, {.test_loss = 1.7}};
    static const size_t since[] = {0, 1, 0, 1};
    const struct hr_early_stop rule = rule_of("loss,5,0.15");
    for (size_t n = 1; n <= 4; n++) {
        const struct hr_best best = hr_best_of(&rule, curve, n);
        assert_int_equal(best.point, n - 1);
        assert_int_equal(best.since, since[n - 1]);
    }
}

static void a_validation_split_is_what_is_looked_at(void **state)
{
    (void)state;
    struct hr_curve_point curve[N];
    const struct hr_early_stop rules[] = {rule_of("loss,9"), rule_of("accuracy,9")};
    fill(curve, true);
    for (size_t r = 0; r < 2; r++)
        assert_int_equal(hr_best_of(&rules[r], curve, N).point, 0); /* its losses are the others' */
}

static void what_is_no_number_is_never_the_best(void **state)
{
    (void)state;
    const struct hr_curve_point curve[2] = {{.test_loss = NAN}, {.test_loss = INFINITY}};
    const struct hr_early_stop rule = rule_of("loss,2");
    const struct hr_best best = hr_best_of(&rule, curve, 2);
    assert_false(best.any);
    assert_true(hr_best_is_over(&rule, &best));
}

/* The best of all, and one that is not, inside of epochs. */
static void what_was_measured_inside_of_an_epoch_counts_for_nothing(void **state)
{
    (void)state;
    const struct hr_curve_point curve[] = {{.epoch = 1, .test_loss = 3},
                                           {.epoch = 1.5, .test_loss = 1},
                                           {.epoch = 2, .test_loss = 2},
                                           {.epoch = 2.25, .test_loss = 9},
                                           {.epoch = 3, .test_loss = 2.5}};
    const struct hr_early_stop rule = rule_of("loss,2");
    static const size_t point[] = {0, 0, 2, 2, 2}, since[] = {0, 0, 0, 0, 1};
    for (size_t n = 1; n <= 5; n++) {
        const struct hr_best best = hr_best_of(&rule, curve, n);
        assert_int_equal(best.point, point[n - 1]);
        assert_int_equal(best.since, since[n - 1]);
    }
}

static void nothing_asked_never_ends(void **state)
{
    (void)state;
    struct hr_early_stop rule = rule_of("");
    const struct hr_best best = {.since = 1000};
    assert_false(hr_best_is_over(&rule, &best));
    CHECK_OK(hr_keep_best_parse("accuracy", &rule));
    assert_true(rule.asked && rule.metric == HR_METRIC_ACCURACY);
    assert_false(hr_best_is_over(&rule, &best));
}

static void other_texts_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "loss",       "loss,",        "loss,0", "loss,x",    "losses,3",   "loss,3,", "loss,3,-1",
        "loss,3,nan", "accuracy,3,1", ",3",     "loss,3,1,", "loss,3,1,1", "loss 3"};
    struct hr_early_stop rule;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        CHECK_FAILS(hr_early_stop_parse(texts[i], &rule), HR_E_USAGE);
        assert_non_null(strstr(hr_error_message(), texts[i]));
    }
    CHECK_FAILS(hr_keep_best_parse("losses", &rule), HR_E_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_improvement_is_the_best),
        cmocka_unit_test(small_improvements_are_one_in_the_end),
        cmocka_unit_test(less_than_min_delta_is_no_improvement),
        cmocka_unit_test(a_validation_split_is_what_is_looked_at),
        cmocka_unit_test(what_is_no_number_is_never_the_best),
        cmocka_unit_test(what_was_measured_inside_of_an_epoch_counts_for_nothing),
        cmocka_unit_test(nothing_asked_never_ends),
        cmocka_unit_test(other_texts_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
