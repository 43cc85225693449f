/* board.h - a run as TensorBoard shows it (--tensorboard): an event file in a folder of its own.
 *
 *   each step, or one in `every`    loss/train, lr, norm: of all workers together
 *   each evaluation                 loss/train_epoch, loss/test, accuracy/test (or .../validation),
 *                                   throughput/samples_per_s, staleness/mean, staleness (histogram)
 *
 * The step is that of the log; the wall time is when the run began, and the seconds of its clock.
 *
 * Threads: none.
 * Test:    tests/unit/metrics/test_event_file.c; tests/cli/metrics.bats with TensorBoard itself
 */
#ifndef HR_METRICS_BOARD_H
#define HR_METRICS_BOARD_H

#include "encode/protobuf.h"
#include "metrics/appender.h"
#include "metrics/step_order.h"

/* --- event file --- */

/* A file of events as TensorBoard reads them: TFRecords of protobuf's Event.
 *
 *     record   u64 length | u32 masked crc of the length | data | u32 masked crc of the data
 *              little endian; crc: CRC-32C; masked: (crc >> 15 | crc << 17) + 0xa282ead8
 *     Event    1 wall_time (double), 2 step, 3 file_version, 5 summary, 7 session_log
 *     Summary  1 value: 1 tag, 2 simple_value (float), 5 histo
 *     histo    1 min, 2 max, 3 num, 4 sum, 5 sum_squares; packed: 6 bucket_limit, 7 bucket
 *
 * The first record says brain.Event:2. TensorBoard drops what it has read of step N and later ones
 * where a session_log START of step N follows (board.c).
 *
 * Source:  tensorflow/core/util/event.proto, framework/summary.proto; lib/io/record_writer.h */

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
void hr_event_stale(struct hr_event_file *events, const char *tag,
                    const struct hr_stale_counts *counts);
void hr_event_end(struct hr_event_file *events);

/* As hr_appender_close. Harmless on a zeroed struct. */
HR_CHECKED enum hr_status hr_event_file_close(struct hr_event_file *events);

/* --- board --- */

struct hr_board {
    struct hr_event_file events;
    struct hr_step_order order;
    struct hr_stale_counts stale;
    uint64_t every;
    uint64_t begins;  /* steps up to this one are in an earlier file, but for */
    uint64_t *redone; /* (nredone) owned: those */
    size_t nredone;
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

#endif
