/* push_parts.h - a push leaves in parts while backward computes the rest of it (--overlap on).
 *
 *   Story    backward finishes layers from the last one to the first. When enough of the gradient
 *            is final (strategy/overlap.h) that much goes ahead to the shards that have it; the
 *            PUSH, when the gradient is whole, brings what is left.
 *   Where    in virtual time over the links, to arrive as bytes alone; between machines as PARTs,
 *            in the ring of the PUSH. A shard on the worker's machine reads the gradient in place,
 *            and gets none; nor does one colocated in the worker.
 *   Whole    a PUSH is the last of what it stands for, in the same ring, or on the same way. So a
 *            shard that takes it has the whole push, and knows it by that. A PART has no effect, no
 *            number, and no place in a trace. What a push is stays as it was: one input, applied
 *            once, whole; its staleness is counted when the PUSH is taken; a worker that is lost
 *            before it has sent the PUSH has pushed nothing.
 *   Room     a part leaves room for all that its worker may send before it waits. Where there is
 *            none it stays, and goes with the next: sending never waits.
 *   Safety   a part is read while it travels, and backward does not touch it any more; the gradient
 *            is overwritten after the reply to the PULL behind the PUSH, as ever.
 *
 * Threads: a worker's own.
 * Test:    tests/unit/server/test_server_carried.c, tests/unit/train/test_parts_of_pushes.c
 */
#ifndef HR_SERVER_PUSH_PARTS_H
#define HR_SERVER_PUSH_PARTS_H

#include "server/server.h"

/* hooks->final: grads [offset, params) are. */
void hr_push_parts_final(struct hr_worker *worker, size_t offset);

#endif
