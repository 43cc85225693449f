/* last_cut.h - the state of the last cut, for runs that a lost server takes back there, or the loss
 * of the last worker where each has a replica of its own (strategy->joins_at_cut).
 *
 * The snapshot is written at every cut; a server that dies meanwhile leaves it torn. So the leader
 * keeps a copy when a cut is concluded; while it does, the snapshot is whole.
 *
 * Threads: keep: the leader's, at a cut; restore: the launcher's, while all rest.
 */
#ifndef HR_STRATEGY_LAST_CUT_H
#define HR_STRATEGY_LAST_CUT_H

#include "strategy/shared_state.h"

/* Nothing, where shared->last_cut is NULL. */
void hr_last_cut_keep(const struct hr_shared_state *shared);
/* Make the snapshot what it was at the last cut. */
void hr_last_cut_restore(const struct hr_shared_state *shared);

#endif
