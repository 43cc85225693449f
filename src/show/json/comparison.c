#include "json/documents.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"
#include "json/value.h"
#include "verdict/verdict.h"

static json_t *spread(const struct hr_run_group *group, hr_measure_fn measure)
{
    const struct hr_spread s = hr_run_group_spread(group, measure);
    return hr_json_object(HR_OF(&s, mean), HR_OF(&s, sd), "min", HR_JSON(s.least), "max",
                          HR_JSON(s.most), NULL);
}

/* null: each seed was run once. */
static json_t *orders(const struct hr_verdict *v, const struct hr_run_group *group)
{
    struct hr_orders o;
    if (!hr_run_group_orders(group, v->metric, &o))
        return json_null();
    return hr_json_object("runs", HR_JSON(o.score.n), "same_weights", json_boolean(o.same),
                          "sd_seeds", HR_JSON(o.score.between), "sd_orders",
                          HR_JSON(o.score.within), "share_of_seeds", HR_JSON(o.score.share),
                          "p_seeds", HR_JSON(o.score.p), NULL);
}

static json_t *strategy(const struct hr_verdict *v, size_t g)
{
    const struct hr_run_group *group = &v->groups.group[g];
    const bool judged = v->best < v->groups.n && hr_verdict_tested(v, g) && g != v->best;
    return hr_json_object(
        HR_OF(group, label), HR_OF(group->run[0], strategy), "seeds",
        HR_JSON(hr_run_group_seeds(group)), "interrupted", json_boolean(group->interrupted),
        "test_accuracy", spread(group, hr_measure_accuracy), "test_rmse",
        spread(group, hr_measure_rmse), "test_mae", spread(group, hr_measure_mae), "test_r2",
        spread(group, hr_measure_r2), "test_loss", spread(group, hr_measure_test_loss),
        "train_loss", spread(group, hr_measure_train_loss), "seconds",
        spread(group, hr_measure_seconds), "samples_per_s", spread(group, hr_measure_rate),
        "updates", spread(group, hr_measure_updates), "p_against_best",
        judged ? hr_json_number(hr_verdict_p(v, g, v->best)) : json_null(), "worse_than_best",
        json_boolean(judged && hr_verdict_worse(v, g)), "runs_with_losses",
        HR_JSON(hr_run_group_lost(group)), "orders", orders(v, group), NULL);
}

static json_t *strategies(const struct hr_verdict *v)
{
    json_t *array = json_array();
    for (size_t g = 0; g < v->groups.n; g++)
        hr_json_append(&array, strategy(v, g));
    return array;
}

static json_t *pair(const struct hr_verdict *v, size_t a, size_t b)
{
    const bool told = hr_verdict_worse_than(v, a, b) || hr_verdict_worse_than(v, b, a);
    const bool claims =
        v->wish.tuned || hr_alike_pair(&v->groups.group[a], &v->groups.group[b]) != HR_UNLIKE;
    const struct hr_pair *tested = hr_family_pair(&v->score_tests, a, b);
    const double difference = tested->state == HR_PAIR_TESTED ? tested->test.difference
                                                              : v->score[a].mean - v->score[b].mean;
    return hr_json_object("a", HR_JSON(v->groups.group[a].label), "b",
                          HR_JSON(v->groups.group[b].label), "difference", HR_JSON(difference), "p",
                          claims ? hr_json_number(hr_verdict_p(v, a, b)) : json_null(),
                          "told_apart", claims ? json_boolean(told) : json_null(), NULL);
}

/* Of those tested, each with each. */
static json_t *pairs(const struct hr_verdict *v)
{
    json_t *array = json_array();
    for (size_t a = 0; a < v->groups.n; a++)
        for (size_t b = a + 1; b < v->groups.n; b++)
            if (hr_verdict_tested(v, a) && hr_verdict_tested(v, b))
                hr_json_append(&array, pair(v, a, b));
    return array;
}

/* --- tests */

/* null: from somewhere to somewhere, as far as is known. */
static json_t *interval(struct hr_interval x, bool ratio)
{
    if (!isfinite(x.low) || !isfinite(x.high))
        return json_null();
    return json_pack("[o, o]", hr_json_number(ratio ? exp(x.low) : x.low),
                     hr_json_number(ratio ? exp(x.high) : x.high));
}

static json_t *effect(const struct hr_paired *test)
{
    if (!isfinite(test->effect))
        return json_null();
    return hr_json_object("value", HR_JSON(test->effect), "interval",
                          interval(test->of_effect, false), NULL);
}

/* How much a margin leaves to chance, in both directions. */
static json_t *margin(const struct hr_verdict *v, size_t a, size_t b)
{
    const struct hr_family *family = &v->score_tests;
    if (!(v->wish.margin > 0))
        return json_null();
    return hr_json_object("a_not_worse_p", HR_JSON(hr_family_pair(family, a, b)->not_worse_p),
                          "b_not_worse_p", HR_JSON(hr_family_pair(family, b, a)->not_worse_p),
                          NULL);
}

/* Of a metric the difference a - b, of costs the ratio a / b. */
static json_t *comparison(const struct hr_verdict *v, const struct hr_family *family,
                          const char *metric, size_t a, size_t b)
{
    const struct hr_pair *pair = hr_family_pair(family, a, b);
    const struct hr_paired *t = &pair->test;
    const bool ratio = family != &v->score_tests, tested = pair->state == HR_PAIR_TESTED;
    return hr_json_object(
        "a", HR_JSON(v->groups.group[a].label), "b", HR_JSON(v->groups.group[b].label), "metric",
        HR_JSON(metric), HR_OF(t, n), "difference",
        tested && !ratio ? hr_json_number(t->difference) : json_null(), "ratio",
        tested && ratio ? hr_json_number(exp(t->difference)) : json_null(), "interval",
        tested ? interval(t->interval, ratio) : json_null(), "p",
        tested ? hr_json_number(t->p) : json_null(), "p_adjusted",
        tested ? hr_json_number(pair->p) : json_null(), "effect", tested ? effect(t) : json_null(),
        "method",
        HR_JSON(!tested       ? "none"
                : pair->exact ? "signs"
                              : "paired t"),
        HR_OF(pair, unknown), "margin", tested && !ratio ? margin(v, a, b) : json_null(), "verdict",
        HR_JSON(hr_verdict_word(v, family, a, b)), NULL);
}

static void add_comparisons(json_t *array, const struct hr_verdict *v,
                            const struct hr_family *family, const char *metric)
{
    for (size_t a = 0; a < family->groups; a++)
        for (size_t b = a + 1; b < family->groups; b++)
            if (hr_verdict_tested(v, a) && hr_verdict_tested(v, b))
                hr_json_append(&array, comparison(v, family, metric, a, b));
}

static json_t *comparisons(const struct hr_verdict *v)
{
    json_t *array = json_array();
    add_comparisons(array, v, &v->score_tests, hr_metric_kind(v->metric)->name);
    add_comparisons(array, v, &v->cost_tests[HR_COST_SECONDS], "target_seconds");
    add_comparisons(array, v, &v->cost_tests[HR_COST_SAMPLES], "target_samples");
    return array;
}

static json_t *power(const struct hr_verdict *v)
{
    const struct hr_family_power power = hr_family_power(&v->score_tests, hr_verdict_margin(v));
    if (power.pairs == 0)
        return json_null();
    return hr_json_object("power", HR_JSON(HR_POWER_WANTED), HR_OF(&v->score_tests, tests), "seeds",
                          HR_JSON(power.pairs), HR_OF(&power, spread), HR_OF(&power, difference),
                          HR_OF(&power, aim), "seeds_for_aim", HR_JSON(power.more), NULL);
}

/* The verdict in words, without the blanks that lines begin with. */
static json_t *sentences(const struct hr_run_result *runs, size_t n, struct hr_verdict_wish wish,
                         bool details)
{
    char *text = NULL;
    size_t bytes;
    json_t *array = json_array();
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return array;
    hr_verdict_print(out, runs, n, wish, details, 0);
    if (fclose(out) == 0)
        for (char *rest, *line = strtok_r(text, "\n", &rest); line;
             line = strtok_r(NULL, "\n", &rest))
            hr_json_append(&array, hr_json_text(line + strspn(line, " ")));
    free(text);
    return array;
}

json_t *hr_json_comparison(const struct hr_run_result *runs, size_t n, struct hr_verdict_wish wish)
{
    static const char *const compared_at[] = {"last", "best", "mixed"};
    static const char *const alike[] = {"yes", "as listed", "no"};
    struct hr_verdict v;
    if (hr_verdict_make(&v, runs, n, wish) != HR_OK)
        return NULL;
    json_t *object = json_null();
    if (v.groups.n > 1 || (n && runs[0].event_order))
        object = hr_json_object(
            "test", HR_JSON("paired t over the seeds, two-sided, Holm over all pairs"), "level",
            HR_JSON(HR_VERDICT_LEVEL), "metric", HR_JSON(hr_metric_kind(v.metric)->name), "best",
            v.best < v.groups.n ? hr_json_text(v.groups.group[v.best].label) : json_null(),
            "margin", wish.margin > 0 ? hr_json_number(hr_verdict_margin(&v)) : json_null(),
            "lost_alike", json_boolean(hr_groups_lost_alike(&v.groups)), "compared_at",
            HR_JSON(compared_at[hr_best_compared(&v.groups)]), "strategies", strategies(&v),
            "pairs", pairs(&v), "comparisons", comparisons(&v), "power", power(&v), "sentences",
            sentences(runs, n, wish, true), "conclusion", sentences(runs, n, wish, false),
            "like_for_like", HR_JSON(alike[hr_alikeness_of(&v.groups).kind]), "at",
            hr_json_text_or_null(wish.at ? wish.at : ""), "fair",
            hr_json_text_or_null(v.unlike && wish.fair ? wish.fair : ""), "tuned",
            json_boolean(wish.tuned), NULL);
    hr_verdict_free(&v);
    return object;
}
