/* store.h - inside the store of hogring/store.h: messages, and what a rank holds.
 *
 *   Worker w and shard s are joined by two rings (shm/pair.h): requests w -> s, replies s -> w.
 *   Values do not travel: a request says where the worker's buffers lie (as offsets from the
 *   segment, so that it means the same in all processes), and the shard reads and writes them
 *   there. An operation sends one request to each shard that has a part of its key, and is over
 *   when each has replied.
 *
 *     request       words             effect at the shard
 *     PULL          part, -, out      copy the part out; reply
 *     PUSH          part, in          asynchronous: update at once; reply
 *                                     synchronous: when all workers' are in, update with T(n);
 *                                     reply to all
 *     PUSH_PULL     part, in, out     as PUSH, and then copy the part out
 *     DONE                            this worker sends no more
 *     reply         part, version, staleness
 *
 *   Order    a shard keeps, for each synchronous part and worker, a queue of what it cannot take
 *            yet, so that no key waits for another. A push stays at the head of its queue until
 *            there is one at the head of every worker's; so a pull behind it reads its version.
 *   Barrier  a push of no elements to one more, always synchronous, part of shard 0.
 *   Room     a worker has at most HR_STORE_OUTSTANDING operations under way, and a ring as many
 *            slots: it is never full (asserted).
 *   Safety   worker's buffers: written before the commit of a request, read after its peek, and the
 *            other way round with the reply. Nobody but the shard touches its weights.
 *
 * Training has servers of its own (server/server.h): their order is picked, recorded, replayed
 * and simulated, and they hold optimizer state. These serve any program, in real time.
 */
#ifndef HR_STORE_STORE_H
#define HR_STORE_STORE_H

#include <stdbool.h>

#include "group/world.h"
#include "shm/pair.h"
#include "store/partition.h"

enum hr_store_message { HR_STORE_PULL = 0x200, HR_STORE_PUSH, HR_STORE_PUSH_PULL, HR_STORE_DONE };

/* Where a request, and a reply, keeps what. */
enum { HR_STORE_PART, HR_STORE_IN, HR_STORE_OUT };
enum { HR_STORE_VERSION = 1, HR_STORE_STALENESS };

/* A worker's operation. */
struct hr_store_op {
    uint64_t ticket;
    enum hr_store_message kind;
    size_t key;          /* nkeys: the barrier */
    size_t missing;      /* replies */
    float *out;          /* the caller's */
    const float *staged; /* what to copy there when it is over; NULL: nothing */
};

/* Where values lie that shards do not reach; in this rank's arena. */
struct hr_store_stage {
    struct hr_store_stage *next; /* of the same key */
    uint64_t ticket;             /* of the operation that used it last */
    alignas(HR_LINE) float floats[];
};

/* A worker's half (store.c). */
struct hr_store_client {
    uint64_t begun;                              /* tickets given so far; the first is 1 */
    struct hr_store_op op[HR_STORE_OUTSTANDING]; /* ticket t stands at t % OUTSTANDING */
    struct hr_store_version *version;            /* (nparts + 1) */
    struct hr_store_stage **stage;               /* (nkeys) lists */
};

static inline struct hr_store_op *hr_client_op(struct hr_store_client *client, uint64_t ticket)
{
    return &client->op[ticket % HR_STORE_OUTSTANDING];
}

/* Its place may have been taken by a later one, which began when it was over. */
static inline bool hr_client_is_over(struct hr_store_client *client, uint64_t ticket)
{
    const struct hr_store_op *op = hr_client_op(client, ticket);
    return op->ticket != ticket || op->missing == 0;
}

struct hr_store_shard; /* a shard's half (shard.c) */

struct hr_store {
    struct hr_group *group;
    struct hr_store *next; /* open on this rank, the one opened before */
    struct hr_partition partition;
    char **label; /* (nkeys) "key <name>", in one block */
    size_t rank, workers, shards;
    bool colocated, synchronous;
    unsigned char *rings[HR_MAX_RANKS]; /* of shard s: of each worker two */
    struct hr_store_client *client;     /* NULL on a dedicated server */
    struct hr_store_shard *shard;       /* NULL where there is none */
};

enum { HR_STORE_LABEL = sizeof "key " - 1 };

static inline const char *hr_store_key_name(const struct hr_store *store, size_t key)
{
    return store->label[key] + HR_STORE_LABEL;
}

/* The group's number of the rank that owns shard s. */
static inline size_t hr_store_owner(const struct hr_store *store, size_t shard)
{
    return store->colocated ? shard : store->workers + shard;
}

static inline struct hr_ring *hr_store_requests(const struct hr_store *store, size_t worker,
                                                size_t shard)
{
    return hr_pair_ring(store->rings[shard], HR_STORE_OUTSTANDING, worker, HR_REQUESTS);
}

static inline struct hr_ring *hr_store_replies(const struct hr_store *store, size_t worker,
                                               size_t shard)
{
    return hr_pair_ring(store->rings[shard], HR_STORE_OUTSTANDING, worker, HR_REPLIES);
}

/* Send, and ring the bell of group rank `to`. */
static inline void hr_store_send(const struct hr_store *store, struct hr_ring *ring, size_t to,
                                 const struct hr_message *message)
{
    hr_pair_send(ring, hr_member_bell_of(&store->group->member, to), message);
}

/* Buffers as offsets, and back. */
static inline uint64_t hr_store_offset(const struct hr_store *store, const void *pointer)
{
    return (uintptr_t)pointer - (uintptr_t)store->group->member.place.segment;
}

static inline float *hr_store_pointer(const struct hr_store *store, uint64_t offset)
{
    return (float *)((uintptr_t)store->group->member.place.segment + (uintptr_t)offset);
}

/* Shard `number`, with weights as the keys' initial ones. */
HR_CHECKED enum hr_status hr_store_shard_create(struct hr_store *store,
                                                const struct hr_store_options *options,
                                                size_t number);
void hr_store_shard_destroy(struct hr_store_shard *shard);
/* Take at most one request of each worker. */
bool hr_store_shard_advance(struct hr_store *store);
/* Have all workers closed? */
bool hr_store_shard_over(void *shard);

#endif
