/* group.h - a member: what one rank holds of a group, and how it takes part in collectives.
 *
 *     size_t bytes = hr_group_bytes(&options);             sizes first, before memory is taken
 *     hr_group_init(memory, &options);                     once, before the ranks start
 *     hr_member_init(&member, &options, &place, rank);     in each rank: its private view
 *     hr_member_all_reduce(&member, buffer, count);
 *     hr_member_fini(&member);
 *
 * Five ways to do an operation, with the same bits where the order of addition is the same:
 *     notices  (notices.h) a barrier, a small one-shot all-reduce: payload posted for all to read
 *     stripes  (stripes.h) a direct all-reduce of middling size, or of buffers that the others do
 *              not reach
 *     meeting  (meeting.h) a large direct all-reduce, or one of more ranks than processors: done in
 *              place by whoever is running
 *     plan     (plan.h, executor.h) everything else, over rings
 *     local     (local.h) all-reduces of ranks that one thread plays
 * Which, depends on the call and the options alone, so that all ranks choose alike.
 *
 * Every operation is `start`, then `hr_member_test` until it is true, then `hr_member_finish`
 * (nothing of it waits: what drivers use); hr_member_wait is the last two, and waits.
 *
 * Threads: a member belongs to its rank. One operation at a time a group.
 */
#ifndef HR_GROUP_GROUP_H
#define HR_GROUP_GROUP_H

#include "group/executor.h"
#include "group/meeting.h"
#include "group/notices.h"
#include "group/stripes.h"
#include "shm/control.h"

struct hr_group_options {
    size_t nranks; /* 1 .. HR_MAX_RANKS; in a local group HR_LOCAL_GROUP_RANKS */
    const struct hr_algorithm *algorithm; /* of all_reduce */
    bool plan_only;                       /* leave the fast paths alone and run the plan */
    bool crowded;                         /* more runnable threads than processors */
    size_t helpers;        /* when crowded: parked ranks to wake to help with a large sum */
    size_t group_size;     /* of hierarchical; 0: 2 */
    size_t one_shot_bytes; /* auto: up to here one-shot; at most HR_NOTICE_BYTES */
    bool any_operation;    /* room for all collectives and messages; else all_reduce, broadcast,
                              barrier */
    size_t slot_bytes;     /* of payload a ring slot holds; 0: payload never travels by ring */
    bool copies;           /* payload always travels by ring */
};

/* Where a rank finds what it shares. */
struct hr_place {
    void *group;                /* hr_group_bytes() bytes, aligned to HR_LINE, inside the segment */
    void *segment;              /* start of the segment; offsets count from here */
    struct hr_control *control; /* rank r of the group parks on its bell there */
    struct hr_waiter *waiter;   /* this rank's */
    size_t segment_bytes;       /* buffers in there are reached by all; 0: all buffers are */
    const uint16_t *world_rank; /* (nranks) of the group's ranks; NULL: the same */
    uint32_t number;            /* of the group, 0 being the world's: for people */
    const struct hr_wires *wires; /* emulated links; NULL: as fast as memory */
};

/* The world's number of rank `rank` of the group. */
static inline size_t hr_place_world_rank(const struct hr_place *place, size_t rank)
{
    return place->world_rank ? place->world_rank[rank] : rank;
}

/* Can all ranks of the group read and write these bytes in place? */
static inline bool hr_place_reaches(const struct hr_place *place, const void *data, size_t bytes)
{
    const uintptr_t offset = (uintptr_t)data - (uintptr_t)place->segment;
    return !place->segment_bytes || bytes == 0 ||
           (offset < place->segment_bytes && bytes <= place->segment_bytes - offset);
}

/* Data moves from here on: in the account of a rank that has one, this is no waiting. */
static inline void hr_place_moves(const struct hr_place *place)
{
    if (place->waiter)
        hr_account_turn(place->waiter->account, HR_COMMUNICATE);
}

/* One call. in and out are NULL where the rank gives or gets nothing. */
struct hr_job {
    enum hr_operation operation;
    struct hr_kind kind;
    const void *in;
    void *out;
    size_t count, root;
    hr_apply_fn apply; /* of HR_OP_REDUCE_APPLY */
    void *apply_arg;
    size_t first; /* the flat index of element 0, where the vector is part of a whole */
};

enum hr_way { HR_BY_NOTICES, HR_BY_STRIPES, HR_BY_MEETING, HR_BY_PLAN, HR_BY_HALL };

struct hr_local_group;

struct hr_member {
    struct hr_group_options options;
    struct hr_place place;
    size_t rank;
    struct hr_attendance attendance;
    struct hr_notices notices;
    struct hr_mail *mail;       /* messages, not collectives; NULL: no room for any */
    struct hr_planned *planned; /* plans made so far */
    struct hr_local_group
        *local; /* it meets the others there, and shares no memory; NULL: it does */
    /* The operation in progress. */
    struct hr_job job;
    struct hr_call call;
    enum hr_way way;
    struct hr_stripes stripes;
    struct hr_executor executor;
    size_t polls;   /* in which it had to wait */
    uint64_t parks; /* of the waiter, when we last looked for a mismatch */
    struct hr_bell *parked_on;
    bool over;
    struct hr_flight *flight; /* this rank's recorder; NULL: it has none */
    enum hr_status status;
    struct hr_traffic traffic[HR_MAX_RANKS];
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

/* The bell that rank `rank` of the group parks on. */
struct hr_bell *hr_member_bell_of(const struct hr_member *member, size_t rank);

/* Begin an operation. What fails is told by finish. */
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

/* What training needs of it. buffer (count) on every rank becomes the sum over ranks. Nobody may
 * touch its buffer between start and finish. */
void hr_member_all_reduce_start(struct hr_member *member, float *buffer, size_t count);
/* Elements [first, first + count) of a whole that buffer points into: sums of its parts have the
 * bits of one sum of the whole. */
void hr_member_all_reduce_part_start(struct hr_member *member, float *buffer, size_t first,
                                     size_t count);
/* The same sum, but handed to apply(arg, ...) in parts instead of stored (see hr_apply_fn): the
 * optimizer, fused with the reduction. Only where the group's algorithm can (hr_can_apply). */
void hr_member_reduce_apply_start(struct hr_member *member, float *buffer, size_t count,
                                  hr_apply_fn apply, void *arg);
bool hr_can_apply(const struct hr_group_options *options);

HR_CHECKED enum hr_status hr_member_all_reduce(struct hr_member *member, float *buffer,
                                               size_t count);
HR_CHECKED enum hr_status hr_member_broadcast(struct hr_member *member, float *buffer, size_t count,
                                              size_t root);
HR_CHECKED enum hr_status hr_member_barrier(struct hr_member *member);

/* A wait that was aborted: HR_E_LOST, or HR_E_ABORTED, with who failed first, and how. */
HR_CHECKED enum hr_status hr_member_name_failure(const struct hr_member *member, const char *what);
/* For the ways: have all who posted called the same? If not, the status says so. */
bool hr_member_notices_agree(struct hr_member *member);
/* For the ways: count what the plan of direct sends and receives for `count` elements. */
void hr_member_account_direct(struct hr_member *member, size_t count);

/* Sent to, and received from, all others. */
struct hr_traffic hr_member_traffic(const struct hr_member *member);

#endif
