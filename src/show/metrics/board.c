#include "metrics/board.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "metrics/event_file.h"

/* --- the folder --- */

/* The next event file's name; NULL: there is none. */
static const char *next_file(DIR *folder)
{
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
        if (strstr(entry->d_name, "tfevents"))
            return entry->d_name;
    return NULL;
}

bool hr_board_is_there(const char *folder)
{
    DIR *dir = opendir(folder);
    const bool there = dir && next_file(dir);
    if (dir)
        closedir(dir);
    return there;
}

/* By its name and its first record; one that was cut off before that is empty. */
static bool is_ours(DIR *folder, const char *name)
{
    static const char begins[] = "events.out.tfevents.", version[] = "brain.Event:2";
    enum { RECORD = 36, VERSION_AT = 23 };
    char record[RECORD];
    struct stat about;
    if (strncmp(name, begins, sizeof begins - 1) != 0)
        return false;
    const int fd = openat(dirfd(folder), name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    const bool ours =
        fd >= 0 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode) &&
        (about.st_size == 0 || (pread(fd, record, RECORD, 0) == RECORD &&
                                !memcmp(record + VERSION_AT, version, RECORD - VERSION_AT)));
    if (fd >= 0)
        close(fd);
    return ours;
}

enum hr_status hr_board_forget(const char *folder)
{
    enum hr_status status = HR_OK;
    const char *name;
    DIR *dir = opendir(folder);
    while (dir && status == HR_OK && (name = next_file(dir)) != NULL)
        if (is_ours(dir, name) && unlinkat(dirfd(dir), name, 0) != 0)
            status = hr_fail_errno(HR_E_IO, "%s/%s cannot be removed", folder, name);
    if (dir)
        closedir(dir);
    return status;
}

/* --- the file --- */

static double wall_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static enum hr_status open_file(struct hr_board *board, const char *folder)
{
    return hr_event_file_open(&board->events, folder, board->began_wall_s);
}

static struct hr_go_back back_of(const struct hr_board *board)
{
    return (struct hr_go_back){
        .step = board->begins, .redone = board->redone, .nredone = board->nredone};
}

static enum hr_status go_on(struct hr_board *board, const char *folder,
                            const struct hr_run_info *info)
{
    struct hr_event_keep keep = {0};
    const size_t bytes = info->nredone * sizeof *board->redone;
    board->redone = bytes ? malloc(bytes) : NULL;
    if (bytes && !board->redone)
        return hr_fail(HR_E_NOMEM, "no memory for %zu steps", info->nredone);
    if (bytes)
        memcpy(board->redone, info->redone, bytes);
    board->nredone = info->nredone;
    const struct hr_go_back to = back_of(board);
    enum hr_status status = hr_event_keep_read(&keep, folder, &to);
    if (status == HR_OK)
        status = open_file(board, folder);
    if (status == HR_OK)
        hr_event_keep_put(&keep, &board->events, board->began_wall_s);
    hr_event_keep_free(&keep);
    return status;
}

enum hr_status hr_board_open(struct hr_board *board, const char *folder, uint64_t every,
                             const struct hr_run_info *info)
{
    *board = (struct hr_board){.every = every ? every : 1,
                               .begins = info->begins,
                               .began_wall_s = wall_now(),
                               .began_s = info->resumed ? -1 : 0};
    HR_TRY(hr_step_order_open(&board->order, info->workers));
    HR_TRY(hr_folder_make(folder));
    const enum hr_status status =
        info->resumed ? go_on(board, folder, info) : open_file(board, folder);
    hr_appender_flush(&board->events.file);
    return status;
}

static double wall_at(const struct hr_board *board, double seconds)
{
    return board->began_wall_s + seconds - (board->began_s < 0 ? seconds : board->began_s);
}

/* Of a resumed run: what is told first is about where it begins. */
static void begin_at(struct hr_board *board, uint64_t samples, double seconds)
{
    if (board->began_s >= 0)
        return;
    board->began_s = board->seconds = seconds;
    board->samples = samples;
}

static void put_step(struct hr_board *board, const struct hr_merged_step *step)
{
    struct hr_event_file *events = &board->events;
    const struct hr_go_back to = back_of(board);
    if (!hr_step_is_one_in(board->every, step->step, step->rows) ||
        (step->step <= board->begins && !hr_go_back_redoes(&to, step->step)))
        return;
    hr_event_begin(events, wall_at(board, step->seconds), step->step);
    if (step->samples)
        hr_event_scalar(events, "loss/train", step->loss / (double)step->samples);
    if (isfinite(step->lr))
        hr_event_scalar(events, "lr", step->lr);
    if (step->norms)
        hr_event_scalar(events, "norm", step->norm / (double)step->norms);
    hr_event_end(events);
}

/* All up to `complete`, and later ones that all workers have told. */
static void put_steps(struct hr_board *board, uint64_t complete)
{
    struct hr_merged_step step;
    while (hr_step_order_next(&board->order, complete, &step))
        put_step(board, &step);
}

void hr_board_step(struct hr_board *board, const struct hr_step_report *step)
{
    begin_at(board, step->samples, step->seconds);
    if (step->staleness >= 0)
        hr_stale_counts_add(&board->stale, (uint64_t)step->staleness);
    const enum hr_status status = hr_step_order_add(&board->order, step);
    if (status != HR_OK)
        hr_appender_fail(&board->events.file, status);
}

static void put_measured(struct hr_board *board, const struct hr_curve_point *point)
{
    struct hr_event_file *events = &board->events;
    const double loss = hr_curve_loss(point), accuracy = hr_curve_accuracy(point);
    if (isfinite(point->train_loss))
        hr_event_scalar(events, "loss/train_epoch", point->train_loss);
    hr_event_scalar(events, point->validated ? "loss/validation" : "loss/test", loss);
    if (!isnan(accuracy))
        hr_event_scalar(events, point->validated ? "accuracy/validation" : "accuracy/test",
                        accuracy);
    if (!point->values)
        return;
    hr_event_scalar(events, point->validated ? "rmse/validation" : "rmse/test", point->fit.rmse);
    hr_event_scalar(events, point->validated ? "r2/validation" : "r2/test", point->fit.r2);
}

void hr_board_point(struct hr_board *board, const struct hr_curve_point *point)
{
    struct hr_event_file *events = &board->events;
    begin_at(board, point->samples, point->seconds);
    put_steps(board, UINT64_MAX);
    hr_event_begin(events, wall_at(board, point->seconds), point->step);
    put_measured(board, point);
    if (point->seconds > board->seconds)
        hr_event_scalar(events, "throughput/samples_per_s",
                        (double)(point->samples - board->samples) /
                            (point->seconds - board->seconds));
    if (board->stale.updates) {
        hr_event_scalar(events, "staleness/mean", hr_stale_counts_mean(&board->stale));
        hr_event_stale(events, "staleness", &board->stale);
    }
    hr_event_end(events);
    hr_appender_flush(&events->file);
    board->samples = point->samples;
    board->seconds = point->seconds;
    hr_stale_counts_clear(&board->stale);
}

void hr_board_flush(struct hr_board *board, uint64_t complete)
{
    put_steps(board, complete);
    hr_appender_flush(&board->events.file);
}

enum hr_status hr_board_close(struct hr_board *board)
{
    if (board->events.file.open)
        put_steps(board, UINT64_MAX);
    hr_step_order_close(&board->order);
    free(board->redone);
    board->redone = NULL;
    return hr_event_file_close(&board->events);
}
