/* ranks.h - run a body on n ranks of a group, as threads or as processes.
 *
 *     struct ranks ranks = {.nranks = 4, .floats = 1000, .body = body};
 *     ranks_open(&ranks);             memory, zeroed, and options
 *     CHECK_OK(ranks_run(&ranks));    as often as wanted; the memory stays
 *     ... ranks_floats(&ranks, r) ...
 *     ranks_close(&ranks);
 *
 * A body runs in another thread or process, where cmocka's checks do not work: it returns
 * hr_fail(...) instead (RANK_CHECK), and the launcher's status and message tell the test.
 */
#ifndef HR_TESTS_SUPPORT_RANKS_H
#define HR_TESTS_SUPPORT_RANKS_H

#include <sys/types.h>

#include "group/group.h"
#include "launch/launch.h"

struct ranks;

/* What a body sees: one rank, in its own thread or process. */
struct rank {
    struct ranks *ranks;
    size_t rank;
    struct hr_waiter waiter;
    struct hr_member member;
    float *floats; /* this rank's, in the shared segment */
};

struct ranks {
    /* Set by the test; zero means what it says in brackets. */
    size_t nranks;
    const struct hr_hosts *hosts;         /* those here are started (all) */
    size_t floats;                        /* of each rank */
    const struct hr_algorithm *algorithm; /* (direct) */
    bool plan_only, crowded;
    size_t slot_bytes; /* everything travels by slots of so many bytes (in place) */
    enum hr_launch launch;
    int64_t timeout_ns; /* of a wait (100 s) */
    int64_t spin_ns;
    int64_t tick_ns, grace_ns;                /* as in launch.h */
    enum hr_status (*body)(struct rank *me);  /* has no group when `bare` */
    enum hr_status (*tick)(struct ranks *me); /* may be NULL */
    void *arg;
    bool bare; /* no member is made */
    /* Made by ranks_open. */
    struct hr_segment control_segment, segment;
    struct hr_control *control;
    struct hr_group_options options;
    bool stuck; /* of the last run */
};

#define RANK_CHECK(condition, ...)                                                                 \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return hr_fail(HR_E_FAILED, __VA_ARGS__);                                              \
    } while (0)

void ranks_open(struct ranks *ranks);
/* A fresh control block and group, then hr_launch_run. */
HR_CHECKED enum hr_status ranks_run(struct ranks *ranks);
void ranks_close(struct ranks *ranks);

/* The floats of a rank; also of a peer, in a body. */
float *ranks_floats(const struct ranks *ranks, size_t rank);

/* False under ThreadSanitizer, which does not see what other processes do. */
bool ranks_can_fork(void);

/* How many segments of process `pid` have a name in /dev/shm. */
size_t segments_of(pid_t pid);

/* Remove what process `pid`, which is dead, has left there. */
void remove_runs_of(pid_t pid);

/* No child of this process is left, running or unreaped. */
bool no_children_left(void);

/* Collectives of a member, begun and waited for. */
static inline enum hr_status member_all_reduce(struct hr_member *member, float *buffer,
                                               size_t count)
{
    hr_member_all_reduce_start(member, buffer, 0, count);
    return hr_member_wait(member);
}

static inline enum hr_status member_broadcast(struct hr_member *member, float *buffer, size_t count,
                                              size_t root)
{
    hr_member_start(member, &(struct hr_job){.operation = HR_OP_BROADCAST,
                                             .in = buffer,
                                             .out = buffer,
                                             .count = count,
                                             .root = root});
    return hr_member_wait(member);
}

#endif
