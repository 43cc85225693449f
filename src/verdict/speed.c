/* What is said of runs beside their scores: speed, losses, divergence. Nothing of it is tested: who
 * is called fastest was so with every seed. */
#include <stdio.h>

#include "report/human.h"
#include "report/lost_ranks.h"
#include "terminal/style.h"
#include "verdict/sentences.h"

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
void hr_say_speed(FILE *out, const struct hr_groups *groups)
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

/* A strategy that learned nothing may be fast. */
void hr_say_rising(FILE *out, const struct hr_groups *groups)
{
    const char *before = "Diverged: ";
    for (size_t g = 0; g < groups->n; g++) {
        const struct hr_run_group *group = &groups->group[g];
        if (hr_run_group_rose(group) == 0)
            continue;
        fprintf(out, "%s%s (%zu of %zu %s)", before, group->label, hr_run_group_rose(group),
                group->n, hr_run_group_unit(group));
        before = ", ";
    }
    if (before[0] == ',')
        fputs(": the training loss ended above where it began, or above its first epoch's.\n", out);
}

/* A strategy that lost a worker had less to compute with than one that lost none. */
void hr_say_lost(FILE *out, const struct hr_groups *groups)
{
    const char *before = "Lost ranks: ";
    for (size_t g = 0; g < groups->n; g++) {
        const struct hr_run_group *group = &groups->group[g];
        if (hr_run_group_lost(group) == 0)
            continue;
        fprintf(out, "%s%s (%zu of %zu %s)", before, group->label, hr_run_group_lost(group),
                group->n, hr_run_group_unit(group));
        before = ", ";
    }
    if (before[0] == ',')
        fputs(hr_groups_lost_alike(groups)
                  ? "; as many in each run.\n"
                  : ".\n  Not like for like: not every run lost as many.\n",
              out);
}
