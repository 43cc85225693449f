/* peers.h - what workers let each other have, without a server: one message after the other, from
 * one to another (gossip.c).
 *
 *   Together   a word counts them: what a message stands for lies where all read it.
 *   Apart      two workers on different machines have a ring; its message says where that lies,
 *              which is carried there with it (machines/bridge.h), and is released when it has
 *              been read.
 *
 *     [came to worker 0 from 0, 1, ..., to 1 ... | ring to 0 from 0, 1, ..., to 1 ...]
 *
 * Memory:  shared->peers, where prepare has set shared->have_peers; else none.
 * Threads: a word's writer is the sender, or the driver that delivers for it.
 */
#ifndef HR_STRATEGY_PEERS_H
#define HR_STRATEGY_PEERS_H

#include "strategy/strategy.h"

size_t hr_peers_bytes(const struct hr_shared_state *shared);
void hr_peers_init(const struct hr_shared_state *shared);

/* Messages that worker `from` has let worker `to` have, as this machine knows. */
uint64_t hr_peers_came(const struct hr_shared_state *shared, size_t to, size_t from);

/* What a message stands for, as it lies in the segment. */
struct hr_payload {
    const void *at;
    size_t bytes;
};
/* One more for worker `to`, which is never more than one behind: now, or when a driver that plays
 * all ranks says so. It has read the oldest, which may be overwritten. */
void hr_peer_send(const struct hr_worker *worker, size_t to, struct hr_payload payload);
void hr_peers_deliver(const struct hr_shared_state *shared, size_t from, size_t to);
void hr_peer_took(const struct hr_worker *worker, size_t from, size_t bytes);

/* Visit rings between ranks of different machines, in the same order on all. word[1] bytes at
 * word[0] of the segment go with a message. */
typedef enum hr_status (*hr_visit_ring_fn)(void *arg, size_t from, size_t to, struct hr_ring *ring);
enum hr_status hr_peers_each_ring(const struct hr_shared_state *shared, hr_visit_ring_fn visit,
                                  void *arg);

#endif
