/* Advice is given with its numbers, and only where there is something to gain. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"
#include "support/check.h"
#include "support/sample_runs.h"

static void too_many_ranks_for_the_processors_are_counted(void **state)
{
    (void)state;
    char text[HR_ADVICE_MAX];
    struct hr_run_info info = {.workers = 7, .servers = 1, .processors = 4};
    assert_false(hr_advice_before(&info, text));
    info.workers = 8;
    assert_true(hr_advice_before(&info, text));
    assert_non_null(strstr(text, "8 workers and 1 server take turns on 4 processors (affinity "));
    assert_non_null(strstr(text, "cgroup quota "));
}

/* 2.25 s of computing against 0.75 s of the rest; then against 2.3 s. */
static void more_communication_than_computing_is_told(void **state)
{
    (void)state;
    char text[HR_ADVICE_MAX];
    struct hr_run_result run = sample_run("ssp", 1, 0.9);
    assert_false(hr_advice_after(&run, "ssp", text));
    run.wait_s = 2;
    assert_true(hr_advice_after(&run, "ssp", text));
    assert_string_equal(text, "ssp: 2.25 s of computing, 2.30 s of communicating and waiting; "
                              "a larger --batch-size (now 32) or fewer --workers "
                              "would be faster");
    run.waited_for_others_s = 0.1; /* one of them is slow: no batch would help */
    assert_false(hr_advice_after(&run, "ssp", text));
    run.waited_for_others_s = 0, run.stalled_s = 0.1;
    assert_false(hr_advice_after(&run, "ssp", text));
    run.stalled_s = 0;
    snprintf(run.clock, sizeof run.clock, "real");
    run.workers = 10000; /* than there are processors */
    assert_true(hr_advice_after(&run, "ssp", text));
    assert_null(strstr(text, "batch-size"));
    assert_non_null(strstr(text, "; fewer --workers would be faster"));
    run.workers = 2;
    run.load_s = 0.25;
    assert_false(hr_advice_after(&run, "ssp", text)); /* loading is useful work */
    run.load_s = 0;
    run.workers = 1;
    assert_false(hr_advice_after(&run, "ssp", text));
}

static void who_is_no_better_than_chance_is_told_why(void **state)
{
    (void)state;
    char text[HR_ADVICE_MAX];
    struct hr_run_result run = sample_run("ssp", 1, 0.09);
    assert_false(hr_advice_chance(&run, "ssp", text));
    snprintf(run.chance, sizeof run.chance,
             "no better than chance (10 classes); likely too few updates");
    assert_true(hr_advice_chance(&run, "ssp s=3", text));
    assert_string_equal(
        text,
        "ssp s=3: 9.00 % right is no better than chance (10 classes); likely too few updates");
}

static void a_run_of_an_instant_gets_no_advice(void **state)
{
    (void)state;
    char text[HR_ADVICE_MAX];
    struct hr_run_result run = sample_run("ssp", 1, 0.9);
    run.load_s = 0, run.compute_s = 0.01;
    run.communicate_s = 0.4;
    run.wait_s = 0.5;
    assert_false(hr_advice_after(&run, "ssp", text));
}

/* 64 samples at 2.5 each to begin with; later epochs are held against the first one as well. */
static void a_loss_that_rose_is_told_with_a_cure(void **state)
{
    (void)state;
    char text[HR_ADVICE_MAX];
    struct hr_curve_point points[] = {{.samples = 10000, .train_loss = 2}, {.train_loss = 2.01}};
    struct hr_run_result run = sample_run("ps-async", 1, 0.1);
    run.first_samples = 64;
    run.first_loss = 160;
    run.train_loss = 2.8;
    assert_false(hr_advice_rising(&run, "ps-async", text)); /* a mean over 64 may be 1/4 off */
    run.train_loss = 176;
    snprintf(run.cure, sizeof run.cure, "--momentum 0.50");
    assert_true(hr_advice_rising(&run, "ps-async 2W1PS", text));
    assert_string_equal(text, "ps-async 2W1PS: the training loss ended at 176.0000, above the "
                              "2.5000 it began with; try first: --momentum 0.50");
    run.first_samples = 1;
    run.first_loss = 0.07; /* by luck: who guesses evenly pays 2.3 */
    run.classes = 10;
    run.train_loss = 2.3;
    assert_false(hr_advice_rising(&run, "", text));
    run.train_loss = 7;
    assert_true(hr_advice_rising(&run, "", text));
    assert_non_null(strstr(text, "ended at 7.0000, above the 0.0700 it began with"));
    run.curve = points;
    run.ncurve = 2;
    run.train_loss = 2.01;
    assert_false(hr_advice_rising(&run, "", text)); /* a mean over 10000 is known to 1 % */
    run.train_loss = 2.03;
    run.cure[0] = '\0';
    assert_true(hr_advice_rising(&run, "", text));
    assert_non_null(strstr(text, "ended at 2.0300, above the 2.0000 of its first epoch; "
                                 "try first: a smaller --lr"));
    run.first_samples = 0; /* unknown */
    run.ncurve = 1;
    assert_false(hr_advice_rising(&run, "", text));
}

/* lr 0.05 times 5 in flight is more than 1 - 0.9; less momentum is enough of a cure, or is not. */
static void a_step_that_asynchrony_makes_large_is_told(void **state)
{
    (void)state;
    char text[HR_ADVICE_MAX];
    struct hr_run_result run = sample_run("ps-async", 1, 0.9);
    run.asynchrony = (struct hr_asynchrony){0.25, 0.9, 0.8, 0.98, true};
    assert_true(hr_advice_asynchrony(&run, "ps-async", text));
    assert_string_equal(text,
                        "ps-async: on average 5.0 updates were computed at once, so lr 0.05 acts "
                        "like 0.25 and momentum 0.90 like 0.980 (predicted); --momentum 0.50 would "
                        "keep momentum at 0.90");
    run.asynchrony = (struct hr_asynchrony){1, 0.5, 0.95, 0.975, true};
    assert_true(hr_advice_asynchrony(&run, "ps-async", text));
    assert_non_null(strstr(text, "a smaller --lr (--async-lr divide) is the safer choice"));
}

static void a_step_that_is_as_asked_for_is_not(void **state)
{
    (void)state;
    static const struct hr_asynchrony fine[] = {{0.0668, 0.9, 0.25, 0.925, true},
                                                {0.01, 0.5, 0.8, 0.9, true},
                                                {NAN, 0.9, NAN, NAN, true},
                                                {5, 0.9, 0, 0.9, true}};
    char text[HR_ADVICE_MAX];
    struct hr_run_result run = sample_run("ps-async", 1, 0.9);
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
        run.asynchrony = fine[i];
        assert_false(hr_advice_asynchrony(&run, "ps-async", text));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(too_many_ranks_for_the_processors_are_counted),
        cmocka_unit_test(more_communication_than_computing_is_told),
        cmocka_unit_test(a_loss_that_rose_is_told_with_a_cure),
        cmocka_unit_test(a_step_that_asynchrony_makes_large_is_told),
        cmocka_unit_test(a_step_that_is_as_asked_for_is_not),
        cmocka_unit_test(who_is_no_better_than_chance_is_told_why),
        cmocka_unit_test(a_run_of_an_instant_gets_no_advice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
