/* before_image.h - weights and state as they were before an update that is made in place, kept so
 * that half of one can be undone.
 *
 *   [ part 0 | part 1 | ... | weights (params) | state (nstates, params) ]      shared memory
 *
 *   Story    parameters are cut into parts, each with a keeper. Before anybody changes an element
 *            of a part by the update of batch k, the keeper copies the part, and then says so.
 *   Cost     memory: the weights and the optimiser's state once more. A step: each element of them
 *            is read and written once, by its keeper.
 *   Deaths   a keeper that dies while it copies has not said so, and its image before was of no use
 *            any more: nobody copies for batch k before all are beyond k - 1 (strategies say why).
 *
 * Threads: a part's keeper writes it; whoever settles reads when all rest.
 */
#ifndef HR_STRATEGY_BEFORE_IMAGE_H
#define HR_STRATEGY_BEFORE_IMAGE_H

#include "strategy/shared.h"

struct hr_before_image_part;

/* A view of it. */
struct hr_before_image {
    const struct hr_shared_state *shared;
    struct hr_before_image_part *part; /* (nparts) */
    float *weights;                    /* (params) */
    float *state;                      /* (nstates, params) */
};

/* Bytes of one of so many parts; 0 where the run does not outlive losses. */
size_t hr_before_image_bytes(const struct hr_shared_state *shared, size_t nparts);
/* That which lies there, zeroed before: nothing is kept. */
struct hr_before_image hr_before_image_at(const struct hr_shared_state *shared, void *memory,
                                          size_t nparts);

/* Keep part `part`, parameters [range.begin, ...), as they are before batch `index`.
 *   weights (range.count) those of the part; state (nstates, params) the whole */
void hr_before_image_keep(const struct hr_before_image *image, size_t part, uint64_t index,
                          struct hr_range range, const float *weights, const float *state);
/* Is that the index for which the part has been kept? */
bool hr_before_image_has(const struct hr_before_image *image, size_t part, uint64_t index);
/* Copy parameters, and their state, from the image into the snapshot. */
void hr_before_image_restore(const struct hr_before_image *image, struct hr_range range);

#endif
