/* together.h - machines at the start and the end of a run: what each says is known to all.
 *
 *     hr_together_open(wire, timeout_ns, &together)
 *     hr_together_clock(&together)                     this machine's clock becomes machine 0's
 *     status = hr_together_fail(&together, status)     has any machine failed? then all have
 *     hr_together_gather(&together, &mine, bytes, all)
 *     ... the carrier has the wire (carrier.h) ...
 *
 *   Gather   each sends what it has to say to all others, and waits for theirs. What comes for a
 *            later gathering waits in the wire, and so does what comes for the carrier, until
 *            that has gone (ran): then what is left of it, beats, means nothing any more.
 *   Clock    of machine m: machine 0 is asked for its time, again and again. Of the round trip that
 *            was the shortest, its time belongs to the middle: it is wrong by half the round trip
 *            at most.
 *
 * Threads: one. Every machine calls the same, in the same order.
 * Errors:  HR_E_TIMEOUT and HR_E_LOST name the machines that are not there.
 * Source:  Cristian, "Probabilistic clock synchronization", Distributed Computing 3, 1989.
 * Test:    tests/unit/machines/test_together.c
 */
#ifndef HR_MACHINES_TOGETHER_H
#define HR_MACHINES_TOGETHER_H

#include <stdint.h>

#include "base/error.h"
#include "machines/wire.h"

enum { HR_TOGETHER_BYTES = HR_WIRE_HEAD - 24 };

/* A machine's clock, against machine 0's. */
struct hr_machine_clock {
    int64_t offset_ns; /* added to its own it is machine 0's, */
    int64_t error_ns;  /* give or take so much */
};

struct hr_together {
    struct hr_wire *wire;
    int64_t timeout_ns; /* of a gathering; 0: none */
    uint32_t gatherings;
    bool here[HR_WIRE_MACHINES];                         /* whose word of this gathering has come */
    bool lost[HR_WIRE_MACHINES], owes[HR_WIRE_MACHINES]; /* owes: it has asked for our time */
    bool without[HR_WIRE_MACHINES]; /* the run has gone on without them: nobody waits for them, and
                                       their words are zeros. Set by who closes the carrier */
    bool parts;                     /* who is gone has ended */
    char why[160];                  /* the last one was lost */
    size_t bytes;
    unsigned char *all; /* (machines, bytes) the caller's */
    bool ran;           /* a carrier has had the wire, and has closed. Set by who closes it */
    void *waste[HR_WIRE_MACHINES]; /* owned: bodies that mean nothing any more */
    int64_t asked_ns;              /* own clock: the question under way; 0: none */
    struct hr_machine_clock clock[HR_WIRE_MACHINES];
};

void hr_together_open(struct hr_wire *wire, int64_t timeout_ns, struct hr_together *out);

/* all (machines, bytes): machine m's `mine`, bytes <= HR_TOGETHER_BYTES. `what` is waited for, in
 * words. */
HR_CHECKED enum hr_status hr_together_gather(struct hr_together *together, const void *mine,
                                             size_t bytes, void *all, const char *what);

/* `status`, with its message, is what this machine has come to. When it, or another machine, has
 * failed: the status of the first that has; of others the message begins with its host. */
HR_CHECKED enum hr_status hr_together_fail(struct hr_together *together, enum hr_status status,
                                           const char *what);

/* Measure all clocks, and set this machine's offset (base/clock.h); together->clock has all. */
HR_CHECKED enum hr_status hr_together_clock(struct hr_together *together);

/* Give waste back. */
void hr_together_close(struct hr_together *together);

/* Behind all else, before the wire is closed: what this machine has said has come to all others. */
HR_CHECKED enum hr_status hr_together_part(struct hr_together *together);

#endif
