/* A search finds what is best by construction, the same each time; finalists are confirmed on seeds
 * that chose nothing; every figure of it is recomputed from the runs. */
#include "policy/policy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/runs.h"

static struct hr_cli cli;

/* One of four workers is ten times as slow: who waits for it takes ten times as long. Without
 * momentum, stale gradients do no harm. */
static void begin(struct hr_policy_search *search, const char *space)
{
    hr_cli_defaults(&cli);
    cli.train = run_options("allreduce", 4);
    snprintf(cli.train.clock, sizeof cli.train.clock, "virtual");
    snprintf(cli.train.compute_time, sizeof cli.train.compute_time, "10ms");
    snprintf(cli.train.inject, sizeof cli.train.inject, "slow:3x10");
    snprintf(cli.train.lr_schedule, sizeof cli.train.lr_schedule, "constant");
    snprintf(cli.search, sizeof cli.search, "%s", space);
    cli.train.warmup_epochs = 0;
    cli.train.momentum = 0;
    cli.train.lr = 0.1;
    cli.train.batch_size = 8;
    cli.train.epoch_size = 400;
    cli.train.epochs = 8;
    cli.train.target_accuracy = 0.3;
    snprintf(cli.confirm, sizeof cli.confirm, "3");
    *search = (struct hr_policy_search){.cli = &cli, .dataset = run_digits()};
    CHECK_OK(hr_policy_check(search));
    CHECK_OK(hr_policy_prepare(search));
}

static void who_waits_for_the_slow_one_loses(void **state)
{
    (void)state;
    struct hr_policy_search search;
    begin(&search, "strategy=allreduce,ps-sync,ps-async,backup-workers;backups=1");
    CHECK_OK(hr_policy_find(&search));
    assert_int_equal(search.ntrials, search.plan.trials);
    assert_string_equal(search.space.label[search.order[0]], "ps-async");
    CHECK_OK(hr_policy_confirm(&search));
    assert_string_equal(search.space.label[search.finalist[0].policy], "ps-async");
    assert_memory_equal(search.verdict, "chosen: ps-async", 16);
    hr_policy_free(&search);
}

static void the_same_search_is_the_same_again(void **state)
{
    (void)state;
    char *text[2];
    for (size_t i = 0; i < 2; i++) {
        struct hr_policy_search search;
        begin(&search, "strategy=ssp,ps-async;staleness=1,2,6;lr=0.05,0.1");
        CHECK_OK(hr_policy_find(&search));
        CHECK_OK(hr_policy_confirm(&search));
        json_t *document = hr_policy_json(&search);
        assert_non_null(document);
        text[i] = json_dumps(document, JSON_INDENT(1));
        json_decref(document);
        hr_policy_free(&search);
    }
    assert_string_equal(text[0], text[1]);
    free(text[0]);
    free(text[1]);
}

/* A trial has what it came to when it reached the target, not what it came to later. */
static void a_trial_ends_where_it_reaches_the_target(void **state)
{
    (void)state;
    struct hr_policy_search search;
    size_t reached = 0;
    begin(&search, "lr=0.05,0.1,0.2,0.4");
    CHECK_OK(hr_policy_find(&search));
    for (size_t i = 0; i < search.ntrials; i++) {
        const struct hr_policy_trial *trial = &search.trial[i];
        struct hr_train_options options = search.space.options[trial->policy];
        options.seed = trial->seed;
        options.epochs = trial->rung ? 8 : 4;
        struct hr_run_result run = run_train(&options);
        size_t at = 0;
        while (at + 1 < run.ncurve && run.curve[at].test_accuracy < 0.3)
            at++;
        assert_true(trial->target_s == run.target_seconds);
        assert_true(trial->value == run.curve[at].test_accuracy);
        reached += trial->target_s >= 0 && at + 1 < run.ncurve;
        hr_run_result_free(&run);
    }
    assert_true(reached > 0);
    hr_policy_free(&search);
}

/* Trials are shorter below, end where they reach the target, and seeds of rungs differ. */
static void trials_keep_to_their_budgets(void **state)
{
    (void)state;
    struct hr_policy_search search;
    begin(&search, "lr=0.01,0.02,0.05,0.1");
    CHECK_OK(hr_policy_find(&search));
    assert_int_equal(search.plan.nrungs, 2);
    for (size_t i = 0; i < search.ntrials; i++) {
        const struct hr_policy_trial *trial = &search.trial[i];
        assert_string_equal(trial->length, trial->rung ? "8 epochs" : "4 epochs");
        assert_int_equal(trial->seed, cli.train.seed + trial->rung);
        if (trial->target_s >= 0)
            assert_true(trial->value >= 0.3);
    }
    assert_int_equal(search.first_seed, cli.train.seed + 2);
    hr_policy_free(&search);
}

static void a_budget_of_seconds_is_cut_too(void **state)
{
    (void)state;
    struct hr_policy_search search;
    begin(&search, "lr=0.01,0.02,0.05,0.1");
    for (size_t i = 0; i < search.space.n; i++)
        snprintf(search.space.options[i].budget, sizeof cli.train.budget, "3s");
    CHECK_OK(hr_policy_find(&search));
    for (size_t i = 0; i < search.ntrials; i++)
        assert_string_equal(search.trial[i].length, search.trial[i].rung ? "3s" : "1.5s");
    hr_policy_free(&search);
}

/* Censored trials stand behind all that reached it; of the others the sooner is first. */
static void check_order(const struct hr_policy_search *search)
{
    for (size_t i = 0; i + 1 < search->space.n; i++) {
        const struct hr_policy_trial *a = hr_policy_last_trial(search, search->order[i]),
                                     *b = hr_policy_last_trial(search, search->order[i + 1]);
        assert_true(a->rung >= b->rung);
        if (a->rung != b->rung)
            continue;
        if (b->target_s >= 0)
            assert_true(a->target_s >= 0 && a->target_s <= b->target_s);
        else if (a->target_s < 0)
            assert_true(a->value >= b->value || b->diverged || isnan(b->value));
    }
}

static void order_is_by_rung_then_time_then_accuracy(void **state)
{
    (void)state;
    static const double targets[] = {0.3, 0.6, 0.99};
    for (size_t t = 0; t < 3; t++) {
        struct hr_policy_search search;
        begin(&search, "lr=0.001,0.003,0.01,0.03,0.1,0.3");
        search.target = targets[t];
        CHECK_OK(hr_policy_find(&search));
        check_order(&search);
        hr_policy_free(&search);
    }
}

static void figures_are_those_of_the_runs(void **state)
{
    (void)state;
    struct hr_policy_search search;
    begin(&search, "strategy=ps-async,hogwild");
    CHECK_OK(hr_policy_find(&search));
    CHECK_OK(hr_policy_confirm(&search));
    for (size_t i = 0; i < search.nfinalists; i++) {
        const struct hr_finalist *finalist = &search.finalist[i];
        double logs = 0, squares = 0, values = 0;
        for (size_t s = 0; s < 3; s++) {
            struct hr_train_options options = search.space.options[finalist->policy];
            options.seed = search.first_seed + s;
            struct hr_run_result run = run_train(&options);
            assert_string_equal(run.weights_digest, finalist->run[s].weights_digest);
            assert_true(run.target_seconds > 0);
            logs += log(run.target_seconds) / 3;
            values += run.test_accuracy / 3;
            hr_run_result_free(&run);
        }
        for (size_t s = 0; s < 3; s++)
            squares += pow(log(finalist->run[s].target_seconds) - logs, 2);
        const double half = 4.302652729911275 * sqrt(squares / 2 / 3); /* t of 2 at 97.5 % */
        CHECK_NEAR(finalist->mean_s, exp(logs), 1e-9, 0);
        CHECK_NEAR(finalist->interval.low, exp(logs - half), 1e-6, 0);
        CHECK_NEAR(finalist->interval.high, exp(logs + half), 1e-6, 0);
        CHECK_NEAR(finalist->value, values, 1e-9, 0);
        assert_int_equal(finalist->reached, 3);
    }
    hr_policy_free(&search);
}

/* The forecast of a run that is the forecast: no error. */
static void the_error_of_a_forecast_is_that_of_pairs(void **state)
{
    (void)state;
    struct hr_policy_search search;
    begin(&search, "strategy=ps-async,hogwild");
    CHECK_OK(hr_policy_find(&search));
    CHECK_OK(hr_policy_confirm(&search));
    struct hr_run_result real[3];
    memcpy(real, search.finalist[0].run, sizeof real);
    search.real = real;
    struct hr_forecast_error error = hr_policy_forecast(&search);
    assert_int_equal(error.both, 3);
    CHECK_NEAR(error.ratio, 1, 1e-12, 0);
    CHECK_NEAR(error.value, 0, 0, 1e-12);
    real[0].target_seconds *= 8;
    real[1].target_seconds = -1;
    error = hr_policy_forecast(&search);
    assert_int_equal(error.both, 2);
    assert_int_equal(error.reached, 2);
    CHECK_NEAR(error.ratio, sqrt(8), 1e-12, 0);
    search.real = NULL;
    hr_policy_free(&search);
}

static void lines_are_narrow(void **state)
{
    (void)state;
    struct hr_policy_search search;
    char *text, *line;
    size_t bytes;
    begin(&search, "strategy=ps-async,ssp;staleness=1,3;servers=1,2;staleness-lr=none,inverse");
    CHECK_OK(hr_policy_find(&search));
    CHECK_OK(hr_policy_confirm(&search));
    FILE *out = open_memstream(&text, &bytes);
    hr_policy_print(out, &search);
    fclose(out);
    for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        assert_true(strlen(line) <= 80 || strstr(line, "chosen: "));
    free(text);
    hr_policy_free(&search);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_waits_for_the_slow_one_loses),
        cmocka_unit_test(the_same_search_is_the_same_again),
        cmocka_unit_test(a_trial_ends_where_it_reaches_the_target),
        cmocka_unit_test(trials_keep_to_their_budgets),
        cmocka_unit_test(a_budget_of_seconds_is_cut_too),
        cmocka_unit_test(order_is_by_rung_then_time_then_accuracy),
        cmocka_unit_test(figures_are_those_of_the_runs),
        cmocka_unit_test(the_error_of_a_forecast_is_that_of_pairs),
        cmocka_unit_test(lines_are_narrow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
