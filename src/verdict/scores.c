/* Scores in words: the best mean, who is worse by more than chance, what could have been told. */
#include <math.h>
#include <stdio.h>

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

static void say_best(FILE *out, const struct hr_verdict *v)
{
    char best[HR_HUMAN_MAX], least[HR_HUMAN_MAX], seeds[HR_HUMAN_MAX];
    char names[HR_NAMES_MAX], at[HR_VERDICT_AT];
    const size_t bests = hr_names_of(v, hr_verdict_shares_best, v->best, names);
    const char *bold = hr_style(out, HR_BOLD), *plain = hr_style(out, HR_PLAIN);
    const size_t last = worst(v);
    score_text(v, v->best, best);
    score_text(v, last, least);
    seeds_text(v, seeds);
    hr_verdict_at(v, at);
    fprintf(out, "%s%s:%s ", bold, score_title(v), plain);
    if (count_told(v)) {
        fprintf(out, "%s %s the best mean, %s over %s%s.\n", names, bests > 1 ? "share" : "has",
                best, seeds, at);
        return;
    }
    fprintf(out, "no difference can be told from %s%s.\n", seeds, at);
    if (!hr_verdict_below(v, last, v->best))
        fprintf(out, "  Their means are equal, %s.\n", best);
    else
        fprintf(out, "  The best mean is %s's, %s; the %s %s's, %s.\n", names, best,
                hr_metric_kind(v->metric)->higher ? "lowest" : "highest",
                v->groups.group[last].label, least);
}

static void say_twins(FILE *out, const struct hr_verdict *v)
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

static void say_power(FILE *out, const struct hr_verdict *v)
{
    char now[HR_HUMAN_MAX], aim[HR_HUMAN_MAX], spread[HR_HUMAN_MAX];
    const size_t tests = v->score_tests.tests;
    const struct hr_family_power power = hr_family_power(&v->score_tests, hr_verdict_margin(v));
    if (power.pairs == 0)
        return;
    fprintf(out,
            "  Power: with %zu seeds, differences under %s cannot be told at %g %%%s with 80 %% "
            "power (they vary by %s, mean over the pairs); %s%zu seeds would tell %s.\n",
            power.pairs, size_text(v, power.difference, now), 100 * HR_VERDICT_LEVEL,
            tests > 1 ? " over all pairs" : "", size_text(v, power.spread, spread),
            power.more < 10000 ? "" : "more than ", power.more, size_text(v, power.aim, aim));
}

static void say_method(FILE *out, const struct hr_verdict *v)
{
    const size_t tests = v->score_tests.tests;
    if (tests == 0)
        return;
    fprintf(out,
            "  (Paired t test over the seeds, two-sided, level %g %%%s%s; intervals: 95 %%, each "
            "for itself.)\n",
            100 * HR_VERDICT_LEVEL, tests > 1 ? ", Holm's correction" : "",
            tests > 1 ? " over all pairs" : "");
}

void hr_say_unlike(FILE *out, const struct hr_verdict *v)
{
    fprintf(out, "%s%s:%s nothing is claimed%s, since updates are not like for like.\n",
            hr_style(out, HR_BOLD), score_title(v), hr_style(out, HR_PLAIN),
            v->wish.target > 0 ? ", nor of the target" : "");
    say_twins(out, v);
}

void hr_say_scores(FILE *out, const struct hr_verdict *v)
{
    char head[500], at[HR_VERDICT_AT];
    const char *points = hr_metric_kind(v->metric)->scale > 1 ? " (points)" : "";
    struct hr_pair_list list = {.than = v->best, .family = &v->score_tests, .head = head};
    say_best(out, v);
    if (v->wish.sure && v->wish.sure[0])
        fprintf(out, "  %s\n", v->wish.sure);
    list.choose = hr_verdict_worse_than;
    hr_verdict_at(v, at);
    snprintf(head, sizeof head, "Worse by more than chance%s%s:", points, at);
    hr_say_pairs(out, v, &list);
    list.choose = level_with;
    snprintf(head, sizeof head, "Not to be told from the best%s%s:", points, at);
    hr_say_pairs(out, v, &list);
    list.choose = worse_once;
    for (list.than = 0; list.than < v->groups.n; list.than++) {
        snprintf(head, sizeof head,
                 "Worse than %s by more than chance%s%s:", v->groups.group[list.than].label, points,
                 at);
        if (v->twin[list.than] == list.than && list.than != v->twin[v->best])
            hr_say_pairs(out, v, &list);
    }
    say_twins(out, v);
    hr_say_names(out, v, "Not tested (a single seed, or interrupted): ", untested, v->best);
    say_power(out, v);
    say_method(out, v);
}
