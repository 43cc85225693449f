/* cut.h - where a model is cut into parts: in the order of its layers, as equal as they let it.
 *
 * Threads: none.
 * Test:    tests/unit/pipeline/test_cut.c, against all cuts there are
 */
#ifndef HR_PIPELINE_CUT_H
#define HR_PIPELINE_CUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Cut n pieces into `parts` runs of at least one piece each, so that the costliest run is as cheap
 * as can be; of such cuts the one with the least sum of squares; of those the one whose last cut
 * stands last, then the one before: so a piece that costs nothing stays with the one before it.
 * HR_E_USAGE: fewer pieces than parts, or none of either. HR_E_NOMEM.
 *   cost   (n) at least 0, their sum below 2^62
 *   first  (parts + 1) out: run p is the pieces [first[p], first[p + 1]) */
HR_CHECKED enum hr_status hr_pipeline_cut(const int64_t *cost, size_t n, size_t parts,
                                          size_t *first);

/* The same where rank k of `ranks` has the runs k, k + ranks, ...: so that the rank that has most
 * has as little as can be; of such cuts the one with the least sum of the runs' squares. The best
 * of all where a million looks suffice (a dozen runs of thirty pieces), else the best they find,
 * no worse than the above. `parts` is a multiple of `ranks`. */
HR_CHECKED enum hr_status hr_pipeline_cut_for_ranks(const int64_t *cost, size_t n, size_t ranks,
                                                    size_t parts, size_t *first);

#endif
