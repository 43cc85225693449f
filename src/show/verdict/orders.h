/* orders.h - a strategy's spread split into seeds and orders of events (--orders).
 *
 * One-way random effects: a score is a mean, what its seed adds, and what its order adds.
 *
 * Threads: none. Test: tests/unit/verdict/test_orders.c
 */
#ifndef HR_VERDICT_ORDERS_H
#define HR_VERDICT_ORDERS_H

#include "report/groups.h"
#include "stats/tests.h"

struct hr_orders {
    struct hr_components score; /* groups: the seeds; between them, and within one */
    bool same;                  /* all orders of a seed ended with the same weights */
};

/* Of the group's scores that are finite. False: it has no seed with several runs, or no memory. */
bool hr_run_group_orders(const struct hr_run_group *group, enum hr_metric metric,
                         struct hr_orders *orders);

#endif
