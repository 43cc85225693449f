/* merged_plan.h - the plans of all ranks of an all-reduce, as one list for one thread.
 *
 *   Story    made once: each rank in turn goes on along its plan (plan.h) as far as it can, and
 *            what it does becomes a step, so that the list is one of the orders in which real ranks
 *            could have done it. Performed as often as wanted: from front to back, nothing
 *            waits, nothing is allocated.
 *   Steps    sends leave none: what was sent is read where it lies, as between ranks that share
 *            their buffers (executor.h). All buffers are in place, so no plan may need scratch:
 *            one-shot's does.
 *   Bits     those of real ranks: the same rows, and the same kernels on the same elements.
 *   Memory   10 bytes a message: for 1024 ranks 21 MB of ring, 42 MB of bidirectional-ring, less
 *            than 0.1 MB of the trees; three times as much while it is made.
 *
 * Threads: a merged plan belongs to one.
 * Test: tests/unit/group/test_local_group.c
 */
#ifndef HR_GROUP_MERGED_PLAN_H
#define HR_GROUP_MERGED_PLAN_H

#include "plan/layout.h"

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

/* Add what each rank sends and receives for buffers of `count` elements to traffic (n). */
void hr_merged_plan_account(struct hr_merged_plan *merged, size_t elem_bytes, size_t first,
                            size_t count, struct hr_traffic *traffic);

#endif
