/* Three runs of one trace: as it was, to the same bits (the null counterfactual); as the model of
 * virtual time has it; and as the model has it with something else. What the change does is the
 * difference between the last two, whose errors are the same. */
#include "cli/commands.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "watch/watch.h"
#include "options/metric.h"
#include "report/human.h"
#include "terminal/grid.h"

enum { RECORDED, MODEL, CHANGED, RUNS };

static void write_row(FILE *cells, const char *name, const struct hr_run_result *run)
{
    char seconds[HR_HUMAN_MAX], title[64];
    const double mean =
        run->stale_updates ? (double)run->stale_sum / (double)run->stale_updates : 0;
    snprintf(title, sizeof title, "%.28s", name);
    if (run->nlosses)
        snprintf(title, sizeof title, "%.*s, %zu lost", 18, name, run->nlosses);
    const enum hr_metric metric = hr_metric_of_run(run);
    fprintf(cells, "%s\t%s\t%llu\t%.2f/%llu\t%.4f\t%.*f\n", title,
            hr_human_seconds(seconds, run->seconds), (unsigned long long)run->updates, mean,
            (unsigned long long)run->stale_max, run->test_loss, run->targets ? 4 : 2,
            hr_metric_kind(metric)->scale * hr_metric_of_test(metric, run));
}

/* The model draws its own order of updates: what that alone did to the loss is the measure of what
 * the change did. */
static void print_chance(FILE *out, const struct hr_run_result *runs)
{
    const double order = fabs(runs[MODEL].test_loss - runs[RECORDED].test_loss);
    const double change = fabs(runs[CHANGED].test_loss - runs[MODEL].test_loss);
    if (order > change || !isfinite(change))
        fprintf(out,
                "That loss says little: by another order of updates alone the model ended at %.4f, "
                "and the run at %.4f.\n",
                runs[MODEL].test_loss, runs[RECORDED].test_loss);
}

static void print_all(FILE *out, const char *what, const struct hr_run_result *runs)
{
    const struct hr_run_result *model = &runs[MODEL], *changed = &runs[CHANGED];
    struct hr_grid table;
    hr_grid_begin(&table, model->targets
                              ? "-\tseconds\tupdates\tstale mean/max\ttest loss\trmse"
                              : "-\tseconds\tupdates\tstale mean/max\ttest loss\taccuracy %");
    write_row(table.cells, "recorded, replayed", &runs[RECORDED]);
    write_row(table.cells, "in virtual time", model);
    write_row(table.cells, what, changed);
    hr_grid_end(&table, out, 0);
    fprintf(out,
            "\nWith %s the run would take %.2f times as long, and end at a test loss of %.4f "
            "instead of %.4f.\n",
            what, model->seconds > 0 ? changed->seconds / model->seconds : 1, changed->test_loss,
            model->test_loss);
    print_chance(out, runs);
}

static enum hr_status replay_null(const struct hr_replay *replay, const struct hr_dataset *dataset,
                                  const struct hr_observer *observer, struct hr_run_result *result)
{
    HR_TRY(hr_replay_run(replay, dataset, observer, result));
    if (result->interrupted)
        return hr_fail(HR_E_INTERRUPTED, "interrupted");
    if (strcmp(result->weights_digest, result->recorded_digest) != 0)
        return hr_fail(HR_E_EXPECTATION,
                       "%s: replayed weights_digest %s, but the recorded one is %s: no ground for "
                       "asking what if",
                       result->trace, result->weights_digest, result->recorded_digest);
    result->seconds = replay->seconds;
    return HR_OK;
}

/* The model once without what gradients cost besides, to learn that, and then with it. */
static enum hr_status run_models(struct hr_cli *cli, const struct hr_replay *replay,
                                 const struct hr_dataset *dataset,
                                 const struct hr_observer *observer, struct hr_run_result *runs)
{
    HR_TRY(hr_replay_what_if(replay, "", 0, dataset, observer, &runs[MODEL]));
    const double overhead = hr_replay_overhead(replay, &runs[MODEL]);
    hr_run_result_free(&runs[MODEL]);
    HR_TRY(hr_replay_what_if(replay, "", overhead, dataset, observer, &runs[MODEL]));
    return hr_replay_what_if(replay, cli->what_if, overhead, dataset, observer, &runs[CHANGED]);
}

static enum hr_status run_all(struct hr_cli *cli, const struct hr_replay *replay,
                              const struct hr_dataset *dataset, struct hr_run_result *runs)
{
    struct hr_watch watch;
    const struct hr_observer watching =
        hr_watch_begin(&watch, &cli->train, replay->data, NULL, HR_TELL_NOTHING);
    const struct hr_observer observer = {.arg = watching.arg, .should_stop = watching.should_stop};
    enum hr_status status = replay_null(replay, dataset, &observer, &runs[RECORDED]);
    if (status == HR_OK)
        status = hr_outcome_forget(cli);
    if (status == HR_OK)
        status = run_models(cli, replay, dataset, &observer, runs);
    hr_watch_end(&watch, NULL);
    HR_TRY(status);
    if (runs[MODEL].interrupted || runs[CHANGED].interrupted)
        return hr_fail(HR_E_INTERRUPTED, "interrupted");
    print_all(hr_outcome_stream(cli), cli->what_if, runs);
    return hr_outcome_write(cli, dataset, &(struct hr_endings){.runs = runs, .n = RUNS});
}

enum hr_status hr_cli_what_if(struct hr_cli *cli, const struct hr_replay *replay,
                              const struct hr_dataset *dataset)
{
    struct hr_run_result runs[RUNS];
    memset(runs, 0, sizeof runs);
    const enum hr_status status = run_all(cli, replay, dataset, runs);
    for (size_t i = 0; i < RUNS; i++)
        hr_run_result_free(&runs[i]);
    return status;
}
