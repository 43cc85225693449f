/* group.h - ranks that communicate: collectives over rings and meetings in one shared segment.
 *
 *     size_t bytes = hr_group_bytes(&options);             sizes first, before memory is taken
 *     hr_group_init(memory, &options);                     once, before the ranks start
 *     hr_member_init(&member, &options, &place, rank);     in each rank: its private view
 *     hr_all_reduce(&member, buffer, count);
 *     hr_member_fini(&member);
 *
 * Buffers are float32 and lie in the segment, so that peers read and write them in place: nothing
 * is copied in or out. All ranks of a group call the same collectives in the same order with the
 * same count; when they do not, every one that waits for another gets HR_E_MISMATCH or
 * HR_E_ABORTED, and the message shows both calls. Overflow and NaN follow IEEE 754 addition in the
 * order the algorithm states.
 *
 * Each operation exists twice: `x_start` then `hr_collective_test` until it is true then
 * `hr_collective_finish` (nothing of it waits: what drivers use), and `x`, which waits.
 *
 * Threads: a member belongs to its rank. One operation at a time a group.
 */
#ifndef HR_GROUP_GROUP_H
#define HR_GROUP_GROUP_H

#include <stdbool.h>

#include "group/meeting.h"
#include "group/plan.h"
#include "shm/control.h"
#include "shm/ring.h"

struct hr_group_options {
    size_t nranks;                        /* 1 .. HR_MAX_RANKS */
    const struct hr_algorithm *algorithm; /* of all_reduce */
    bool plan_only;                       /* leave the fast path alone and run the plan */
    bool crowded;                         /* more runnable threads than processors */
    size_t helpers; /* when crowded: parked ranks to wake to help with a large sum */
};

/* Where a rank finds what it shares. */
struct hr_place {
    void *group;                /* hr_group_bytes() bytes, aligned to HR_LINE, inside the segment */
    void *segment;              /* start of the segment; offsets count from here */
    struct hr_control *control; /* rank r of the group parks on control->rank[r].bell */
    struct hr_waiter *waiter;   /* this rank's */
};

struct hr_member {
    struct hr_group_options options;
    struct hr_place place;
    size_t rank;
    struct hr_attendance attendance;
    struct hr_ring *to[HR_MAX_RANKS], *from[HR_MAX_RANKS]; /* NULL where no plan has an edge */
    struct hr_plan all_reduce, broadcast; /* this rank's rows; broadcast's for broadcast_root */
    size_t broadcast_root;
    /* The operation in progress. */
    struct hr_call call;
    const struct hr_plan *plan; /* NULL: a meeting */
    size_t row;
    size_t polls; /* in which the row had to wait */
    float *buffer;
    uint64_t peer_offset[HR_MAX_RANKS]; /* where peers' buffers lie, as their messages said */
    enum hr_status status;
    /* The accounts, in bytes that crossed between ranks, whoever moved them: each crossing is sent
     * by one rank and received by another. */
    uint64_t bytes_sent, bytes_received;
};

/* Shared memory of a group. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_group_bytes(const struct hr_group_options *options, size_t *bytes);

/* Initialise zeroed memory of that size. */
HR_CHECKED enum hr_status hr_group_init(void *memory, const struct hr_group_options *options);

/* This rank's view; finish with hr_member_fini. */
HR_CHECKED enum hr_status hr_member_init(struct hr_member *member,
                                         const struct hr_group_options *options,
                                         const struct hr_place *place, size_t rank);
void hr_member_fini(struct hr_member *member);

/* buffer (count) on every rank becomes the sum over ranks, in the algorithm's order. Nobody may
 * touch its buffer between start and finish. */
void hr_all_reduce_start(struct hr_member *member, float *buffer, size_t count);
/* The same sum, but handed to apply(arg, ...) in parts instead of stored (see hr_apply_fn): the
 * optimizer, fused with the reduction. Only where the group's algorithm can (hr_can_apply). */
void hr_reduce_apply_start(struct hr_member *member, float *buffer, size_t count, hr_apply_fn apply,
                           void *arg);
bool hr_can_apply(const struct hr_group_options *options);
/* buffer (count) on every rank becomes the root's. */
void hr_broadcast_start(struct hr_member *member, float *buffer, size_t count, size_t root);
/* Nobody leaves before all have come. */
void hr_barrier_start(struct hr_member *member);

/* Make what progress can be made; true when the operation is over, well or badly. `member` is a
 * struct hr_member * (so that this is an hr_ready_fn). */
bool hr_collective_test(void *member);
/* What to park on while it is false. */
struct hr_bell *hr_collective_bell(struct hr_member *member);
/* How it went. */
HR_CHECKED enum hr_status hr_collective_finish(struct hr_member *member);

HR_CHECKED enum hr_status hr_all_reduce(struct hr_member *member, float *buffer, size_t count);
HR_CHECKED enum hr_status hr_broadcast(struct hr_member *member, float *buffer, size_t count,
                                       size_t root);
HR_CHECKED enum hr_status hr_barrier(struct hr_member *member);

#endif
