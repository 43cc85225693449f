/* A folder of TensorBoard's: its event files, and steps in one order. */
#include "metrics/metrics.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "encode/crc32c.h"
#include "report/human.h"

/* --- event file --- */

enum { WALL_TIME = 1, STEP = 2, FILE_VERSION = 3, SUMMARY = 5, SESSION_LOG = 7 };
enum { VALUE = 1, TAG = 1, SIMPLE_VALUE = 2, HISTO = 5 };
enum { STATUS = 1, START = 1 };

static uint32_t masked_crc(const void *data, size_t bytes)
{
    const uint32_t crc = hr_crc32c(0, data, bytes);
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

static void put_record(struct hr_event_file *events)
{
    const struct hr_protobuf *event = &events->event;
    const uint64_t length = event->length;
    if (hr_protobuf_finish(event) != HR_OK) {
        hr_appender_fail(&events->file, event->status);
        return;
    }
    const uint32_t of_length = masked_crc(&length, sizeof length);
    const uint32_t of_data = masked_crc(event->bytes, event->length);
    const struct hr_piece_part parts[] = {{&length, sizeof length},
                                          {&of_length, sizeof of_length},
                                          {event->bytes, event->length},
                                          {&of_data, sizeof of_data}};
    hr_appender_put_parts(&events->file, parts, sizeof parts / sizeof *parts);
}

static void begin(struct hr_event_file *events, double wall_s, uint64_t step)
{
    hr_protobuf_clear(&events->event);
    hr_protobuf_double(&events->event, WALL_TIME, wall_s);
    if (step)
        hr_protobuf_varint(&events->event, STEP, step);
}

enum hr_status hr_event_file_open(struct hr_event_file *events, const char *folder, double wall_s)
{
    char path[HR_PATH_MAX], host[256];
    *events = (struct hr_event_file){.file = {.open = false}};
    if (gethostname(host, sizeof host) != 0)
        snprintf(host, sizeof host, "localhost");
    host[sizeof host - 1] = '\0';
    int fd = -1;
    for (unsigned n = 0; fd < 0; n++) {
        HR_TRY(hr_path(path, "%s/events.out.tfevents.%010.0f.%s.%ld.%u", folder, floor(wall_s),
                       host, (long)getpid(), n));
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST)
            return hr_fail_errno(HR_E_IO, "%s", path);
    }
    close(fd);
    HR_TRY(hr_appender_open(&events->file, path));
    begin(events, wall_s, 0);
    hr_protobuf_string(&events->event, FILE_VERSION, "brain.Event:2");
    put_record(events);
    return HR_OK;
}

/* What is there of this step and later ones is overtaken. */
static void restart(struct hr_event_file *events, double wall_s, uint64_t step)
{
    begin(events, wall_s, step);
    const size_t log = hr_protobuf_begin(&events->event, SESSION_LOG);
    hr_protobuf_varint(&events->event, STATUS, START);
    hr_protobuf_end(&events->event, log);
    put_record(events);
}

void hr_event_begin(struct hr_event_file *events, double wall_s, uint64_t step)
{
    begin(events, wall_s, step);
    events->summary = hr_protobuf_begin(&events->event, SUMMARY);
}

void hr_event_scalar(struct hr_event_file *events, const char *tag, double value)
{
    const size_t at = hr_protobuf_begin(&events->event, VALUE);
    hr_protobuf_string(&events->event, TAG, tag);
    hr_protobuf_float(&events->event, SIMPLE_VALUE, (float)value);
    hr_protobuf_end(&events->event, at);
}

/* A bucket holds what is at most its limit and above the one before: one a staleness. */
static void event_stale(struct hr_event_file *events, const char *tag,
                        const struct hr_stale_counts *counts)
{
    struct hr_protobuf *p = &events->event;
    double limit[HR_STALE_COUNTS], count[HR_STALE_COUNTS];
    size_t n = 0, least = 0;
    if (!counts->updates)
        return;
    while (!counts->bucket[least])
        least++;
    for (; n < HR_STALE_COUNTS && n <= counts->max; n++) {
        limit[n] = (double)n;
        count[n] = (double)counts->bucket[n];
    }
    if (counts->max >= HR_STALE_COUNTS)
        limit[n - 1] = (double)counts->max;
    const size_t value = hr_protobuf_begin(p, VALUE);
    hr_protobuf_string(p, TAG, tag);
    const size_t histo = hr_protobuf_begin(p, HISTO);
    const double about[] = {(double)least, (double)counts->max, (double)counts->updates,
                            counts->sum, counts->squares};
    for (uint32_t field = 1; field <= 5; field++)
        hr_protobuf_double(p, field, about[field - 1]);
    hr_protobuf_packed_doubles(p, 6, limit, n);
    hr_protobuf_packed_doubles(p, 7, count, n);
    hr_protobuf_end(p, histo);
    hr_protobuf_end(p, value);
}

void hr_event_end(struct hr_event_file *events)
{
    hr_protobuf_end(&events->event, events->summary);
    put_record(events);
}

enum hr_status hr_event_file_close(struct hr_event_file *events)
{
    hr_protobuf_free(&events->event);
    return hr_appender_close(&events->file);
}

/* --- board --- */

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

static double wall_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* TensorBoard drops steps behind the checkpoint's. One up to it that is made once more, since a
 * worker had it in hand, may be in both files. */
static enum hr_status go_on(struct hr_board *board, const char *folder,
                            const struct hr_run_info *info)
{
    const size_t bytes = info->nredone * sizeof *board->redone;
    board->redone = bytes ? malloc(bytes) : NULL;
    if (bytes && !board->redone)
        return hr_fail(HR_E_NOMEM, "no memory for %zu steps", info->nredone);
    if (bytes)
        memcpy(board->redone, info->redone, bytes);
    board->from.redone = board->redone;
    board->from.nredone = info->nredone;
    HR_TRY(hr_event_file_open(&board->events, folder, board->began_wall_s));
    restart(&board->events, board->began_wall_s, board->from.step + 1);
    return HR_OK;
}

enum hr_status hr_board_open(struct hr_board *board, const char *folder, uint64_t every,
                             const struct hr_run_info *info)
{
    *board = (struct hr_board){.every = every ? every : 1,
                               .from = {.step = info->begins},
                               .tokens = info->tokens,
                               .began_wall_s = wall_now(),
                               .began_s = info->resumed ? -1 : 0};
    HR_TRY(hr_step_order_open(&board->order, info->workers));
    HR_TRY(hr_folder_make(folder));
    const enum hr_status status =
        info->resumed ? go_on(board, folder, info)
                      : hr_event_file_open(&board->events, folder, board->began_wall_s);
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
    if (!hr_step_is_one_in(board->every, step->step, step->rows) ||
        (step->step <= board->from.step && !hr_go_back_redoes(&board->from, step->step)))
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
    if (point->text)
        hr_event_scalar(events, point->validated ? "perplexity/validation" : "perplexity/test",
                        point->fit.perplexity);
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
    if (point->seconds > board->seconds) {
        const double speed =
            (double)(point->samples - board->samples) / (point->seconds - board->seconds);
        hr_event_scalar(events, "throughput/samples_per_s", speed);
        if (board->tokens)
            hr_event_scalar(events, "throughput/tokens_per_s", hr_rate_shown(speed, board->tokens));
    }
    if (board->stale.updates) {
        hr_event_scalar(events, "staleness/mean", hr_stale_counts_mean(&board->stale));
        event_stale(events, "staleness", &board->stale);
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

enum hr_status hr_step_order_open(struct hr_step_order *order, size_t workers)
{
    *order = (struct hr_step_order){.workers = workers};
    order->newest = calloc(workers, sizeof *order->newest);
    return order->newest ? HR_OK : hr_fail(HR_E_NOMEM, "no memory for %zu workers", workers);
}

void hr_step_order_close(struct hr_step_order *order)
{
    free(order->newest);
    free(order->pending);
    *order = (struct hr_step_order){.workers = 0};
}

/* Room for one more behind the last. */
static enum hr_status make_step_room(struct hr_step_order *order)
{
    const size_t n = order->end - order->first, room = order->room ? 2 * order->room : 64;
    if (order->end < order->room)
        return HR_OK;
    if (order->first > order->room / 2) {
        memmove(order->pending, order->pending + order->first, n * sizeof *order->pending);
        order->first = 0;
        order->end = n;
        return HR_OK;
    }
    struct hr_merged_step *grown = realloc(order->pending, room * sizeof *grown);
    if (!grown)
        return hr_fail(HR_E_NOMEM, "no memory for %zu steps", room);
    order->pending = grown;
    order->room = room;
    return HR_OK;
}

/* That of this step, made in its place where there is none: most come near the end. */
static struct hr_merged_step *place_of(struct hr_step_order *order, uint64_t step)
{
    size_t at = order->end;
    while (at > order->first && order->pending[at - 1].step > step)
        at--;
    if (at > order->first && order->pending[at - 1].step == step)
        return &order->pending[at - 1];
    memmove(order->pending + at + 1, order->pending + at,
            (order->end - at) * sizeof *order->pending);
    order->end++;
    order->pending[at] = (struct hr_merged_step){.step = step};
    return &order->pending[at];
}

enum hr_status hr_step_order_add(struct hr_step_order *order, const struct hr_step_report *step)
{
    HR_TRY(make_step_room(order));
    struct hr_merged_step *merged = place_of(order, step->step);
    uint64_t *newest = &order->newest[step->worker];
    *newest = step->step > *newest ? step->step : *newest;
    merged->seconds = step->seconds > merged->seconds ? step->seconds : merged->seconds;
    merged->lr = step->lr;
    merged->rows = step->rows;
    if (step->dropped)
        return HR_OK;
    if (isfinite(step->norm)) {
        merged->norm += step->norm;
        merged->norms++;
    }
    merged->loss += step->loss * (double)step->batch;
    merged->samples += step->batch;
    return HR_OK;
}

static uint64_t reported_by_all(const struct hr_step_order *order)
{
    uint64_t least = UINT64_MAX;
    for (size_t w = 0; w < order->workers; w++)
        least = order->newest[w] < least ? order->newest[w] : least;
    return least;
}

bool hr_step_order_next(struct hr_step_order *order, uint64_t complete, struct hr_merged_step *out)
{
    if (order->first == order->end)
        return false;
    const uint64_t step = order->pending[order->first].step;
    if (step > complete && step > reported_by_all(order))
        return false;
    *out = order->pending[order->first++];
    if (order->first == order->end)
        order->first = order->end = 0;
    return true;
}
