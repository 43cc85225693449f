/* member.h - what one rank holds of a group: what the methods of collectives work on.
 *
 * A *method* carries an operation out. There is one per file:
 *     reduce_barrier.h  ranks come together; whoever is running sums large blocks in place
 *     posts.h           each posts a few bytes for all others: barriers, small sums; then each sums
 *                       its own chunk: middling sums, buffers that others do not reach
 *     executor.h        a plan's rows over rings: everything else
 *     local_group.h     all ranks are one thread's
 * Where the order of addition is the same they give the same bits.
 *
 * Threads: a member belongs to its rank.
 */
#ifndef HR_GROUP_MEMBER_H
#define HR_GROUP_MEMBER_H

#include "group/executor.h"
#include "group/posts.h"
#include "group/reduce_barrier.h"
#include "shm/control.h"
#include "shm/hosts.h"

struct hr_group_options {
    size_t nranks; /* 1 .. HR_MAX_RANKS; in a local group HR_LOCAL_GROUP_RANKS */
    const struct hr_algorithm *algorithm; /* of all_reduce */
    bool plan_only;                       /* always execute the plan */
    bool crowded;                         /* more runnable threads than processors */
    size_t helpers;        /* when crowded: parked ranks to wake to help with a large sum */
    size_t group_size;     /* of hierarchical; 0: 2 */
    size_t one_shot_bytes; /* auto: up to here one-shot; at most HR_POST_BYTES */
    bool any_operation;    /* room for all collectives and messages; else all_reduce, broadcast,
                              barrier */
    bool blocks;           /* room for all_to_all and all_gather, besides what else there is */
    size_t slot_bytes;     /* of payload a ring slot holds; 0: payload never travels by ring */
    bool copies;           /* payload always travels by ring */
    struct hr_hosts hosts; /* on which machine each rank of the group lives; zeroed: all on one */
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

/* From here on data moves: book the time as communicating, not waiting. */
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

static inline size_t hr_job_bytes(const struct hr_job *job)
{
    return job->count * hr_type_bytes(job->kind.type);
}

/* How a method carries out member->job. Nothing of it waits. */
struct hr_method {
    /* Begin; what fails is left in member->status. */
    void (*start)(struct hr_member *member);
    /* Go on; true when it is over, or member->status says why it cannot be. */
    bool (*test)(struct hr_member *member);
    /* What to park on while test is false; another one perhaps after the next test. */
    struct hr_bell *(*bell)(const struct hr_member *member);
};

struct hr_choice {
    const struct hr_method *method;
    const struct hr_algorithm *algorithm; /* of an all_reduce, else NULL */
    bool own_memory; /* the method is for buffers that the others do not reach */
    /* Of hierarchical. */
    size_t group_size;
    const struct hr_algorithm *upper;
};

struct hr_local_group;

struct hr_member {
    struct hr_group_options options;
    struct hr_place place;
    size_t rank;
    struct hr_barrier_view barrier;
    struct hr_posts posts;
    struct hr_p2p *p2p;           /* messages, not collectives; NULL: no room for any */
    struct hr_local_group *local; /* shares no memory, and meets the others there; NULL: it does */
    /* The operation in progress. */
    struct hr_job job;
    struct hr_call call;
    struct hr_choice choice;
    struct hr_direct direct;
    struct hr_executor executor;
    size_t polls;   /* in which it had to wait */
    uint64_t parks; /* of the waiter, when we last looked for a mismatch */
    struct hr_bell *parked_on;
    bool over;
    struct hr_flight *flight; /* this rank's recorder; NULL: it has none */
    enum hr_status status;
    struct hr_traffic traffic[HR_MAX_RANKS];
};

/* The bell that rank `rank` of the group parks on. */
struct hr_bell *hr_member_bell_of(const struct hr_member *member, size_t rank);

/* Count what was sent and received, as much each way. */
static inline void hr_traffic_add(struct hr_traffic *traffic, uint64_t bytes, uint64_t messages)
{
    traffic->bytes_sent += bytes;
    traffic->bytes_received += bytes;
    traffic->messages_sent += messages;
    traffic->messages_received += messages;
}
/* Count what the plan of direct sends and receives for `count` elements. */
void hr_member_account_direct(struct hr_member *member, size_t count);

/* HR_E_MISMATCH: "rank 1 called ...; rank 2 called ...". */
enum hr_status hr_member_mismatch(const struct hr_member *member, const struct hr_call *mine,
                                  size_t peer, const struct hr_call *theirs);
/* A wait that was aborted: HR_E_LOST, or HR_E_ABORTED, with who failed first, and how. */
HR_CHECKED enum hr_status hr_member_name_failure(const struct hr_member *member, const char *what);

#endif
