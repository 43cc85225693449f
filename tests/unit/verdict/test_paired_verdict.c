/* What pairing by seeds says: who is identical, what a test sample is worth, what could have been
 * told, margins, and times to a target. */
#include <math.h>
#include <stdlib.h>

#include "support/verdicts.h"

/* Weights that are bit for bit the same are not tested, and leave two pairs for Holm of five. */
static void identical_strategies_are_said_to_be(void **state)
{
    (void)state;
    struct hr_run_result runs[9];
    fill(runs, "allreduce", 0.93, 0.01);
    fill(runs + 3, "ps-sync", 0.93, 0.01);
    fill(runs + 6, "hogwild", 0.878, 0.01);
    for (size_t i = 0; i < 9; i++)
        snprintf(runs[i].weights_digest, sizeof runs[i].weights_digest, "%zu", i % 3 + 3 * (i > 5));
    char *text = verdict(runs, 9, 0);
    check_has(text, "points allreduce ps-sync identical");
    check_has(text, "points allreduce hogwild +5.20 (+0.90 to +9.50) 0.035 better");
    expect(text, "Holm", false);             /* one pair is left */
    expect(text, "ps-sync  hogwild", false); /* the same test */
    free(text);
    snprintf(runs[4].weights_digest, sizeof runs[4].weights_digest, "other");
    text = verdict(runs, 9, 0);
    expect(text, "identical", false);
    expect(text, "no significant difference", true);
    free(text);
}

/* Accuracies are counts: where all differ by one sample, chance could have done it. */
static void one_test_sample_is_no_difference(void **state)
{
    (void)state;
    struct hr_run_result runs[6];
    for (size_t lacking = 1; lacking <= 4; lacking += 3) {
        fill(runs, "allreduce", 0.9, 0);
        fill(runs + 3, "hogwild", 0.9 - (double)lacking / 360, 0);
        for (size_t i = 0; i < 6; i++)
            runs[i].test_samples = 360;
        char *text = verdict(runs, 6, 0);
        expect(text, "no significant difference", lacking == 1);
        /* 4/360 against half a sample: t = 4 / 0.5 x sqrt 3 on 2, scipy's 2 t.sf(13.856, 2) */
        expect(text, "  0.0052  better", lacking == 4);
        free(text);
    }
}

static void the_power_says_what_could_be_told(void **state)
{
    (void)state;
    struct hr_run_result runs[6];
    fill(runs, "allreduce", 0.9, 0.01);
    fill(runs + 3, "hogwild", 0.9, 0.01);
    char *text = verdict(runs, 6, 0);
    /* sd 1.73 points; brentq of scipy's power: 3.264 sd of 3 seeds; 6 tell 1.632 sd */
    expect(text,
           "Power: 3 seeds can detect differences of 5.7 points at 5 % with 80 % power (they "
           "vary by 1.7 points), 6 seeds would detect 2.8 points.\n",
           true);
    free(text);
}

static char *with_margin(struct hr_run_result *runs, size_t n, double margin)
{
    struct capture capture;
    capture_begin(&capture);
    hr_verdict_print(capture.out, runs, n, (struct hr_verdict_request){.margin = margin}, true, 0);
    return capture_end(&capture);
}

static void a_margin_shows_who_is_no_worse_and_who_is_equal(void **state)
{
    (void)state;
    struct hr_run_result runs[6];
    fill(runs, "allreduce", 0.9, 0.0001);
    fill(runs + 3, "hogwild", 0.899, 0.0001);
    char *text = with_margin(runs, 6, 0.5);
    expect(text, "Margin: 0.5 points, tested at 5 %", true);
    expect(text, "Equal to allreduce within the margin: hogwild.\n", true);
    free(text);
    text = with_margin(runs, 6, 0.1); /* their very difference */
    expect(text, "  Worse than allreduce, perhaps by more than the margin: hogwild.\n", true);
    free(text);
    fill(runs + 3, "hogwild", 0.8999, 0.01);
    text = with_margin(runs, 6, 0.5);
    expect(text, "Not decided, neither worse than allreduce nor within the margin: hogwild.\n",
           true);
    free(text);
}

/* Eight seeds of two strategies, seen at four evaluations: the first reaches the target at the
 * second, the other at the fourth. */
static void fill_times(struct hr_run_result runs[16], struct hr_curve_point curve[16][4])
{
    for (size_t i = 0; i < 16; i++) {
        const double pace = 1 + 0.02 * (double)(i * i % 5);
        runs[i] = sample_run("hogwild", i / 2, 0.5 + 0.01 * (double)(i * i % 7));
        runs[i].workers = 2 + i % 2;
        runs[i].curve = curve[i];
        runs[i].ncurve = 4;
        for (size_t k = 0; k < 4; k++)
            curve[i][k] =
                (struct hr_curve_point){.seconds = pace * (double)(k + 5), .samples = 64 * (k + 5)};
        runs[i].target_seconds = curve[i][i % 2 ? 3 : 1].seconds;
    }
}

static void times_to_the_target_are_paired(void **state)
{
    (void)state;
    struct hr_run_result runs[16];
    struct hr_curve_point curve[16][4];
    fill_times(runs, curve);
    char *text = verdict(runs, 16, 0.5);
    expect(text, "Target: hogwild 2W1PS reached 50 % first, after ", true);
    expect(text, "Significantly later: hogwild 3W1PS.\n", true);
    /* log 8/6, and half of the step log 6/5 as its deviation: scipy's t.ppf(.975, 7) */
    check_has(text, "seconds hogwild 2W1PS hogwild 3W1PS 0.75 (0.695 to 0.809) ");
    expect(text, "signs", false);
    free(text);
}

/* Eight seeds of three, which reach the target at these evaluations. */
static char *verdict_of_times(const size_t reached[3])
{
    struct hr_run_result runs[24];
    struct hr_curve_point curve[24][4];
    for (size_t i = 0; i < 24; i++) {
        const double pace = 1 + 0.02 * (double)(i / 3 * (i / 3) % 5);
        runs[i] = sample_run("hogwild", i / 3, 0.5 + 0.01 * (double)(i * i % 7));
        runs[i].workers = 2 + i % 3;
        runs[i].curve = curve[i];
        runs[i].ncurve = 4;
        for (size_t k = 0; k < 4; k++)
            curve[i][k] = (struct hr_curve_point){.seconds = (pace + 0.001 * (double)(i % 7)) *
                                                             (double)(k + 5),
                                                  .samples = 64 * (k + 5)};
        for (size_t k = 0; k < 4 && i % 3 == 1 && reached[0] == reached[1]; k++)
            curve[i][k].seconds = curve[i - 1][k].seconds;
        runs[i].target_seconds = curve[i][reached[i % 3]].seconds;
    }
    return verdict(runs, 24, 0.5);
}

static void differences_beside_the_first_are_told_too(void **state)
{
    (void)state;
    char *text = verdict_of_times((const size_t[]){1, 2, 3});
    expect(text, "Target: hogwild 2W1PS reached 50 % first, after ", true);
    check_has(text, "seconds hogwild 3W1PS hogwild 4W1PS 0.8");
    free(text);
}

static void who_is_as_soon_is_first_too(void **state)
{
    (void)state;
    char *text = verdict_of_times((const size_t[]){1, 1, 3});
    expect(text, "Target: hogwild 2W1PS and hogwild 3W1PS reached 50 % first, together, after ",
           true);
    free(text);
}

static void times_that_are_not_known_are_tested_by_signs(void **state)
{
    (void)state;
    struct hr_run_result runs[16];
    struct hr_curve_point curve[16][4];
    fill_times(runs, curve);
    for (size_t i = 1; i < 16; i += 2)
        runs[i].target_seconds = -1;
    char *text = verdict(runs, 16, 0.5);
    expect(text, "Not reached by every run: hogwild 3W1PS.\n", true);
    check_has(text, " 0.0078 better\n"); /* 2 / 2^8 */
    expect(text, "signs are tested: that takes 6 seeds or more.)\n", true);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(identical_strategies_are_said_to_be),
        cmocka_unit_test(one_test_sample_is_no_difference),
        cmocka_unit_test(the_power_says_what_could_be_told),
        cmocka_unit_test(a_margin_shows_who_is_no_worse_and_who_is_equal),
        cmocka_unit_test(times_to_the_target_are_paired),
        cmocka_unit_test(differences_beside_the_first_are_told_too),
        cmocka_unit_test(who_is_as_soon_is_first_too),
        cmocka_unit_test(times_that_are_not_known_are_tested_by_signs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
