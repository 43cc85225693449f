/* What is said of the runs of a comparison while they go on. */
#include <stdio.h>

#include "cli/compare_runs.h"

_Static_assert((int)HR_REMAINING_RUNS >= (int)HR_COMPARE_RUNS_MAX, "each run has its time");

void hr_compare_runs_begin(struct hr_compare_runs *runs, bool concurrent)
{
    const size_t seeds = runs->n / runs->per_seed;
    snprintf(runs->head, sizeof runs->head, "%zu run%s: %zu %s, %zu seed%s, %s", runs->n,
             runs->n == 1 ? "" : "s", runs->per_seed, runs->per_seed == 1 ? "setting" : "settings",
             seeds, seeds == 1 ? "" : "s",
             concurrent ? "those of a seed at once" : "one after another");
    runs->share = (struct hr_banner_share){.head = runs->head};
    runs->remaining = (struct hr_remaining){.n = runs->n, .per_seed = runs->per_seed};
    for (size_t i = 0; i < runs->n; i++)
        runs->remaining.epochs[i] = (double)runs->options[i].epochs;
}

struct hr_progress_subject hr_compare_runs_subject(const struct hr_compare_runs *runs, size_t i)
{
    return (struct hr_progress_subject){.label = runs->entry[i],
                                        .strategy = runs->options[i].strategy,
                                        .seed = runs->options[i].seed,
                                        .epochs = (double)runs->options[i].epochs,
                                        .run = i + 1,
                                        .runs = runs->n,
                                        .seeds = runs->n > runs->per_seed,
                                        .remaining = &runs->remaining};
}
