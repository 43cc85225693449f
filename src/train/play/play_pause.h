/* play_pause.h - a save of an asynchronous run where one process plays all ranks: a pause between
 * two events, which changes nothing (strategy/pause.h).
 *
 *   When    a multiple of --checkpoint-every batches has been handed out, or a save is asked for
 *           (strategy/batch_schedule.h), and the epoch's last batch has not: there a cut follows,
 *           which saves. Not while losses wait to be taken, nor in a
 *           recall: then at the first event behind it. The checkpoint's step is the number of
 *           batches that have been handed out, less that of a step in hand (backup-workers).
 *
 *   Told    a worker's step is told when it has its next batch: until all whose step may be in the
 *           copy have told of it, the copy is held (session/launcher.h).
 *
 * Threads: a play's.
 * Test:    tests/unit/play/test_pause.c, test_pause_steps.c
 */
#ifndef HR_PLAY_PLAY_PAUSE_H
#define HR_PLAY_PLAY_PAUSE_H

#include "play/play.h"

/* Between two events: save, where that is due. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_play_pause(struct hr_play *play);

#endif
