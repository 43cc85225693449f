/* What is said of runs beside their scores: speed, losses, divergence. Nothing of it is tested. */
#include <math.h>
#include <stdio.h>

#include "report/human.h"
#include "report/lost_ranks.h"
#include "terminal/style.h"
#include "verdict/sentences.h"

static struct hr_spread rates(const struct hr_groups *groups, size_t g)
{
    return hr_run_group_spread(&groups->group[g], hr_measure_rate);
}

/* How many are faster, or as fast and before it. */
static size_t place_of(const struct hr_groups *groups, size_t g)
{
    const double mine = rates(groups, g).mean;
    size_t place = 0;
    for (size_t i = 0; i < groups->n; i++) {
        const double its = rates(groups, i).mean;
        place += its > mine || (i < g && !(its < mine));
    }
    return place;
}

/* "hogwild 268k (251k to 285k)" */
static void say_rate(FILE *out, const struct hr_groups *groups, size_t g)
{
    char mean[HR_HUMAN_MAX], low[HR_HUMAN_MAX], high[HR_HUMAN_MAX];
    const struct hr_spread s = rates(groups, g);
    fprintf(out, "%s %s", groups->group[g].label, hr_human_short(mean, s.mean));
    if (s.n < 2 || !(s.sd > 0))
        return;
    const struct hr_interval interval = hr_mean_interval(&s, 0.95);
    fprintf(out, " (%s to %s)", hr_human_short(low, fmax(0, interval.low)),
            hr_human_short(high, interval.high));
}

/* One ranking, the fastest first: with several seeds intervals say what it is worth. */
void hr_say_speed(FILE *out, const struct hr_groups *groups, bool details)
{
    const size_t most = 5, last = groups->n - 1;
    const size_t first = details || groups->n <= most ? groups->n : 2; /* and the last */
    bool intervals = false;
    fprintf(out, "%sSpeed:%s ", hr_style(out, HR_BOLD), hr_style(out, HR_PLAIN));
    for (size_t place = 0; place < groups->n; place++)
        for (size_t g = 0; g < groups->n; g++) {
            if (place_of(groups, g) != place || (place >= first && place != last))
                continue;
            fputs(place == 0 ? "" : place == last && last > first ? ", ..., " : ", ", out);
            say_rate(out, groups, g);
            intervals |= rates(groups, g).n > 1 && rates(groups, g).sd > 0;
        }
    fprintf(out, " samples/s%s.\n",
            intervals           ? ", 95 % intervals"
            : groups->most == 1 ? ", one run each"
                                : "");
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
        fputs(".\n", out);
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
        fputs(hr_groups_lost_alike(groups) ? "; as many in each run.\n"
                                           : "; not like for like: some runs lost more.\n",
              out);
}
