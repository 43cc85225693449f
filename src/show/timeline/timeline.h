/* timeline.h - what ranks did, and when, as a file for Perfetto.
 *
 * Threads: none. Test: tests/unit/timeline/, tests/cli/timeline.bats */
#ifndef HR_TIMELINE_TIMELINE_H
#define HR_TIMELINE_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "hogring/observer.h"

/* --- flows --- */

/* Messages: one end of each is told before the other, in any order; both are needed. */

struct hr_flow_end {
    uint64_t number; /* of the message; both ends have it, and no other message */
    size_t rank;
    int64_t at_ns;
    bool sent; /* else it was taken */
    bool used;
};

/* Ends whose other has not been told: a hash table, open addressing. */
struct hr_flows {
    struct hr_flow_end *slot; /* (room) owned */
    size_t room, n;
};

/* Its other end, if that was told, into *other, and both are forgotten: true. Else it is kept. Of
 * ends for which there is no memory nothing is known. */
bool hr_flows_match(struct hr_flows *flows, const struct hr_flow_end *end,
                    struct hr_flow_end *other);
/* Forget all, and free them. */
void hr_flows_clear(struct hr_flows *flows);

/* --- timeline --- */

/* A file of what ranks did, and when: Chrome's trace events, which Perfetto reads; hogring help
 * timeline has the format. A JSON array of events, one a line; lines are written whole, and readers
 * do not need the "]": a run that was killed leaves a file that opens.
 *
 * Process: a run, its number from 1. Thread: a rank, its number + 1. Events of what a rank did are
 * one behind the other, and add up to the run's accounts.
 *
 * Size: some 110 bytes an event; HR_TIMELINE_EVENTS at most, then it says so and ends. */
enum { HR_TIMELINE_EVENTS = 2000000 };

struct hr_timeline;

/* A new file; HR_E_IO and the like. `command`: what was asked for, in words. */
HR_CHECKED enum hr_status hr_timeline_open(const char *path, const char *command,
                                           struct hr_timeline **timeline);
/* A run begins, called so. `zero_ns`: its clock's time now. */
void hr_timeline_run(struct hr_timeline *timeline, const char *name, const char *clock,
                     const struct hr_run_info *info, int64_t zero_ns);
void hr_timeline_span(struct hr_timeline *timeline, const struct hr_span_report *span);
/* What was told stands in the file. */
void hr_timeline_flush(struct hr_timeline *timeline);
/* The run has ended. */
void hr_timeline_run_ends(struct hr_timeline *timeline);
/* The step in which the file became full; false: it did not. */
bool hr_timeline_is_full(const struct hr_timeline *timeline, uint64_t *step);
/* Close the file; what kept any of it from being written. Harmless on NULL. */
HR_CHECKED enum hr_status hr_timeline_close(struct hr_timeline *timeline);

#endif
