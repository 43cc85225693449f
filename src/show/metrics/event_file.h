/* event_file.h - a file of TensorBoard's events, and what stays of earlier ones.
 *
 * Threads: none. Test: tests/unit/metrics/test_event_file.c */
#ifndef HR_METRICS_EVENT_FILE_H
#define HR_METRICS_EVENT_FILE_H

#include "encode/protobuf.h"
#include "metrics/appender.h"
#include "metrics/go_back.h"
#include "metrics/stale_counts.h"

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
 * where a session_log START of step N follows (event_keep.h).
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

/* --- event keep --- */

/* What a folder's event files say that stays true where a run goes on from before.
 *
 * A run that goes on at step S begins its file with a START (event_file.h) of the first step that
 * is made once more: S + 1, or earlier where batches were in somebody's hands when S was saved. So
 * TensorBoard drops what is overtaken, and with it steps that are not made again: those are kept
 * here, as they are, and follow the START.
 *
 *     hr_event_keep_read(&keep, folder, &to)     before the new file is there
 *     hr_event_keep_put(&keep, &events)
 *     hr_event_keep_free(&keep)
 *
 * Files are read in the order of their names, as TensorBoard does; one that ends in the middle of a
 * record, or is none of hogring's, is read as far as it goes.
 *
 * Cost:    the files are read as a whole, one by one; what is kept stays in memory. */

struct hr_kept_event {
    uint64_t step;
    size_t offset, length; /* of the record in `bytes` */
};

struct hr_event_keep {
    uint64_t from;        /* the step of the START */
    unsigned char *bytes; /* (used, room) owned: whole records */
    size_t used, room;
    struct hr_kept_event *event; /* (n, events) owned */
    size_t n, events;
};

/* Of `to`, the run's name is not looked at. HR_E_IO, HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_event_keep_read(struct hr_event_keep *keep, const char *folder,
                                             const struct hr_go_back *to);
/* The START, and what is kept. */
void hr_event_keep_put(const struct hr_event_keep *keep, struct hr_event_file *events,
                       double wall_s);
/* Harmless on a zeroed struct. */
void hr_event_keep_free(struct hr_event_keep *keep);

#endif
