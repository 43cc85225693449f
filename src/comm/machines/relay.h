/* relay.h - what comes by one wire goes on by another, in both directions.
 *
 *     machine m ---- far wire ---- this process ---- near wire, as from m ---- who runs
 *
 *   A message is held whole, a few from each machine and direction at a time: then the wire it
 *   comes by is told "not now", so that who sends too much waits there.
 *   Order, and who is lost, are passed on: of a machine that the far wire has lost the near one is
 *   cut, and the other way round it is over.
 *
 * Threads: one.
 * Errors:  as wire.h has it; HR_E_NOMEM.
 * Test:    tests/unit/machines/test_relay.c
 */
#ifndef HR_MACHINES_RELAY_H
#define HR_MACHINES_RELAY_H

#include "base/error.h"
#include "machines/wire.h"

struct hr_relay_options {
    struct hr_wire *near, *far; /* of the same machines; the caller's */
    /* Cut the near wire to that machine. */
    void (*cut)(void *arg, size_t machine);
    /* Once in a while: is there more to be done? What has come is passed on first. */
    bool (*goes_on)(void *arg);
    void *arg;
};

/* Until goes_on says no, and all that has come from near has gone; sleeps in between, a sixteenth
 * of the time since something moved, 20 us to 1 ms. */
HR_CHECKED enum hr_status hr_relay(const struct hr_relay_options *options);

#endif
