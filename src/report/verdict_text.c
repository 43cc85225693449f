/* A verdict in sentences. */
#include <math.h>
#include <stdio.h>

#include "report/best.h"
#include "report/human.h"
#include "report/lost_ranks.h"
#include "report/report.h"
#include "report/verdict.h"
#include "terminal/style.h"

typedef bool (*choose_fn)(const struct hr_verdict *v, size_t g, size_t than);

static bool level_with(const struct hr_verdict *v, size_t g, size_t than)
{
    return hr_verdict_tested(v, g) && g != than && !hr_verdict_worse_than(v, g, than);
}

static bool untested(const struct hr_verdict *v, size_t g, size_t than)
{
    (void)than;
    return !hr_verdict_tested(v, g);
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

static size_t count_tested(const struct hr_verdict *v)
{
    size_t n = 0;
    for (size_t g = 0; g < v->groups.n; g++)
        n += hr_verdict_tested(v, g);
    return n;
}

/* "head a, b, c": the chosen strategies, optionally with their distance to another. */
static void print_list(FILE *out, const struct hr_verdict *v, const char *head, choose_fn choose,
                       size_t than, bool distances)
{
    const struct hr_metric_kind *kind = hr_metric_kind(v->metric);
    const char *before = head;
    for (size_t g = 0; g < v->groups.n; g++) {
        if (!choose(v, g, than))
            continue;
        fprintf(out, "%s%s", before, v->groups.group[g].label);
        const double distance = v->score[g].mean - v->score[than].mean;
        if (distances)
            fprintf(out, kind->scale > 1 ? " (%.2f points, p %s%.2g)" : " (%.3g, p %s%.2g)",
                    kind->scale * distance, hr_verdict_p(v, g, than) < 1e-4 ? "< " : "",
                    fmax(hr_verdict_p(v, g, than), 1e-4));
        before = ", ";
    }
    if (before != head)
        fputc('.', out);
}

/* Differences between strategies of which neither is the best. */
static void print_other_pairs(FILE *out, const struct hr_verdict *v)
{
    char head[200];
    for (size_t than = 0; than < v->groups.n; than++) {
        if (than == v->best)
            continue;
        snprintf(head, sizeof head,
                 "\n  Worse than %s by more than chance: ", v->groups.group[than].label);
        print_list(out, v, head, hr_verdict_worse_than, than, true);
    }
}

static void print_seeds(FILE *out, const struct hr_verdict *v)
{
    if (v->least_seeds == v->most_seeds)
        fprintf(out, "%zu seeds", v->most_seeds);
    else
        fprintf(out, "%zu to %zu seeds", v->least_seeds, v->most_seeds);
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

static void print_scores(FILE *out, const struct hr_verdict *v)
{
    char best[HR_HUMAN_MAX], least[HR_HUMAN_MAX];
    const char *label = v->groups.group[v->best].label;
    const char *what = score_title(v);
    const char *bold = hr_style(out, HR_BOLD), *plain = hr_style(out, HR_PLAIN);
    score_text(v, v->best, best);
    if (count_told(v) == 0) {
        fprintf(out, "%s%s:%s no difference can be told from ", bold, what, plain);
        print_seeds(out, v);
        score_text(v, worst(v), least);
        if (v->score[worst(v)].mean == v->score[v->best].mean)
            fprintf(out, ".\n  Their means are equal, %s.", best);
        else
            fprintf(out, ".\n  The best mean is %s's, %s; the %s %s's, %s.", label, best,
                    hr_metric_kind(v->metric)->higher ? "lowest" : "highest",
                    v->groups.group[worst(v)].label, least);
    } else {
        fprintf(out, "%s%s:%s %s has the best mean, %s over ", bold, what, plain, label, best);
        print_seeds(out, v);
        fputc('.', out);
        print_list(out, v, "\n  Worse by more than chance: ", hr_verdict_worse_than, v->best, true);
        print_list(out, v, "\n  Not to be told from the best: ", level_with, v->best, false);
        print_other_pairs(out, v);
    }
    print_list(out, v, "\n  Not tested (a single seed, or interrupted): ", untested, v->best,
               false);
    fprintf(out,
            "\n  (Welch's t test, two-sided, level %g %%, Holm's correction over all pairs.)\n",
            100 * HR_VERDICT_LEVEL);
}

static struct hr_spread rates(const struct hr_groups *groups, size_t g)
{
    return hr_run_group_spread(&groups->group[g], hr_measure_rate);
}

/* Was a seed of g as fast as the slowest of `first`? */
static bool as_fast(const struct hr_groups *groups, size_t g, size_t first)
{
    return g == first || rates(groups, g).most >= rates(groups, first).least;
}

static bool same_rates(const struct hr_groups *groups, size_t a, size_t b)
{
    const struct hr_spread x = rates(groups, a), y = rates(groups, b);
    return x.mean == y.mean && x.least == y.least && x.most == y.most;
}

/* "a (5.2k), b (5.1k)": those that were, or were not, as fast as the first. */
static void print_rates(FILE *out, const struct hr_groups *groups, size_t first, bool fast,
                        const char *before)
{
    char rate[HR_HUMAN_MAX];
    for (size_t g = 0; g < groups->n; g++)
        if (as_fast(groups, g, first) == fast) {
            fprintf(out, "%s%s (%s)", before, groups->group[g].label,
                    hr_human_short(rate, rates(groups, g).mean));
            before = ", ";
        }
}

/* Who is called fastest was so with every seed: runs in real time vary with the machine's load. */
static void print_speed(FILE *out, const struct hr_groups *groups)
{
    size_t first = 0, last = 0, fast = 0, same = 0;
    char a[HR_HUMAN_MAX], b[HR_HUMAN_MAX];
    for (size_t g = 0; g < groups->n; g++) {
        if (rates(groups, g).mean > rates(groups, first).mean)
            first = g;
        if (rates(groups, g).mean < rates(groups, last).mean)
            last = g;
    }
    for (size_t g = 0; g < groups->n; g++) {
        fast += as_fast(groups, g, first);
        same += same_rates(groups, g, first);
    }
    const double most = rates(groups, first).mean, least = rates(groups, last).mean;
    fprintf(out, "%sSpeed:%s ", hr_style(out, HR_BOLD), hr_style(out, HR_PLAIN));
    if (fast == 1) {
        fprintf(out, "%s is fastest, %s samples/s on average", groups->group[first].label,
                hr_human_short(a, most));
        if (least > 0)
            fprintf(out, ", %.2f times the slowest, %s (%s)", most / least,
                    groups->group[last].label, hr_human_short(b, least));
    } else {
        fputs(same == fast ? "equally fast, in samples/s" : "speeds overlap, mean samples/s", out);
        print_rates(out, groups, first, true, ": ");
        print_rates(out, groups, first, false, "; slower: ");
    }
    fputs(".\n", out);
}

/* A mean over some of the seeds would favour strategies that sometimes fail; name those apart. */
static void print_target(FILE *out, const struct hr_groups *groups, double target)
{
    size_t first = groups->n;
    char text[HR_HUMAN_MAX];
    const struct hr_metric_text asked =
        hr_target_text(hr_metric_of_run(groups->group[0].run[0]), target);
    for (size_t g = 0; g < groups->n; g++) {
        const struct hr_spread s = hr_run_group_target(&groups->group[g]);
        if (s.n == groups->group[g].n &&
            (first == groups->n || s.mean < hr_run_group_target(&groups->group[first]).mean))
            first = g;
    }
    fprintf(out, "%sTarget:%s ", hr_style(out, HR_BOLD), hr_style(out, HR_PLAIN));
    if (first == groups->n)
        fprintf(out, "no strategy reached %s with every seed.", asked.text);
    else
        fprintf(out, "%s reached %s first, after %s s on average.", groups->group[first].label,
                asked.text,
                hr_human_seconds(text, hr_run_group_target(&groups->group[first]).mean));
    for (size_t g = 0; g < groups->n; g++) {
        const size_t reached = hr_run_group_target(&groups->group[g]).n;
        if (reached < groups->group[g].n)
            fprintf(out, "\n  %s: %zu of %zu seeds reached it.", groups->group[g].label, reached,
                    groups->group[g].n);
    }
    fputc('\n', out);
}

/* A strategy that learned nothing may be fast. */
static void print_rising(FILE *out, const struct hr_groups *groups)
{
    const char *before = "Diverged: ";
    for (size_t g = 0; g < groups->n; g++) {
        const struct hr_run_group *group = &groups->group[g];
        if (hr_run_group_rose(group) == 0)
            continue;
        fprintf(out, "%s%s (%zu of %zu seeds)", before, group->label, hr_run_group_rose(group),
                group->n);
        before = ", ";
    }
    if (before[0] == ',')
        fputs(": the training loss ended above where it began, or above its first epoch's.\n", out);
}

/* A strategy that lost a worker had less to compute with than one that lost none. */
static void print_lost(FILE *out, const struct hr_groups *groups)
{
    const char *before = "Lost ranks: ";
    for (size_t g = 0; g < groups->n; g++) {
        const struct hr_run_group *group = &groups->group[g];
        if (hr_run_group_lost(group) == 0)
            continue;
        fprintf(out, "%s%s (%zu of %zu seeds)", before, group->label, hr_run_group_lost(group),
                group->n);
        before = ", ";
    }
    if (before[0] == ',')
        fputs(hr_groups_lost_alike(groups)
                  ? "; as many in each run.\n"
                  : ".\n  Not like for like: not every run lost as many.\n",
              out);
}

void hr_verdict_print(FILE *out, const struct hr_run_result *runs, size_t n, double target)
{
    struct hr_verdict v;
    if (hr_verdict_make(&v, runs, n) != HR_OK) {
        fprintf(out, "(no verdict: %s)\n", hr_error_message());
        return;
    }
    if (count_tested(&v) > 1) {
        fputc('\n', out);
        print_scores(out, &v);
        hr_best_epochs_print(out, &v.groups);
        print_speed(out, &v.groups);
        print_lost(out, &v.groups);
        print_rising(out, &v.groups);
        if (target > 0)
            print_target(out, &v.groups, target);
    }
    hr_verdict_free(&v);
}
