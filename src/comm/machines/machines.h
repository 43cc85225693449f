/* machines.h - the machines of a run, from before it begins until it has ended: what each says is
 * known to all.
 *
 *     hr_machines_open(wire, &machines)     all are there; one clock, one instruction set
 *     status = hr_machines_fail(&machines, status, ...)     has any machine failed? then all have
 *     hr_machines_gather(&machines, &mine, bytes, all, ...)
 *     hr_train_call                         a run: the bridge has the wire (bridge.h)
 *     hr_machines_close(&machines)          all part; then the caller closes the wire
 *
 *   Gather   each sends what it has to say to all others, and waits for theirs. What comes for a
 *            later gathering waits in the wire, and so does what comes for the bridge, until
 *            that has gone (ran): then what is left of it, heartbeats, means nothing any more.
 *   Clock    of machine m: machine 0 is asked for its time, again and again. Of the round trip that
 *            was the shortest, its time belongs to the middle: it is wrong by half the round trip
 *            at most.
 *
 * Threads: one. Every machine calls the same, in the same order.
 * Errors:  HR_E_TIMEOUT and HR_E_LOST name the machines that are not there.
 * Source:  Cristian, "Probabilistic clock synchronization", Distributed Computing 3, 1989.
 * Test:    tests/unit/machines/test_machines.c, tests/unit/train/test_multinode.c
 */
#ifndef HR_MACHINES_MACHINES_H
#define HR_MACHINES_MACHINES_H

#include <stdint.h>

#include "base/error.h"
#include "base/isa.h"
#include "machines/wire.h"

enum { HR_MACHINES_BYTES = HR_WIRE_HEAD - 24 }; /* of what one says, at most */

/* A machine's clock, against machine 0's. */
struct hr_machine_clock {
    int64_t offset_ns; /* added to its own it is machine 0's, */
    int64_t error_ns;  /* give or take so much */
};

/* What a machine says of itself when it comes. */
struct hr_machine_traits {
    uint64_t processors; /* that this process may use, */
    uint64_t cores;      /* and their cores */
    enum hr_isa level;   /* of instructions, that it came with, */
    bool sums_as_amx;    /* and the order */
    char isa[16];        /* in full */
};

struct hr_machines {
    struct hr_wire *wire; /* borrowed */
    int64_t timeout_ns;   /* of a gathering; 0: none */
    uint32_t gatherings;
    bool here[HR_WIRE_MACHINES];                         /* whose word of this gathering has come */
    bool lost[HR_WIRE_MACHINES], owes[HR_WIRE_MACHINES]; /* owes: it has asked for our time */
    bool without[HR_WIRE_MACHINES]; /* the run has gone on without them: nobody waits for them, and
                                       their words are zeros. Set by who closes the bridge */
    bool parts;                     /* who is gone has ended */
    char why[160];                  /* the last one was lost */
    size_t bytes;
    unsigned char *all; /* (machines, bytes) the caller's */
    bool ran;           /* a bridge has had the wire, and has closed. Set by who closes it */
    void *waste[HR_WIRE_MACHINES]; /* owned: bodies that mean nothing any more */
    int64_t asked_ns;              /* own clock: the question under way; 0: none */
    struct hr_machine_clock clock[HR_WIRE_MACHINES];
    struct hr_machine_traits traits[HR_WIRE_MACHINES]; /* (machines) */
    size_t cores; /* that the machine with the fewest may use */
};

/* All come down to the lowest level of instructions among them (base/isa.h), and machine 0 says so:
 * call it before anything is computed, while there is one thread. HR_E_TIMEOUT, HR_E_LOST: not all
 * have come. */
HR_CHECKED enum hr_status hr_machines_open(struct hr_wire *wire, struct hr_machines *out);
/* In whatever way the run has ended. Waits for the others, a few seconds at most. */
void hr_machines_close(struct hr_machines *machines);

/* Is this machine 0, whose output is the run's? NULL: there is one machine. */
static inline bool hr_machines_first(const struct hr_machines *machines)
{
    return !machines || machines->wire->self == 0;
}

/* all (machines, bytes): machine m's `mine`, bytes <= HR_MACHINES_BYTES. `what` is waited for, in
 * words. */
HR_CHECKED enum hr_status hr_machines_gather(struct hr_machines *machines, const void *mine,
                                             size_t bytes, void *all, const char *what);

/* `status`, with its message, is what this machine has come to. When it, or another machine, has
 * failed: the status of the first that has; of others the message begins with its host. */
HR_CHECKED enum hr_status hr_machines_fail(struct hr_machines *machines, enum hr_status status,
                                           const char *what);

/* --- what open and close are made of --- */

void hr_machines_init(struct hr_wire *wire, int64_t timeout_ns, struct hr_machines *out);
/* Measure all clocks, and set this machine's offset (base/clock.h); machines->clock has all. */
HR_CHECKED enum hr_status hr_machines_clock(struct hr_machines *machines);
/* Behind all else, before the wire is closed: what this machine has said has come to all others. */
HR_CHECKED enum hr_status hr_machines_part(struct hr_machines *machines);

#endif
