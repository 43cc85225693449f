/* find.h - the strategies there are, by name and by number (strategies.h is the list).
 *
 * Threads: all is constant.
 */
#ifndef HR_STRATEGIES_FIND_H
#define HR_STRATEGIES_FIND_H

#include "strategy/strategy.h"

/* The strategy of that name, with that staleness. HR_E_USAGE lists the names. */
HR_CHECKED enum hr_status hr_strategy_find(const char *name, uint64_t staleness,
                                           const struct hr_strategy **out);

/* The i-th strategy, NULL past the end. */
const struct hr_strategy *hr_strategy_at(size_t i);

#endif
