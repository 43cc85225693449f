/* survivors.h - gossip that goes on without the workers it loses: who is not waited for, where a
 * request to stop takes hold, and whose samples nobody has trained on.
 *
 *   Members  a worker takes part from the term in which all have started together until it is
 *            lost. One that was started again is not waited for before the next such term, however
 *            soon it is back.
 *   Stop     news that travel a link a step do not do here: a loss makes ways longer, takes the
 *            worker that they come from, or cuts the graph apart. Instead one word says how many
 *            indices anybody has begun. The first to begin an index raises it; a request to stop
 *            freezes it, and nobody begins an index behind a frozen word. All who live can come to
 *            it: whoever they wait for has to come as far.
 *   Account  a lost worker's share of each batch from its loss to the next cut is trained on by
 *            nobody; shares are cut anew only at a cut. A step counts as its own if its replica
 *            has been sent to a neighbour. What is lost in all is counted by samples: those of the
 *            span's batches, less those that workers have trained on.
 *
 * Threads: a worker's line is its worker's, but for `missed`; the word about indices is written by
 *          whoever begins one; the rest by the launcher, while all rest or before they start.
 * Test:    tests/unit/strategies/test_survivors.c
 */
#ifndef HR_STRATEGIES_SURVIVORS_H
#define HR_STRATEGIES_SURVIVORS_H

#include "strategy/strategy.h"

struct hr_survivors;

/* 0 where nobody is outlived. Aligned to lines, and zeroed before init. */
size_t hr_survivors_bytes(const struct hr_shared_state *shared);
/* All who have seats start together, at seats->index. */
void hr_survivors_init(struct hr_survivors *survivors, const struct hr_shared_state *shared);

/* Is worker `worker` no member (any more)? */
bool hr_survivors_lack(const struct hr_survivors *survivors, const struct hr_shared_state *shared,
                       size_t worker);

/* The worker's next index, or a cut: all who live get the same indices. */
void hr_survivors_next(struct hr_survivors *survivors, struct hr_worker *worker,
                       struct hr_task *task);

/* Worker `worker` is gone, and its replica of no index from `missed` on has been sent to anybody:
 * its counters hold what came before. Called by the launcher at once, while others go on. */
void hr_survivors_lose(struct hr_survivors *survivors, const struct hr_shared_state *shared,
                       size_t worker, uint64_t missed);
/* strategy->missing. */
void hr_survivors_missing(struct hr_survivors *survivors, const struct hr_shared_state *shared);
/* The index at which all rest, at a cut; that at which the members have started. */
uint64_t hr_survivors_index(const struct hr_survivors *survivors);
uint64_t hr_survivors_began(const struct hr_survivors *survivors);

#endif
