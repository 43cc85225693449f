/* server_settle.h - ps-sync outlives workers: all are recalled, and the launcher settles the shards
 * (settle.h).
 *
 *   Story    a shard updates its slice in place when the gradients of all are in. A worker that
 *            dies while it hands one in has reached some shards and not others: those have made the
 *            update of batch k, these will never make it. So before an update a shard keeps its
 *            slice as it is (before_image.h); then it updates, and says so.
 *   Settle   let k be the batch that the slowest shard is at. No shard is farther than behind the
 *            update of k: a worker begins k + 1 when all shards have made that of k. Whoever has
 *            kept its slice for k has begun that update, and perhaps ended it: the image is the
 *            state before k. Whoever has not has its slice in that state. So it does not matter
 *            either whether a shard has died in the middle (colocated).
 *   Replicas both ranks of a pair do so, each for its own copy; who leads counts.
 *   Cost     memory: weights and the optimiser's state once more; a step: they are once read and
 *            written, 8 (1 + states) bytes a parameter.
 *
 * Memory:  behind the servers'; none where the run does not outlive losses.
 * Threads: a shard's words are its own; settle reads when all rest.
 * Test:    tests/unit/strategy/test_settle.c
 */
#ifndef HR_SERVER_SERVER_SETTLE_H
#define HR_SERVER_SERVER_SETTLE_H

#include "server/server.h"

/* strategy->bytes, init and settle of ps-sync. */
size_t hr_server_settle_bytes(const struct hr_shared_state *shared);
void hr_server_settle_init(struct hr_shared_state *shared);
uint64_t hr_server_settle(struct hr_shared_state *shared);

/* A shard's, when it begins: workers without a seat have left. */
void hr_shard_know_seats(struct hr_shard *shard);
/* Around the update of batch `index`. */
void hr_shard_begin_update(const struct hr_shard *shard, uint64_t index);
void hr_shard_end_update(const struct hr_shard *shard, uint64_t index);

#endif
