/* event_keep.h - what a folder's event files say that stays true where a run goes on from before.
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
 * Cost:    the files are read as a whole, one by one; what is kept stays in memory.
 * Threads: none.
 * Test:    tests/unit/metrics/test_event_file.c
 */
#ifndef HR_METRICS_EVENT_KEEP_H
#define HR_METRICS_EVENT_KEEP_H

#include "metrics/event_file.h"
#include "metrics/go_back.h"

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
