/* play_cut.h - a cut where one process plays all ranks.
 *
 * Threads: a play's.
 */
#ifndef HR_PLAY_PLAY_CUT_H
#define HR_PLAY_PLAY_CUT_H

#include "play/play_losses.h"

/* Are all workers at a cut, but for those who are lost, and known to be? */
bool hr_play_at_cut(const struct hr_play *play);

/* Then: the steps of session/cut.h, one rank after another where threads have barriers. */
HR_CHECKED enum hr_status hr_play_cut(struct hr_play *play);

#endif
