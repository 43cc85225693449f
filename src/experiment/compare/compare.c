/* What could only fail after hours is refused before the first run; then they run. */
#include "compare/compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hogring/checkpoint.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/signals.h"
#include "checkpoint/claim.h"
#include "options/sweep.h"
#include "train/needs.h"
#include "watch/watch.h"

/* --- what is said of the runs of a comparison while they go on, and how they ended --- */

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

/* They begin: what is said of them, and of run i. */
static void compare_runs_begin(struct hr_compare_runs *runs, bool concurrent)
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

/* --- one run after another: each has the machine to itself, so that timings are fair --- */

/* One after another. */
static enum hr_status compare_in_turn(const struct hr_cli *cli, const struct hr_dataset *dataset,
                                      struct hr_compare_runs *runs)
{
    struct hr_timeline_watch lines = {.cli = cli};
    for (size_t i = 0; i < runs->n && !hr_signals_seen(NULL); i++) {
        if (runs->spared[i])
            continue;
        struct hr_watch watch;
        const struct hr_train_options *options = &runs->options[i];
        const struct hr_progress_subject subject = hr_compare_runs_subject(runs, i);
        const struct hr_metrics_wish wish = hr_watch_wish(cli, options, dataset, runs->name[i]);
        struct hr_observer observer =
            hr_watch_begin(&watch, options, cli->data, &subject, hr_watch_telling(cli));
        const int64_t began = hr_clock_ns();
        watch.first = i < runs->per_seed;
        watch.share = &runs->share;
        hr_watch_timeline(&watch, &lines, &observer);
        hr_watch_write(&watch, &wish, &observer);
        const enum hr_status status = hr_train(options, dataset, &observer, &runs->results[i]);
        runs->remaining.seconds[i] = status == HR_OK ? hr_seconds(hr_clock_ns() - began) : 0;
        hr_watch_end(&watch, status == HR_OK ? &runs->results[i] : NULL);
        hr_compare_runs_note(runs, i, status, hr_error_message());
        runs->unwritten |=
            hr_watch_close(&watch, status == HR_OK ? &runs->results[i] : NULL, status) != status;
    }
    return hr_timeline_end(&lines, HR_OK);
}

/* Runs side by side take what they take at the same time. */
static enum hr_status check_together(const struct hr_compare_runs *runs,
                                     const struct hr_dataset *dataset)
{
    struct hr_needs all = {0};
    for (size_t i = 0; i < runs->per_seed; i++) {
        struct hr_needs one = {0};
        HR_TRY(hr_train_needs(&runs->options[i], dataset, &one));
        hr_needs_join(&all, &one);
    }
    return hr_needs_check(&all, "--concurrent: the runs of a seed together need",
                          "without --concurrent they would fit");
}

enum hr_status hr_compare_admit(const void *arg, struct hr_shape shape)
{
    const struct hr_compare_runs *runs = arg;
    for (size_t i = 0; i < runs->per_seed; i++)
        HR_TRY(hr_train_admit(&(struct hr_train_plan){&runs->options[i], NULL}, shape));
    return HR_OK;
}

/* What could only fail after the runs before it. */
static enum hr_status check_folder(const struct hr_train_options *options)
{
    const struct hr_claimant claimant = {options->checkpoint_dir, NULL, options->overwrite};
    if (!options->checkpoint_dir[0])
        return HR_OK;
    if (!options->resume[0])
        HR_TRY(hr_claim_check(&claimant));
    return hr_checkpoint_prepare(options->checkpoint_dir, 0);
}

static enum hr_status check_outputs(const struct hr_cli *cli, const struct hr_compare_runs *runs)
{
    for (size_t i = 0; i < runs->n; i++) {
        const struct hr_metrics_wish wish =
            hr_watch_wish(cli, &runs->options[i], NULL, runs->name[i]);
        HR_TRY(check_folder(&runs->options[i]));
        HR_TRY(hr_metrics_check(&wish));
    }
    return HR_OK;
}

enum hr_status hr_compare_check(const struct hr_cli *cli, const struct hr_compare_runs *runs,
                                const struct hr_dataset *dataset)
{
    for (size_t i = 0; i < runs->n; i++)
        HR_TRY(hr_train_check(&runs->options[i], dataset));
    if (cli->concurrent)
        HR_TRY(check_together(runs, dataset));
    return check_outputs(cli, runs);
}

enum hr_status hr_compare_run(const struct hr_cli *cli, const struct hr_dataset *dataset,
                              struct hr_compare_runs *runs)
{
    compare_runs_begin(runs, cli->concurrent);
    return cli->concurrent ? hr_compare_side_by_side(cli, dataset, runs)
                           : compare_in_turn(cli, dataset, runs);
}
