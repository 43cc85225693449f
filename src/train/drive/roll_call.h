/* roll_call.h - the launcher of ranks that wait for one another: it sees who is back, and when all
 * who live rest it lets them go on, into a new term where somebody was lost or came back.
 *
 * Threads: the launcher's.
 * Test:    tests/unit/drive/test_roll_call.c, tests/unit/train/test_losses.c
 */
#ifndef HR_DRIVE_ROLL_CALL_H
#define HR_DRIVE_ROLL_CALL_H

#include "drive/losses.h"

/* Call at every ring of the launcher's bell. */
HR_CHECKED enum hr_status hr_roll_call(struct hr_losses *losses);

#endif
