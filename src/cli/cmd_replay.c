/* hogring replay - a recorded run once more, to the same bits. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "hogring/replay.h"
#include "base/signals.h"
#include "cli/commands.h"
#include "options/metric.h"
#include "report/human.h"
#include "report/report.h"
#include "terminal/grid.h"
#include "terminal/output.h"
#include "watch/watch.h"

/* --- --what-if ---
 * Three runs of one trace: as it was, to the same bits (the null counterfactual); as the model of
 * virtual time has it; and as the model has it with something else. What the change does is the
 * difference between the last two, whose errors are the same. */

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
        hr_watch_begin(&watch, &cli->train, replay->data, NULL, HR_VERBOSITY_NONE);
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

/* Replay, model and counterfactual, as a table and a sentence, and JSON where it was asked for. */
static enum hr_status cli_what_if(struct hr_cli *cli, const struct hr_replay *replay,
                                  const struct hr_dataset *dataset)
{
    struct hr_run_result runs[RUNS];
    memset(runs, 0, sizeof runs);
    const enum hr_status status = run_all(cli, replay, dataset, runs);
    for (size_t i = 0; i < RUNS; i++)
        hr_run_result_free(&runs[i]);
    return status;
}

/* What the command line says instead of the trace. */
static void override(const struct hr_cli *cli, struct hr_replay *replay)
{
    struct hr_train_options *o = &replay->options;
    memcpy(o->checkpoint_dir, cli->train.checkpoint_dir, sizeof o->checkpoint_dir);
    o->keep = cli->train.keep;
    memcpy(o->keep_best, cli->train.keep_best, sizeof o->keep_best);
    o->overwrite = cli->train.overwrite;
    if (hr_cli_was_given(cli, "init-weights"))
        memcpy(o->init_weights, cli->train.init_weights, sizeof o->init_weights);
    if (hr_cli_was_given(cli, "replace-head"))
        o->replace_head = cli->train.replace_head;
    if (hr_cli_was_given(cli, "resume"))
        memcpy(o->resume, cli->train.resume, sizeof o->resume);
    if (hr_cli_was_given(cli, "max-steps"))
        o->max_steps = cli->train.max_steps;
    if (hr_cli_was_given(cli, "data"))
        memcpy(replay->data, cli->data, sizeof replay->data);
    if (hr_cli_was_given(cli, "test-data"))
        memcpy(replay->data_options.test_data, cli->data_options.test_data,
               sizeof replay->data_options.test_data);
    if (hr_cli_was_given(cli, "validation-data"))
        memcpy(replay->data_options.validation_data, cli->data_options.validation_data,
               sizeof replay->data_options.validation_data);
}

static enum hr_status verdict(FILE *out, const struct hr_run_result *result)
{
    const bool known = result->recorded_digest[0];
    const bool equal = known && !strcmp(result->weights_digest, result->recorded_digest);
    const uint64_t updates = result->past_updates + result->updates;
    fprintf(out, "\nweights digest  %s (%llu update%s)\n", result->weights_digest,
            (unsigned long long)updates, updates == 1 ? "" : "s");
    if (result->checkpoint[0])
        fprintf(out, "checkpoint      %s\n", result->checkpoint);
    if (equal)
        fprintf(out, "replayed        weights_digest equals the recorded one (%llu entries)\n",
                (unsigned long long)result->trace_entries);
    else if (!known)
        fprintf(out, "replayed        in part: there is no digest to compare with\n");
    if (equal || !known)
        return HR_OK;
    return hr_fail(HR_E_EXPECTATION,
                   "%s: replayed weights_digest %s, but the recorded one is %s: not the same bits",
                   result->trace, result->weights_digest, result->recorded_digest);
}

static enum hr_status report(struct hr_cli *cli, const struct hr_dataset *dataset,
                             const struct hr_run_result *result)
{
    const struct hr_table_style style = {.width = hr_output_width(), .details = cli->details};
    if (!result->interrupted || result->ncurve)
        hr_table_print(hr_outcome_stream(cli), result, 1, &style);
    const enum hr_status status = verdict(hr_outcome_stream(cli), result);
    HR_TRY(hr_outcome_write(cli, dataset, &(struct hr_endings){.runs = result, .n = 1}));
    hr_outcome_say(cli, hr_outcome_stream(cli));
    HR_TRY(status);
    if (result->interrupted)
        return hr_fail(HR_E_INTERRUPTED, "interrupted at step %llu",
                       (unsigned long long)result->steps);
    return hr_outcome_expect(cli, result, 1);
}

/* A question makes runs that never were: nothing of them is kept, or expected. */
static enum hr_status check_options(const struct hr_cli *cli)
{
    if (cli->timeline[0] || cli->timeline_steps[0])
        return hr_fail(HR_E_USAGE,
                       "--timeline: is not supported in a replay: one process repeats what "
                       "all ranks did, and keeps nobody's time");
    static const char *const of_replays[] = {"checkpoint-dir", "keep", "max-steps",
                                             "expect",         "log",  "tensorboard"};
    for (size_t i = 0; cli->what_if[0] && i < sizeof of_replays / sizeof *of_replays; i++)
        if (hr_cli_was_given(cli, of_replays[i]))
            return hr_fail(HR_E_USAGE, "--%s: is not supported with --what-if", of_replays[i]);
    if (hr_cli_was_given(cli, "keep") && !cli->train.checkpoint_dir[0])
        return hr_fail(HR_E_USAGE, "--keep: where? give --checkpoint-dir too");
    return HR_OK;
}

static enum hr_status replay_it(struct hr_cli *cli, struct hr_replay *replay,
                                struct hr_dataset *dataset, struct hr_run_result *result)
{
    struct hr_watch watch;
    char name[HR_RUN_NAME];
    override(cli, replay);
    cli->train = replay->options; /* for JSON, plot and progress */
    HR_TRY(hr_dataset_open_with(replay->data, &replay->data_options, dataset));
    HR_TRY(hr_outcome_check_task(cli, dataset));
    if (cli->what_if[0])
        return cli_what_if(cli, replay, dataset);
    const struct hr_metrics_request request =
        hr_watch_request(cli, &cli->train, dataset, hr_watch_name(&cli->train, 0, name));
    HR_TRY(hr_metrics_check(&request));
    struct hr_observer observer =
        hr_watch_begin(&watch, &cli->train, replay->data, NULL, hr_watch_verbosity(cli));
    watch.outputs = cli;
    hr_watch_write(&watch, &request, &observer);
    const enum hr_status status = hr_replay_run(replay, dataset, &observer, result);
    hr_watch_end(&watch, NULL);
    if (status != HR_OK)
        return hr_watch_close(&watch, NULL, hr_outcome_failed(cli, dataset, watch.started, status));
    return hr_watch_close(&watch, result, report(cli, dataset, result));
}

static enum hr_status open_and_replay(struct hr_cli *cli)
{
    struct hr_replay *replay;
    struct hr_dataset dataset = {0};
    struct hr_run_result result = {0};
    if (cli->npositional > 1)
        return hr_fail(HR_E_USAGE, "replay: expected one trace at a time, found %zu",
                       cli->npositional);
    if (cli->npositional != 1)
        return hr_fail(HR_E_USAGE, "replay: which trace? (hogring replay FILE, as written by "
                                   "hogring train --record FILE)");
    HR_TRY(check_options(cli));
    HR_TRY(hr_replay_open(cli->positional[0], &replay));
    const enum hr_status status = replay_it(cli, replay, &dataset, &result);
    hr_run_result_free(&result);
    hr_dataset_close(&dataset);
    hr_replay_close(replay);
    return status;
}

static int run(struct hr_cli *cli)
{
    const enum hr_status status = open_and_replay(cli);
    return status == HR_OK ? 0 : hr_cli_failed(status);
}

const struct hr_command hr_command_replay = {
    .name = "replay",
    .summary = "repeat a recorded run bit for bit",
    .bit = HR_REPLAY,
    .usage = "TRACE [OPTIONS]",
    .story =
        "TRACE was written by train --record. It has the run's options and the order of all\n"
        "updates. One process repeats the run in that order, on all cores, and gets the same\n"
        "weights, for threads or processes and any number of workers. Exit code 1: the weights\n"
        "differ. --what-if repeats the run in virtual time with one thing changed; gradients\n"
        "take as long as they took. Refused are other data, and a machine whose BLAS or vector\n"
        "kernels give other bits, unless the run was recorded with --kernels reference.\n",
    .examples = "  hogring train --strategy ps-async --workers 4 --record run.trace\n"
                "  hogring replay run.trace\n"
                "  hogring replay run.trace --checkpoint-dir runs/again --plot again.svg\n"
                "  hogring replay run.trace --what-if straggler=none\n"
                "  hogring replay run.trace --what-if staleness=2+link=10Gbps\n"
                "  hogring replay run.trace --what-if kill=none\n",
    .run = run,
};
