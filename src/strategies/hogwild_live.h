/* hogwild_live.h - weights that a machine's workers read and update without locks: what Hogwild
 * (hogwild.c, with its story) and that on each of several machines (hogwild_averaged.c) do alike.
 *
 *     [pushes line of worker 0 | of 1 | ... | pairs of weights | ledger]    first in shared->own
 *
 * Threads: a worker's own, as strategy.h.
 */
#ifndef HR_STRATEGIES_HOGWILD_LIVE_H
#define HR_STRATEGIES_HOGWILD_LIVE_H

#include "strategies/ledger.h"
#include "strategy/shared.h"

/* A worker's own, or its first part. */
struct hr_hogwild_own {
    uint64_t seen; /* pushes of others when its copy was read */
};

/* Functions of the table. */
size_t hr_hogwild_bytes(const struct hr_shared_state *shared);
void hr_hogwild_init(struct hr_shared_state *shared);
enum hr_status hr_hogwild_start(struct hr_worker *worker);
void hr_hogwild_offer(struct hr_worker *worker);
/* Floats again for as long as all rest: a barrier stands on either side. */
float *hr_hogwild_at_rest(const struct hr_shared_state *shared);

/* Read the shared weights into the worker's copy. */
void hr_hogwild_pull(struct hr_worker *worker);
/* It begins a batch with that copy. */
void hr_hogwild_count_batch(struct hr_worker *worker);
/* Of batches whose worker is lost. */
struct hr_ledger *hr_hogwild_ledger(const struct hr_shared_state *shared);
/* The shared weights (params), copied out; and become these, while all who write them rest. */
void hr_hogwild_load(const struct hr_shared_state *shared, float *weights);
void hr_hogwild_store(const struct hr_shared_state *shared, const float *weights);

#endif
