/* What a comparison over several seeds lets one say, and no more.
 *
 * Accuracy: Welch's t test, two-sided, for each pair of strategies, with Holm's correction over all
 * pairs. Only the pairs with the best are spoken of; but which one is best was found by looking, so
 * correcting for those alone would call differences that are chance more often than the stated
 * level (five equal strategies, five seeds: 7 % instead of 5 %).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/groups.h"
#include "report/human.h"
#include "report/report.h"

static const double level = 0.05;

struct verdict {
    struct hr_groups groups;
    struct hr_spread *accuracy; /* (groups) */
    double *p;                  /* (groups) adjusted, against the best */
    size_t best, least_seeds, most_seeds;
};

/* A run that was interrupted says nothing about where its strategy ends. */
static bool tested(const struct verdict *v, size_t g)
{
    return v->accuracy[g].n > 1 && !v->groups.group[g].interrupted && isfinite(v->accuracy[g].mean);
}

static void measure(struct verdict *v)
{
    v->best = v->groups.n;
    v->least_seeds = v->groups.most;
    v->most_seeds = v->groups.most;
    for (size_t g = 0; g < v->groups.n; g++) {
        v->accuracy[g] = hr_run_group_spread(&v->groups.group[g], hr_measure_accuracy);
        v->p[g] = 1;
        if (!tested(v, g))
            continue;
        if (v->accuracy[g].n < v->least_seeds)
            v->least_seeds = v->accuracy[g].n;
        if (v->best == v->groups.n || v->accuracy[g].mean > v->accuracy[v->best].mean)
            v->best = g;
    }
}

static enum hr_status test_pairs(struct verdict *v)
{
    const size_t n = v->groups.n;
    size_t pairs = 0;
    struct hr_comparison *pair = calloc(n * n + 1, sizeof *pair);
    if (!pair)
        return hr_fail(HR_E_NOMEM, "no memory to compare %zu strategies", n);
    for (size_t a = 0; a < n; a++)
        for (size_t b = a + 1; b < n; b++)
            if (tested(v, a) && tested(v, b))
                pair[pairs++] = (struct hr_comparison){
                    .a = a, .b = b, .p = hr_welch_p(&v->accuracy[a], &v->accuracy[b])};
    hr_holm_adjust(pair, pairs);
    for (size_t i = 0; i < pairs; i++) {
        if (pair[i].a == v->best)
            v->p[pair[i].b] = pair[i].p;
        if (pair[i].b == v->best)
            v->p[pair[i].a] = pair[i].p;
    }
    free(pair);
    return HR_OK;
}

static bool worse(const struct verdict *v, size_t g)
{
    return tested(v, g) && v->p[g] < level;
}

static bool level_with_best(const struct verdict *v, size_t g)
{
    return tested(v, g) && g != v->best && !worse(v, g);
}

static bool untested(const struct verdict *v, size_t g)
{
    return !tested(v, g);
}

typedef bool (*choose_fn)(const struct verdict *v, size_t g);

static size_t count(const struct verdict *v, choose_fn choose)
{
    size_t n = 0;
    for (size_t g = 0; g < v->groups.n; g++)
        n += choose(v, g);
    return n;
}

/* "head a, b, c": the strategies chosen, with the distance to the best where asked for. */
static void print_list(FILE *out, const struct verdict *v, const char *head, choose_fn choose,
                       bool distances)
{
    const char *before = head;
    for (size_t g = 0; g < v->groups.n; g++) {
        if (!choose(v, g))
            continue;
        fprintf(out, "%s%s", before, v->groups.group[g].label);
        if (distances)
            fprintf(out, " (%.2f points, p %s%.2g)",
                    100 * (v->accuracy[g].mean - v->accuracy[v->best].mean),
                    v->p[g] < 1e-4 ? "< " : "", fmax(v->p[g], 1e-4));
        before = ", ";
    }
    if (before != head)
        fputc('.', out);
}

static void print_seeds(FILE *out, const struct verdict *v)
{
    if (v->least_seeds == v->most_seeds)
        fprintf(out, "%zu seeds", v->most_seeds);
    else
        fprintf(out, "%zu to %zu seeds", v->least_seeds, v->most_seeds);
}

static size_t lowest(const struct verdict *v)
{
    size_t low = v->best;
    for (size_t g = 0; g < v->groups.n; g++)
        if (tested(v, g) && v->accuracy[g].mean <= v->accuracy[low].mean)
            low = g;
    return low;
}

static void print_accuracy(FILE *out, const struct verdict *v)
{
    const char *label = v->groups.group[v->best].label;
    const double percent = 100 * v->accuracy[v->best].mean;
    if (count(v, worse) == 0) {
        fputs("Accuracy: no difference can be told from ", out);
        print_seeds(out, v);
        fprintf(out, ".\n  The best mean is %s's, %.2f %%; the lowest %s's, %.2f %%.", label,
                percent, v->groups.group[lowest(v)].label, 100 * v->accuracy[lowest(v)].mean);
    } else {
        fprintf(out, "Accuracy: %s has the best mean, %.2f %% over ", label, percent);
        print_seeds(out, v);
        fputc('.', out);
        print_list(out, v, "\n  Worse by more than chance: ", worse, true);
        print_list(out, v, "\n  Not to be told from the best: ", level_with_best, false);
    }
    print_list(out, v, "\n  Not tested (a single seed, or interrupted): ", untested, false);
    fprintf(out,
            "\n  (Welch's t test, two-sided, level %g %%, Holm's correction over all pairs.)\n",
            100 * level);
}

static void print_speed(FILE *out, const struct hr_groups *groups)
{
    size_t first = 0, last = 0;
    char a[HR_HUMAN_MAX], b[HR_HUMAN_MAX];
    for (size_t g = 0; g < groups->n; g++) {
        const double rate = hr_run_group_spread(&groups->group[g], hr_measure_rate).mean;
        if (rate > hr_run_group_spread(&groups->group[first], hr_measure_rate).mean)
            first = g;
        if (rate < hr_run_group_spread(&groups->group[last], hr_measure_rate).mean)
            last = g;
    }
    const double most = hr_run_group_spread(&groups->group[first], hr_measure_rate).mean;
    const double least = hr_run_group_spread(&groups->group[last], hr_measure_rate).mean;
    fprintf(out, "Speed: %s is fastest, %s samples/s on average", groups->group[first].label,
            hr_human_short(a, most));
    if (least > 0 && first != last)
        fprintf(out, ", %.2f times the slowest, %s (%s)", most / least, groups->group[last].label,
                hr_human_short(b, least));
    fputs(".\n", out);
}

/* Means over some of the seeds only would favour who fails now and then, so those are named apart.
 */
static void print_target(FILE *out, const struct hr_groups *groups, double target)
{
    size_t first = groups->n;
    char text[HR_HUMAN_MAX];
    for (size_t g = 0; g < groups->n; g++) {
        const struct hr_spread s = hr_run_group_target(&groups->group[g]);
        if (s.n == groups->group[g].n &&
            (first == groups->n || s.mean < hr_run_group_target(&groups->group[first]).mean))
            first = g;
    }
    fprintf(out, "Target: ");
    if (first == groups->n)
        fprintf(out, "no strategy reached %.4g %% with every seed.", 100 * target);
    else
        fprintf(out, "%s reached %.4g %% first, after %s s on average.", groups->group[first].label,
                100 * target,
                hr_human_seconds(text, hr_run_group_target(&groups->group[first]).mean));
    for (size_t g = 0; g < groups->n; g++) {
        const size_t reached = hr_run_group_target(&groups->group[g]).n;
        if (reached < groups->group[g].n)
            fprintf(out, "\n  %s: %zu of %zu seeds reached it.", groups->group[g].label, reached,
                    groups->group[g].n);
    }
    fputc('\n', out);
}

static enum hr_status judge(FILE *out, struct verdict *v, double target)
{
    HR_TRY(test_pairs(v));
    fputc('\n', out);
    print_accuracy(out, v);
    print_speed(out, &v->groups);
    if (target > 0)
        print_target(out, &v->groups, target);
    return HR_OK;
}

static enum hr_status compare(FILE *out, struct verdict *v, double target)
{
    if (v->groups.n < 2 || v->groups.most < 2)
        return HR_OK;
    v->accuracy = calloc(v->groups.n, sizeof *v->accuracy);
    v->p = calloc(v->groups.n, sizeof *v->p);
    if (!v->accuracy || !v->p)
        return hr_fail(HR_E_NOMEM, "no memory to compare %zu strategies", v->groups.n);
    measure(v);
    return count(v, tested) > 1 ? judge(out, v, target) : HR_OK;
}

void hr_verdict_print(FILE *out, const struct hr_run_result *runs, size_t n, double target)
{
    struct verdict v = {0};
    enum hr_status status = hr_groups_make(&v.groups, runs, n);
    if (status == HR_OK)
        status = compare(out, &v, target);
    if (status != HR_OK)
        fprintf(out, "(no verdict: %s)\n", hr_error_message());
    free(v.accuracy);
    free(v.p);
    hr_groups_free(&v.groups);
}
