#include "metrics/run_log.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "json/documents.h"
#include "json/results.h"
#include "json/value.h"
#include "metrics/go_back.h"
#include "metrics/step_order.h"

/* --- lines --- */

/* A line of plain numbers, as it is put together. */
struct line {
    char text[768];
    size_t n;
};

__attribute__((format(printf, 2, 3))) static void add(struct line *line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int length =
        vsnprintf(line->text + line->n, sizeof line->text - line->n, format, arguments);
    va_end(arguments);
    HR_ASSERT(length >= 0 && (size_t)length < sizeof line->text - line->n);
    line->n += (size_t)length;
}

static void add_number(struct line *line, const char *name, double value)
{
    if (isfinite(value))
        add(line, ",\"%s\":%.9g", name, value);
    else
        add(line, ",\"%s\":null", name);
}

/* The line of an event: {"run":NAME,"event":EVENT,"step":N, then what `rest` has. Releases it. */
static void put_object(struct hr_run_log *log, const char *event, uint64_t step, json_t *rest)
{
    char *text = rest ? hr_json_dump(rest, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    const size_t room = text ? strlen(text) + strlen(log->head) + 128 : 0;
    char *line = text ? malloc(room) : NULL;
    if (line) {
        const int n = snprintf(line, room, "%s%s\",\"step\":%" PRIu64 "%s%s\n", log->head, event,
                               step, text[1] == '}' ? "" : ",", text + 1);
        hr_appender_put(&log->file, line, (size_t)n);
    }
    json_decref(rest);
    free(line);
    free(text);
}

/* What is said of a rank, which is taken, behind the rank. */
static json_t *of_rank(const char *kind, size_t rank, json_t *said)
{
    json_t *line = json_pack("{so}", kind, hr_json_count(rank));
    if (line && json_object_update(line, said) != 0) {
        json_decref(line);
        line = NULL;
    }
    json_decref(said);
    return line;
}

/* --- its beginning --- */

static enum hr_status make_head(struct hr_run_log *log, const char *run, char **name)
{
    json_t *text = hr_json_text(run);
    *name = text ? hr_json_dump(text, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    json_decref(text);
    const size_t room = *name ? strlen(*name) + 32 : 0;
    log->head = *name ? malloc(room) : NULL;
    if (!log->head)
        return hr_fail(HR_E_NOMEM, "no memory for a log");
    snprintf(log->head, room, "{\"run\":%s,\"event\":\"", *name);
    return HR_OK;
}

static void put_start(struct hr_run_log *log, const struct hr_log_start *start,
                      const struct hr_gone_back *gone)
{
    const struct hr_run_info *info = start->info;
    put_object(log, "start", info->begins,
               json_pack("{so so so so so so so so so so so so so so so so}", "life",
                         hr_json_count(gone->lives + 1), "hogring", hr_json_text(HR_VERSION),
                         "time", hr_json_count((uint64_t)time(NULL)), "strategy",
                         hr_json_text(info->strategy), "seed", hr_json_count(info->seed), "model",
                         hr_json_text(info->model), "workers", hr_json_count(info->workers),
                         "servers", hr_json_count(info->servers), "global_batch",
                         hr_json_count(info->global_batch), "params", hr_json_count(info->params),
                         "clock", hr_json_text(start->clock), "resumed",
                         json_boolean(info->resumed), "overtaken_lines", hr_json_count(gone->lines),
                         "torn_bytes", hr_json_count(gone->torn), "log_every",
                         hr_json_count(log->every), "config", json_incref(start->config)));
}

enum hr_status hr_run_log_open(struct hr_run_log *log, const struct hr_log_start *start)
{
    struct hr_gone_back gone = {0};
    char *name = NULL;
    *log = (struct hr_run_log){.every = start->every ? start->every : 1,
                               .workers = start->info->workers,
                               .newest = start->info->begins};
    enum hr_status status = make_head(log, start->run, &name);
    const struct hr_go_back to = {name, start->info->begins, start->info->redone,
                                  start->info->nredone};
    if (status == HR_OK && start->goes_on)
        status = hr_log_go_back(start->path, &to, &gone);
    free(name);
    HR_TRY(status);
    log->untold = calloc(log->workers, sizeof *log->untold);
    if (!log->untold)
        return hr_fail(HR_E_NOMEM, "no memory for a log of %zu workers", log->workers);
    HR_TRY(hr_appender_open(&log->file, start->path));
    log->file.silent = true; /* what fails now is refused */
    put_start(log, start, &gone);
    hr_appender_flush(&log->file);
    log->file.silent = false;
    return log->file.status == HR_OK ? HR_OK : hr_fail(log->file.status, "%s", log->file.message);
}

/* --- what happens --- */

/* Since the worker's line before. */
static const double *spend(struct hr_run_log *log, const struct hr_step_report *step)
{
    double *untold = log->untold[step->worker];
    const double spent[] = {step->load_s, step->compute_s, step->communicate_s, step->wait_s};
    for (size_t i = 0; i < 4; i++)
        untold[i] += spent[i];
    return untold;
}

void hr_run_log_step(struct hr_run_log *log, const struct hr_step_report *step)
{
    struct line line = {.n = 0};
    const double *spent = spend(log, step);
    log->newest = step->step > log->newest ? step->step : log->newest;
    if (step->staleness >= 0)
        hr_stale_counts_add(&log->stale, (uint64_t)step->staleness);
    if (!hr_step_is_one_in(log->every, step->step, step->rows))
        return;
    add(&line, "%sstep\",\"step\":%" PRIu64 ",\"worker\":%zu,\"epoch\":%" PRIu64, log->head,
        step->step, step->worker, step->epoch);
    add(&line, ",\"samples\":%" PRIu64 ",\"batch\":%zu", step->samples, step->batch);
    add_number(&line, "seconds", step->seconds);
    add_number(&line, "loss", step->loss);
    if (isfinite(step->lr))
        add(&line, ",\"lr\":%.7g", step->lr); /* a float: as people write it */
    else
        add_number(&line, "lr", step->lr);
    add_number(&line, "norm", step->norm);
    add_number(&line, "staleness", step->staleness < 0 ? (double)NAN : (double)step->staleness);
    add_number(&line, "load_s", spent[0]);
    add_number(&line, "compute_s", spent[1]);
    add_number(&line, "communicate_s", spent[2]);
    add_number(&line, "wait_s", spent[3]);
    add(&line, "%s}\n", step->dropped ? ",\"dropped\":true" : "");
    hr_appender_put(&log->file, line.text, line.n);
    memset(log->untold[step->worker], 0, sizeof *log->untold);
}

void hr_run_log_point(struct hr_run_log *log, const struct hr_curve_point *point)
{
    struct hr_stale_counts *stale = &log->stale;
    json_t *line = hr_json_point(point);
    log->newest = point->step > log->newest ? point->step : log->newest;
    if (line && stale->updates)
        json_object_set_new(line, "staleness",
                            json_pack("{so so so}", "updates", hr_json_count(stale->updates),
                                      "mean", hr_json_number(hr_stale_counts_mean(stale)), "max",
                                      hr_json_count(stale->max)));
    put_object(log, "evaluation", point->step, line);
    hr_appender_flush(&log->file);
    hr_stale_counts_clear(stale);
}

void hr_run_log_saving(struct hr_run_log *log, uint64_t step)
{
    log->saving = step;
    put_object(log, "saving", step, json_object());
}

void hr_run_log_saved(struct hr_run_log *log, const char *path)
{
    put_object(log, "saved", log->saving, json_pack("{so}", "checkpoint", hr_json_text(path)));
}

void hr_run_log_lost(struct hr_run_log *log, const struct hr_loss *loss)
{
    put_object(log, "lost", log->newest,
               of_rank(loss->server ? "server" : "worker", loss->rank,
                       hr_fields_log(hr_loss_rows, hr_loss_nrows, loss, NULL)));
    hr_appender_flush(&log->file);
}

/* --- its end --- */

static json_t *ending(const struct hr_run_result *result, const char *message, int exit_code)
{
    json_t *end = json_pack("{so so}", "exit", json_integer(exit_code), "message",
                            hr_json_text_or_null(message));
    if (!end || !result)
        return end;
    json_t *more = hr_fields_log(hr_result_rows, hr_result_nrows, result, NULL);
    if (more)
        json_object_update(end, more);
    json_decref(more);
    return end;
}

void hr_run_log_end(struct hr_run_log *log, const struct hr_run_result *result, const char *message,
                    int exit_code)
{
    const uint64_t step = result ? result->steps : log->newest;
    for (size_t w = 0; result && w < result->nworker_times; w++) {
        json_t *times = hr_fields_log(hr_worker_time_rows, hr_worker_time_nrows,
                                      &result->worker_time[w], NULL);
        put_object(log, "worker", step, of_rank("worker", w, times));
    }
    put_object(log, "end", step, ending(result, message, exit_code));
}

enum hr_status hr_run_log_finish(const char *path, const char *run,
                                 const struct hr_run_result *result, const char *message,
                                 int exit_code)
{
    struct hr_run_log log = {.newest = 0};
    char *name = NULL;
    bool lacks = false;
    enum hr_status status = make_head(&log, run, &name);
    if (status == HR_OK)
        status = hr_log_lacks_end(path, name, &lacks);
    if (status == HR_OK && lacks)
        status = hr_appender_open(&log.file, path);
    if (status == HR_OK && lacks)
        put_object(&log, "end", result->steps, ending(result, message, exit_code));
    free(name);
    const enum hr_status closed = hr_run_log_close(&log);
    return status == HR_OK ? closed : status;
}

enum hr_status hr_run_log_close(struct hr_run_log *log)
{
    const enum hr_status status = hr_appender_close(&log->file);
    free(log->head);
    free(log->untold);
    log->head = NULL;
    log->untold = NULL;
    return status;
}
