#include "metrics/metrics.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "json/documents.h"

static enum hr_status folder_of(const struct hr_metrics_wish *wish, char path[HR_PATH_MAX])
{
    return hr_path(path, "%s/%s", wish->board, wish->run);
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

/* With what is there. --resume auto does so where no checkpoint is yet. */
static bool goes_on(const struct hr_metrics_wish *wish)
{
    return wish->options->resume[0] || wish->options->finished_ok;
}

enum hr_status hr_metrics_check(const struct hr_metrics_wish *wish)
{
    const bool may = wish->options->overwrite || goes_on(wish);
    char folder[HR_PATH_MAX];
    struct stat about;
    if (wish->log[0] && !may && holds_something(wish->log))
        return refuse("log", wish->log);
    if (wish->log[0] && wish->options->overwrite && !goes_on(wish))
        HR_TRY(check_log(wish->log));
    if (!wish->board[0])
        return HR_OK;
    if (stat(wish->board, &about) == 0 && !S_ISDIR(about.st_mode))
        return hr_fail(HR_E_IO, "--tensorboard: %s is no folder", wish->board);
    HR_TRY(folder_of(wish, folder));
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

enum hr_status hr_metrics_forget(const struct hr_metrics_wish *wish)
{
    if (!wish->log[0])
        return HR_OK;
    if (wish->options->overwrite && !goes_on(wish))
        return replace_log(wish->log);
    HR_TRY(own_log(wish->log));
    return goes_on(wish) || !holds_something(wish->log) ? HR_OK : refuse("log", wish->log);
}

static enum hr_status open_log(struct hr_metrics *metrics, const struct hr_run_info *info)
{
    const struct hr_metrics_wish *wish = &metrics->wish;
    json_t *config = hr_json_config(wish->options, wish->dataset, NULL);
    if (!config)
        return hr_fail(HR_E_NOMEM, "no memory for a log");
    const struct hr_log_start start = {.path = wish->log,
                                       .run = wish->run,
                                       .every = wish->every,
                                       .info = info,
                                       .goes_on = goes_on(wish),
                                       .config = config,
                                       .clock = wish->options->clock};
    enum hr_status status = hr_run_log_open(&metrics->log, &start);
    if (status == HR_E_USAGE && wish->options->overwrite) {
        (void)!hr_run_log_close(&metrics->log);
        status = replace_log(wish->log);
        if (status == HR_OK)
            status = hr_run_log_open(&metrics->log, &start);
    }
    json_decref(config);
    if (status == HR_OK && start.goes_on) /* it may be another file now */
        status = own_log(wish->log);
    return status == HR_OK ? HR_OK : hr_fail_within(status, "--log");
}

static enum hr_status open_board(struct hr_metrics *metrics, const struct hr_run_info *info)
{
    const struct hr_metrics_wish *wish = &metrics->wish;
    char folder[HR_PATH_MAX];
    HR_TRY(folder_of(wish, folder));
    if (!info->resumed && (wish->options->overwrite || goes_on(wish)))
        HR_TRY(hr_board_forget(folder));
    return hr_board_open(&metrics->board, folder, wish->every, info);
}

enum hr_status hr_metrics_begin(struct hr_metrics *metrics, const struct hr_run_info *info)
{
    metrics->begun = true;
    if (metrics->wish.log[0])
        HR_TRY(open_log(metrics, info));
    return metrics->wish.board[0] ? open_board(metrics, info) : HR_OK;
}

void hr_metrics_step(struct hr_metrics *metrics, const struct hr_step_report *step)
{
    if (metrics->log.file.open)
        hr_run_log_step(&metrics->log, step);
    if (metrics->board.events.file.open)
        hr_board_step(&metrics->board, step);
}

void hr_metrics_point(struct hr_metrics *metrics, const struct hr_curve_point *point)
{
    if (metrics->log.file.open)
        hr_run_log_point(&metrics->log, point);
    if (metrics->board.events.file.open)
        hr_board_point(&metrics->board, point);
}

void hr_metrics_saving(struct hr_metrics *metrics, uint64_t step)
{
    metrics->saving = step;
    if (metrics->log.file.open)
        hr_run_log_saving(&metrics->log, step);
}

/* Who goes on from there makes none of them again. */
void hr_metrics_writing(struct hr_metrics *metrics)
{
    if (metrics->log.file.open)
        hr_appender_flush(&metrics->log.file);
    if (metrics->board.events.file.open)
        hr_board_flush(&metrics->board, metrics->saving);
}

void hr_metrics_saved(struct hr_metrics *metrics, const char *path)
{
    if (metrics->log.file.open)
        hr_run_log_saved(&metrics->log, path);
}

void hr_metrics_lost(struct hr_metrics *metrics, const struct hr_loss *loss)
{
    if (metrics->log.file.open)
        hr_run_log_lost(&metrics->log, loss);
    if (metrics->board.events.file.open)
        hr_board_flush(&metrics->board, 0);
}

void hr_metrics_flush(struct hr_metrics *metrics)
{
    if (metrics->log.file.open)
        hr_appender_flush(&metrics->log.file);
    if (metrics->board.events.file.open)
        hr_board_flush(&metrics->board, 0);
}

enum hr_status hr_metrics_end(struct hr_metrics *metrics, const struct hr_run_result *result,
                              const char *message, int exit_code)
{
    const struct hr_metrics_wish *wish = &metrics->wish;
    if (!metrics->begun) /* it was resumed, and had nothing left to do */
        return result && wish->log && wish->log[0] && goes_on(wish)
                   ? hr_run_log_finish(wish->log, wish->run, result, message, exit_code)
                   : HR_OK;
    if (metrics->log.file.open)
        hr_run_log_end(&metrics->log, result, message, exit_code);
    const enum hr_status of_board = hr_board_close(&metrics->board);
    const enum hr_status of_log = hr_run_log_close(&metrics->log);
    metrics->begun = false;
    return of_log != HR_OK ? of_log : of_board;
}
