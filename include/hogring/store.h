/* store.h - a parameter server: keys with floats in them, that workers push to and pull from.
 *
 *     static enum hr_status work(struct hr_group *world, void *arg)
 *     {
 *         const struct hr_store_key keys[] = {{"weight", 1000, NULL}, {"bias", 10, NULL}};
 *         struct hr_store *store;
 *         uint64_t ticket;
 *         ... hr_store_open(world, &(struct hr_store_options){.keys = keys, .nkeys = 2}, &store);
 *         if (hr_store_serves(store)) {
 *             ... hr_store_serve(store);
 *         } else {
 *             ... hr_store_push_pull(store, 0, gradient, weights, &ticket);
 *             ... hr_store_wait(store, ticket);
 *         }
 *         return hr_store_close(store);
 *     }
 *
 * Words     key: a group of parameters that move together, floats under a name, all 0 at first
 *           unless `initial` says otherwise. worker: a rank that pushes and pulls. shard: a part of
 *           all floats with one owner, a server. part: what one shard has of one key. version of a
 *           part: updates made to it so far.
 * Placement dedicated: the last `servers` ranks of the group own the shards and call
 *           hr_store_serve; the others are workers. colocated: every rank is a worker, and the
 *           first `servers` own shards too, which they drain whenever they wait in a call of any
 *           store, and in hr_store_test and hr_store_progress, but not in collectives of the group;
 *           so wait for each other with hr_store_barrier.
 * Spreading all keys are laid end to end and split into equal stripes, one a shard, at multiples of
 *           128 bytes. A key of at most HR_STORE_SMALL floats is not split: it goes to the shard
 *           that would have had more of it. hr_store_balance tells the result.
 * Updates   asynchronous: a part is updated as each push arrives. synchronous: once all workers
 *           have pushed the key, with the sum in the order T(n) over workers (group.h, Order); so
 *           all must push it equally often. The rule is the caller's, or
 *           weights = weights + pushed.
 * Order     operations of one worker on one key take effect in the order in which they were begun;
 *           different keys are independent. A synchronous pull reads exactly the version that this
 *           worker's pushes before it have made. A part is never read half updated, but the parts
 *           of one key may be of different versions when asynchronous (hr_store_part_version).
 * Tickets   each operation gives a ticket, which may be waited for or tested any number of times,
 *           in any order, or never (hr_store_close waits for all). Until the operation is over,
 *           `values` may not be changed and `out` not be touched; `out` may be `values`.
 *           HR_STORE_OUTSTANDING operations may be under way; one more waits for the oldest.
 *           (Synchronous workers that begin more than that without waiting must do so in the same
 *           order of keys, or they block each other.)
 * Memory    keys and names are copied. Buffers are the caller's. Shards read and write them in
 *           place where they can: between threads always, between processes in memory from
 *           hr_group_alloc. Other memory is copied through a stage of the key's size in this rank's
 *           arena: one for each operation on that key under way at a time, up to HR_STORE_STAGES;
 *           then the next waits for the first. A shard takes 9 KiB a worker from its rank's arena.
 *           Both stay taken until the world ends. The floats of a shard are private memory of its
 *           server.
 * Errors    HR_E_USAGE: there is no such key, or a rank that serves pushes. HR_E_MISMATCH: ranks
 *           opened with different keys or options. Every wait has the world's deadline
 *           (HR_E_TIMEOUT; a server's lasts from one request to the next), and ends when a rank is
 *           lost (HR_E_LOST, HR_E_ABORTED).
 * Threads   a handle belongs to its rank.
 * Training  the servers of hr_train (train.h) are no store. They can be recorded, replayed and
 *           run in virtual time, keep the optimizer's state, hand out batches and come to rest
 *           for evaluations and checkpoints. A store has keys, tickets and the caller's buffers,
 *           and none of that. Both have the same rings, stripes and sums underneath, the caller's
 *           update rule and the two placements.
 */
#ifndef HOGRING_STORE_H
#define HOGRING_STORE_H

#include "hogring/group.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    HR_STORE_OUTSTANDING = 64, /* operations of a worker that may be under way */
    HR_STORE_SMALL = 4096,     /* floats up to which a key is not cut */
    HR_STORE_STAGES = 4,       /* of a key, for buffers that shards do not reach */
};

struct hr_store; /* one rank's view */

struct hr_store_key {
    const char *name;     /* all different */
    size_t count;         /* floats, at least 1 */
    const float *initial; /* (count) read by hr_store_open on ranks that own shards; NULL: zeros */
};

/* One update: elements [first, first + count) of a key. */
struct hr_store_update {
    size_t key;
    const char *name;
    size_t first, count;
    size_t worker;    /* that pushed; synchronous: SIZE_MAX, it is the sum of all */
    uint64_t version; /* of the part, that this update makes; the first is 1 */
};

/* The rule: weights (count) in place, pushed (count) read. Called on the shard's owner with its own
 * arg; never concurrently for one part. */
typedef void (*hr_store_update_fn)(void *arg, const struct hr_store_update *what, float *weights,
                                   const float *pushed);

/* Zero means what stands in brackets. All ranks give the same, but for initial, update and arg. */
struct hr_store_options {
    const struct hr_store_key *keys;
    size_t nkeys;
    const char *placement;     /* "dedicated" or "colocated" (dedicated) */
    size_t servers;            /* shards (dedicated: 1; colocated: the group's size) */
    int synchronous;           /* 1: one update when all workers have pushed (0: one a push) */
    hr_store_update_fn update; /* (add) */
    void *arg;
};

/* All ranks of the group call it, in the same order as their other calls of the group. */
HR_API_CHECKED enum hr_status hr_store_open(struct hr_group *group,
                                            const struct hr_store_options *options,
                                            struct hr_store **store);

/* All ranks call it. It waits for the worker's operations, and on the owner of a shard until all
 * workers have closed. The handle is freed also on error. NULL is harmless. */
HR_API_CHECKED enum hr_status hr_store_close(struct hr_store *store);

/* Is this rank a dedicated server? And how many workers are there, which are ranks 0, 1, ... */
int hr_store_serves(const struct hr_store *store);
size_t hr_store_workers(const struct hr_store *store);

/* On a dedicated server: serve this store, and any other that is open on this rank, until all
 * workers have closed this one. */
HR_API_CHECKED enum hr_status hr_store_serve(struct hr_store *store);

/* --- operations of a worker ---------------------------------------------------------------------
 * key is the index in options.keys. */

HR_API_CHECKED enum hr_status hr_store_push(struct hr_store *store, size_t key, const float *values,
                                            uint64_t *ticket);
HR_API_CHECKED enum hr_status hr_store_pull(struct hr_store *store, size_t key, float *out,
                                            uint64_t *ticket);
/* Push, and pull the weights that this push's update made. */
HR_API_CHECKED enum hr_status hr_store_push_pull(struct hr_store *store, size_t key,
                                                 const float *values, float *out, uint64_t *ticket);

/* Wait until it is over. */
HR_API_CHECKED enum hr_status hr_store_wait(struct hr_store *store, uint64_t ticket);
HR_API_CHECKED enum hr_status hr_store_wait_all(struct hr_store *store);
/* Is it over? Does not wait; makes progress in all stores of this rank. */
HR_API_CHECKED enum hr_status hr_store_test(struct hr_store *store, uint64_t ticket, int *over);
/* Do what can be done without waiting, for all stores of this rank. */
HR_API_CHECKED enum hr_status hr_store_progress(struct hr_store *store);

/* No worker leaves before all workers have come. Dedicated servers take no part. Operations under
 * way are not waited for. */
HR_API_CHECKED enum hr_status hr_store_barrier(struct hr_store *store);

/* --- questions ----------------------------------------------------------------------------------
 */

/* The key of that name. HR_E_USAGE. */
HR_API_CHECKED enum hr_status hr_store_find(const struct hr_store *store, const char *name,
                                            size_t *key);

/* How many shards have a part of the key. */
size_t hr_store_parts(const struct hr_store *store, size_t key);

/* What a worker knows of part `part` of a key, from its operations that are over. */
struct hr_store_version {
    uint64_t read;      /* version that its last pull, or push_pull, gave */
    uint64_t written;   /* version that its last push, or push_pull, made */
    uint64_t staleness; /* of that push: updates made between the read before it, and itself */
};
struct hr_store_version hr_store_part_version(const struct hr_store *store, size_t key,
                                              size_t part);

/* "4 shards: 1.2 MiB, 1.2 MiB, 1.3 MiB, 1.2 MiB; largest / mean 1.04", cut off at `size`. */
void hr_store_balance(const struct hr_store *store, char *text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
