/* A spread split into seeds and orders of events, against figures by hand. */
#include <math.h>
#include <stdlib.h>

#include "support/verdicts.h"
#include "verdict/verdict.h"

enum { RUNS = 6 };

/* Two seeds in three orders: 90, 91, 92 % and 94, 95, 96 %. */
static void fill_orders(struct hr_run_result *runs)
{
    for (size_t i = 0; i < RUNS; i++) {
        runs[i] =
            sample_run("ssp", 1 + i / 3, 0.90 + 0.04 * (double)(i / 3) + 0.01 * (double)(i % 3));
        runs[i].event_order = 1 + i % 3;
        snprintf(runs[i].weights_digest, sizeof runs[i].weights_digest, "%zu", i);
    }
}

/* Within: 1 point. Mean squares: 24 between, 1 within; so between^2 = (24 - 1) / 3 points^2. F = 24
 * on 1 and 4 degrees of freedom is t = sqrt(24) on 4: p = 1 - s (1 + c / 2), s = sqrt(24 / 28),
 * c = 4 / 28. */
static void a_spread_is_split_into_seeds_and_orders(void **state)
{
    (void)state;
    struct hr_run_result runs[RUNS];
    struct hr_groups groups;
    struct hr_orders orders;
    fill_orders(runs);
    assert_int_equal(hr_groups_make(&groups, runs, RUNS), HR_OK);
    assert_true(groups.n == 1 && groups.group[0].n == RUNS);
    assert_true(hr_run_group_orders(&groups.group[0], HR_METRIC_ACCURACY, &orders));
    CHECK_NEAR(orders.score.within, 0.01, 1e-12, 0);
    CHECK_NEAR(orders.score.between, 0.01 * sqrt(23.0 / 3), 1e-12, 0);
    CHECK_NEAR(orders.score.share, 23.0 / 26, 1e-9, 0);
    CHECK_NEAR(orders.score.p, 1 - sqrt(24.0 / 28) * (1 + 2.0 / 28), 1e-9, 0);
    assert_true(orders.score.groups == 2 && orders.score.n == RUNS && !orders.same);
    hr_groups_free(&groups);
}

static void it_is_said_of_one_strategy_too(void **state)
{
    (void)state;
    struct hr_run_result runs[RUNS];
    fill_orders(runs);
    char *text = verdict(runs, RUNS, 0);
    expect(text,
           "  ssp: deviation 2.8 points between seeds, 1 points between orders of a seed; 12 % "
           "of the variance is of orders (6 runs; that seeds do not matter: p 0.008).\n",
           true);
    free(text);
}

static void who_ran_once_and_who_has_one_outcome_are_named(void **state)
{
    (void)state;
    struct hr_run_result runs[RUNS + 2];
    fill_orders(runs);
    for (size_t i = 0; i < RUNS; i++)
        snprintf(runs[i].weights_digest, sizeof runs[i].weights_digest, "%zu", i / 3);
    for (size_t i = 0; i < 2; i++) {
        runs[RUNS + i] = sample_run("allreduce", 1 + i, 0.9);
        runs[RUNS + i].event_order = 1;
    }
    char *text = verdict(runs, RUNS + 2, 0);
    expect(text, "  ssp: all orders of a seed end with the same weights.\n", true);
    expect(text, "  Run once per seed, as no order changes their bits: allreduce.\n", true);
    free(text);
}

/* Without --orders a setting that stands twice in a list is two rows. */
static void twins_are_no_orders(void **state)
{
    (void)state;
    struct hr_run_result runs[RUNS];
    struct hr_groups groups;
    fill_orders(runs);
    for (size_t i = 0; i < RUNS; i++)
        runs[i].event_order = 0;
    assert_int_equal(hr_groups_make(&groups, runs, RUNS), HR_OK);
    assert_true(groups.n == 3 && groups.group[0].n == 2);
    hr_groups_free(&groups);
    char *text = verdict(runs, RUNS, 0);
    expect(text, "Orders of events", false);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_spread_is_split_into_seeds_and_orders),
        cmocka_unit_test(it_is_said_of_one_strategy_too),
        cmocka_unit_test(who_ran_once_and_who_has_one_outcome_are_named),
        cmocka_unit_test(twins_are_no_orders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
