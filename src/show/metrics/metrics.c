/* A log (--log): what a resumed one goes back to, its lines; and what writes both log and board. */
#include "metrics/metrics.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "json/documents.h"
#include "json/value.h"
#include "metrics/appender.h"

/* A log that is read line by line. */
struct reading {
    FILE *in;
    const char *path;
    const struct hr_go_back *to;
    char *line; /* (room) owned */
    size_t room, length;
    uint64_t number, marker; /* of this line and of the last "saving", from 1; 0: there is none */
};

static bool next_line(struct reading *at)
{
    const ssize_t length = getline(&at->line, &at->room, at->in);
    if (length <= 0)
        return false;
    at->length = (size_t)length;
    at->number++;
    return true;
}

static bool is_torn(const struct reading *at)
{
    return at->line[at->length - 1] != '\n';
}

/* What stands behind {"run":NAME,"event":" where the line is of this run; else NULL. */
static const char *event_of(const struct reading *at)
{
    static const char head[] = "{\"run\":", middle[] = ",\"event\":\"";
    const size_t run = strlen(at->to->run), begin = sizeof head - 1, ends = sizeof middle - 1;
    if (at->length < begin + run + ends || memcmp(at->line, head, begin) != 0 ||
        memcmp(at->line + begin, at->to->run, run) != 0 ||
        memcmp(at->line + begin + run, middle, ends) != 0)
        return NULL;
    return at->line + begin + run + ends;
}

static bool is_event(const char *event, const char *name)
{
    const size_t length = strlen(name);
    return !strncmp(event, name, length) && event[length] == '"';
}

/* The step that is behind the event's name; false: none is. */
static bool step_of(const char *event, uint64_t *step)
{
    static const char name[] = "\",\"step\":";
    const char *at = strchr(event, '"');
    if (!at || strncmp(at, name, sizeof name - 1) != 0)
        return false;
    *step = strtoull(at + sizeof name - 1, NULL, 10);
    return true;
}

/* Of a "start". */
static uint64_t life_of(const char *event)
{
    const char *at = strstr(event, "\"life\":");
    return at ? strtoull(at + strlen("\"life\":"), NULL, 10) : 0;
}

/* Where the run was saved, and whether it went on. */
static enum hr_status look(struct reading *at, struct hr_gone_back *gone)
{
    bool later = false;
    while (next_line(at)) {
        const char *event = event_of(at);
        uint64_t step;
        if (strncmp(at->line, "{\"run\":", 7) != 0 && !is_torn(at))
            return hr_fail(HR_E_USAGE, "%s: line %llu is none of a log of hogring", at->path,
                           (unsigned long long)at->number);
        if (is_torn(at) || !event)
            continue;
        if (is_event(event, "start") && life_of(event) > gone->lives)
            gone->lives = life_of(event);
        if (!step_of(event, &step))
            continue;
        later = later || (is_event(event, "step") && step > at->to->step);
        if (is_event(event, "saving") && step == at->to->step)
            at->marker = at->number;
    }
    if (!at->marker && later && at->to->step > 0)
        return hr_fail(
            HR_E_USAGE,
            "%s: it has later steps of %s than the checkpoint's %llu, and never saw that "
            "saved: it is another run's; expected its own log, or --overwrite",
            at->path, at->to->run, (unsigned long long)at->to->step);
    return HR_OK;
}

static bool is_overtaken(const struct reading *at)
{
    const char *event = event_of(at);
    uint64_t step = 0;
    if (is_torn(at))
        return true;
    if (!event)
        return false;
    const bool has_step = step_of(event, &step);
    if (is_event(event, "step") || is_event(event, "saved"))
        return step > at->to->step ||
               (at->marker && at->number > at->marker && hr_go_back_redoes(at->to, step));
    if (at->marker && at->number > at->marker)
        return true;
    return !is_event(event, "start") && has_step &&
           (step > at->to->step || (!at->marker && at->to->step == 0));
}

/* Lines go to the one or the other. */
static enum hr_status sort_lines(struct reading *at, struct hr_file_writer *kept,
                                 struct hr_appender *overtaken, struct hr_gone_back *gone)
{
    rewind(at->in);
    at->number = 0;
    while (next_line(at)) {
        if (!is_overtaken(at)) {
            HR_TRY(hr_file_write(kept, at->line, at->length));
            continue;
        }
        gone->torn += is_torn(at) ? at->length : 0;
        gone->lines += !is_torn(at);
        hr_appender_put(overtaken, at->line, at->length);
        if (is_torn(at))
            hr_appender_put(overtaken, "\n", 1);
    }
    return ferror(at->in) ? hr_fail_errno(HR_E_IO, "%s", at->path) : HR_OK;
}

static enum hr_status replace(struct reading *at, struct hr_gone_back *gone)
{
    char beside[HR_PATH_MAX];
    struct hr_appender overtaken = {.open = false};
    struct hr_file_writer kept;
    snprintf(beside, sizeof beside, "%.*s.overtaken", HR_PATH_MAX - 16, at->path);
    HR_TRY(hr_file_replace(&kept, at->path, 0));
    enum hr_status status = hr_appender_open(&overtaken, beside);
    if (status == HR_OK)
        status = sort_lines(at, &kept, &overtaken, gone);
    const enum hr_status closed = hr_appender_close(&overtaken);
    status = status == HR_OK ? closed : status;
    if (status == HR_OK && gone->lines + gone->torn > 0)
        return hr_file_finish(&kept);
    hr_file_abandon(&kept);
    return status;
}

static bool is_overtaken_at_all(struct reading *at)
{
    rewind(at->in);
    at->number = 0;
    while (next_line(at))
        if (is_overtaken(at))
            return true;
    return false;
}

enum hr_status hr_log_go_back(const char *path, const struct hr_go_back *to,
                              struct hr_gone_back *gone)
{
    struct stat about;
    int lock;
    *gone = (struct hr_gone_back){0};
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode))
        return HR_OK;
    HR_TRY(hr_appender_lock(path, &lock));
    struct reading at = {.in = fopen(path, "re"), .path = path, .to = to};
    enum hr_status status = at.in ? look(&at, gone) : hr_fail_errno(HR_E_IO, "%s", path);
    if (status == HR_OK && is_overtaken_at_all(&at))
        status = replace(&at, gone);
    if (at.in)
        fclose(at.in);
    free(at.line);
    close(lock);
    return status;
}

/* Does the log tell of this run (as above), and not of its end? Not where its last line is torn. */
static enum hr_status lacks_end(const char *path, const char *run, bool *lacks)
{
    const struct hr_go_back to = {.run = run};
    struct reading at = {.in = fopen(path, "re"), .path = path, .to = &to};
    *lacks = false;
    if (!at.in)
        return errno == ENOENT ? HR_OK : hr_fail_errno(HR_E_IO, "%s", path);
    while (next_line(&at)) {
        const char *event = event_of(&at);
        *lacks = !is_torn(&at) && (event ? !is_event(event, "end") : *lacks);
    }
    const enum hr_status status = ferror(at.in) ? hr_fail_errno(HR_E_IO, "%s", path) : HR_OK;
    fclose(at.in);
    free(at.line);
    return status;
}

/* --- lines of a log --- */

/* With what is there. --resume auto does so where no checkpoint is yet. */
static bool goes_on(const struct hr_metrics_request *request)
{
    return request->options->resume[0] || request->options->finished_ok;
}

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
    char *text =
        rest && log->file.open ? hr_json_dump(rest, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    const size_t room = text ? strlen(text) + strlen(log->head) + 128 : 0;
    char *line = text ? malloc(room) : NULL;
    if (log->file.open && !line)
        hr_appender_fail(&log->file, hr_fail(HR_E_NOMEM, "%s: no memory", log->file.path));
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
    json_t *line = hr_json_object(kind, HR_JSON(rank), NULL);
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

static void put_start(struct hr_run_log *log, const struct hr_metrics_request *request,
                      const struct hr_run_info *info, const struct hr_gone_back *gone)
{
    put_object(log, "start", info->begins,
               hr_json_object(
                   "life", HR_JSON(gone->lives + 1), "hogring", HR_JSON(HR_VERSION), "time",
                   HR_JSON((uint64_t)time(NULL)), HR_OF(info, strategy), HR_OF(info, seed),
                   HR_OF(info, model), HR_OF(info, workers), HR_OF(info, servers),
                   HR_OF(info, global_batch), HR_OF(info, params), HR_OF(request->options, clock),
                   "resumed", json_boolean(info->resumed), "overtaken_lines", HR_JSON(gone->lines),
                   "torn_bytes", HR_JSON(gone->torn), "log_every", HR_JSON(log->every), "config",
                   hr_json_config(request->options, request->dataset, NULL), NULL));
}

static enum hr_status log_open(struct hr_run_log *log, const struct hr_metrics_request *request,
                               const struct hr_run_info *info)
{
    struct hr_gone_back gone = {0};
    char *name = NULL;
    *log = (struct hr_run_log){.every = request->every ? request->every : 1,
                               .workers = info->workers,
                               .newest = info->begins};
    enum hr_status status = make_head(log, request->run, &name);
    const struct hr_go_back to = {name, info->begins, info->redone, info->nredone};
    if (status == HR_OK && goes_on(request))
        status = hr_log_go_back(request->log, &to, &gone);
    free(name);
    HR_TRY(status);
    log->unreported = calloc(log->workers, sizeof *log->unreported);
    if (!log->unreported)
        return hr_fail(HR_E_NOMEM, "no memory for a log of %zu workers", log->workers);
    HR_TRY(hr_appender_open(&log->file, request->log));
    log->file.silent = true; /* what fails now is refused */
    put_start(log, request, info, &gone);
    hr_appender_flush(&log->file);
    log->file.silent = false;
    return log->file.status == HR_OK ? HR_OK : hr_fail(log->file.status, "%s", log->file.message);
}

/* --- what happens --- */

/* Since the worker's line before. */
static const double *spend(struct hr_run_log *log, const struct hr_step_report *step)
{
    double *unreported = log->unreported[step->worker];
    const double spent[] = {step->load_s, step->compute_s, step->communicate_s, step->wait_s};
    for (size_t i = 0; i < 4; i++)
        unreported[i] += spent[i];
    return unreported;
}

static void log_step(struct hr_run_log *log, const struct hr_step_report *step)
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
    memset(log->unreported[step->worker], 0, sizeof *log->unreported);
}

static void log_point(struct hr_run_log *log, const struct hr_curve_point *point)
{
    struct hr_stale_counts *stale = &log->stale;
    json_t *line = hr_json_point(point);
    log->newest = point->step > log->newest ? point->step : log->newest;
    if (line && stale->updates)
        json_object_set_new(line, "staleness",
                            hr_json_object(HR_OF(stale, updates), "mean",
                                           HR_JSON(hr_stale_counts_mean(stale)), HR_OF(stale, max),
                                           NULL));
    put_object(log, "evaluation", point->step, line);
    hr_appender_flush(&log->file);
    hr_stale_counts_clear(stale);
}

/* --- its end --- */

static json_t *ending(const struct hr_run_result *result, const char *message, int exit_code)
{
    json_t *end = hr_json_object("exit", json_integer(exit_code), "message",
                                 hr_json_text_or_null(message), NULL);
    if (!end || !result)
        return end;
    json_t *more = hr_fields_log(hr_result_rows, hr_result_nrows, result, NULL);
    if (more)
        json_object_update(end, more);
    json_decref(more);
    return end;
}

static void log_end(struct hr_run_log *log, const struct hr_run_result *result, const char *message,
                    int exit_code)
{
    const uint64_t step = result ? result->steps : log->newest;
    for (size_t w = 0; result && w < result->nworker_times; w++) {
        json_t *times =
            hr_fields_log(hr_worker_time_rows, hr_worker_time_nrows, &result->worker_time[w], NULL);
        put_object(log, "worker", step, of_rank("worker", w, times));
    }
    put_object(log, "end", step, ending(result, message, exit_code));
}

static enum hr_status log_close(struct hr_run_log *log)
{
    const enum hr_status status = hr_appender_close(&log->file);
    free(log->head);
    free(log->unreported);
    log->head = NULL;
    log->unreported = NULL;
    return status;
}

static enum hr_status log_finish(const char *path, const char *run,
                                 const struct hr_run_result *result, const char *message,
                                 int exit_code)
{
    struct hr_run_log log = {.newest = 0};
    char *name = NULL;
    bool lacks = false;
    enum hr_status status = make_head(&log, run, &name);
    if (status == HR_OK)
        status = lacks_end(path, name, &lacks);
    if (status == HR_OK && lacks)
        status = hr_appender_open(&log.file, path);
    if (status == HR_OK && lacks)
        put_object(&log, "end", result->steps, ending(result, message, exit_code));
    free(name);
    const enum hr_status closed = log_close(&log);
    return status == HR_OK ? closed : status;
}

/* --- both --- */

static enum hr_status folder_of(const struct hr_metrics_request *request, char path[HR_PATH_MAX])
{
    return hr_path(path, "%s/%s", request->board, request->run);
}

static bool holds_something(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0;
}

static enum hr_status refuse(const char *option, const char *path)
{
    return hr_fail(HR_E_USAGE,
                   "--%s: %s is there already: expected --resume to go on with it, --overwrite to "
                   "replace it, or another name",
                   option, path);
}

/* Only what hogring wrote goes. */
static enum hr_status check_log(const char *path)
{
    static const char begins[] = "{\"run\":";
    char found[sizeof begins - 1];
    FILE *file = holds_something(path) ? fopen(path, "re") : NULL;
    const bool ours = !file || (fread(found, 1, sizeof found, file) == sizeof found &&
                                !memcmp(found, begins, sizeof found));
    if (file)
        fclose(file);
    return ours ? HR_OK
                : hr_fail(HR_E_USAGE,
                          "--overwrite: %s is no log of hogring; expected it to be moved away "
                          "first, or another name",
                          path);
}

enum hr_status hr_metrics_check(const struct hr_metrics_request *request)
{
    const bool may = request->options->overwrite || goes_on(request);
    char folder[HR_PATH_MAX];
    struct stat about;
    if (request->log[0] && !may && holds_something(request->log))
        return refuse("log", request->log);
    if (request->log[0] && request->options->overwrite && !goes_on(request))
        HR_TRY(check_log(request->log));
    if (!request->board[0])
        return HR_OK;
    if (stat(request->board, &about) == 0 && !S_ISDIR(about.st_mode))
        return hr_fail(HR_E_IO, "--tensorboard: %s is no folder", request->board);
    HR_TRY(folder_of(request, folder));
    return !may && hr_board_is_there(folder) ? refuse("tensorboard", folder) : HR_OK;
}

/* --- the log is this command's --- */

/* Until the process ends. Runs of a comparison may be processes of their own, which inherit it. */
static struct {
    int fd;
    pid_t owner; /* 0: nobody yet */
} own = {.fd = -1};

static enum hr_status own_log(const char *path)
{
    if (own.owner && own.owner != getpid())
        return HR_OK;
    own.owner = getpid();
    return hr_appender_own(path, &own.fd);
}

/* What is there may go, where it is a log and nobody's. */
static enum hr_status replace_log(const char *path)
{
    HR_TRY(check_log(path));
    HR_TRY(own_log(path));
    HR_TRY(hr_file_forget(path));
    return own_log(path); /* of the new file */
}

enum hr_status hr_metrics_forget(const struct hr_metrics_request *request)
{
    if (!request->log[0])
        return HR_OK;
    if (request->options->overwrite && !goes_on(request))
        return replace_log(request->log);
    HR_TRY(own_log(request->log));
    return goes_on(request) || !holds_something(request->log) ? HR_OK : refuse("log", request->log);
}

static enum hr_status open_log(struct hr_metrics *metrics, const struct hr_run_info *info)
{
    const struct hr_metrics_request *request = &metrics->request;
    enum hr_status status = log_open(&metrics->log, request, info);
    if (status == HR_E_USAGE && request->options->overwrite) {
        (void)!log_close(&metrics->log);
        status = replace_log(request->log);
        if (status == HR_OK)
            status = log_open(&metrics->log, request, info);
    }
    if (status == HR_OK && goes_on(request)) /* it may be another file now */
        status = own_log(request->log);
    return status == HR_OK ? HR_OK : hr_fail_within(status, "--log");
}

static enum hr_status open_board(struct hr_metrics *metrics, const struct hr_run_info *info)
{
    const struct hr_metrics_request *request = &metrics->request;
    char folder[HR_PATH_MAX];
    HR_TRY(folder_of(request, folder));
    if (!info->resumed && (request->options->overwrite || goes_on(request)))
        HR_TRY(hr_board_forget(folder));
    return hr_board_open(&metrics->board, folder, request->every, info);
}

enum hr_status hr_metrics_begin(struct hr_metrics *metrics, const struct hr_run_info *info)
{
    metrics->begun = true;
    if (metrics->request.log[0])
        HR_TRY(open_log(metrics, info));
    return metrics->request.board[0] ? open_board(metrics, info) : HR_OK;
}

void hr_metrics_step(struct hr_metrics *metrics, const struct hr_step_report *step)
{
    if (metrics->log.file.open)
        log_step(&metrics->log, step);
    if (metrics->board.events.file.open)
        hr_board_step(&metrics->board, step);
}

void hr_metrics_point(struct hr_metrics *metrics, const struct hr_curve_point *point)
{
    if (metrics->log.file.open)
        log_point(&metrics->log, point);
    if (metrics->board.events.file.open)
        hr_board_point(&metrics->board, point);
}

void hr_metrics_saving(struct hr_metrics *metrics, uint64_t step)
{
    metrics->saving = step;
    put_object(&metrics->log, "saving", step, json_object());
}

/* Who goes on from there makes none of them again. */
void hr_metrics_writing(struct hr_metrics *metrics)
{
    hr_appender_flush(&metrics->log.file);
    if (metrics->board.events.file.open)
        hr_board_flush(&metrics->board, metrics->saving);
}

void hr_metrics_saved(struct hr_metrics *metrics, const char *path)
{
    put_object(&metrics->log, "saved", metrics->saving,
               hr_json_object("checkpoint", HR_JSON(path), NULL));
}

void hr_metrics_lost(struct hr_metrics *metrics, const struct hr_loss *loss)
{
    put_object(&metrics->log, "lost", metrics->log.newest,
               of_rank(loss->server ? "server" : "worker", loss->rank,
                       hr_fields_log(hr_loss_rows, hr_loss_nrows, loss, NULL)));
    hr_metrics_flush(metrics);
}

void hr_metrics_flush(struct hr_metrics *metrics)
{
    hr_appender_flush(&metrics->log.file);
    if (metrics->board.events.file.open)
        hr_board_flush(&metrics->board, 0);
}

enum hr_status hr_metrics_end(struct hr_metrics *metrics, const struct hr_run_result *result,
                              const char *message, int exit_code)
{
    const struct hr_metrics_request *request = &metrics->request;
    if (!metrics->begun) /* it was resumed, and had nothing left to do */
        return result && request->log && request->log[0] && goes_on(request)
                   ? log_finish(request->log, request->run, result, message, exit_code)
                   : HR_OK;
    if (metrics->log.file.open)
        log_end(&metrics->log, result, message, exit_code);
    const enum hr_status of_board = hr_board_close(&metrics->board);
    const enum hr_status of_log = log_close(&metrics->log);
    metrics->begun = false;
    return of_log != HR_OK ? of_log : of_board;
}
