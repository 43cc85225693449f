/* orders.h - in which order the algorithms add, stated anew: what collectives are compared with.
 *
 * Nothing here uses what it judges: no plans, no vector kernels. Source: hogring help collectives
 * and the heads of plan/allreduce_*.c.
 *
 * Threads: pure functions.
 */
#ifndef HR_VERIFY_ORDERS_H
#define HR_VERIFY_ORDERS_H

#include <stddef.h>

/* The sum of x (n) as `algorithm` adds element `index` of a vector among n ranks.
 *   group_size  ranks a node, of hierarchical */
float hr_order_sum(const char *algorithm, const float *x, size_t n, size_t index,
                   size_t group_size);

#endif
