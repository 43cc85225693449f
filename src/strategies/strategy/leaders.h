/* leaders.h - of each of several machines the first worker, in a group of their own: what its
 * machine has goes to the others' by it alone.
 *
 *   Group    rank m is machine m's leader; workers lie in equal contiguous runs. Sums are in T(n)
 *            over machines, whatever their size.
 *
 * Threads: constants, set before ranks begin; the group's memory is the group's.
 */
#ifndef HR_STRATEGY_LEADERS_H
#define HR_STRATEGY_LEADERS_H

#include "group/group.h"
#include "shm/homes.h"

struct hr_leaders {
    struct hr_group_options options; /* nranks 0: there is no such group */
    uint16_t rank[HR_HOMES_RANKS];   /* the worker that leads machine m */
    size_t each;                     /* workers of a machine */
    void *group;                     /* in the segment */
};

/* Of `workers` that live there: a multiple of the machines, whose homes are in order. */
void hr_leaders_choose(struct hr_leaders *leaders, const struct hr_homes *homes, size_t workers);

/* A leader's view, with its waiter; finish with hr_member_fini. */
struct hr_shared_state;
HR_CHECKED enum hr_status hr_leaders_join(const struct hr_shared_state *shared,
                                          struct hr_waiter *waiter, struct hr_member *member);

#endif
