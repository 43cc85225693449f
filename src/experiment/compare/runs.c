/* What is said of the runs of a comparison while they go on, and how they ended. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "compare/compare.h"
#include "options/entries.h"

_Static_assert((int)HR_REMAINING_RUNS >= (int)HR_COMPARE_RUNS_MAX, "each run has its time");

/* 0: a budget says how long it lasts. */
static double epochs_of(const struct hr_train_options *options)
{
    return options->budget[0] ? 0 : (double)options->epochs;
}

/* Those that are run, of the first `end`. */
static size_t count_runs(const struct hr_compare_runs *runs, size_t end)
{
    size_t n = 0;
    for (size_t i = 0; i < end; i++)
        n += !runs->spared[i];
    return n;
}

/* What they have in common. */
static void share_out(struct hr_compare_runs *runs)
{
    const struct hr_train_options *first = &runs->options[0];
    bool workers = true;
    runs->share = (struct hr_watch_share){.head = runs->head, .one_model = true};
    for (size_t i = 0; i < runs->n; i++) {
        workers &= runs->options[i].workers == first->workers;
        runs->share.one_model &= !strcmp(runs->options[i].model, first->model);
    }
    const size_t used = strlen(runs->head);
    if (workers)
        snprintf(runs->head + used, sizeof runs->head - used, ", %zu worker%s", first->workers,
                 first->workers == 1 ? "" : "s");
}

void hr_compare_runs_begin(struct hr_compare_runs *runs, bool concurrent)
{
    const size_t seeds = runs->n / runs->per_seed / runs->orders;
    char orders[40] = "";
    const size_t n = count_runs(runs, runs->n);
    if (runs->orders > 1)
        snprintf(orders, sizeof orders, " x %zu orders", runs->orders);
    snprintf(runs->head, sizeof runs->head, "%zu run%s (%zu %s, %zu seed%s%s), %s", n,
             n == 1 ? "" : "s", runs->per_seed, runs->per_seed == 1 ? "setting" : "settings", seeds,
             seeds == 1 ? "" : "s", orders,
             concurrent ? "those of a seed at once" : "one at a time");
    share_out(runs);
    runs->remaining = (struct hr_remaining){.n = runs->n, .per_seed = runs->per_seed};
    for (size_t i = 0; i < runs->n; i++) {
        runs->remaining.epochs[i] = epochs_of(&runs->options[i]);
        runs->remaining.spared[i] = runs->spared[i];
    }
}

struct hr_progress_subject hr_compare_runs_subject(const struct hr_compare_runs *runs, size_t i)
{
    return (struct hr_progress_subject){.label = runs->entry[i],
                                        .strategy = runs->options[i].strategy,
                                        .seed = runs->options[i].seed,
                                        .epochs = epochs_of(&runs->options[i]),
                                        .run = count_runs(runs, i) + 1,
                                        .runs = count_runs(runs, runs->n),
                                        .seeds = runs->n > runs->per_seed,
                                        .remaining = &runs->remaining};
}

void hr_compare_runs_note(struct hr_compare_runs *runs, size_t i, enum hr_status status,
                          const char *message)
{
    runs->ran[i] = true;
    runs->status[i] = status;
    snprintf(runs->message[i], sizeof runs->message[i], "%s", status == HR_OK ? "" : message);
}

/* What tells the run from those of other entries. */
static void name_setting(struct hr_compare_runs *runs, size_t i)
{
    const size_t entry = i % runs->per_seed;
    struct hr_run_result *result = &runs->results[i];
    hr_entry_setting(runs->options + i - entry, runs->per_seed, entry, result->setting,
                     sizeof result->setting);
}

enum hr_status hr_compare_sort_out(struct hr_compare_runs *runs, size_t *good)
{
    enum hr_status first = HR_OK;
    *good = 0;
    for (size_t i = 0; i < runs->n; i++) {
        if (!runs->ran[i])
            continue;
        if (runs->status[i] == HR_OK) {
            name_setting(runs, i);
            const struct hr_run_result result = runs->results[i];
            runs->results[i] = runs->results[*good];
            runs->results[(*good)++] = result;
            continue;
        }
        hr_log(HR_LOG_ERROR, "%s, seed %llu: %s", runs->entry[i],
               (unsigned long long)runs->options[i].seed, runs->message[i]);
        runs->failed[runs->nfailed++] =
            (struct hr_failed_run){.label = runs->entry[i],
                                   .strategy = runs->options[i].strategy,
                                   .message = runs->message[i],
                                   .seed = runs->options[i].seed};
        first = first ? first : runs->status[i];
    }
    return first;
}

void hr_compare_free(struct hr_compare_runs *runs)
{
    for (size_t i = 0; runs && i < runs->n; i++)
        hr_run_result_free(&runs->results[i]);
    free(runs);
}
