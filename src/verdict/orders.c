/* Scores, seed by seed, in the order in which seeds come first. */
#include "verdict/orders.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/human.h"
#include "terminal/style.h"
#include "verdict/sentences.h"

/* The first run of run i's seed. */
static size_t first_of_seed(const struct hr_run_group *group, size_t i)
{
    size_t k = 0;
    while (group->run[k]->seed != group->run[i]->seed)
        k++;
    return k;
}

/* The finite scores of the seed that run `first` opens. */
static size_t list_scores(const struct hr_run_group *group, enum hr_metric metric, size_t first,
                          double *values)
{
    size_t n = 0;
    for (size_t i = first; i < group->n; i++) {
        const double score = hr_metric_of_test(metric, group->run[i]);
        if (group->run[i]->seed == group->run[first]->seed && isfinite(score))
            values[n++] = score;
    }
    return n;
}

static bool all_same(const struct hr_run_group *group)
{
    bool same = true;
    for (size_t i = 0; i < group->n; i++)
        same &= group->run[i]->weights_digest[0] &&
                !strcmp(group->run[i]->weights_digest,
                        group->run[first_of_seed(group, i)]->weights_digest);
    return same;
}

bool hr_run_group_orders(const struct hr_run_group *group, enum hr_metric metric,
                         struct hr_orders *orders)
{
    double *values = calloc(group->n + 1, sizeof *values);
    size_t *count = calloc(group->n + 1, sizeof *count);
    size_t n = 0, seeds = 0;
    for (size_t i = 0; values && count && i < group->n; i++)
        if (first_of_seed(group, i) == i) {
            count[seeds] = list_scores(group, metric, i, values + n);
            n += count[seeds++];
        }
    orders->score = hr_components_of(values, count, seeds);
    orders->same = all_same(group);
    free(values);
    free(count);
    return seeds > 0 && group->n > seeds;
}

/* --- in words */

static bool ran_once(const struct hr_verdict *v, size_t g, size_t than)
{
    const struct hr_run_group *group = &v->groups.group[g];
    (void)than;
    return group->run[0]->event_order && group->n == hr_run_group_seeds(group);
}

static void say_split(FILE *out, const struct hr_verdict *v, const struct hr_components *c)
{
    const double scale = hr_metric_kind(v->metric)->scale;
    fprintf(out, "deviation %.2g%s between seeds, %.2g%s between orders of a seed",
            scale * c->between, scale > 1 ? " points" : "", scale * c->within,
            scale > 1 ? " points" : "");
    if (isfinite(c->share))
        fprintf(out, "; %.0f %% of the variance is of orders", 100 * (1 - c->share));
    fprintf(out, " (%zu runs; that seeds do not matter: p %s%.2g).\n", c->n,
            c->p < 1e-4 ? "< " : "", fmax(c->p, 1e-4));
}

static void say_group(FILE *out, const struct hr_verdict *v, size_t g)
{
    struct hr_orders orders;
    const struct hr_run_group *group = &v->groups.group[g];
    if (!hr_run_group_orders(group, v->metric, &orders))
        return;
    fprintf(out, "  %s: ", group->label);
    if (orders.same)
        fputs("all orders of a seed end with the same weights.\n", out);
    else if (isfinite(orders.score.within))
        say_split(out, v, &orders.score);
    else
        fputs("too few runs to split their spread.\n", out);
}

void hr_say_orders(FILE *out, const struct hr_verdict *v)
{
    bool some = false;
    for (size_t g = 0; g < v->groups.n; g++)
        some |= v->groups.group[g].n > hr_run_group_seeds(&v->groups.group[g]);
    if (!some)
        return;
    fprintf(out, "%sOrders of events:%s what seeds and orders add to the spread.\n",
            hr_style(out, HR_BOLD), hr_style(out, HR_PLAIN));
    for (size_t g = 0; g < v->groups.n; g++)
        say_group(out, v, g);
    hr_say_names(out, v, "Run once a seed, as no order changes their bits: ", ran_once, 0);
}
