/* What the verdict says, and what it does not. */
#include <math.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/verdicts.h"

static char *briefly(const struct hr_run_result *runs, size_t n, struct hr_verdict_request request)
{
    struct capture capture;
    capture_begin(&capture);
    hr_verdict_print(capture.out, runs, n, request, false, 0);
    return capture_end(&capture);
}

static void one_seed_claims_nothing_and_says_what_would_tell(void **state)
{
    (void)state;
    const struct hr_run_result runs[] = {sample_run("allreduce", 1, 0.9),
                                         sample_run("ssp", 1, 0.1)};
    const struct hr_verdict_request request = {
        .more = {.whole = "hogring compare --seeds 5", .seconds = 12}};
    char *text = briefly(runs, 2, request);
    expect(text, "one seed cannot tell", true);
    expect(text, "best 90.00 % (allreduce), worst 10.00 % (ssp)", true);
    expect(text, "(about 12 s): hogring compare --seeds 5\n", true);
    expect(text, "Speed: allreduce 9.80k, ssp 9.80k samples/s, one run each.\n", true);
    expect(text, "significant", false);
    free(text);
}

static void a_single_row_says_how_sure_its_score_is(void **state)
{
    (void)state;
    struct hr_run_result runs[3];
    fill(runs, "ssp", 0.9, 0.01);
    runs[0].test_samples = 100;
    runs[0].test_accuracy = 0.9;
    char *text = briefly(runs, 1, (struct hr_verdict_request){0});
    expect(text, "Accuracy: 90.00 % of 100 test samples, 95 % interval 82.6 to 94.5 %", true);
    expect(text, "One run proves little", true);
    free(text);
    text = briefly(runs, 3, (struct hr_verdict_request){0});
    expect(text, "90.33 % on average over 3 seeds, 95 % interval 88.9 to 91.8 %", true);
    expect(text, "cannot tell", false);
    free(text);
}

/* What was tested, in a sentence each: details have the pairs and the method. */
static void briefly_the_best_and_who_is_worse_is_a_sentence(void **state)
{
    (void)state;
    struct hr_run_result runs[9];
    fill(runs, "allreduce", 0.90, 0.002);
    fill(runs + 3, "ssp", 0.899, 0.002);
    fill(runs + 6, "hogwild", 0.80, 0.002);
    char *text = briefly(runs, 9, (struct hr_verdict_request){0});
    expect(text,
           "90.00 % over 3 seeds; significantly worse in points: hogwild (-10.00); not "
           "significantly different: ssp (-0.10).\nSpeed: ",
           true);
    expect(text, "Paired t", false);
    free(text);
    fill(runs + 6, "hogwild", 0.895, 0.01);
    text = briefly(runs, 9, (struct hr_verdict_request){0});
    expect(text, "no significant difference over 3 seeds: best mean 90.00 %", true);
    expect(text, "3 seeds can detect ", true);
    free(text);
}

/* A processor that throttles from one run to the next makes equal work slower. */
static void speeds_of_a_machine_that_wavers_are_not_comparable(void **state)
{
    (void)state;
    struct hr_run_result runs[12];
    static const double even[] = {1, 9, 1.3}, later[] = {1, 0.1, 0.7};
    struct hr_loss lost = {.rank = 1};
    for (uint64_t seed = 1; seed <= 12; seed++)
        runs[seed - 1] = sample_run(seed <= 6 ? "allreduce" : "ssp", seed, 0.9);
    for (size_t i = 0; i < 12; i++) /* the middle third counts for nothing */
        runs[i].samples_per_s = 9000 * even[i % 6 / 2];
    char *text = briefly(runs, 12, (struct hr_verdict_request){0});
    expect(text, "not comparable", false);
    free(text);
    for (size_t i = 6; i < 12; i++) /* 9000 and 6300: 1.43 times */
        runs[i].samples_per_s = 9000 * later[i % 6 / 2];
    text = briefly(runs, 12, (struct hr_verdict_request){0});
    expect(
        text,
        "Speeds are not comparable: ssp made 9.00k samples/s in its first runs, 6.30k in its last",
        true);
    free(text);
    for (size_t i = 0; i < 6; i++) { /* said of who wavered most; faster counts as slower does */
        const double rate = runs[i + 6].samples_per_s;
        runs[5 - i].samples_per_s = i ? rate : 2 * rate;
    }
    text = briefly(runs, 12, (struct hr_verdict_request){0});
    expect(text, "Speeds are not comparable: allreduce made ", true);
    free(text);
    for (size_t i = 0; i < 12; i++)
        runs[i].nlosses = 1, runs[i].losses = &lost;
    text = briefly(runs, 12, (struct hr_verdict_request){0});
    expect(text, "not comparable", false);
    free(text);
    for (size_t i = 0; i < 12; i++) {
        runs[i].nlosses = 0;
        snprintf(runs[i].clock, sizeof runs[i].clock, "virtual");
    }
    text = briefly(runs, 12, (struct hr_verdict_request){0});
    expect(text, "not comparable", false);
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
    expect(text, "Lost ranks: ssp (1 of 3 seeds); not like for like", true);
    free(text);
    for (size_t i = 0; i < 6; i++)
        runs[i].losses = lost, runs[i].nlosses = 2;
    text = verdict(runs, 6, 0);
    expect(text, "Lost ranks: 2 in each run.\n", true);
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
    expect(text,
           "allreduce has the best mean, 90.00 % over 3 seeds; significantly worse in points: "
           "hogwild (-10.00); not significantly different: ssp (-0.10).\n",
           true);
    /* differences -0.102, -0.096, -0.102: scipy's ttest_1samp p 0.0004, interval 4.303 x 0.002 */
    check_has(text, "points allreduce hogwild +10.00 (+9.14 to +10.86) 0.0012 better");
    check_has(text, "points allreduce ssp +0.10 (-0.76 to +0.96) 0.67 -");
    check_has(text, "points ssp hogwild +9.90 (");
    expect(text, "Paired t test over the seeds, two-sided, level 5 %, Holm's correction over all",
           true);
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
    expect(text,
           "Test loss: locked has the best mean, 0.126 over 3 seeds; significantly worse: "
           "hogwild (+0.125).",
           true);
    check_has(text, "loss hogwild locked +0.125 (");
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
    expect(text, "Accuracy: no significant difference over 3 seeds: ", true);
    expect(text, "best mean 90.00 % (allreduce), worst 88.50 % (hogwild).", true);
    expect(text, "Significantly", false);
    free(text);
}

/* No accuracies differ by more than 100 points: nobody is told how many seeds would see 250. */
static void more_seeds_are_proposed_for_differences_that_can_be(void **state)
{
    (void)state;
    struct hr_run_result runs[6];
    fill(runs, "allreduce", 0.5, 0.01);
    fill(runs + 3, "ssp", 0.5, 0.3);
    const struct hr_run_result two[] = {runs[0], runs[1], runs[3], runs[4]};
    char *text = briefly(two, 4, (struct hr_verdict_request){0});
    expect(text, "2 seeds are too few to detect any difference, ", true);
    expect(text, " seeds would detect 10 points.", true);
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
    check_has(text, "points allreduce hogwild +5.20 (+0.90 to +9.50) 0.035 better");
    free(text);
    fill(runs + 6, "ssp", 0.93, 0.01);
    text = verdict(runs, 9, 0);
    expect(text, "no significant difference", true);
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
    expect(text, "no significant difference", false);
    expect(text, "Accuracy: hogwild has the best mean, 95.00 % over 3 seeds; not ", true);
    check_has(text, "points allreduce ssp +2.00 (");
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
    expect(text, "allreduce has the best mean, 93.05 % over 2 to 3 seeds", true);
    check_has(text, "points allreduce ssp +3.");
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
    expect(text, "allreduce has the best mean", true);
    expect(text, "Not tested (a single seed, or interrupted): hogwild.", true);
    free(text);
}

static void speed_is_one_ranking_with_intervals(void **state)
{
    (void)state;
    struct hr_run_result runs[9];
    fill(runs, "allreduce", 0.9, 0.001);
    fill(runs + 3, "hogwild", 0.9, 0.001);
    fill(runs + 6, "ssp", 0.9, 0.001);
    for (size_t i = 0; i < 9; i++)
        runs[i].samples_per_s = i < 3 ? 16000 + 1000 * (double)i : i < 6 ? 20000 : 10000;
    char *text = verdict(runs, 9, 0);
    expect(text,
           "Speed: hogwild 20.0k, allreduce 17.0k (14.5k to 19.5k), ssp 10.0k "
           "samples/s, 95 % intervals.\n",
           true);
    free(text);
}

static void equal_means_are_said_to_be(void **state)
{
    (void)state;
    struct hr_run_result runs[6];
    fill(runs, "allreduce", 0.9, 0.001);
    fill(runs + 3, "hogwild", 0.9, 0.001);
    char *text = verdict(runs, 6, 0);
    expect(text, ": their means are equal, 90.00 %.", true);
    expect(text, "worst", false);
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
    expect(text, "best mean 20.00 % (hogwild and allreduce), worst ", true);
    free(text);
    for (size_t i = 0; i < 6; i++)
        runs[i].test_accuracy = 0.9 + runs[i].test_accuracy / 1e4;
    text = verdict(runs, 9, 0);
    expect(text, "hogwild and allreduce share the best mean, 90.00 % over 3 seeds;", true);
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
        snprintf(runs[i].chance, sizeof runs[i].chance, "no better than chance");
        runs[i].first_loss = 8 * runs[i].train_loss; /* half as much each */
    }
    text = verdict(runs, 6, 0);
    expect(text, "Diverged: hogwild (2 of 3 seeds).\n", true);
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
    expect(text, "Target: allreduce reached 89 % first, after 3.00 s on average.", true);
    expect(text, "Not reached by every run: hogwild.", true);
    free(text);
    runs[0].target_seconds = -1;
    text = verdict(runs, 6, 0.89);
    expect(text, "Target: no strategy reached 89 % with every seed.", true);
    free(text);
}

/* Losses of unlike functions are in unlike units; accuracies are not, and rows of one function. */
static void losses_of_unlike_functions_are_not_compared(void **state)
{
    (void)state;
    struct hr_run_result runs[9];
    const struct hr_verdict_request request = {.target = {HR_METRIC_LOSS, 0.3}};
    struct hr_verdict v;
    fill(runs, "allreduce", 0.9, 0.001);
    fill(runs + 3, "hogwild", 0.9, 0.001);
    fill(runs + 6, "ssp", 0.8, 0.001);
    for (size_t i = 0; i < 9; i++)
        runs[i].target_seconds = 1 + (double)(i / 3) + 0.01 * (double)(i % 3);
    char *text = briefly(runs, 9, request);
    expect(text, "Target: allreduce reached loss 0.3 first", true);
    expect(text, "unlike functions", false);
    free(text);
    for (size_t i = 0; i < 3; i++)
        snprintf(runs[i].loss, sizeof runs[i].loss, "mse");
    text = briefly(runs, 9, request);
    expect(text, " first", false);
    expect(text, "Losses are of unlike functions (mse, cross-entropy)", true);
    expect(text, "significantly worse in points: ssp", true);
    free(text);
    CHECK_OK(hr_verdict_make(&v, runs, 9, request));
    const struct hr_family *seconds = &v.cost_tests[HR_COST_SECONDS];
    assert_string_equal(hr_verdict_word(&v, seconds, 0, 1), "not like for like");
    assert_int_equal(hr_family_pair(seconds, 1, 2)->state, HR_PAIR_TESTED);
    assert_int_equal(hr_family_pair(&v.score_tests, 0, 2)->state, HR_PAIR_TESTED);
    hr_verdict_free(&v);
    for (size_t i = 0; i < 9; i++)
        runs[i].test_accuracy = NAN; /* the loss is all that there is */
    CHECK_OK(hr_verdict_make(&v, runs, 9, (struct hr_verdict_request){0}));
    assert_int_equal(v.best, v.groups.n);
    assert_string_equal(hr_verdict_word(&v, &v.score_tests, 0, 1), "not like for like");
    hr_verdict_free(&v);
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

static void weights_of_best_epochs_are_said_to_be(void **state)
{
    (void)state;
    struct hr_run_result runs[6];
    struct hr_curve_point points[6];
    fill_stopped(runs, points);
    char *text = verdict(runs, 6, 0);
    expect(text, "Compared are the weights of each run's best epoch; seconds", true);
    free(text);
    for (size_t i = 3; i < 6; i++)
        runs[i].best = (struct hr_best_evaluation){.metric = ""};
    text = verdict(runs, 6, 0);
    expect(text, "each run's best epoch, of ssp of its last; seconds", true);
    free(text);
    for (size_t i = 0; i < 3; i++)
        runs[i].best.restored = false;
    text = verdict(runs, 6, 0);
    expect(text, "Compared", false);
    free(text);
}

/* --- like for like --- */

/* Of a strategy that shares the global batch of 128: 120 updates; of others 450 of 32. */
static void fill_made(struct hr_run_result *runs, const char *strategy, double base, bool shares)
{
    fill(runs, strategy, base, 0.002);
    for (size_t i = 0; i < 3; i++) {
        runs[i].workers = 4, runs[i].global_batch = 128, runs[i].samples = 14370;
        runs[i].updates = shares ? 120 : 450;
    }
}

static char *told(const struct hr_run_result *runs, size_t n, struct hr_verdict_request request)
{
    struct capture capture;
    capture_begin(&capture);
    hr_verdict_print(capture.out, runs, n, request, true, 0);
    return capture_end(&capture);
}

static const struct hr_verdict_request untuned = {
    .target = {HR_METRIC_ACCURACY, 0.85},
    .at = "lr 0.05, momentum 0.9",
    .fair = {.whole = "hogring compare --tune", .seconds = 4}};

static void nothing_is_claimed_of_updates_that_strategies_make_unlike(void **state)
{
    (void)state;
    struct hr_verdict v;
    struct hr_run_result runs[6];
    fill_made(runs, "allreduce", 0.90, true);
    fill_made(runs + 3, "hogwild", 0.95, false);
    char *text = told(runs, 6, untuned);
    expect(text,
           "Not a fair comparison: 120 updates of 128 samples against 450 of 32, all at lr "
           "0.05, momentum 0.9, so the scores do not show which strategy is better. For a fair "
           "comparison (about 4 s): hogring compare --tune\n",
           true);
    expect(text, "best mean", false);
    expect(text, "ignificant", false);
    expect(text, "Target:", false);
    expect(text, "Speed: ", true);
    free(text);
    assert_int_equal(hr_verdict_make(&v, runs, 6, untuned), HR_OK);
    assert_int_equal(v.best, v.groups.n);
    assert_string_equal(hr_verdict_word(&v, &v.score_tests, 0, 1), "not like for like");
    hr_verdict_free(&v);
    struct hr_verdict_request tuned = untuned;
    tuned.tuned = true, tuned.at = "the values chosen";
    text = told(runs, 6, tuned);
    expect(text, "Not a fair comparison", false);
    expect(text, "hogwild has the best mean, 95.00 % over 3 seeds, at the values chosen;", true);
    free(text);
    text = told(runs, 4, untuned); /* said with one seed, too */
    expect(text, "Not a fair comparison: 120 updates of 128", true);
    free(text);
}

static void each_claim_says_the_rate_that_it_holds_at(void **state)
{
    (void)state;
    struct hr_run_result runs[6];
    fill_made(runs, "ssp", 0.90, false);
    fill_made(runs + 3, "hogwild", 0.95, false);
    char *text = told(runs, 6, untuned);
    expect(text, "ike for like", false);
    expect(text, "hogwild has the best mean, 95.00 % over 3 seeds, at lr 0.05, momentum 0.9;",
           true);
    expect(text,
           "All pairs: differences with 95 % intervals, uncorrected, at lr 0.05, momentum 0.9.",
           true);
    expect(text, "no strategy reached 85 % with every seed, at lr 0.05, momentum 0.9.", true);
    free(text);
}

static void differences_within_10_percent_are_alike(void **state)
{
    (void)state;
    struct hr_run_result runs[6];
    for (uint64_t more = 0; more < 2; more++) {
        fill_made(runs, "allreduce", 0.90, false);
        fill_made(runs + 3, "hogwild", 0.95, false);
        for (size_t i = 0; i < 3; i++)
            runs[i].workers = runs[3 + i].workers = 40, runs[i].updates = 408 + 2 * more;
        char *text = told(runs, 6, untuned);
        expect(text, "Not a fair comparison", more == 0);
        free(text);
    }
}

/* Batches of 32 and 64, of one strategy; and of two which make the same of what they are given. */
static void what_the_user_listed_is_the_experiment(void **state)
{
    (void)state;
    static const char *const others[] = {"hogwild", "ssp"};
    struct hr_run_result runs[6];
    for (size_t k = 0; k < 2; k++) {
        fill_made(runs, "hogwild", 0.90, false);
        fill_made(runs + 3, others[k], 0.95, false);
        for (size_t i = 3; i < 6; i++)
            runs[i].batch_size = 64, runs[i].global_batch = 256, runs[i].updates = 230;
        runs[3].test_accuracy += 0.001; /* that differences vary */
        char *text = told(runs, 6, untuned);
        expect(text, "Not a fair comparison", false);
        expect(text,
               "The experiment: 230 updates of 64 samples against 450 of 32, as listed, at lr "
               "0.05, momentum 0.9.\n",
               true);
        expect(text, "% over 3 seeds, at lr 0.05, momentum 0.9;", true);
        free(text);
    }
}

static void what_backup_workers_drop_is_said(void **state)
{
    (void)state;
    struct hr_run_result runs[6];
    fill_made(runs, "allreduce", 0.90, true);
    fill_made(runs + 3, "backup-workers", 0.95, true);
    for (size_t i = 3; i < 6; i++)
        runs[i].samples = 10778, runs[i].dropped_samples = 3592;
    char *text = told(runs, 6, untuned);
    expect(text, "ike for like", false);
    expect(text, "backup-workers drops its slowest gradients, as configured: 25 %", true);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_claimed_of_updates_that_strategies_make_unlike),
        cmocka_unit_test(each_claim_says_the_rate_that_it_holds_at),
        cmocka_unit_test(differences_within_10_percent_are_alike),
        cmocka_unit_test(what_the_user_listed_is_the_experiment),
        cmocka_unit_test(what_backup_workers_drop_is_said),
        cmocka_unit_test(weights_of_best_epochs_are_said_to_be),
        cmocka_unit_test(one_seed_claims_nothing_and_says_what_would_tell),
        cmocka_unit_test(a_single_row_says_how_sure_its_score_is),
        cmocka_unit_test(briefly_the_best_and_who_is_worse_is_a_sentence),
        cmocka_unit_test(speeds_of_a_machine_that_wavers_are_not_comparable),
        cmocka_unit_test(strategies_that_lost_ranks_are_named),
        cmocka_unit_test(a_clear_difference_is_named_and_an_unclear_one_is_not),
        cmocka_unit_test(without_an_accuracy_less_loss_is_better),
        cmocka_unit_test(no_clear_difference_is_said_to_be_none),
        cmocka_unit_test(more_seeds_are_proposed_for_differences_that_can_be),
        cmocka_unit_test(holm_takes_back_what_one_test_alone_would_claim),
        cmocka_unit_test(pairs_without_the_best_are_told_too),
        cmocka_unit_test(a_strategy_with_one_seed_left_is_not_tested),
        cmocka_unit_test(an_interrupted_strategy_is_not_tested),
        cmocka_unit_test(speed_is_one_ranking_with_intervals),
        cmocka_unit_test(equal_means_are_said_to_be),
        cmocka_unit_test(rounding_decides_no_best_mean),
        cmocka_unit_test(who_learned_nothing_is_named_beside_the_fastest),
        cmocka_unit_test(losses_of_unlike_functions_are_not_compared),
        cmocka_unit_test(only_who_reached_the_target_with_every_seed_is_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
