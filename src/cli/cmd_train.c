/* hogring train - one run under one strategy. */
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/signals.h"
#include "cli/commands.h"
#include "cli/multinode.h"
#include "export/onnx.h"
#include "forecast/forecast.h"
#include "json/value.h"
#include "machines/machines.h"
#include "machines/start.h"
#include "options/choices.h"
#include "options/command_line.h"
#include "options/meaning.h"
#include "options/metric.h"
#include "options/pairs.h"
#include "report/human.h"
#include "report/report.h"
#include "session/saved.h"
#include "terminal/output.h"
#include "train/shared_memory.h"
#include "train/multinode.h"
#include "verdict/verdict.h"
#include "watch/watch.h"

/* --- train --forecast: what was said of a run before it began, and how wrong that was --- */

struct hr_forecast_check {
    bool made;
    struct hr_forecast forecast;
    struct hr_forecast_row row; /* the one of `forecast` */
    size_t before;              /* bytes resident when the run began; 0: not known */
    size_t peak;                /* and the most since then, on top of these; 0: not known */
};

static const double timing_s = 1.9;

/* --- memory --- */

/* A line of /proc/self/status, in bytes; 0: there is none. */
static size_t status_bytes(const char *name)
{
    char line[128];
    size_t kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, name, strlen(name)) && sscanf(line + strlen(name), ": %zu", &kib) == 1)
            break;
    if (file)
        fclose(file);
    return kib << 10;
}

/* From here on VmHWM is the most that was resident since now. */
static size_t watch_memory(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    malloc_trim(0); /* what the short runs have given back */
    const bool reset = file && fputs("5", file) >= 0;
    if (file && (fclose(file) != 0 || !reset))
        return 0;
    return reset ? status_bytes("VmRSS") : 0;
}

/* The run is over: how much memory it had. */
static void forecast_check_end(struct hr_forecast_check *check,
                               const struct hr_train_options *options)
{
    const size_t most = status_bytes("VmHWM");
    const struct hr_choices choice = hr_choices_of(options);
    const bool here = choice.launch != HR_LAUNCH_AS_PROCESSES || choice.clock != HR_CLOCK_REAL;
    if (check->made && check->before && here && most > check->before)
        check->peak = most - check->before;
}

/* --- before --- */

/* Refuse what no forecast stands for; nothing without --forecast. */
static enum hr_status check_forecast(const struct hr_cli *cli)
{
    return cli->forecast ? hr_forecast_check(&cli->train) : HR_OK;
}

/* A worker's share of a global batch. */
static void share_batch(struct hr_train_options *o)
{
    if (o->global_batch_size)
        o->batch_size = (o->global_batch_size + o->workers - 1) / o->workers;
    o->global_batch_size = 0;
}

/* Make it, say it on stderr unless quiet, and begin to watch memory. Nothing without --forecast. */
static enum hr_status forecast_begin(const struct hr_cli *cli, const struct hr_dataset *dataset,
                                     struct hr_forecast_check *out)
{
    char speed[HR_HUMAN_MAX], low[HR_HUMAN_MAX], high[HR_HUMAN_MAX];
    const size_t tokens = dataset->tokens.context;
    *out = (struct hr_forecast_check){0};
    if (!cli->forecast)
        return HR_OK;
    out->row.options = cli->train;
    hr_train_leave_machines(&out->row.options);
    out->forecast = (struct hr_forecast){.rows = &out->row, .n = 1};
    const struct hr_forecast_ask ask = {
        .dataset = dataset, .seconds = timing_s, .stop = hr_signals_seen};
    HR_TRY(hr_train_check(&out->row.options, dataset));
    share_batch(&out->row.options);
    HR_TRY(hr_forecast_make(&ask, &out->forecast));
    out->made = true;
    if (!cli->quiet)
        hr_log(HR_LOG_INFO, "forecast: %s (%s to %s%s), %s of memory",
               hr_human_rate(speed, out->row.samples_per_s, tokens),
               hr_human_short(low, hr_rate_shown(out->row.low, tokens)),
               hr_human_short(high, hr_rate_shown(out->row.high, tokens)),
               out->row.validated ? "" : ", not validated", hr_bytes_text(out->row.memory).text);
    out->before = watch_memory();
    return HR_OK;
}

/* --- behind --- */

/* Forecast over measured, less one. */
static double error_of_speed(const struct hr_forecast_check *check,
                             const struct hr_run_result *result)
{
    return check->row.samples_per_s / result->samples_per_s - 1;
}

/* The same of memory, without the data, which was there before; NaN: not known. */
static double error_of_memory(const struct hr_forecast_check *check)
{
    return check->peak ? (double)check->row.own_memory / (double)check->peak - 1 : (double)NAN;
}

static void print_error(FILE *out, double error)
{
    fprintf(out, "%.1f %% too %s", 100 * fabs(error), error > 0 ? "high" : "low");
}

/* A line of how wrong it was. Nothing if none was made. */
static void forecast_check_print(FILE *out, const struct hr_forecast_check *check,
                                 const struct hr_run_result *result)
{
    char speed[HR_HUMAN_MAX], real[HR_HUMAN_MAX];
    const struct hr_forecast_row *row = &check->row;
    if (!check->made)
        return;
    const bool inside = row->low <= result->samples_per_s && result->samples_per_s <= row->high;
    fprintf(out, "forecast        %s, ", hr_human_rate(speed, row->samples_per_s, result->tokens));
    print_error(out, error_of_speed(check, result));
    fprintf(out, ": measured %s, %s the range\n",
            hr_human_rate(real, result->samples_per_s, result->tokens),
            inside ? "within" : "outside of");
    fprintf(out, "                %s of memory", hr_bytes_text(row->own_memory).text);
    if (check->peak) {
        fputs(" beside the data, ", out);
        print_error(out, error_of_memory(check));
        fprintf(out, ": measured %s at most", hr_bytes_text(check->peak).text);
    }
    fputc('\n', out);
}

/* "forecast" of the document: a new reference; null if none was made. */
static json_t *forecast_check_json(const struct hr_forecast_check *check,
                                   const struct hr_run_result *result)
{
    const struct hr_forecast_row *row = &check->row;
    if (!check->made)
        return json_null();
    return hr_json_object(HR_OF(row, samples_per_s), "samples_per_s_low", HR_JSON(row->low),
                          "samples_per_s_high", HR_JSON(row->high), HR_OF(row, validated),
                          "samples_per_s_error", HR_JSON(error_of_speed(check, result)),
                          "memory_bytes", HR_JSON(row->own_memory), "resident_bytes",
                          check->peak ? HR_JSON(check->peak) : json_null(), "memory_error",
                          HR_JSON(error_of_memory(check)), NULL);
}

static void print_saves(FILE *out, const struct hr_saves *saves)
{
    char rest[HR_HUMAN_MAX], written[HR_HUMAN_MAX];
    fprintf(out, "saves           %llu, written in %s s beside training; workers rested %s s",
            (unsigned long long)saves->written, hr_human_seconds(written, saves->write_s),
            hr_human_seconds(rest, saves->rest_s));
    if (saves->failed)
        fprintf(out, "; %llu failed", (unsigned long long)saves->failed);
    fputc('\n', out);
}

static void print_dropped(FILE *out, const struct hr_run_result *result)
{
    fprintf(out, "dropped         %llu gradients of %llu samples; by worker:",
            (unsigned long long)result->dropped, (unsigned long long)result->dropped_samples);
    for (size_t w = 0; w < result->ndropped_by; w++)
        fprintf(out, " %llu", (unsigned long long)result->dropped_by[w]);
    fputc('\n', out);
}

static void print_staleness(FILE *out, const struct hr_pipeline_report *report)
{
    fputs("own staleness   by stage: forward", out);
    for (size_t k = 0; k < report->stages; k++)
        fprintf(out, " %.3g", report->stage[k].stale_forward);
    fputs(", backward", out);
    for (size_t k = 0; k < report->stages; k++)
        fprintf(out, " %.3g", report->stage[k].stale_backward);
    fprintf(out, "; and %llu of %llu gradients while the pipeline filled\n",
            (unsigned long long)report->filling, (unsigned long long)report->gradients);
}

static void print_pipeline(FILE *out, const struct hr_pipeline_report *report)
{
    if (report->never_drains)
        print_staleness(out, report);
    if (isnan(report->bubble)) /* one thread did the work of all */
        return;
    fprintf(out, "bubble          %.1f %% of the stages' time (%s of equal stages: %.1f %%); idle:",
            100 * report->bubble, report->schedule, 100 * report->formula);
    for (size_t k = 0; k < report->stages; k++)
        fprintf(out, " %.1f %%",
                100 * report->stage[k].wait_s /
                    (report->stage[k].wait_s + report->stage[k].busy_s));
    fputc('\n', out);
}

static void print_details(FILE *out, const struct hr_run_result *result)
{
    if (result->pipeline.stages)
        print_pipeline(out, &result->pipeline);
    if (result->dropped)
        print_dropped(out, result);
    if (result->resent)
        fprintf(out, "resent          %llu pushes, lost or not answered; %llu had arrived before\n",
                (unsigned long long)result->resent, (unsigned long long)result->duplicates);
    if (result->repro_cost > 0)
        fprintf(out,
                "reduce repro    gradients took %.2f times as long as uncut (%zu shards a batch)\n",
                result->repro_cost, result->micro_shards);
    if (result->conflicts.looked_at && result->workers > 1)
        fprintf(out, "lost updates    %llu of %llu writes looked at (a sample)\n",
                (unsigned long long)result->conflicts.lost,
                (unsigned long long)result->conflicts.looked_at);
    if (result->saves.written + result->saves.failed)
        print_saves(out, &result->saves);
    if (result->record_cost > 0)
        fprintf(out,
                "record cost     workers took %.3f times as long as without tickets (measured; "
                "blocks do not overlap)\n",
                result->record_cost);
}

/* A limit of time or steps ended the run before its epochs were over. */
static void print_limit(FILE *out, const struct hr_train_options *o,
                        const struct hr_run_result *result)
{
    const double epoch = result->ncurve ? result->curve[result->ncurve - 1].epoch : 0;
    const bool steps = o->max_steps && result->past_updates + result->updates >= o->max_steps;
    if (result->interrupted || result->best.stopped || o->budget[0] ||
        !(o->max_steps || o->max_seconds > 0) || epoch >= (double)o->epochs)
        return;
    fprintf(out, "ended           after %.3g of %zu epochs, by --%s\n", epoch, o->epochs,
            steps ? "max-steps" : "max-seconds");
}

static void print_end(FILE *out, const struct hr_train_options *options,
                      const struct hr_run_result *result, bool details)
{
    const uint64_t updates = result->past_updates + result->updates;
    fprintf(out, "\nweights digest  %s (%llu update%s)\n", result->weights_digest,
            (unsigned long long)updates, updates == 1 ? "" : "s");
    print_limit(out, options, result);
    if (!strcmp(result->clock, "virtual"))
        fprintf(out, "virtual time    %.6g s of %zu worker%s, computed in %.3g s\n",
                result->seconds, result->workers, result->workers == 1 ? "" : "s", result->wall_s);
    if (details)
        print_details(out, result);
    if (result->checkpoint[0])
        fprintf(out, "checkpoint      %s\n", result->checkpoint);
    if (result->trace[0])
        fprintf(out, "trace           %s (hogring replay repeats the run from it)\n",
                result->trace);
}

static enum hr_status train_failed(const struct hr_cli *cli, const struct hr_dataset *dataset,
                                   const struct hr_run_result *result, bool begun,
                                   enum hr_status status)
{
    if (result->checkpoint[0])
        status = hr_fail(status, "%s (last good checkpoint: %s)", hr_error_message(),
                         result->checkpoint);
    return hr_outcome_failed(cli, dataset, begun, status);
}

/* The last checkpoint's model, which is the run's. */
static enum hr_status export_model(const struct hr_cli *cli, const struct hr_run_result *result)
{
    struct hr_checkpoint checkpoint = {0};
    enum hr_status status = hr_saved_read(result->checkpoint, &checkpoint);
    if (status == HR_OK)
        status = hr_onnx_export(cli->export_to, &checkpoint, NULL, (struct hr_shape){0});
    if (status == HR_OK)
        fprintf(hr_outcome_stream(cli), "export          %s\n", cli->export_to);
    hr_checkpoint_free(&checkpoint);
    return status;
}

static enum hr_status check_export(const struct hr_cli *cli)
{
    if (!cli->export_to[0])
        return HR_OK;
    if (!cli->train.checkpoint_dir[0])
        return hr_fail(HR_E_USAGE, "--export: it is made of the last checkpoint; give "
                                   "--checkpoint-dir too");
    return hr_onnx_check_model(cli->train.model);
}

static enum hr_status write_outcome(const struct hr_cli *cli, const struct hr_dataset *dataset,
                                    const struct hr_run_result *result,
                                    const struct hr_forecast_check *check)
{
    json_t *forecast = forecast_check_json(check, result);
    const enum hr_status status = hr_outcome_write(
        cli, dataset, &(struct hr_endings){.runs = result, .n = 1, .forecast = forecast});
    json_decref(forecast);
    return status;
}

/* What is told of a run that has ended. */
static enum hr_status report(const struct hr_cli *cli, const struct hr_dataset *dataset,
                             const struct hr_run_result *result,
                             const struct hr_forecast_check *check)
{
    FILE *out = hr_outcome_stream(cli);
    const struct hr_table_style style = {hr_target_asked(&cli->train), hr_output_width(),
                                         cli->details};
    hr_output_hold();
    if (!result->interrupted || result->ncurve) {
        hr_table_print(out, result, 1, &style);
        hr_verdict_print(out, result, 1, (struct hr_verdict_request){0}, cli->details, style.width);
    }
    print_end(out, &cli->train, result, cli->details);
    forecast_check_print(out, check, result);
    if (cli->export_to[0] && result->checkpoint[0])
        HR_TRY(export_model(cli, result));
    HR_TRY(write_outcome(cli, dataset, result, check));
    hr_outcome_say(cli, out);
    const char *next = result->checkpoint[0] ? "; --resume goes on from there"
                       : cli->train.checkpoint_dir[0]
                           ? ""
                           : "; nothing is saved without --checkpoint-dir";
    if (result->interrupted)
        return hr_fail(HR_E_INTERRUPTED, "interrupted at step %llu%s",
                       (unsigned long long)result->steps, next);
    return hr_outcome_expect(cli, result, 1);
}

/* How a run ended that came to status: told where its result is whole, though a file of it may be
 * missing, which is an error still. */
static enum hr_status tell_end(const struct hr_cli *cli, const struct hr_dataset *dataset,
                               const struct hr_run_result *result,
                               const struct hr_forecast_check *check, bool begun,
                               enum hr_status status)
{
    char missing[1024];
    if (!result->weights_digest[0])
        return train_failed(cli, dataset, result, begun, status);
    snprintf(missing, sizeof missing, "%s", hr_error_message());
    const enum hr_status reported = report(cli, dataset, result, check);
    return status == HR_OK ? reported : hr_fail(status, "%s", missing);
}

/* Whatever is refused, and the data. name: (HR_RUN_NAME) the request points to it. */
static enum hr_status get_ready(struct hr_cli *cli, struct hr_machines *machines,
                                struct hr_dataset *dataset, char *name,
                                struct hr_metrics_request *request, struct hr_forecast_check *check)
{
    HR_TRY(hr_cli_resume(cli));
    cli->train.wants_answers = hr_outcome_wants_answers(cli);
    HR_TRY(hr_train_complete(&cli->train));
    HR_TRY(hr_meaning_check(cli, &cli->train));
    HR_TRY(hr_pairs_check_of(&cli->train, cli));
    HR_TRY(hr_timeline_check(cli));
    HR_TRY(check_export(cli));
    HR_TRY(check_forecast(cli));
    *request = hr_watch_request(cli, &cli->train, dataset, hr_watch_name(&cli->train, 0, name));
    HR_TRY(hr_metrics_check(request));
    HR_TRY(hr_cli_open_data(cli, machines, dataset));
    HR_TRY(hr_outcome_check_task(cli, dataset));
    return forecast_begin(cli, dataset, check);
}

static enum hr_status train(struct hr_cli *cli, struct hr_dataset *dataset,
                            struct hr_machines *machines, struct hr_run_result *result)
{
    struct hr_watch watch;
    struct hr_forecast_check check;
    struct hr_metrics_request request;
    char name[HR_RUN_NAME];
    HR_TRY(hr_cli_machines_ready(cli, machines,
                                 get_ready(cli, machines, dataset, name, &request, &check)));
    struct hr_timeline_watch lines = {.cli = cli};
    struct hr_observer observer =
        hr_watch_begin(&watch, &cli->train, cli->data, NULL, hr_watch_verbosity(cli));
    watch.hints = cli;
    watch.outputs = cli;
    watch.dataset = dataset;
    hr_watch_timeline(&watch, &lines, &observer);
    hr_watch_write(&watch, &request, &observer);
    enum hr_status status = hr_train_on(machines, &cli->train, dataset, &observer, result);
    if (status == HR_OK)
        status = hr_cli_machines_ran(machines);
    const bool ran = status == HR_OK;
    const struct hr_run_result *whole = result->weights_digest[0] ? result : NULL;
    hr_watch_end(&watch, whole);
    forecast_check_end(&check, &cli->train);
    status = tell_end(cli, dataset, result, &check, watch.started, status);
    status = hr_timeline_end(&lines, hr_watch_close(&watch, whole, status));
    return ran ? hr_cli_machines_outcome(machines, status) : status;
}

/* What belongs to a search, which is in virtual time. */
static enum hr_status check_search(const struct hr_cli *cli)
{
    if (cli->search[0] && hr_choices_of(&cli->train).clock == HR_CLOCK_REAL)
        return hr_fail(HR_E_USAGE, "--search: is not supported with --clock real (it belongs to "
                                   "virtual, as hogring simulate has it)");
    return cli->search[0] || !hr_cli_was_given(cli, "confirm")
               ? HR_OK
               : hr_fail(HR_E_USAGE,
                         "--search confirm=%s: of what? expected options with "
                         "their values before it",
                         cli->confirm);
}

int hr_cli_train(struct hr_cli *cli)
{
    struct hr_dataset dataset = {0};
    struct hr_run_result result = {0};
    if (check_search(cli) != HR_OK)
        return hr_cli_failed(HR_E_USAGE);
    if (hr_mpi_check() != HR_OK)
        return hr_cli_failed(HR_E_USAGE);
    if (cli->search[0])
        return hr_cli_search(cli);
    struct hr_machines *machines;
    enum hr_status status = hr_cli_machines_open(cli, &machines);
    if (status == HR_OK && hr_machines_first(machines))
        status = train(cli, &dataset, machines, &result);
    else if (status == HR_OK)
        status = hr_cli_follow(cli, &dataset, machines);
    const int code = hr_cli_machines_close(machines, status);
    hr_run_result_free(&result);
    hr_dataset_close(&dataset);
    return code;
}

const struct hr_command hr_command_train = {
    .name = "train",
    .summary = "train one network under one strategy",
    .bit = HR_TRAIN,
    .usage = "[OPTIONS]",
    .story =
        "Worker threads (or processes) each have a copy of the model, and compute gradients on\n"
        "their share of every batch. --strategy says how the copies are synchronised. The same\n"
        "seed gives the same initial weights and order of samples under every strategy.\n"
        "Synchronous runs repeat bit for bit; --expect digest=D checks that.\n",
    .examples = "  hogring train\n"
                "  hogring train --strategy hogwild --workers 4 --plot hogwild.svg\n"
                "  hogring train --data fashion-mnist --batch-size 64 --lr 0.02 \\\n"
                "    --checkpoint-dir runs/mlp\n"
                "  hogring train --optimizer adamw --lr-schedule linear --clip-norm 1\n"
                "  hogring train --checkpoint-dir runs/mlp --resume --epochs 20\n"
                "  hogring train --checkpoint-dir runs/mlp --resume auto\n"
                "  hogring train --strategy ps-async --workers 4 --record run.trace\n"
                "  hogring train --model logistic --data rcv1.libsvm --workers 4 --cost 1\n",
    .run = hr_cli_train,
};
