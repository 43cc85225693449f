/* What a target took, in words: seconds and samples, each tested over all pairs. */
#include <math.h>
#include <stdio.h>

#include "report/human.h"
#include "terminal/style.h"
#include "verdict/sentences.h"

static const char *const units[] = {[HR_COST_SECONDS] = "seconds", [HR_COST_SAMPLES] = "samples"};

static size_t reached(const struct hr_run_group *group)
{
    return hr_run_group_target(group).n;
}

/* Mean over the runs, all of which reached it; NaN: not all did. */
static double mean_cost(const struct hr_run_group *group, enum hr_cost cost)
{
    double sum = 0;
    for (size_t i = 0; i < group->n; i++) {
        const double one = hr_run_target_cost(group->run[i], cost);
        sum += one < 0 ? (double)NAN : one;
    }
    return sum / (double)group->n;
}

/* The least mean of those that reached it with every run; groups: none did. */
static size_t first_of(const struct hr_groups *groups, enum hr_cost cost)
{
    size_t first = groups->n;
    for (size_t g = 0; g < groups->n; g++) {
        const double mean = mean_cost(&groups->group[g], cost);
        if (isfinite(mean) && (first == groups->n || mean < mean_cost(&groups->group[first], cost)))
            first = g;
    }
    return first;
}

static bool costs_more(const struct hr_verdict *v, const struct hr_family *family, size_t g,
                       size_t than)
{
    (void)v;
    return hr_family_higher(family, g, than);
}

/* Means of virtual time may be exactly equal. */
static bool as_soon(const struct hr_verdict *v, size_t g, size_t than)
{
    const double mean = mean_cost(&v->groups.group[g], HR_COST_SECONDS);
    const double least = mean_cost(&v->groups.group[than], HR_COST_SECONDS);
    return fabs(mean - least) <= 1e-12 * least;
}

static bool later(const struct hr_verdict *v, size_t g, size_t than)
{
    return costs_more(v, &v->cost_tests[HR_COST_SECONDS], g, than);
}

static bool more(const struct hr_verdict *v, size_t g, size_t than)
{
    return costs_more(v, &v->cost_tests[HR_COST_SAMPLES], g, than);
}

/* Equal weights took equally many samples: said once. */
static bool more_once(const struct hr_verdict *v, size_t g, size_t than)
{
    return v->twin[g] == g && more(v, g, than);
}

static size_t count_told(const struct hr_family *family)
{
    size_t n = 0;
    for (size_t a = 0; a < family->groups; a++)
        for (size_t b = 0; b < family->groups; b++)
            n += hr_family_higher(family, a, b);
    return n;
}

static void say_told(FILE *out, const struct hr_verdict *v, enum hr_cost cost, size_t first)
{
    char head[500], at[HR_VERDICT_AT];
    const struct hr_family *family = &v->cost_tests[cost];
    struct hr_pair_list list = {.head = head, .family = family};
    const bool seconds = cost == HR_COST_SECONDS;
    if (family->tests == 0)
        return;
    if (count_told(family) == 0) {
        fprintf(out, "  No significant difference in %s%s.\n", units[cost], hr_verdict_at(v, at));
        return;
    }
    for (list.than = 0; list.than < v->groups.n; list.than++) {
        snprintf(head, sizeof head, "Significantly more %s than %s%s:", units[cost],
                 v->groups.group[list.than].label, hr_verdict_at(v, at));
        list.choose = seconds ? later : list.than == first ? more : more_once;
        if (seconds || list.than == first || v->twin[list.than] == list.than)
            hr_say_pairs(out, v, &list);
    }
}

/* Tests in which some times are not known cannot claim anything of a few seeds. */
static void say_censored(FILE *out, const struct hr_verdict *v)
{
    const struct hr_family *family = &v->cost_tests[HR_COST_SECONDS];
    bool exact = false, all = true;
    for (size_t i = 0; i < family->groups * family->groups; i++)
        if (family->pair[i].state == HR_PAIR_TESTED) {
            exact |= family->pair[i].exact;
            all &= family->pair[i].exact;
        }
    if (family->tests == 0)
        return;
    if (!all)
        fprintf(out, "  (Paired t test of the logarithms, level %g %%, Holm's correction.)\n",
                100 * HR_VERDICT_LEVEL);
    if (exact)
        fprintf(out,
                "  (Where a run did not reach it, or had at its first evaluation, times are cut to "
                "what both could show, and signs are tested: that takes %zu seeds or more%s.)\n",
                hr_signs_needed(HR_VERDICT_LEVEL / (double)family->tests),
                family->tests > 1 ? " for a first claim over all pairs" : "");
}

static bool not_always(const struct hr_verdict *v, size_t g, size_t than)
{
    (void)than;
    return reached(&v->groups.group[g]) < v->groups.group[g].n;
}

void hr_say_target(FILE *out, const struct hr_verdict *v, bool details)
{
    char text[HR_HUMAN_MAX], names[HR_NAMES_MAX] = "", at[HR_VERDICT_AT];
    const struct hr_groups *groups = &v->groups;
    const size_t first = first_of(groups, HR_COST_SECONDS);
    if (!(v->wish.target > 0))
        return;
    const size_t firsts = first < groups->n ? hr_names_of(v, as_soon, first, names) : 0;
    const struct hr_metric_text asked =
        hr_target_text(hr_metric_of_run(groups->group[0].run[0]), v->wish.target);
    fprintf(out, "%sTarget:%s ", hr_style(out, HR_BOLD), hr_style(out, HR_PLAIN));
    if (first == groups->n)
        fprintf(out, "no strategy reached %s with every seed%s.\n", asked.text,
                hr_verdict_at(v, at));
    else
        fprintf(out, "%s reached %s first, %safter %s s on average%s.\n", names, asked.text,
                firsts > 1 ? "together, " : "",
                hr_human_seconds(text, mean_cost(&groups->group[first], HR_COST_SECONDS)),
                hr_verdict_at(v, at));
    if (!details) {
        if (first < groups->n)
            hr_say_names(out, v, "Significantly later: ", later, first);
        hr_say_names(out, v, "Not with every run: ", not_always, first);
        return;
    }
    for (size_t g = 0; g < groups->n; g++)
        if (reached(&groups->group[g]) < groups->group[g].n)
            fprintf(out, "  %s: %zu of %zu %s reached it.\n", groups->group[g].label,
                    reached(&groups->group[g]), groups->group[g].n,
                    hr_run_group_unit(&groups->group[g]));
    say_told(out, v, HR_COST_SECONDS, first);
    say_told(out, v, HR_COST_SAMPLES, first_of(groups, HR_COST_SAMPLES));
    say_censored(out, v);
}
