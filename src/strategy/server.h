/* server.h - parameter servers: the messages between workers and shards, and where they travel.
 *
 *   Worker w and shard s are joined by two rings: requests w -> s, replies s -> w. Parameters are
 *   cut over shards by hr_stripe_begin. Bulk data does not travel: on PULL the shard copies its
 *   slice into the worker's weights (so it is never torn), on PUSH it reads the worker's gradient
 *   in place. A worker sends PUSH and then one PULL or CUT, and waits: three slots would do.
 *
 *     request            words                     effect at the shard
 *     PULL               step                      copy the slice out; reply WEIGHTS or NO_BATCH
 *     PUSH               index, samples, step, ns  asynchronous: update at once
 *                                                  synchronous: when all are in, update with T(n)
 *     CUT                                          when all are in: export, reply CUT_DONE to all
 *     DONE                                         this worker sends no more
 *     reply              words
 *     WEIGHTS            staleness of the last push, index of the batch (shard 0), skew
 *     NO_BATCH           staleness of the last push      nothing left before the cut (shard 0)
 *     CUT_DONE           staleness of the last push
 *
 *   Gate     a PULL of a worker with clock c (pushes since the cut) is taken when every live
 *            worker's clock is at least c - s: s = 0 synchronous, --staleness for ssp, unbounded
 *            for ps-async. Live: neither arrived at the cut nor done.
 *   State    the optimiser's is cut like the weights. Norms (--clip-norm, lars, lamb) are those of
 *            the gradient that an update is made with, a push or the sum of all; as nobody sees
 *            more than a shard, they need --servers 1.
 *   Safety   a worker overwrites its gradient only after the reply to a PULL, which its ring puts
 *            behind its PUSH; the shard overwrites a worker's weights only while it waits for them.
 */
#ifndef HR_STRATEGY_SERVER_H
#define HR_STRATEGY_SERVER_H

#include "strategy/shared.h"

enum { HR_SERVER_SLOTS = 4 };

enum hr_server_message {
    HR_PULL = 0x100,
    HR_PUSH,
    HR_CUT,
    HR_DONE,
    HR_WEIGHTS,
    HR_NO_BATCH,
    HR_CUT_DONE,
};

/* "pull", "push", "cut" or "done", as traces are shown; or "unknown". The numbers of requests stand
 * in traces, so they stay. */
const char *hr_server_request_name(uint32_t kind);

/* Where a reply keeps what. */
enum { HR_REPLY_STALENESS, HR_REPLY_INDEX, HR_REPLY_SKEW };
/* Where a request keeps what. */
enum { HR_REQUEST_INDEX, HR_REQUEST_SAMPLES, HR_REQUEST_STEP, HR_REQUEST_TOOK };

size_t hr_server_bytes(const struct hr_world *world);
void hr_server_init(struct hr_world *world);

struct hr_ring *hr_server_requests(const struct hr_world *world, size_t worker, size_t shard);
struct hr_ring *hr_server_replies(const struct hr_world *world, size_t worker, size_t shard);

/* The servers' weights and scratch, (params) each; ratio (tensors), used where there is one shard;
 * state (nstates, params). */
float *hr_server_weights(const struct hr_world *world);
float *hr_server_scratch(const struct hr_world *world);
float *hr_server_ratio(const struct hr_world *world);
float *hr_server_state(const struct hr_world *world);

/* Where a shard's slice of the parameters begins; that of the next is its end. */
size_t hr_server_slice(const struct hr_world *world, size_t shard);

/* Send to or from a shard: the ring has room by construction (asserted), and the peer's bell is
 * rung. */
void hr_server_send(const struct hr_world *world, const struct hr_posted *what,
                    const struct hr_message *message);

/* The shard's half (server_shard.c). */
enum hr_status hr_shard_start(struct hr_shard *shard, struct hr_world *world, size_t number);
void hr_shard_stop(struct hr_shard *shard);
void hr_shard_enabled(struct hr_shard *shard, unsigned char *enabled);
void hr_shard_take(struct hr_shard *shard, size_t worker);
bool hr_shard_over(const struct hr_shard *shard);

#endif
