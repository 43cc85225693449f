/* leaders.h - of each of several machines the first worker, in a group of their own: what its
 * machine has goes to the others' by it alone.
 *
 *   Group    rank i is the leader of the i-th machine that has workers; those of a machine have
 *            consecutive seats (shared_state.h). Sums are in T(n) over machines, whatever their
 *            size.
 *
 * Threads: constants, set while no rank runs; the group's memory is the group's.
 */
#ifndef HR_STRATEGY_LEADERS_H
#define HR_STRATEGY_LEADERS_H

#include "group/group.h"
#include "shm/homes.h"

struct hr_leaders {
    struct hr_group_options options; /* nranks 0: there is no such group */
    uint16_t rank[HR_HOMES_RANKS];   /* the worker that leads the i-th machine */
    size_t here;                     /* which of them this one is */
    size_t first, each;              /* the seats of this machine's workers */
    void *group;                     /* in the segment */
};

/* Of those workers, in the order of their seats; rank NULL: [0, n). */
void hr_leaders_choose(struct hr_leaders *leaders, const struct hr_homes *homes,
                       const uint16_t *rank, size_t n);

/* A leader's view, with its waiter; finish with hr_member_fini. */
struct hr_shared_state;
HR_CHECKED enum hr_status hr_leaders_join(const struct hr_shared_state *shared,
                                          struct hr_waiter *waiter, struct hr_member *member);

#endif
