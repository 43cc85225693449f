/* run_state.h - all that an explored run decides by, as bytes: two runs with the same go on alike.
 *
 *   shared    the segment, the roster and the words of ranks, as they are: where the clock stands
 *             still they hold no times
 *   private   of strategies with servers: what ranks have that is no address. Of others the heap,
 *             as it is, which tells more states apart; for runs that go back (rewind.h)
 */
#ifndef HR_TESTS_SUPPORT_RUN_STATE_H
#define HR_TESTS_SUPPORT_RUN_STATE_H

#include "serial/serial.h"
#include "shm/segment.h"

/* The shared memory of a run of one thread. */
const struct hr_segment *run_state_segment(const struct hr_serial *serial);
const struct hr_segment *run_state_control(const struct hr_serial *serial);

/* Give each piece to `add`.
 *   rewinds   in place of shared memory a digest of its pages that have changed
 *   heap      and so of the heap, whatever the strategy */
void run_state(const struct hr_serial *serial, bool rewinds, bool heap,
               void (*add)(void *arg, const void *piece, size_t bytes), void *arg);

#endif
