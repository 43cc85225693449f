/* local_group.h - where to meet for ranks that one thread plays: up to 1024, without rings.
 *
 *     hr_local_group_create(&options, &local);                 options.nranks, options.algorithm
 *     hr_local_group_on_sum(local, summed, driver);            if sums are to take time
 *     hr_member_init_local(&member[r], local, r);              in the place of hr_member_init
 *     hr_member_all_reduce_start(&member[r], ...);             the last one sums, calls summed()
 *     hr_local_group_release(local);                           when the time has come
 *     hr_member_test(&member[r]) -> true, hr_member_finish, hr_member_fini
 *     hr_local_group_begin(local, n);                          anew, where some are lost, or back
 *
 *   Story    every rank that starts an all-reduce leaves in its entry what it calls and where its
 *            buffer lies. The last to come finds them all, does for all ranks what they would have
 *            done, and tells the driver; whoever tests sees the end when the driver has released
 *            it, at once where there is no driver to ask.
 *   Bits     those of real ranks with the same options. direct, one-shot, tree and master-worker
 *            (and auto) add in T(n), straight from all inputs to all outputs; the others perform
 *            their plans' rows (below). A fused sum (hr_member_reduce_apply_start) is
 *            handed, block by block, to the apply of the rank that came last.
 *   Account  hr_member_traffic is that of real ranks, who reach one another's buffers.
 *   Time     a local group has none. A driver that has some walks the same plan over its links:
 *                hr_walk(&(struct hr_walk_options){.topology = ..., .node = ..., .n = nranks,
 *                                                  .plan = what->algorithm->plan,
 *                                                  .group_size = options.group_size,
 *                                                  .bytes = what->bytes,
 *                                                  .first = what->first}, &walk)
 *            and releases walk.ps later. The figure depends on (algorithm, bytes, first) alone, so
 *            it is worth keeping.
 *   Order    one sum at a time. A rank may start the next as soon as it has seen the end of the one
 *            before, while others have still to look.
 *   Errors   as in any group: ranks whose calls differ all get HR_E_MISMATCH with both calls, those
 *            that had come when they test. Such a local group is good for nothing any more.
 *   Memory   taken by hr_local_group_create: 1024 ranks need 0.1 MB, and a plan, which is made anew
 *            when a local group begins with another number of them.
 *
 *   Blocks   all_to_all and all_gather are done alike, and told as sums: what->plan is theirs.
 *
 * Only these four; nothing waits here, so hr_member_wait is for collectives that
 * are over already, and hr_member_bell is NULL.
 *
 * Threads: all ranks of a local group belong to one thread at a time.
 * Test: tests/unit/group/test_local_group.c, tests/unit/group/test_local_group_terms.c
 */
#ifndef HR_GROUP_LOCAL_GROUP_H
#define HR_GROUP_LOCAL_GROUP_H

#include "group/group.h"
#include "plan/layout.h"

enum { HR_LOCAL_GROUP_RANKS = 1024 };

struct hr_local_group;

/* A sum that has just been made. */
struct hr_local_group_sum {
    uint64_t number;                      /* of this local, from 1 */
    size_t bytes;                         /* of each rank's buffer, of all blocks */
    size_t first;                         /* flat index of its first element */
    const struct hr_algorithm *algorithm; /* never auto: what that chose; of blocks NULL */
    hr_plan_fn plan;                      /* of blocks, one a rank; NULL: the algorithm's */
    size_t last_rank;                     /* who came last */
};

/* Called once for each, by the start of the rank that came last; may release it already, but must
 * not start anything. */
typedef void (*hr_local_group_summed_fn)(void *arg, const struct hr_local_group_sum *what);

/* A local group for options->nranks (1 .. HR_LOCAL_GROUP_RANKS). HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_local_group_create(const struct hr_group_options *options,
                                                struct hr_local_group **out);
/* From now on it is one of nranks (1 to what it was created for), as if it had just been created:
 * whatever members there were must be initialised again. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_local_group_begin(struct hr_local_group *local, size_t nranks);
/* After its members; NULL is harmless. */
void hr_local_group_destroy(struct hr_local_group *local);

/* Tell the driver of every sum. From now on ranks see a sum's end only when it is released. */
void hr_local_group_on_sum(struct hr_local_group *local, hr_local_group_summed_fn summed,
                           void *arg);
/* Let all ranks see the end of the sum that was made last. */
void hr_local_group_release(struct hr_local_group *local);

/* This rank's view; finish with hr_member_fini. The local must outlive it. */
void hr_member_init_local(struct hr_member *member, struct hr_local_group *local, size_t rank);

extern const struct hr_method hr_by_local_group;

/* What that rank has sent and received. */
struct hr_traffic hr_local_group_traffic(const struct hr_local_group *local, size_t rank);

/* === the plans of all ranks of an all-reduce, as one list for one thread ===
 *
 *   Story    each rank in turn goes on along its plan (plan.h) as far as it can: so all is done in
 *            one of the orders in which real ranks could have done it. Nothing waits, nothing is
 *            allocated. Gone through once when it is made, without elements, to see that it ends.
 *   Sends    what was sent is read where it lies, as between ranks that share their buffers
 *            (executor.h). All buffers are in place, so no plan may need scratch: one-shot's does.
 *   Bits     those of real ranks: the same rows, and the same kernels on the same elements.
 *   Memory   20 bytes a message, and 4 for each pair of ranks: for 1024 ranks 46 MB of ring, 88 MB
 *            of bidirectional-ring, less than 5 MB of the trees.
 *
 * Threads: a merged plan belongs to one. */

struct hr_merged_plan;

/* The merged plan of an all-reduce of n ranks (at most HR_VEC_MAX_INPUTS); group_size as in
 * hr_group_options. HR_E_NOMEM; HR_E_FAILED: rows that do not fit together. */
HR_CHECKED enum hr_status hr_merged_plan_create(const struct hr_algorithm *algorithm, size_t n,
                                                size_t group_size, struct hr_merged_plan **out);
void hr_merged_plan_destroy(struct hr_merged_plan *merged);

/* buffer[r] (count) of every rank r becomes the reduction; a mean is still to be divided. `first`
 * is the flat index of element 0 in the whole that the buffers are part of. */
void hr_merged_plan_perform(struct hr_merged_plan *merged, struct hr_kind kind, void *const *buffer,
                            size_t first, size_t count);

#endif
