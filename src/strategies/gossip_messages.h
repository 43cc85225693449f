/* gossip_messages.h - replicas that neighbours let each other have: how many have come.
 *
 *   Together   a word that counts them: the replica lies where all read it.
 *   Apart      neighbours on different machines have a ring; its message says where the replica
 *              lies, which is carried there with it (machines/carrier.h), and is released when it
 *              has been read.
 *
 *     [came to worker 0 from 0, 1, ..., to 1 ... | ring to 0 from 0, 1, ..., to 1 ...]
 *
 * Threads: a word's writer is the sender, or the driver that delivers for it.
 */
#ifndef HR_STRATEGIES_GOSSIP_MESSAGES_H
#define HR_STRATEGIES_GOSSIP_MESSAGES_H

#include "strategy/strategy.h"

size_t hr_gossip_messages_bytes(const struct hr_shared_state *shared);
/* Zeroed memory, at the beginning of shared->own. */
void hr_gossip_messages_init(const struct hr_shared_state *shared);

/* Replicas that worker `from` has let worker `to` have, as this machine knows. */
uint64_t hr_gossip_came(const struct hr_shared_state *shared, size_t to, size_t from);
/* One more, as it lies in the segment. */
struct hr_gossip_payload {
    const void *at;
    size_t bytes;
};
void hr_gossip_deliver(const struct hr_shared_state *shared, size_t to, size_t from,
                       struct hr_gossip_payload payload);
/* Worker `to` has read the oldest: it may be overwritten. */
void hr_gossip_took(const struct hr_shared_state *shared, size_t to, size_t from);

/* strategy->each_ring */
enum hr_status hr_gossip_each_ring(const struct hr_shared_state *shared, hr_visit_ring_fn visit,
                                   void *arg);

#endif
