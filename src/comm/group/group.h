/* group.h - a group of ranks, and the collectives of a member.
 *
 *     size_t bytes = hr_group_bytes(&options);             sizes first, before memory is taken
 *     hr_group_init(memory, &options);                     once, before the ranks start
 *     hr_member_init(&member, &options, &place, rank);     in each rank: its private view
 *     hr_member_all_reduce_start(&member, buffer, 0, count);
 *     hr_member_wait(&member);
 *     hr_member_fini(&member);
 *
 * Every operation is `start`, then `hr_member_test` until it is true, then `hr_member_finish`
 * (nothing of it waits: what drivers use); hr_member_wait is the last two, and waits. The method by
 * which it is done (member.h) depends on the call and the options alone, so that all ranks choose
 * alike.
 *
 * Threads: a member belongs to its rank. One operation at a time a group.
 */
#ifndef HR_GROUP_GROUP_H
#define HR_GROUP_GROUP_H

#include "group/member.h"

/* Shared memory of a group. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_group_bytes(const struct hr_group_options *options, size_t *bytes);

/* Initialise zeroed memory of that size. */
HR_CHECKED enum hr_status hr_group_init(void *memory, const struct hr_group_options *options);

/* Visit the rings between ranks of different machines, in the order in which they lie: what carries
 * them (machines/bridge.h). Stops at the first error. */
typedef enum hr_status (*hr_ring_fn)(void *arg, size_t from, size_t to, struct hr_ring *ring);
HR_CHECKED enum hr_status hr_group_each_remote_ring(const struct hr_group_options *options,
                                                    void *memory, hr_ring_fn visit, void *arg);

/* This rank's view; finish with hr_member_fini. */
HR_CHECKED enum hr_status hr_member_init(struct hr_member *member,
                                         const struct hr_group_options *options,
                                         const struct hr_place *place, size_t rank);
void hr_member_fini(struct hr_member *member);

/* Begin an operation. Errors are returned by finish. */
void hr_member_start(struct hr_member *member, const struct hr_job *job);

/* Make what progress can be made; true when the operation is over, well or badly. `member` is a
 * struct hr_member * (so that this is an hr_ready_fn). */
bool hr_member_test(void *member);
/* What to park on while it is false; another one perhaps after the next test. NULL in a local
 * group. */
struct hr_bell *hr_member_bell(struct hr_member *member);
/* How it went. */
HR_CHECKED enum hr_status hr_member_finish(struct hr_member *member);
/* Wait for the end; how it went. */
HR_CHECKED enum hr_status hr_member_wait(struct hr_member *member);

/* For training: buffer (count) on every rank becomes the sum over ranks. Nobody may touch its
 * buffer between start and finish. It is elements [first, first + count) of a whole: sums of its
 * parts have the bits of one sum of the whole. */
void hr_member_all_reduce_start(struct hr_member *member, float *buffer, size_t first,
                                size_t count);
/* The same sum, but handed to apply(arg, ...) in parts instead of stored (see hr_apply_fn): the
 * optimizer, fused with the reduction. Only where the group's algorithm can (hr_can_apply). */
void hr_member_reduce_apply_start(struct hr_member *member, float *buffer, size_t first,
                                  size_t count, hr_apply_fn apply, void *arg);
bool hr_can_apply(const struct hr_group_options *options);

HR_CHECKED enum hr_status hr_member_barrier(struct hr_member *member);

/* Where there is room for blocks: begin an exchange of one per rank, of `count` times 4 bytes each.
 *     all_to_all   in (n, count) -> out (n, count): block q of rank r becomes block r of rank q
 *     all_gather   in (count) -> out (n, count), which may be in place: in == out + rank * count */
void hr_member_all_to_all_start(struct hr_member *member, const uint32_t *in, uint32_t *out,
                                size_t count);
void hr_member_all_gather_start(struct hr_member *member, const uint32_t *in, uint32_t *out,
                                size_t count);

/* Sent to, and received from, all others. */
struct hr_traffic hr_member_traffic(const struct hr_member *member);

/* Between machines everything goes by plan: how an operation on so many bytes does. */
struct hr_choice hr_choose_multinode(const struct hr_group_options *options,
                                     enum hr_operation operation, size_t bytes);

#endif
