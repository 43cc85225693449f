/* staleness.h - exact counts of how old the weights were from which updates were computed.
 *
 * Staleness of an update: the updates of others that were applied between the read it was computed
 * from and its own application. A push over several shards has one at each of them; it counts for
 *
 *   its worker   the largest over all shards                  (hr_worker_stats, the worker's own)
 *   each key     the largest over the shards that hold a part of that tensor of the model
 *
 * Keys that lie in the same shards share one histogram: there are at most 2 servers of those. Of
 * those that lie in all shards it is that of all workers.
 *
 *   Memory   [spans: which shards | a histogram each, and a copy per machine | what the shards said
 *            to worker 0, 1, ...]; kept: histograms as they were at the last cut, [of workers | of
 *            spans]
 *   Threads  all workers add to the histograms of keys, relaxed; they are read after all ranks have
 *            ended. Everything else belongs to its worker.
 *   Test     tests/unit/strategies/test_accounts.c plays schedules whose staleness is known
 */
#ifndef HR_SERVER_STALENESS_H
#define HR_SERVER_STALENESS_H

#include "strategy/strategy.h"

/* Counted up by many. */
struct hr_staleness_counts {
    alignas(HR_LINE) struct hr_atom64 updates;
    struct hr_atom64 sum, max;
    struct hr_atom64 bucket[HR_STALENESS_BUCKETS]; /* the last holds all above */
};

/* shared->staleness: its size, and what it begins with (zeroed before). */
size_t hr_staleness_bytes(const struct hr_shared_state *shared);
void hr_staleness_init(const struct hr_shared_state *shared);

/* On several machines: the bytes of it in which machines count, each in a copy of its own; else
 * none. When all ranks have ended, and all machines have all copies, what others have counted is
 * added to this machine's. */
struct hr_range hr_staleness_copies(const struct hr_shared_state *shared);
void hr_staleness_gather(const struct hr_shared_state *shared);

/* (servers) staleness of this worker's push, as each shard replied; the worker's own. */
uint64_t *hr_staleness_at_shards(const struct hr_shared_state *shared, size_t worker);

/* Count the push described there. Once more where the worker has died in it: what it came to count
 * is not counted again. (Or one key's count: between two instructions.) */
void hr_staleness_count(const struct hr_shared_state *shared, size_t worker);

/* shared->kept_staleness. A cut is concluded; all go back to it: counts are what they were. */
size_t hr_staleness_kept_bytes(const struct hr_shared_state *shared);
void hr_staleness_keep(const struct hr_shared_state *shared);
void hr_staleness_restore(const struct hr_shared_state *shared);

/* Those of segment `key` of shared->optimizer; NULL: those of all, since each shard has a part of
 * it, or there is none. */
const struct hr_staleness_counts *hr_staleness_of_key(const struct hr_shared_state *shared,
                                                      size_t key);

#endif
