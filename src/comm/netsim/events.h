/* events.h - what happens next: a heap of events, ordered by (time, insertion number).
 *
 *     struct hr_events events = {0};
 *     HR_TRY(hr_events_push(&events, time, what));
 *     while (hr_events_pop(&events, &time, &what)) ...
 *     hr_events_fini(&events);
 *
 * Units:     time is whatever the caller counts in; what is the caller's own, untouched.
 * Memory:    owned, grows as needed, HR_E_NOMEM.
 * Threads:   none.
 * Test:      tests/unit/netsim/test_events.c
 */
#ifndef HR_NETSIM_EVENTS_H
#define HR_NETSIM_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct hr_event {
    int64_t time;
    uint64_t number; /* of its insertion */
    uint64_t what;
};

struct hr_events {
    struct hr_event *heap; /* (capacity), n used */
    size_t n, capacity;
    uint64_t inserted;
};

HR_CHECKED enum hr_status hr_events_push(struct hr_events *events, int64_t time, uint64_t what);

/* Take the earliest, of equal times the one inserted first. False when there is none. */
bool hr_events_pop(struct hr_events *events, int64_t *time, uint64_t *what);

void hr_events_fini(struct hr_events *events);

#endif
