/* virtual_losses.h - losses in virtual time.
 *
 *   Death    (simulator.h) of a worker at the step or time that --inject names, of a server before
 *            its input; what it had begun is left undone.
 *   Notice   HR_NOTICE_PS after the death, and not before the dead worker's last message has come:
 *            who learns that a connection is closed has read all that was sent on it. Shards take
 *            the loss in its turn, behind these messages.
 *   Term     that a loss ends: nothing happens any more, but who computes ends its gradient, as in
 *            real time. Then, and when those who come back are there, the next one begins, without
 *            messages.
 *   Return   at again_ns (losses.h), as soon as shards have taken the loss. Starting takes no time.
 *   Account  a rank's time is booked while it is there.
 *
 * Threads: a simulator's.
 * Test:    tests/unit/train/test_virtual_losses.c,
 *          tests/unit/virtual/test_virtual_deaths.c
 */
#ifndef HR_VIRTUAL_VIRTUAL_LOSSES_H
#define HR_VIRTUAL_VIRTUAL_LOSSES_H

#include "virtual/simulator.h"

/* Deaths at a time happen then. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_virtual_plan_deaths(struct hr_simulator *sim);
/* That time has come for rank `rank`. */
HR_CHECKED enum hr_status hr_virtual_die_in_time(struct hr_simulator *sim, size_t rank);
/* Its death is noticed, if its last message is there. HR_E_LOST: the run cannot go on. */
HR_CHECKED enum hr_status hr_virtual_notice(struct hr_simulator *sim, size_t rank);
/* One of worker `rank`'s messages has arrived: it may have been waited for. */
HR_CHECKED enum hr_status hr_virtual_notice_late(struct hr_simulator *sim, size_t rank);

/* After every event, where losses are outlived: who may come back does; where a loss has ended the
 * term and nobody is awaited, a new one begins. */
HR_CHECKED enum hr_status hr_virtual_mind_losses(struct hr_simulator *sim);
/* A cut is over: nothing is on its way, and there may be other seats. */
void hr_virtual_begin_anew(struct hr_simulator *sim);

#endif
