/* script.h - what all ranks of an all-reduce do, as one list that one thread performs.
 *
 *   Story    made once: each rank in turn goes on along its plan (plan.h) as far as it can, and
 *            what it does is written down, so that the list is one of the orders in which real
 *            ranks could have done it. Performed as often as wanted: from front to back, nothing
 *            waits, nothing is allocated.
 *   Lines    sends leave none: what was sent is read where it lies, as between ranks that share
 *            their buffers (executor.h). All buffers are in place, so no plan may need scratch:
 *            one-shot's does.
 *   Bits     those of real ranks: the same rows, and the same kernels on the same elements.
 *   Memory   10 bytes a message: for 1024 ranks 21 MB of ring, 42 MB of bidirectional-ring, less
 *            than 0.1 MB of the trees; three times as much while it is made.
 *
 * Threads: a script belongs to one.
 * Test: tests/unit/group/test_local_group.c
 */
#ifndef HR_GROUP_SCRIPT_H
#define HR_GROUP_SCRIPT_H

#include "plan/layout.h"

struct hr_script;

/* The script of an all-reduce of n ranks (at most HR_VEC_MAX_INPUTS); group_size as in
 * hr_group_options. HR_E_NOMEM; HR_E_FAILED: rows that do not fit together. */
HR_CHECKED enum hr_status hr_script_create(const struct hr_algorithm *algorithm, size_t n,
                                           size_t group_size, struct hr_script **out);
void hr_script_destroy(struct hr_script *script);

/* buffer[r] (count) of every rank r becomes the reduction; a mean is still to be divided. `first`
 * is the flat index of element 0 in the whole that the buffers are part of. */
void hr_script_perform(struct hr_script *script, struct hr_kind kind, void *const *buffer,
                       size_t first, size_t count);

/* Add what each rank sends and receives for buffers of `count` elements to traffic (n). */
void hr_script_account(struct hr_script *script, size_t elem_bytes, size_t first, size_t count,
                       struct hr_traffic *traffic);

#endif
