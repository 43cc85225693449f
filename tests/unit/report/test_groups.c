/* Which runs are one row, and what the row is called. */
#include <math.h>
#include <string.h>

#include "report/groups.h"
#include "support/check.h"
#include "support/sample_runs.h"

static void seeds_of_one_strategy_are_one_group_wherever_they_stand(void **state)
{
    (void)state;
    const struct hr_run_result runs[] = {sample_run("allreduce", 1, 0.9), sample_run("ssp", 1, 0.8),
                                         sample_run("allreduce", 2, 0.7), sample_run("ssp", 2, 0.6),
                                         sample_run("ssp", 3, 0.7)};
    struct hr_groups groups;
    CHECK_OK(hr_groups_make(&groups, runs, 5));
    assert_int_equal(groups.n, 2);
    assert_int_equal(groups.most, 3);
    assert_string_equal(groups.group[0].label, "allreduce direct");
    assert_string_equal(groups.group[1].label, "ssp s=3");
    assert_ptr_equal(groups.group[1].run[2], &runs[4]);
    CHECK_NEAR(hr_run_group_spread(&groups.group[0], hr_measure_accuracy).mean, 0.8, 1e-12, 0);
    hr_groups_free(&groups);
}

static void settings_are_named_only_where_they_tell_rows_apart(void **state)
{
    (void)state;
    struct hr_run_result runs[] = {sample_run("ps-async", 1, 0.9), sample_run("ps-async", 1, 0.9),
                                   sample_run("ps-async", 1, 0.9), sample_run("hogwild", 1, 0.9)};
    struct hr_groups groups;
    runs[1].lr = 0.01;
    runs[2].servers = 2;
    runs[3].servers = 0;
    runs[3].lr = 0.01; /* the only hogwild: nothing to tell apart */
    CHECK_OK(hr_groups_make(&groups, runs, 4));
    assert_int_equal(groups.n, 4);
    assert_string_equal(groups.group[0].label, "ps-async 2W1PS lr 0.05");
    assert_string_equal(groups.group[1].label, "ps-async 2W1PS lr 0.01");
    assert_string_equal(groups.group[2].label, "ps-async 2W2PS lr 0.05");
    assert_string_equal(groups.group[3].label, "hogwild");
    hr_groups_free(&groups);
    snprintf(runs[0].manner, sizeof runs[0].manner, "sync-every 4");
    snprintf(runs[1].manner, sizeof runs[1].manner, "sync-every 16");
    runs[1].lr = runs[0].lr;
    CHECK_OK(hr_groups_make(&groups, runs, 4));
    assert_string_equal(groups.group[0].label, "ps-async 2W1PS sync-every 4");
    assert_string_equal(groups.group[1].label, "ps-async 2W1PS sync-every 16");
    hr_groups_free(&groups);
    runs[0].manner[0] = '\0'; /* the plain one among others: no blank behind its name */
    CHECK_OK(hr_groups_make(&groups, runs, 4));
    assert_string_equal(groups.group[0].label, "ps-async 2W1PS");
    hr_groups_free(&groups);
}

/* What may differ under any strategy is said of all rows where it does. */
static void the_number_of_workers_is_told_whoever_differs(void **state)
{
    (void)state;
    struct hr_run_result runs[] = {sample_run("hogwild", 1, 0.9), sample_run("ps-async", 1, 0.9),
                                   sample_run("ssp", 1, 0.9)};
    struct hr_groups groups;
    runs[0].servers = 0;
    runs[0].workers = 1;
    runs[2].workers = 4;
    runs[2].servers = 2;
    CHECK_OK(hr_groups_make(&groups, runs, 3));
    assert_string_equal(groups.group[0].label, "hogwild 1 worker");
    assert_string_equal(groups.group[1].label, "ps-async 2W1PS");
    assert_string_equal(groups.group[2].label, "ssp s=3 4W2PS");
    hr_groups_free(&groups);
    CHECK_OK(hr_groups_make(&groups, runs + 1, 1)); /* alone */
    assert_string_equal(groups.group[0].label, "ps-async");
    hr_groups_free(&groups);
}

/* Models whose lists begin alike are two rows; a setting says which is which. */
static void other_settings_are_told_as_they_were_given(void **state)
{
    (void)state;
    static const char same[] = "conv 64 3x3 pad 1, batchnorm, relu, conv 64 3x3 pad 1, ";
    struct hr_run_result runs[] = {sample_run("allreduce", 1, 0.9),
                                   sample_run("allreduce", 1, 0.8)};
    struct hr_groups groups;
    snprintf(runs[0].model, sizeof runs[0].model, "%srelu", same);
    snprintf(runs[1].model, sizeof runs[1].model, "%smaxpool 2", same);
    snprintf(runs[0].setting, sizeof runs[0].setting, "model vgg-small");
    snprintf(runs[1].setting, sizeof runs[1].setting, "model resnet8");
    CHECK_OK(hr_groups_make(&groups, runs, 2));
    assert_int_equal(groups.n, 2);
    assert_string_equal(groups.group[0].label, "allreduce direct model vgg-small");
    assert_string_equal(groups.group[1].label, "allreduce direct model resnet8");
    hr_groups_free(&groups);
    runs[1].seed = 2; /* not another seed of the same */
    runs[0].setting[0] = runs[1].setting[0] = '\0';
    CHECK_OK(hr_groups_make(&groups, runs, 2));
    assert_int_equal(groups.n, 2);
    hr_groups_free(&groups);
}

static void a_seed_that_comes_again_is_no_second_seed(void **state)
{
    (void)state;
    const struct hr_run_result runs[] = {sample_run("hogwild", 1, 0.9),
                                         sample_run("hogwild", 1, 0.8),
                                         sample_run("hogwild", 1, 0.7)};
    struct hr_groups groups;
    CHECK_OK(hr_groups_make(&groups, runs, 3));
    assert_int_equal(groups.n, 3);
    assert_int_equal(groups.most, 1);
    assert_string_equal(groups.group[0].label, "hogwild");
    assert_string_equal(groups.group[1].label, "hogwild #2");
    assert_string_equal(groups.group[2].label, "hogwild #3");
    hr_groups_free(&groups);
}

static void target_is_the_mean_over_those_that_reached_it(void **state)
{
    (void)state;
    struct hr_run_result runs[] = {sample_run("hogwild", 1, 0.9), sample_run("hogwild", 2, 0.8),
                                   sample_run("hogwild", 3, 0.9)};
    struct hr_groups groups;
    runs[0].target_seconds = 1;
    runs[2].target_seconds = 2;
    CHECK_OK(hr_groups_make(&groups, runs, 3));
    assert_int_equal(hr_run_group_target(&groups.group[0]).n, 2);
    CHECK_NEAR(hr_run_group_target(&groups.group[0]).mean, 1.5, 1e-12, 0);
    assert_true(isnan(hr_run_group_spread(&groups.group[0], hr_measure_stale_mean).mean));
    hr_groups_free(&groups);
}

/* What fails: a run that began at 2.5 and ended at 9, on both splits. One that ended above its
 * first epoch, or whose last epoch alone began badly, has learned. */
static void who_ended_above_where_it_began_has_diverged(void **state)
{
    (void)state;
    struct hr_rise rise;
    struct hr_curve_point points[] = {{.epoch = 1, .samples = 10000, .train_loss = 1.5},
                                      {.epoch = 2}};
    struct hr_run_result run = sample_run("hogwild", 1, 0.1);
    run.classes = 10, run.first_samples = 64, run.first_loss = 160;
    run.curve = points, run.ncurve = 2;
    snprintf(run.chance, sizeof run.chance, "no better than chance");
    run.train_loss = run.test_loss = 9;
    assert_true(hr_run_diverged(&run, &rise));
    CHECK_NEAR(rise.above, 2.5, 1e-12, 0);
    run.chance[0] = '\0'; /* few answers are wrong, but those very much */
    assert_false(hr_run_diverged(&run, &rise));
    run.test_accuracy = NAN;
    assert_true(hr_run_diverged(&run, &rise));
    run.test_loss = 0.5;
    assert_false(hr_run_diverged(&run, &rise));
    run.test_loss = NAN; /* of an evaluation that nobody made */
    assert_true(hr_run_diverged(&run, &rise));
    run.validation_samples = 100, run.validation_loss = 0.5;
    assert_false(hr_run_diverged(&run, &rise));
    run.validation_samples = 0;
    run.train_loss = run.test_loss = 1.9;
    assert_true(hr_run_rose(&run, &rise) && !hr_run_diverged(&run, &rise));
    run.first_samples = 0; /* it began with given weights */
    assert_false(hr_run_diverged(&run, &rise));
    run.train_loss = run.test_loss = 9;
    assert_true(hr_run_diverged(&run, &rise));
    run.classes = 0; /* of values nobody knows what guessing costs */
    assert_false(hr_run_diverged(&run, &rise));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seeds_of_one_strategy_are_one_group_wherever_they_stand),
        cmocka_unit_test(settings_are_named_only_where_they_tell_rows_apart),
        cmocka_unit_test(the_number_of_workers_is_told_whoever_differs),
        cmocka_unit_test(other_settings_are_told_as_they_were_given),
        cmocka_unit_test(a_seed_that_comes_again_is_no_second_seed),
        cmocka_unit_test(who_ended_above_where_it_began_has_diverged),
        cmocka_unit_test(target_is_the_mean_over_those_that_reached_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
