/* overlap.h - --overlap on: a gradient leaves its worker in pieces, while backward computes the
 * rest.
 *
 *     grads   [ first layer ... | ... | ... last layer ]      backward finishes from the right
 *             0                 offset               end
 *
 *   Pieces   end where layers do: as soon as they hold `least` elements. So they follow from the
 *            model alone. What is left when backward has finished the first layer is the last one.
 *
 * Threads: pure functions.
 * Test:    tests/unit/train/test_overlap.c, tests/unit/server/test_server_carried.c
 */
#ifndef HR_STRATEGY_OVERLAP_H
#define HR_STRATEGY_OVERLAP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "strategy/shared_state.h"

/* Elements of a piece, at least; SIZE_MAX where a gradient leaves whole. HR_E_USAGE: --bucket-size
 * is no size. */
HR_CHECKED enum hr_status hr_overlap_least(const struct hr_shared_state *shared, size_t *least);

/* grads [offset, end) are final, and those behind have left: do these leave ahead of the rest? */
static inline bool hr_overlap_goes_ahead(size_t least, size_t offset, size_t end)
{
    return offset > 0 && offset < end && end - offset >= least;
}

#endif
