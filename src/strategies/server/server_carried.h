/* server_carried.h - servers and workers on several machines: what goes with their messages.
 *
 *     PUSH, to a shard       the shard's slice of the worker's gradient, or its packet; but for
 *     PART, to a shard       what went ahead of it (server.h)
 *     PUSHPULL, to a shard   the slice of its weights
 *     WEIGHTS, to a worker   the same, as the shard has left it
 *
 * With all of them goes the index that shard 0 hands out next: at a cut, which each worker comes to
 * behind its last batch, all shards have to know whether it is an epoch's end.
 *
 * The shard writes into the worker's weights as ever, in the segment of its own machine; they are
 * the worker's when they arrive. Shard 0 lives with worker 0, who leads: what the leader stores at
 * a cut (dispenser->cut) it sees before any message of the span behind.
 *
 * Test: tests/unit/server/test_server_carried.c
 */
#ifndef HR_SERVER_SERVER_CARRIED_H
#define HR_SERVER_SERVER_CARRIED_H

#include "machines/carrier.h"
#include "strategy/shared_state.h"

/* Add the rings between workers and shards, which are initialised, and that index. shared is read
 * until the carrier is closed. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_server_carry(const struct hr_shared_state *shared,
                                          struct hr_carrier *carrier);

#endif
