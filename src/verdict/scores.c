/* Scores in words: the best mean, who is worse by more than chance, what could have been told. */
#include <math.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/human.h"
#include "terminal/style.h"
#include "verdict/sentences.h"

static bool level_with(const struct hr_verdict *v, size_t g, size_t than)
{
    return hr_verdict_tested(v, g) && g != than && v->twin[g] != v->twin[than] &&
           !hr_verdict_worse_than(v, g, than);
}

/* Identical strategies are no news twice. */
static bool worse_once(const struct hr_verdict *v, size_t g, size_t than)
{
    return v->twin[g] == g && hr_verdict_worse_than(v, g, than);
}

static bool untested(const struct hr_verdict *v, size_t g, size_t than)
{
    (void)than;
    return !hr_verdict_tested(v, g);
}

static bool twin_of(const struct hr_verdict *v, size_t g, size_t than)
{
    return g != than && v->twin[g] == than;
}

/* Pairs of which the first is worse than the second by more than chance. */
static size_t count_told(const struct hr_verdict *v)
{
    size_t n = 0;
    for (size_t g = 0; g < v->groups.n; g++)
        for (size_t than = 0; than < v->groups.n; than++)
            n += hr_verdict_worse_than(v, g, than);
    return n;
}

/* "3 seeds", "2 to 3 seeds" */
static const char *seeds_text(const struct hr_verdict *v, char text[HR_HUMAN_MAX])
{
    if (v->least_seeds == v->most_seeds)
        snprintf(text, HR_HUMAN_MAX, "%zu seeds", v->most_seeds);
    else
        snprintf(text, HR_HUMAN_MAX, "%zu to %zu seeds", v->least_seeds, v->most_seeds);
    return text;
}

static size_t worst(const struct hr_verdict *v)
{
    size_t worst = v->best;
    for (size_t g = 0; g < v->groups.n; g++)
        if (hr_verdict_tested(v, g) && !hr_verdict_below(v, worst, g))
            worst = g;
    return worst;
}

/* "96.51 %", or four digits of a figure that is no share. */
static const char *score_text(const struct hr_verdict *v, size_t g, char text[HR_HUMAN_MAX])
{
    const struct hr_metric_kind *kind = hr_metric_kind(v->metric);
    snprintf(text, HR_HUMAN_MAX, kind->scale > 1 ? "%.2f%s" : "%.4g%s",
             kind->scale * v->score[g].mean, kind->unit);
    return text;
}

/* What was compared, of several targets by the mean over them. */
static const char *score_title(const struct hr_verdict *v)
{
    return v->metric == HR_METRIC_LOSS ? "Test loss" : hr_metric_kind(v->metric)->title;
}

/* "1.94 points", "0.0123": a difference that people read. */
static const char *size_text(const struct hr_verdict *v, double difference, char text[HR_HUMAN_MAX])
{
    const double scale = hr_metric_kind(v->metric)->scale;
    snprintf(text, HR_HUMAN_MAX, scale > 1 ? "%.2g points" : "%.2g", scale * difference);
    return text;
}

/* ", the best 96.51 % (a), the worst 95.10 % (b)" */
static void say_range(FILE *out, const struct hr_verdict *v, const char *best_names)
{
    char best[HR_HUMAN_MAX], least[HR_HUMAN_MAX];
    const size_t last = worst(v);
    score_text(v, v->best, best);
    if (!hr_verdict_below(v, last, v->best))
        fprintf(out, ": their means are equal, %s", best);
    else
        fprintf(out, ": best mean %s (%s), worst %s (%s)", best, best_names,
                score_text(v, last, least), v->groups.group[last].label);
}

/* "; significantly worse: a (-1.20 points), b (-2.50 points)" */
static void say_chosen(FILE *out, const struct hr_verdict *v, const char *head, hr_choose_fn choose)
{
    const struct hr_metric_kind *kind = hr_metric_kind(v->metric);
    const char *before = head;
    for (size_t g = 0; g < v->groups.n; g++)
        if (choose(v, g, v->best)) {
            fprintf(out, kind->scale > 1 ? "%s%s (%+.2f)" : "%s%s (%+.3g)", before,
                    v->groups.group[g].label,
                    kind->scale * hr_family_pair(&v->score_tests, g, v->best)->test.difference);
            before = ", ";
        }
}

/* "differences of 5.2 points", where there are any as large. */
static void say_detected(FILE *out, const struct hr_verdict *v, size_t seeds, double difference,
                         const char *what)
{
    char size[HR_HUMAN_MAX];
    if (v->metric == HR_METRIC_ACCURACY && difference > 1)
        fprintf(out, "%zu seeds are too few to detect any", seeds);
    else
        fprintf(out, "%zu seeds would detect %s%s", seeds, what, size_text(v, difference, size));
}

/* Briefly what could have been found; with details by which measure. */
static void say_power(FILE *out, const struct hr_verdict *v, bool details)
{
    char aim[HR_HUMAN_MAX], spread[HR_HUMAN_MAX];
    const size_t tests = v->score_tests.tests;
    const struct hr_family_power power = hr_family_power(&v->score_tests, hr_verdict_margin(v));
    if (power.pairs == 0)
        return;
    fputs(details ? "  Power: " : "; ", out);
    say_detected(out, v, power.pairs, power.difference, details ? "differences of " : "");
    if (details)
        fprintf(out, " at %g %%%s with 80 %% power (they vary by %s, mean over the pairs)",
                100 * HR_VERDICT_LEVEL, tests > 1 ? " over all pairs" : "",
                size_text(v, power.spread, spread));
    fprintf(out, "%s%s%zu %s%s%s", details ? "; " : ", ", power.more < 10000 ? "" : "more than ",
            power.more, details ? "seeds would detect " : "seeds ", size_text(v, power.aim, aim),
            details ? ".\n" : "");
}

static void say_best(FILE *out, const struct hr_verdict *v, bool details)
{
    char best[HR_HUMAN_MAX], seeds[HR_HUMAN_MAX], names[HR_NAMES_MAX], at[HR_VERDICT_AT];
    const size_t bests = hr_names_of(v, hr_verdict_shares_best, v->best, names);
    const char *points = hr_metric_kind(v->metric)->scale > 1 ? " in points" : "";
    char head[80];
    seeds_text(v, seeds);
    hr_verdict_at(v, at);
    fprintf(out, "%s%s:%s ", hr_style(out, HR_BOLD), score_title(v), hr_style(out, HR_PLAIN));
    if (!count_told(v)) {
        fprintf(out, "no significant difference over %s%s", seeds, at);
        say_range(out, v, names);
        if (!details)
            say_power(out, v, false);
    } else {
        fprintf(out, "%s %s the best mean, %s over %s%s", names, bests > 1 ? "share" : "has",
                score_text(v, v->best, best), seeds, at);
        snprintf(head, sizeof head, "; significantly worse%s: ", points);
        if (!details)
            say_chosen(out, v, head, hr_verdict_worse_than);
        if (!details)
            say_chosen(out, v, "; not significantly different: ", level_with);
    }
    fputs(".\n", out);
}

static void say_method(FILE *out, const struct hr_verdict *v)
{
    const size_t tests = v->score_tests.tests;
    if (tests == 0)
        return;
    fprintf(out,
            "  (Paired t test over the seeds, two-sided, level %g %%%s%s; 95 %% intervals, "
            "uncorrected.)\n",
            100 * HR_VERDICT_LEVEL, tests > 1 ? ", Holm's correction" : "",
            tests > 1 ? " over all pairs" : "");
}

void hr_say_twins(FILE *out, const struct hr_verdict *v)
{
    char head[300];
    for (size_t g = 0; g < v->groups.n; g++) {
        snprintf(head, sizeof head,
                 "Bit for bit the same weights as %s with every seed, so not tested: ",
                 v->groups.group[g].label);
        if (v->twin[g] == g)
            hr_say_names(out, v, head, twin_of, g);
    }
}

/* Every pair, each with its interval. */
static void say_pairs(FILE *out, const struct hr_verdict *v)
{
    char head[500], at[HR_VERDICT_AT];
    const char *points = hr_metric_kind(v->metric)->scale > 1 ? " (points)" : "";
    struct hr_pair_list list = {.than = v->best, .family = &v->score_tests, .head = head};
    list.choose = hr_verdict_worse_than;
    hr_verdict_at(v, at);
    snprintf(head, sizeof head, "Significantly worse%s%s:", points, at);
    hr_say_pairs(out, v, &list);
    list.choose = level_with;
    snprintf(head, sizeof head, "Not significantly different from the best%s%s:", points, at);
    hr_say_pairs(out, v, &list);
    list.choose = worse_once;
    for (list.than = 0; list.than < v->groups.n; list.than++) {
        snprintf(head, sizeof head,
                 "Significantly worse than %s%s%s:", v->groups.group[list.than].label, points, at);
        if (v->twin[list.than] == list.than && list.than != v->twin[v->best])
            hr_say_pairs(out, v, &list);
    }
}

void hr_say_scores(FILE *out, const struct hr_verdict *v, bool details)
{
    say_best(out, v, details);
    if (details) {
        if (v->wish.sure && v->wish.sure[0])
            fprintf(out, "  %s\n", v->wish.sure);
        say_pairs(out, v);
        hr_say_twins(out, v);
    }
    hr_say_names(out, v, "Not tested (a single seed, or interrupted): ", untested, v->best);
    if (details) {
        say_power(out, v, true);
        say_method(out, v);
    }
}

/* --- where nothing can be tested */

/* The score of the only run of its group, or the mean; NaN: it has none. */
static size_t extreme(const struct hr_verdict *v, bool best)
{
    size_t found = v->groups.n;
    for (size_t g = 0; g < v->groups.n; g++)
        if (isfinite(v->score[g].mean) &&
            (found == v->groups.n ||
             (best ? hr_verdict_below(v, found, g) : hr_verdict_below(v, g, found))))
            found = g;
    return found;
}

void hr_say_untested(FILE *out, const struct hr_verdict *v, size_t width)
{
    char first[HR_HUMAN_MAX], last[HR_HUMAN_MAX], at[HR_VERDICT_AT], seconds[HR_HUMAN_MAX];
    const size_t best = extreme(v, true), least = extreme(v, false);
    if (best == v->groups.n)
        return;
    score_text(v, best, first);
    fprintf(out,
            "%s%s:%s one seed cannot tell a difference from chance%s: ", hr_style(out, HR_BOLD),
            score_title(v), hr_style(out, HR_PLAIN), hr_verdict_at(v, at));
    if (hr_verdict_below(v, least, best))
        fprintf(out, "best %s (%s), worst %s (%s).", first, v->groups.group[best].label,
                score_text(v, least, last), v->groups.group[least].label);
    else
        fprintf(out, "all reached %s.", first);
    if (v->wish.more && v->wish.more[0]) {
        fprintf(out, "%sTo test it (about %s):", width ? "\n" : " ",
                hr_human_about(seconds, v->wish.more_s));
        hr_say_command(out, v->wish.more, strlen("To test it (about ):") + strlen(seconds), width);
    }
    fputc('\n', out);
}

/* A single row: how far its own score can be relied on. */
void hr_say_alone(FILE *out, const struct hr_verdict *v)
{
    char score[HR_HUMAN_MAX], rate[HR_HUMAN_MAX];
    const struct hr_run_group *group = &v->groups.group[0];
    const struct hr_run_result *run = group->run[0];
    const double scale = hr_metric_kind(v->metric)->scale;
    struct hr_interval interval = {NAN, NAN};
    if (!isfinite(v->score[0].mean))
        return;
    if (group->n > 1)
        interval = hr_mean_interval(&v->score[0], 0.95);
    else if (v->metric == HR_METRIC_ACCURACY && run->test_samples)
        interval = hr_wilson_interval(run->test_accuracy, (double)run->test_samples);
    fprintf(out, "%s%s:%s %s", hr_style(out, HR_BOLD), score_title(v), hr_style(out, HR_PLAIN),
            score_text(v, 0, score));
    if (group->n > 1)
        fprintf(out, " on average over %zu %s", group->n, hr_run_group_unit(group));
    else if (isfinite(interval.low))
        fprintf(out, " of %zu test samples", run->test_samples);
    if (isfinite(interval.low))
        fprintf(out,
                scale > 1 ? ", 95 %% interval %.1f to %.1f %%" : ", 95 %% interval %.4g to %.4g",
                scale * interval.low, scale * interval.high);
    fprintf(out, "; %s samples/s.\n",
            hr_human_short(rate, hr_run_group_spread(group, hr_measure_rate).mean));
    if (group->n == 1)
        fputs("What another seed or strategy would change, one run cannot tell: hogring compare "
              "--seeds 5.\n",
              out);
}
