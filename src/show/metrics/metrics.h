/* metrics.h - a run's history in files: JSON Lines, TensorBoard, or both.
 *
 *     hr_metrics_check(&request)                 before anything: what could only fail later
 *     struct hr_metrics metrics = {.request = ...};
 *     hr_metrics_begin(&metrics, info)           an observer's `admits`; then what it is told:
 *     hr_metrics_step, _point, _saving, _writing, _saved, _lost
 *     hr_metrics_flush                           about ten times per second (`progress`)
 *     hr_metrics_end(&metrics, ...)              always
 *
 * A file that cannot be written any more ends there, with a warning; the run goes on, and end says
 * so. What is told is in the files after the next flush at the latest, whatever kills the process.
 *
 * Threads: none. Test: tests/unit/metrics, tests/cli/metrics.bats
 */
#ifndef HR_METRICS_METRICS_H
#define HR_METRICS_METRICS_H

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "encode/protobuf.h"
#include "hogring/observer.h"
#include "hogring/train.h"
#include "metrics/appender.h"

/* --- a log that is continued --- */

/* Its run goes on from a checkpoint, and what the log says of later steps is overtaken.
 *
 * The lines that are overtaken are those of this run of later steps, and what stands behind its
 * last line "saving" of the checkpoint's step, but that it was "saved", and steps up to it that are
 * not made once more: what is told when a worker has its next batch may come behind a save that is
 * no cut. They are moved to the end of FILE.overtaken: nobody reads a step twice, and nothing is
 * gone. A last line that is torn (the machine lost power) goes there too. The file is replaced as a
 * whole, under its lock (appender.h).
 *
 * A run that begins anew (no checkpoint was saved before it was killed) goes back to step 0.
 *
 * A line begins {"run":NAME,"event":EVENT,"step":N: what else it holds is not looked at. */
struct hr_gone_back {
    uint64_t lives; /* of this run so far */
    uint64_t lines; /* overtaken */
    uint64_t torn;  /* bytes of a last line that was cut off */
};

/* Where the run goes on. */
struct hr_go_back {
    const char *run;        /* its name, as JSON text in quotes */
    uint64_t step;          /* of the checkpoint */
    const uint64_t *redone; /* (nredone) steps up to it that are made once more */
    size_t nredone;
};

/* Is that step, which the checkpoint is behind, made once more? */
static inline bool hr_go_back_redoes(const struct hr_go_back *to, uint64_t step)
{
    for (size_t i = 0; i < to->nredone; i++)
        if (to->redone[i] == step)
            return true;
    return false;
}

/* HR_E_USAGE: the file is no log of hogring, or has later steps of this run but never saw it saved:
 * another's. HR_E_IO. No file: nothing is done. */
HR_CHECKED enum hr_status hr_log_go_back(const char *path, const struct hr_go_back *to,
                                         struct hr_gone_back *gone);

/* A worker tells in its own, and others are ahead or behind. What several workers tell of one step
 * (a global batch) becomes one.
 *
 *     hr_step_order_add(&order, step);
 *     while (hr_step_order_next(&order, 0, &merged)) ...       no earlier one can come any more
 *     while (hr_step_order_next(&order, step, &merged)) ...    at an evaluation, or a save: none up
 *                                                              to `step` is missing
 *
 * Of a run that outlives ranks, a batch that is handed out again may come late: it comes late here.
 */
struct hr_merged_step {
    uint64_t step;
    double seconds;  /* of the last */
    double loss;     /* sum over samples */
    size_t samples;  /* dropped gradients have none here, and no norm */
    uint64_t rows;   /* as in struct hr_step_report */
    double lr, norm; /* the last's rate; the sum of norms, of so many: */
    size_t norms;
};

struct hr_step_order {
    size_t workers;
    uint64_t *newest;               /* (workers) owned: told by each */
    struct hr_merged_step *pending; /* (room) owned: [first, end), in order */
    size_t first, end, room;
};

/* Is it one in `every`, or are such among its rows? */
static inline bool hr_step_is_one_in(uint64_t every, uint64_t step, uint64_t rows)
{
    return step / every != (step - (rows ? rows : 1)) / every;
}

HR_CHECKED enum hr_status hr_step_order_open(struct hr_step_order *order, size_t workers);
/* HR_E_NOMEM: it is dropped. */
HR_CHECKED enum hr_status hr_step_order_add(struct hr_step_order *order,
                                            const struct hr_step_report *step);
bool hr_step_order_next(struct hr_step_order *order, uint64_t complete, struct hr_merged_step *out);
/* Harmless on a zeroed struct. */
void hr_step_order_close(struct hr_step_order *order);

/* --- how stale updates were since an evaluation: what logs say of an epoch --- */

enum { HR_STALE_COUNTS = 1024 };

struct hr_stale_counts {
    uint64_t updates, max;
    double sum, squares;
    uint64_t bucket[HR_STALE_COUNTS]; /* the last holds all above */
};

static inline void hr_stale_counts_add(struct hr_stale_counts *counts, uint64_t staleness)
{
    const double value = (double)staleness;
    counts->updates++;
    counts->sum += value;
    counts->squares += value * value;
    counts->max = staleness > counts->max ? staleness : counts->max;
    counts->bucket[staleness < HR_STALE_COUNTS ? staleness : HR_STALE_COUNTS - 1]++;
}

/* NaN: there were none. */
static inline double hr_stale_counts_mean(const struct hr_stale_counts *counts)
{
    return counts->updates ? counts->sum / (double)counts->updates : (double)NAN;
}

static inline void hr_stale_counts_clear(struct hr_stale_counts *counts)
{
    memset(counts, 0, sizeof *counts);
}

/* --- a run as TensorBoard shows it (--tensorboard): an event file in a folder of its own --- */

/* A file of events as TensorBoard reads them: TFRecords of protobuf's Event.
 *
 *     record   u64 length | u32 masked crc of the length | data | u32 masked crc of the data
 *              little endian; crc: CRC-32C; masked: (crc >> 15 | crc << 17) + 0xa282ead8
 *     Event    1 wall_time (double), 2 step, 3 file_version, 5 summary, 7 session_log
 *     Summary  1 value: 1 tag, 2 simple_value (float), 5 histo
 *     histo    1 min, 2 max, 3 num, 4 sum, 5 sum_squares; packed: 6 bucket_limit, 7 bucket
 *
 * The first record says brain.Event:2. TensorBoard drops what it has read of step N and later ones
 * where a session_log START of step N follows.
 *
 * Source:  tensorflow/core/util/event.proto, framework/summary.proto; lib/io/record_writer */

struct hr_event_file {
    struct hr_appender file;
    struct hr_protobuf event; /* that is being made */
    size_t summary;
};

/* A new file in `folder`, which exists: events.out.tfevents.SECONDS.HOST.PID.N. */
HR_CHECKED enum hr_status hr_event_file_open(struct hr_event_file *events, const char *folder,
                                             double wall_s);

/* An event with any number of values. */
void hr_event_begin(struct hr_event_file *events, double wall_s, uint64_t step);
void hr_event_scalar(struct hr_event_file *events, const char *tag, double value);
void hr_event_end(struct hr_event_file *events);

/* As hr_appender_close. Harmless on a zeroed struct. */
HR_CHECKED enum hr_status hr_event_file_close(struct hr_event_file *events);

/*   each step, or one in `every`    loss/train, lr, norm: of all workers together
 *   each evaluation                 loss/train_epoch, loss/test, accuracy/test (or .../validation),
 *                                   throughput/samples_per_s (of text also tokens_per_s),
 *                                   staleness/mean, staleness (histogram)
 *
 * The step is that of the log; the wall time is when the run began, and the seconds of its clock.
 */
struct hr_board {
    struct hr_event_file events;
    struct hr_step_order order;
    struct hr_stale_counts stale;
    uint64_t every;
    size_t tokens;          /* of a sample, of text; else 0 */
    struct hr_go_back from; /* steps up to this one are in an earlier file, but for those redone */
    uint64_t *redone;       /* owned: the same */
    double began_wall_s, began_s; /* the machine's time then, and the run's; < 0: not known yet */
    uint64_t samples;             /* and seconds, at the last evaluation, or to begin with */
    double seconds;
};

/* Does the folder hold event files? */
bool hr_board_is_there(const char *folder);
/* Remove them. HR_E_IO. */
HR_CHECKED enum hr_status hr_board_forget(const char *folder);

/* A new file in the folder, which is made. HR_E_IO, HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_board_open(struct hr_board *board, const char *folder, uint64_t every,
                                        const struct hr_run_info *info);
void hr_board_step(struct hr_board *board, const struct hr_step_report *step);
void hr_board_point(struct hr_board *board, const struct hr_curve_point *point);
/* All steps up to `complete` are told; 0: nothing is said. */
void hr_board_flush(struct hr_board *board, uint64_t complete);
/* HR_OK when all is in the file. Harmless on a zeroed struct. */
HR_CHECKED enum hr_status hr_board_close(struct hr_board *board);

/* --- both --- */

/* A run as JSON Lines (--log): each line an object, {"run", "event", ...}.
 *
 *   start       at the step it begins at: life, hogring, strategy, seed, resumed, config, ...
 *   step        each of each worker, or one in `every`: struct hr_step_report
 *   evaluation  a point of the curve, and the staleness of updates since the one before
 *   saving, saved, lost
 *   worker      its times in all; end: how the run ended
 *
 * The page "log" of the manual tells all fields. Numbers that are none are null.
 */
struct hr_run_log {
    struct hr_appender file;
    char *head;      /* owned: {"run":NAME,"event":" */
    uint64_t every;  /* a line for each step that it divides, or block of rows with one */
    uint64_t newest; /* step */
    size_t workers;
    double (
        *unreported)[4]; /* (workers) owned: load, compute, communicate, wait since its last line */
    struct hr_stale_counts stale;
};

/* What was asked for. All is borrowed. */
struct hr_metrics_request {
    const char *log, *board; /* a file, shared by the runs of a comparison; a folder; "": none */
    const char *run;         /* the run's name, and its folder below `board` */
    uint64_t every;
    const struct hr_train_options *options;
    const struct hr_dataset *dataset;
};

struct hr_metrics {
    struct hr_metrics_request request;
    bool begun;
    uint64_t saving; /* the step that was copied last */
    struct hr_run_log log;
    struct hr_board board;
};

static inline bool hr_metrics_are_wanted(const struct hr_metrics_request *request)
{
    return request->log && (request->log[0] || request->board[0]);
}

/* Is there anything that the run would write to, and may not: neither goes on with it (--resume)
 * nor replaces it (--overwrite)? HR_E_USAGE; HR_E_IO: it cannot be written. */
HR_CHECKED enum hr_status hr_metrics_check(const struct hr_metrics_request *request);
/* The log is this command's from now on (HR_E_IO: another run writes it); --overwrite: that of
 * other runs goes, if it is one (HR_E_USAGE). Once, before the first run begins. */
HR_CHECKED enum hr_status hr_metrics_forget(const struct hr_metrics_request *request);

HR_CHECKED enum hr_status hr_metrics_begin(struct hr_metrics *metrics,
                                           const struct hr_run_info *info);
void hr_metrics_step(struct hr_metrics *metrics, const struct hr_step_report *step);
void hr_metrics_point(struct hr_metrics *metrics, const struct hr_curve_point *point);
void hr_metrics_saving(struct hr_metrics *metrics, uint64_t step);
/* All steps that are saved are told: they are in the files when this returns. */
void hr_metrics_writing(struct hr_metrics *metrics);
void hr_metrics_saved(struct hr_metrics *metrics, const char *path);
void hr_metrics_lost(struct hr_metrics *metrics, const struct hr_loss *loss);
void hr_metrics_flush(struct hr_metrics *metrics);

/* As hr_run_log_end; then the files are closed. HR_OK when all of both is in them, or they were
 * never begun. */
HR_CHECKED enum hr_status hr_metrics_end(struct hr_metrics *metrics,
                                         const struct hr_run_result *result, const char *message,
                                         int exit_code);

#endif
