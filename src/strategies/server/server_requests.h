/* server_requests.h - what a worker sends to servers: numbered (server.h), and sent again where
 * --inject drop-push loses it.
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
 * Test:    tests/unit/play/test_dropped_pushes.c,
 *          tests/unit/play/test_explored_losses.c
 */
#ifndef HR_SERVER_SERVER_REQUESTS_H
#define HR_SERVER_SERVER_REQUESTS_H

#include "server/server.h"

/* Send a request to every shard, with the next number. */
void hr_requests_send(struct hr_worker *worker, struct hr_message *request);
/* The k-th shard in this worker's order: workers begin at different ones. */
static inline size_t hr_requests_shard_at(const struct hr_worker *worker, size_t k)
{
    return (k + worker->rank) % worker->shared->servers;
}
/* How much of the gradient in hand has not gone ahead (push_parts.h). */
static inline size_t hr_requests_left(const struct hr_worker *worker)
{
    return worker->shared->params - worker->requests.ahead;
}
/* Of the worker's push in hand, to all shards together: each carries its slice. */
uint64_t hr_requests_push_bytes(const struct hr_worker *worker);
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

#endif
