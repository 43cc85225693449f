/* group.h - ranks on one machine that communicate: collectives and messages over shared memory.
 *
 *     static enum hr_status work(struct hr_group *world, void *arg)
 *     {
 *         float x[2] = {1, (float)hr_group_rank(world)};
 *         return hr_all_reduce(world, x, x, 2, HR_FLOAT32, HR_SUM);
 *     }
 *     struct hr_world_options options = {.nranks = 4};
 *     return hr_world_run(&options, work, NULL);
 *
 * Words     rank: one of nranks that work together, a thread or a process; rank 0 is the master.
 *           group: some ranks, numbered anew from 0 in the order they were given. The world is the
 *           group of all. count: elements, never bytes. block: what one rank gives or gets.
 * Memory    a buffer is the caller's. Any memory will do. Ranks that are processes reach each
 *           other's buffers in place when they come from hr_group_alloc; others are copied,
 *           through shared memory. In one all_reduce either all ranks' buffers come from
 *           hr_group_alloc or none does (HR_E_MISMATCH). Threads reach everything. What others
 *           reach they read and write between a rank's call and its return, at no other time.
 * In place  where a call says so, input and output may be the same memory, which saves a copy.
 *           Otherwise they must not overlap.
 * Calls     all ranks of a group call the same operations in the same order with the same count,
 *           type, operator and root. When they do not, every rank that waits for another gets
 *           HR_E_MISMATCH (or HR_E_ABORTED), and the message shows both calls. Several groups may
 *           be used in turn; one operation at a time a group (isend and irecv apart).
 * Order     sums and products have one order of addition, which depends on the number of ranks and
 *           the index of the element alone: T(n), the binary tree over ranks that splits at the
 *           largest power of two below n, unless the algorithm's description says otherwise
 *           (ring, bidirectional-ring, double-tree; hogring bench --help). So all ranks have the
 *           same bits, and so has the next run.
 * Numbers   float: IEEE 754; overflow gives infinity, NaN is carried by every operator. int:
 *           sums and products wrap. mean: the sum, divided by the number of ranks, for integers
 *           truncated towards 0.
 * Errors    every call returns HR_OK or a status, and hr_error_message() says what happened:
 *           HR_E_USAGE    a rank, type or operator that there is not, buffers that overlap
 *           HR_E_MISMATCH ranks called different operations     HR_E_TIMEOUT  nobody came
 *           HR_E_LOST     a rank died; HR_E_ABORTED another rank failed: the world is over
 *           HR_E_NOMEM, HR_E_SHM     memory is not to be had
 * Threads   a group handle belongs to its rank.
 */
#ifndef HOGRING_GROUP_H
#define HOGRING_GROUP_H

#include <stddef.h>
#include <stdint.h>

#include "hogring/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HR_API_CHECKED __attribute__((warn_unused_result))

enum hr_type { HR_FLOAT32, HR_FLOAT64, HR_INT32, HR_INT64, HR_TYPES };
enum hr_redop { HR_SUM, HR_PRODUCT, HR_MIN, HR_MAX, HR_MEAN, HR_REDOPS };

struct hr_group; /* one rank's view of a group */

/* --- the world ---------------------------------------------------------------------------------
 */

/* Zero means what stands in brackets. */
struct hr_world_options {
    size_t nranks;         /* 1 .. 64 */
    const char *launch;    /* "thread" or "process" (thread) */
    const char *algorithm; /* of all_reduce, as hogring bench --algorithm names them (auto) */
    const char *transport; /* "zero-copy" or "copy": payload through the rings (zero-copy) */
    const char *link;      /* with copy: every link is this slow, "16GB/s,5us" (as memory is) */
    const char *topology;  /* with copy: the links of this topology (a file, ring:N, star:N) */
    double slower;         /* those links' bandwidth divided by so much (1) */
    size_t group_size;     /* of hierarchical: ranks a node (2) */
    size_t max_groups;     /* that hr_group_new can make (8) */
    size_t arena_bytes;    /* for hr_group_alloc, each rank (16 MiB) */
    double timeout;        /* of one wait, seconds (30; negative: none) */
    int pin;               /* 1: ranks keep to processors, shared out evenly (0) */
};

/* What a rank does. An error ends the world: all others get HR_E_ABORTED. */
typedef enum hr_status (*hr_rank_fn)(struct hr_group *world, void *arg);

/* Start the ranks, run `work` in each, and wait for their end. HR_OK, or the first failure: 10 s
 * behind it a thread that is still in `work` is left there, and goes on to use `arg`. */
HR_API_CHECKED enum hr_status hr_world_run(const struct hr_world_options *options, hr_rank_fn work,
                                           void *arg);

/* The same inside a rank that torchrun, mpirun or a shell has started: rank and size come from the
 * environment (RANK, WORLD_SIZE, LOCAL_RANK, or mpirun's); options->nranks and launch are not read.
 * Finish with hr_world_leave; status is how this rank's work ended. */
HR_API_CHECKED enum hr_status hr_world_join(const struct hr_world_options *options,
                                            struct hr_group **world);
void hr_world_leave(struct hr_group *world, enum hr_status status);

/* --- groups ------------------------------------------------------------------------------------
 */

size_t hr_group_rank(const struct hr_group *group); /* in this group, from 0 */
size_t hr_group_size(const struct hr_group *group); /* ranks in it */
size_t hr_local_rank(const struct hr_group *group); /* on this machine */

/* A group of the n world ranks listed (all different; they become 0 .. n - 1). Every rank of the
 * world calls it, in the same order, with the same list; *group is NULL in those not listed.
 * At most max_groups a world. Free with hr_group_free, which does not communicate, and does not
 * make room for another. */
HR_API_CHECKED enum hr_status hr_group_new(struct hr_group *world, const size_t *ranks, size_t n,
                                           struct hr_group **group);
void hr_group_free(struct hr_group *group);

/* Memory that all ranks reach in place, zeroed, aligned to 128 bytes. It lives as long as the
 * world. HR_E_NOMEM names arena_bytes. */
HR_API_CHECKED enum hr_status hr_group_alloc(struct hr_group *group, size_t bytes, void **memory);

/* --- collectives -------------------------------------------------------------------------------
 * `in` is read, `out` is written; both are ignored where this rank gives or gets nothing. */

/* Nobody leaves before all have come. */
HR_API_CHECKED enum hr_status hr_barrier(struct hr_group *group);

/* buffer (count) of every rank becomes root's. */
HR_API_CHECKED enum hr_status hr_broadcast(struct hr_group *group, void *buffer, size_t count,
                                           enum hr_type type, size_t root);

/* out (count) of every rank = the reduction over all ranks' in (count). In place: in == out. */
HR_API_CHECKED enum hr_status hr_all_reduce(struct hr_group *group, const void *in, void *out,
                                            size_t count, enum hr_type type, enum hr_redop redop);

/* As all_reduce, but only root's out is written. In place: in == out, at the root. */
HR_API_CHECKED enum hr_status hr_reduce(struct hr_group *group, const void *in, void *out,
                                        size_t count, enum hr_type type, enum hr_redop redop,
                                        size_t root);

/* in (n * count) is n blocks; out (count) of rank r = the reduction over all ranks' block r.
 * In place: out == in + rank * count. */
HR_API_CHECKED enum hr_status hr_reduce_scatter(struct hr_group *group, const void *in, void *out,
                                                size_t count, enum hr_type type,
                                                enum hr_redop redop);

/* Block r of every rank's out (n * count) = rank r's in (count). In place: in == out +
 * rank * count. */
HR_API_CHECKED enum hr_status hr_all_gather(struct hr_group *group, const void *in, void *out,
                                            size_t count, enum hr_type type);

/* Block r of root's out (n * count) = rank r's in (count). In place at the root: in == out +
 * root * count. */
HR_API_CHECKED enum hr_status hr_gather(struct hr_group *group, const void *in, void *out,
                                        size_t count, enum hr_type type, size_t root);

/* out (count) of rank r = block r of root's in (n * count). In place at the root: out == in +
 * root * count. */
HR_API_CHECKED enum hr_status hr_scatter(struct hr_group *group, const void *in, void *out,
                                         size_t count, enum hr_type type, size_t root);

/* Block r of rank q's out (n * count) = block q of rank r's in (n * count). In place: in == out. */
HR_API_CHECKED enum hr_status hr_all_to_all(struct hr_group *group, const void *in, void *out,
                                            size_t count, enum hr_type type);

/* --- messages ----------------------------------------------------------------------------------
 * Between two ranks they arrive in the order in which they were sent, and the receiver's count and
 * type have to be the sender's (HR_E_MISMATCH). A send may wait for its receive. What was begun
 * goes on while its rank waits in a call of the same group, a collective too. */

HR_API_CHECKED enum hr_status hr_send(struct hr_group *group, const void *buffer, size_t count,
                                      enum hr_type type, size_t to);
HR_API_CHECKED enum hr_status hr_recv(struct hr_group *group, void *buffer, size_t count,
                                      enum hr_type type, size_t from);

/* Begin, and see it through with hr_wait, which every request needs exactly once; until then the
 * buffer may not be changed (isend) or touched (irecv). A rank may send to itself this way. */
struct hr_request;
HR_API_CHECKED enum hr_status hr_isend(struct hr_group *group, const void *buffer, size_t count,
                                       enum hr_type type, size_t to, struct hr_request **request);
HR_API_CHECKED enum hr_status hr_irecv(struct hr_group *group, void *buffer, size_t count,
                                       enum hr_type type, size_t from, struct hr_request **request);
HR_API_CHECKED enum hr_status hr_wait(struct hr_request *request);

/* --- accounts ----------------------------------------------------------------------------------
 * Bytes and messages that this rank has sent to, and received from, rank `peer` of the group in
 * collectives and messages: payload that crossed between the two, whichever copied it; exactly what
 * the algorithm's formula says. */
struct hr_traffic {
    uint64_t bytes_sent, bytes_received;
    uint64_t messages_sent, messages_received;
};
struct hr_traffic hr_group_traffic(const struct hr_group *group, size_t peer);

/* Names, as on the command line; NULL past the end. */
const char *hr_type_name(enum hr_type type);
const char *hr_redop_name(enum hr_redop redop);
size_t hr_type_bytes(enum hr_type type);

#ifdef __cplusplus
}
#endif

#endif
