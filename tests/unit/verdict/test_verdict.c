/* What the verdict says, and what it does not. */
#include <math.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/verdicts.h"

static void one_seed_is_passed_over_in_silence(void **state)
{
    (void)state;
    const struct hr_run_result runs[] = {sample_run("allreduce", 1, 0.9),
                                         sample_run("ssp", 1, 0.1)};
    char *text = verdict(runs, 2, 0.5);
    assert_string_equal(text, "");
    free(text);
}

static void one_strategy_is_passed_over_in_silence(void **state)
{
    (void)state;
    struct hr_run_result runs[3];
    fill(runs, "ssp", 0.9, 0.01);
    char *text = verdict(runs, 3, 0.5);
    assert_string_equal(text, "");
    free(text);
}

static void strategies_that_lost_ranks_are_named(void **state)
{
    (void)state;
    struct hr_run_result runs[6];
    struct hr_loss lost[2] = {{.rank = 1}, {.rank = 0}};
    fill(runs, "allreduce", 0.90, 0.002);
    fill(runs + 3, "ssp", 0.899, 0.002);
    char *text = verdict(runs, 6, 0);
    expect(text, "Lost ranks", false);
    free(text);
    runs[4].losses = lost, runs[4].nlosses = 2;
    text = verdict(runs, 6, 0);
    expect(text, "Lost ranks: ssp s=3 (1 of 3 seeds).\n  Not like for like", true);
    free(text);
    for (size_t i = 0; i < 6; i++)
        runs[i].losses = lost, runs[i].nlosses = 2;
    text = verdict(runs, 6, 0);
    expect(text,
           "Lost ranks: allreduce direct (3 of 3 seeds), ssp s=3 (3 of 3 seeds); as many in each "
           "run.\n",
           true);
    free(text);
}

static void a_clear_difference_is_named_and_an_unclear_one_is_not(void **state)
{
    (void)state;
    struct hr_run_result runs[9];
    fill(runs, "allreduce", 0.90, 0.002);
    fill(runs + 3, "ssp", 0.899, 0.002);
    fill(runs + 6, "hogwild", 0.80, 0.002);
    char *text = verdict(runs, 9, 0);
    expect(text, "allreduce direct has the best mean, 90.00 % over 3 seeds.", true);
    /* differences -0.102, -0.096, -0.102: scipy's ttest_1samp p 0.0004, interval 4.303 x 0.002 */
    expect(text,
           "Worse by more than chance (points):\n    hogwild  -10.00 (-10.86 to -9.14), p 0.0012\n",
           true);
    expect(text,
           "Not to be told from the best (points):\n    ssp s=3  -0.10 (-0.96 to +0.76), p 0.67\n",
           true);
    expect(text, "Worse than ssp s=3 by more than chance (points):\n    hogwild  -9.90 (", true);
    expect(text, "(Paired t test over the seeds, two-sided, level 5 %, Holm's correction over all",
           true);
    expect(text, "Worse than hogwild", false);
    expect(text, "Target", false);
    free(text);
}

static void without_an_accuracy_less_loss_is_better(void **state)
{
    (void)state;
    struct hr_run_result runs[6];
    fill(runs, "hogwild", 0.5, 0);
    fill(runs + 3, "locked", 0.5, 0);
    for (size_t i = 0; i < 6; i++) {
        runs[i].test_accuracy = NAN;
        runs[i].test_loss = (i < 3 ? 0.25 : 0.125) + 0.001 * (double)((i + i / 3) % 3);
    }
    char *text = verdict(runs, 6, 0);
    expect(text, "Test loss: locked has the best mean, 0.126 over 3 seeds.", true);
    expect(text, "Worse by more than chance:\n    hogwild  +0.125 (", true);
    expect(text, "Accuracy", false);
    free(text);
}

static void no_clear_difference_is_said_to_be_none(void **state)
{
    (void)state;
    struct hr_run_result runs[9];
    fill(runs, "allreduce", 0.90, 0.01);
    fill(runs + 3, "ssp", 0.89, 0.01);
    fill(runs + 6, "hogwild", 0.885, 0.01);
    char *text = verdict(runs, 9, 0);
    expect(text, "Accuracy: no difference can be told from 3 seeds.", true);
    expect(text, "The best mean is allreduce direct's, 90.00 %; the lowest hogwild's, 88.50 %.",
           true);
    expect(text, "Worse", false);
    free(text);
}

/* t = 5.20 on 2 degrees of freedom: p = 0.035 alone, but one of three pairs. */
static void holm_takes_back_what_one_test_alone_would_claim(void **state)
{
    (void)state;
    struct hr_run_result runs[9];
    fill(runs, "allreduce", 0.952, 0.01);
    fill(runs + 3, "hogwild", 0.90, 0.01);
    char *text = verdict(runs, 6, 0);
    expect(text,
           "Worse by more than chance (points):\n    hogwild  -5.20 (-9.50 to -0.90), p 0.035\n",
           true);
    free(text);
    fill(runs + 6, "ssp", 0.93, 0.01);
    text = verdict(runs, 9, 0);
    expect(text, "no difference can be told", true);
    free(text);
}

/* The best is so unsteady that nothing can be told from it; the other two are not. */
static void pairs_without_the_best_are_told_too(void **state)
{
    (void)state;
    struct hr_run_result runs[9];
    fill(runs, "hogwild", 0.95, 0.08);
    fill(runs + 3, "allreduce", 0.90, 0.0005);
    fill(runs + 6, "ssp", 0.88, 0.0005);
    char *text = verdict(runs, 9, 0);
    expect(text, "no difference", false);
    expect(text, "Accuracy: hogwild has the best mean, 95.00 % over 3 seeds.", true);
    expect(text, "Worse than allreduce direct by more than chance (points):\n    ssp s=3  -2.00 (",
           true);
    free(text);
}

static void a_strategy_with_one_seed_left_is_not_tested(void **state)
{
    (void)state;
    struct hr_run_result runs[6];
    fill(runs, "allreduce", 0.93, 0.001);
    fill(runs + 2, "ssp", 0.90, 0.0011); /* two seeds of allreduce stay */
    runs[5] = sample_run("hogwild", 1, 0.99);
    char *text = verdict(runs, 6, 0);
    expect(text, "allreduce direct has the best mean, 93.05 % over 2 to 3 seeds", true);
    expect(text, "    ssp s=3  -3.", true);
    expect(text, "Not tested (a single seed, or interrupted): hogwild.", true);
    free(text);
}

static void an_interrupted_strategy_is_not_tested(void **state)
{
    (void)state;
    struct hr_run_result runs[9];
    fill(runs, "allreduce", 0.93, 0.001);
    fill(runs + 3, "ssp", 0.90, 0.001);
    fill(runs + 6, "hogwild", 0.99, 0.001);
    runs[8].interrupted = true;
    char *text = verdict(runs, 9, 0);
    expect(text, "allreduce direct has the best mean", true);
    expect(text, "Not tested (a single seed, or interrupted): hogwild.", true);
    free(text);
}

static void the_fastest_was_so_with_every_seed(void **state)
{
    (void)state;
    struct hr_run_result runs[9];
    fill(runs, "allreduce", 0.9, 0.001);
    fill(runs + 3, "hogwild", 0.9, 0.001);
    fill(runs + 6, "ssp", 0.9, 0.001);
    for (size_t i = 0; i < 9; i++)
        runs[i].samples_per_s = i < 3 ? 16500 : i < 6 ? 20000 : 10000;
    runs[0].samples_per_s = 19500;
    char *text = verdict(runs, 9, 0);
    expect(text,
           "Speed: hogwild is fastest, 20.0k samples/s on average, 2.00 times the slowest, "
           "ssp s=3 (10.0k).",
           true);
    free(text);
    runs[0].samples_per_s = 21000;
    text = verdict(runs, 9, 0);
    expect(text, "fastest", false);
    expect(text,
           "Speed: speeds overlap, mean samples/s: allreduce direct (18.0k), hogwild (20.0k); "
           "slower: ssp s=3 (10.0k).",
           true);
    free(text);
}

static void what_is_equal_is_said_to_be(void **state)
{
    (void)state;
    struct hr_run_result runs[6];
    fill(runs, "allreduce", 0.9, 0.001);
    fill(runs + 3, "hogwild", 0.9, 0.001);
    for (size_t i = 0; i < 6; i++)
        runs[i].samples_per_s = 20000 + 100 * (double)(i % 3);
    char *text = verdict(runs, 6, 0);
    expect(text, "Speed: equally fast, in samples/s: allreduce direct (20.1k), hogwild (20.1k).",
           true);
    expect(text, "Their means are equal, 90.00 %.", true);
    expect(text, "lowest", false);
    free(text);
}

/* Of 0.1, 0.2 and 0.3 the mean is another one in another order, by a bit. */
static void rounding_decides_no_best_mean(void **state)
{
    (void)state;
    struct hr_run_result runs[9];
    fill(runs, "hogwild", 0.2, 0.1);
    fill(runs + 3, "allreduce", 0.2, 0.1);
    fill(runs + 6, "ssp", 0.02, 0.01);
    for (size_t i = 6; i < 9; i++)
        runs[i].test_accuracy = runs[i - 6].test_accuracy / 1e3;
    runs[0].test_accuracy = 0.1, runs[1].test_accuracy = 0.2, runs[2].test_accuracy = 0.3;
    runs[3].test_accuracy = 0.3, runs[4].test_accuracy = 0.2, runs[5].test_accuracy = 0.1;
    char *text = verdict(runs, 9, 0);
    expect(text, "The best mean is hogwild and allreduce direct's, 20.00 %; the lowest ssp", true);
    free(text);
    for (size_t i = 0; i < 6; i++)
        runs[i].test_accuracy = 0.9 + runs[i].test_accuracy / 1e4;
    text = verdict(runs, 9, 0);
    expect(text, "hogwild and allreduce direct share the best mean, 90.00 % over 3 seeds.", true);
    free(text);
}

static void who_learned_nothing_is_named_beside_the_fastest(void **state)
{
    (void)state;
    struct hr_run_result runs[6];
    fill(runs, "allreduce", 0.9, 0.001);
    fill(runs + 3, "hogwild", 0.1, 0.001);
    char *text = verdict(runs, 6, 0);
    expect(text, "Diverged", false);
    free(text);
    for (size_t i = 3; i < 5; i++) {
        runs[i].first_samples = 16;
        runs[i].first_loss = 8 * runs[i].train_loss; /* half as much each */
    }
    text = verdict(runs, 6, 0);
    expect(text,
           "Diverged: hogwild (2 of 3 seeds): the training loss ended above where it began, "
           "or above its first epoch's.\n",
           true);
    free(text);
}

static void only_who_reached_the_target_with_every_seed_is_first(void **state)
{
    (void)state;
    struct hr_run_result runs[6];
    fill(runs, "allreduce", 0.9, 0.001);
    fill(runs + 3, "hogwild", 0.9, 0.001);
    for (size_t i = 0; i < 3; i++)
        runs[i].target_seconds = 3;
    runs[3].target_seconds = 1;
    char *text = verdict(runs, 6, 0.89);
    expect(text, "Target: allreduce direct reached 89 % first, after 3.00 s on average.", true);
    expect(text, "hogwild: 1 of 3 seeds reached it.", true);
    free(text);
    runs[0].target_seconds = -1;
    text = verdict(runs, 6, 0.89);
    expect(text, "Target: no strategy reached 89 % with every seed.", true);
    free(text);
}

/* Runs that ended at epochs 4, 5 and 6, with the weights of 2, 3 and 4. */
static void stop_early(struct hr_run_result *runs, struct hr_curve_point *points)
{
    for (size_t i = 0; i < 3; i++) {
        points[i] = (struct hr_curve_point){.epoch = 4 + (double)i};
        runs[i].curve = &points[i];
        runs[i].ncurve = 1;
        runs[i].best = (struct hr_best_evaluation){
            .metric = "loss", .epoch = 2 + (double)i, .restored = true, .stopped = true};
    }
}

/* Two strategies' runs that did. */
static void fill_stopped(struct hr_run_result runs[6], struct hr_curve_point points[6])
{
    fill(runs, "allreduce", 0.90, 0.002);
    fill(runs + 3, "ssp", 0.899, 0.002);
    stop_early(runs, points);
    stop_early(runs + 3, points + 3);
}

static void the_epochs_of_the_weights_are_said_where_runs_stopped_early(void **state)
{
    (void)state;
    struct hr_run_result runs[6];
    struct hr_curve_point points[6];
    fill_stopped(runs, points);
    runs[4].best.epoch = 5;
    char *text = verdict(runs, 6, 0);
    expect(text, "Compared: the weights of each run's best epoch, not of the same one: ", true);
    expect(text, "allreduce direct: 2 to 4 (ended at 4 to 6); ssp s=3: 2 to 5 (ended at 4 to 6).",
           true);
    free(text);
    for (size_t i = 3; i < 6; i++)
        runs[i].best = (struct hr_best_evaluation){.metric = ""};
    text = verdict(runs, 6, 0);
    expect(text, "ssp s=3: 4 to 6 (its last: it looked for no best).", true);
    free(text);
    for (size_t i = 0; i < 3; i++)
        runs[i].best.restored = false;
    text = verdict(runs, 6, 0);
    expect(text, "Compared", false);
    free(text);
}

static void runs_of_one_epoch_are_alike(void **state)
{
    (void)state;
    struct hr_run_result runs[6];
    struct hr_curve_point points[6];
    fill_stopped(runs, points);
    for (size_t i = 0; i < 6; i++)
        runs[i].best.epoch = 3, points[i].epoch = 7;
    char *text = verdict(runs, 6, 0);
    expect(text,
           "best epoch, for all the same: allreduce direct: 3 (ended at 7); ssp s=3: 3 (ended",
           true);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_epochs_of_the_weights_are_said_where_runs_stopped_early),
        cmocka_unit_test(runs_of_one_epoch_are_alike),
        cmocka_unit_test(one_seed_is_passed_over_in_silence),
        cmocka_unit_test(one_strategy_is_passed_over_in_silence),
        cmocka_unit_test(strategies_that_lost_ranks_are_named),
        cmocka_unit_test(a_clear_difference_is_named_and_an_unclear_one_is_not),
        cmocka_unit_test(without_an_accuracy_less_loss_is_better),
        cmocka_unit_test(no_clear_difference_is_said_to_be_none),
        cmocka_unit_test(holm_takes_back_what_one_test_alone_would_claim),
        cmocka_unit_test(pairs_without_the_best_are_told_too),
        cmocka_unit_test(a_strategy_with_one_seed_left_is_not_tested),
        cmocka_unit_test(an_interrupted_strategy_is_not_tested),
        cmocka_unit_test(the_fastest_was_so_with_every_seed),
        cmocka_unit_test(what_is_equal_is_said_to_be),
        cmocka_unit_test(rounding_decides_no_best_mean),
        cmocka_unit_test(who_learned_nothing_is_named_beside_the_fastest),
        cmocka_unit_test(only_who_reached_the_target_with_every_seed_is_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
