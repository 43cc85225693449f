/* last_cut.h - the state of the last cut, for runs that go back there when a rank is lost.
 *
 * The snapshot is written at every cut, and a rank that dies meanwhile leaves it torn. So a copy is
 * kept of each that is whole.
 *
 * Threads: the launcher's, while all rest. shared->last_cut is not NULL.
 */
#ifndef HR_STRATEGY_LAST_CUT_H
#define HR_STRATEGY_LAST_CUT_H

#include "strategy/shared_state.h"

/* The snapshot is whole: a cut has been concluded, or the run begins. */
void hr_last_cut_keep(const struct hr_shared_state *shared);
/* Make the snapshot what it was then. */
void hr_last_cut_restore(const struct hr_shared_state *shared);

#endif
