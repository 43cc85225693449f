/* server_worker.h - what a worker sends to servers: numbered (server.h), and sent again where
 * --inject drop-push loses it; whole, or (--overlap on) in parts.
 *
 *   Loss     what is sent to one shard, a push or an exchange, is lost or not by itself, drawn from
 *            (seed, worker, shard, step, attempt). The message is lost: the shard never sees it. Or
 *            the answer is, with which the shard would say that it has taken it: then it has.
 *   Repeat   the worker cannot tell one from the other. After a deadline it sends the same message,
 *            with the same number, to those who have not answered; a shard that has taken it takes
 *            a duplicate. A copy that still lies with a shard is not overtaken by another one: the
 *            worker waits for one more deadline.
 *   Order    channels keep it: the worker sends nothing else before all shards have answered.
 *   Clock    none: a driver says when the deadline has passed.
 *
 * Threads: a worker's own.
 * Test:    tests/unit/serial/test_dropped_pushes.c,
 *          tests/unit/serial/test_explored_losses.c
 */
#ifndef HR_SERVER_SERVER_WORKER_H
#define HR_SERVER_SERVER_WORKER_H

#include "server/server.h"

/* Of the requests that a dead worker sent in its last life, the number of the last that came to the
 * shard, once or more often; 0: none did. By who knows that it is dead. */
uint64_t hr_requests_came(const struct hr_shared_state *shared, size_t worker, size_t shard);

/* Is a part of the worker's last push unanswered? Then it may do nothing else. */
static inline bool hr_requests_unanswered(const struct hr_worker *worker)
{
    return worker->requests.attempts > 0;
}
/* Has nobody a copy of it that was not taken? */
bool hr_requests_are_taken(const struct hr_worker *worker);
/* The deadline has passed, and they are: send it again. */
void hr_requests_repeat(struct hr_worker *worker);

/* --- a push leaves in parts while backward computes the rest of it ---
 *
 *   Story    backward finishes layers from the last one to the first. When enough of the gradient
 *            is final (strategy/shared.h) that much goes ahead to the shards that have it; the
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
 *   Test     tests/unit/server/test_server_carried.c, tests/unit/train/test_parts_of_pushes.c */

/* hooks->final: grads [offset, params) are. */
void hr_push_parts_final(struct hr_worker *worker, size_t offset);

#endif
