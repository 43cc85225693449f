/* lost.h - Hogwild's lost updates, by sampling.
 *
 *   Story    a push loads a weight, adds to it, and stores it; what another worker stored in
 *            between is lost. Every push watches one random line of 16 weights: there it stores by
 *            atomic exchange, and compares the old value with the one it had loaded. A pair of
 *            weights that differs is one lost pair.
 *   Sample   one line a push costs some 0.1 us, whatever the model. Pairs of a line are mostly lost
 *            together: an interval must count lines, not pairs.
 *   Limits   a lost update that had not changed its pair is not counted; every lost store is
 *            counted once, by the worker that overwrites it. The watched line depends only on
 *            (worker, push).
 *
 * Test: tests/unit/strategies/test_lost.c has two pretended workers take turns.
 */
#ifndef HR_STRATEGIES_LOST_H
#define HR_STRATEGIES_LOST_H

#include <stddef.h>
#include <stdint.h>

#include "shm/atom.h"
#include "strategy/shared_state.h"

enum { HR_LOST_FLOATS = 16 }; /* of a line, 64 bytes */

/* Where the line begins, in `params` weights, that this push (counted from 1) of this worker
 * watches. */
size_t hr_lost_line(size_t params, size_t worker, uint64_t push);

/* Store one line's `count` weights (at most HR_LOST_FLOATS; live is where it begins) and count the
 * pairs that were no longer what `loaded` says.
 *   loaded, next  (count) before and after the update; of an odd count the last pair's second is 0
 */
void hr_lost_store(struct hr_lost *lost, struct hr_atom64 *live, const float *loaded,
                   const float *next, size_t count);

#endif
