/* hogring forecast - how fast runs will be that nobody has timed, and what larger batches cost. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/signals.h"
#include "cli/commands.h"
#include "forecast/forecast.h"
#include "json/documents.h"
#include "json/value.h"
#include "options/choices.h"
#include "options/meaning.h"
#include "options/sweep.h"
#include "terminal/output.h"
#include "watch/watch.h"

enum { MOST_ROWS = 256 };
static const double timing_s = 1.9, noise_s = 1.5;

/* What may differ from row to row: all else was not timed. */
static const char *const varies[] = {"workers", "servers", "staleness", "sync-every", NULL};

static bool may_vary(const char *name)
{
    for (const char *const *known = varies; *known; known++)
        if (!strcmp(name, *known))
            return true;
    return false;
}

static enum hr_status check_lists(const struct hr_cli *cli)
{
    for (size_t a = 0; a < cli->naxes; a++) {
        const char *name = hr_cli_option_at(cli->axes[a].option).row->name;
        if (!may_vary(name))
            return hr_fail(HR_E_USAGE,
                           "--%s %s: a forecast is of one; lists are taken by "
                           "--strategies, --workers, --servers, --staleness and "
                           "--sync-every",
                           name, cli->axes[a].values);
    }
    return HR_OK;
}

/* What stands behind a strategy's colon belongs to it, and varies as it does. */
static bool is_of_strategy(const struct hr_option *row)
{
    return row->parameter && !row->part && !strcmp(row->with[0].option, "strategy");
}

/* An entry's own settings. */
static enum hr_status check_settings(const struct hr_cli *own)
{
    const struct hr_option *row;
    for (size_t i = 0; (row = hr_cli_option_at(i).row) != NULL; i++)
        if (own->given[i] && !may_vary(row->name) && !is_of_strategy(row))
            return hr_fail(HR_E_USAGE,
                           "--strategies: %s: %s is one for all that are forecast; expected "
                           "outside of the list",
                           own->train.strategy, hr_option_name(row).text);
    return HR_OK;
}

/* --- which rows --- */

static enum hr_status add_row(const struct hr_cli *cli, const struct hr_cli *own,
                              struct hr_forecast *forecast)
{
    if (forecast->n == MOST_ROWS)
        return hr_fail(HR_E_USAGE, "more than %d rows: expected shorter lists", MOST_ROWS);
    struct hr_train_options *options = &forecast->rows[forecast->n++].options;
    *options = own->train;
    options->seed = cli->train.seed;
    HR_TRY(hr_train_complete(options));
    HR_TRY(hr_meaning_check(own, options));
    return hr_forecast_check(options);
}

static enum hr_status add_entry(const struct hr_cli *cli, char *entry, struct hr_forecast *forecast)
{
    static struct hr_cli read, own;
    char swept[64];
    HR_TRY(hr_entry_parse(cli, entry, &read));
    HR_TRY(check_settings(&read));
    for (size_t k = 0; k < hr_sweep_points(cli); k++) {
        bool wanted;
        own = read;
        HR_TRY(hr_sweep_point(cli, HR_FORECAST, k, &own, &wanted, swept, sizeof swept));
        if (wanted)
            HR_TRY(add_row(cli, &own, forecast));
    }
    return HR_OK;
}

static enum hr_status plan_rows(const struct hr_cli *cli, struct hr_forecast *forecast)
{
    char list[sizeof cli->strategies];
    char *rest = list, *entry;
    memcpy(list, cli->strategies, sizeof list);
    HR_TRY(check_lists(cli));
    while (rest) {
        HR_TRY(hr_entry_cut(&rest, ',', &entry));
        HR_TRY(add_entry(cli, entry, forecast));
    }
    return hr_meaning_check_some(cli, &forecast->rows->options, forecast->n,
                                 sizeof *forecast->rows);
}

/* --- results --- */

static enum hr_status show(const struct hr_cli *cli, const struct hr_dataset *dataset,
                           const struct hr_forecast *forecast)
{
    FILE *out = hr_outcome_stream(cli);
    hr_output_hold();
    hr_forecast_print(out, forecast);
    fputc('\n', out);
    hr_forecast_say(out, forecast);
    if (!cli->json[0])
        return HR_OK;
    json_t *lists = hr_sweep_json(cli, HR_FORECAST);
    json_t *config = hr_json_config(&forecast->rows[0].options, dataset, lists);
    json_decref(lists);
    return hr_json_write(
        cli->json, hr_json_object("config", config, "forecast", hr_forecast_json(forecast), NULL));
}

/* Meanwhile a line says what takes time. */
static enum hr_status make(const struct hr_cli *cli, const struct hr_dataset *dataset,
                           struct hr_forecast *forecast)
{
    const bool simulates = hr_choices_of(&forecast->rows[0].options).clock == HR_CLOCK_VIRTUAL;
    struct hr_progress_view view;
    hr_progress_view_init(&view, hr_output_terminal(), &(struct hr_progress_subject){.label = ""},
                          hr_watch_verbosity(cli));
    hr_progress_view_report(&view, simulates ? "simulating" : "timing short runs, 2 s", NAN);
    const enum hr_status status =
        hr_forecast_make(&(struct hr_forecast_ask){.dataset = dataset,
                                                   .seconds = timing_s,
                                                   .noise_seconds = noise_s,
                                                   .stop = hr_signals_seen},
                         forecast);
    hr_progress_view_end(&view);
    return status;
}

static enum hr_status forecast_all(struct hr_cli *cli, struct hr_dataset *dataset,
                                   struct hr_forecast *forecast)
{
    HR_TRY(plan_rows(cli, forecast));
    HR_TRY(hr_dataset_open_with(cli->data, &cli->data_options, dataset));
    for (size_t i = 0; i < forecast->n; i++)
        HR_TRY(hr_train_check(&forecast->rows[i].options, dataset));
    HR_TRY(make(cli, dataset, forecast));
    return show(cli, dataset, forecast);
}

static int run(struct hr_cli *cli)
{
    struct hr_dataset dataset = {0};
    struct hr_forecast forecast = {.rows = calloc(MOST_ROWS, sizeof *forecast.rows)};
    const enum hr_status status = forecast.rows ? forecast_all(cli, &dataset, &forecast)
                                                : hr_fail(HR_E_NOMEM, "no memory to forecast in");
    free(forecast.rows);
    hr_dataset_close(&dataset);
    return status == HR_OK ? 0 : hr_cli_failed(status);
}

const struct hr_command hr_command_forecast = {
    .name = "forecast",
    .summary = "predict the speed of runs; do more workers help?",
    .bit = HR_FORECAST,
    .usage = "[OPTIONS]",
    .story =
        "Short runs, 2 s in all, time a gradient, an update, an exchange, a server and a second\n"
        "busy processor. From these a model of each strategy predicts samples/s, with a range,\n"
        "and memory for other numbers of workers and servers. The gradient noise scale says how\n"
        "many more samples larger batches need. hogring help forecast explains it, and says how\n"
        "far it was off.\n",
    .examples = "  hogring forecast\n"
                "  hogring forecast --model cnn --workers 1,2,4,8 --servers 1,2\n"
                "  hogring forecast --strategies allreduce,ssp --workers 2,4 --json -\n"
                "  hogring forecast --clock virtual --compute-time 10ms \\\n"
                "    --link 1GB/s,50us --workers 8,64,256\n",
    .run = run,
};
