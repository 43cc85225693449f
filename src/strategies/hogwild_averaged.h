/* hogwild_averaged.h - Hogwild (hogwild.c) on each of several machines, and averaging between them:
 * what takes the place of drawing an index there. The story is in the .c file.
 *
 * Threads: a worker's own, but for what its machine's workers share (struct node, in the segment).
 * Test:    tests/unit/train/test_multinode_hogwild.c
 */
#ifndef HR_STRATEGIES_HOGWILD_AVERAGED_H
#define HR_STRATEGIES_HOGWILD_AVERAGED_H

#include "strategy/rank.h"
#include "strategy/shared.h"

struct hr_averaging; /* a worker's part in it */

/* Shared by a machine's workers, behind the weights; 0 where there is one machine. */
size_t hr_averaging_bytes(const struct hr_shared_state *shared);
void hr_averaging_init(const struct hr_shared_state *shared, void *memory);

/* *out: NULL where there is one machine; end with hr_averaging_stop, which takes NULL, too. */
HR_CHECKED enum hr_status hr_averaging_start(struct hr_worker *worker, struct hr_averaging **out);
void hr_averaging_stop(struct hr_averaging *it);

/* Its next batch, or a cut (*batch false), with the meetings before it. *met becomes true with each
 * of them: its copy is not the weights any more. */
HR_CHECKED enum hr_status hr_averaging_draw(struct hr_averaging *it, struct hr_rank *rank,
                                            uint64_t *index, bool *batch, bool *met);

/* Its copy becomes the mean that all have met for at this cut. */
void hr_averaging_take_mean(const struct hr_averaging *it, struct hr_worker *worker);

#endif
