/* strategies.h - the strategies there are, each in a file of its own (ps-sync, ps-async,
 * ssp: parameter_servers.c), as they are listed to people. A new one is a file and a line here.
 *
 * Threads: all is constant.
 */
#ifndef HR_STRATEGIES_STRATEGIES_H
#define HR_STRATEGIES_STRATEGIES_H

#include "strategy/shared.h"
#include "strategy/strategy.h"

#define HR_STRATEGIES(ONE)                                                                         \
    ONE(allreduce)                                                                                 \
    ONE(ps_sync)                                                                                   \
    ONE(ps_async)                                                                                  \
    ONE(ssp)                                                                                       \
    ONE(hogwild)                                                                                   \
    ONE(local_sgd)                                                                                 \
    ONE(diloco)                                                                                    \
    ONE(elastic_averaging)                                                                         \
    ONE(backup_workers)                                                                            \
    ONE(gossip)

#define HR_DECLARE_STRATEGY(name) extern const struct hr_strategy hr_strategy_##name;
HR_STRATEGIES(HR_DECLARE_STRATEGY)
HR_DECLARE_STRATEGY(ps_sync_aggregated)
HR_DECLARE_STRATEGY(streamed)

/* The strategy of that name, with that staleness. HR_E_USAGE lists the names. */
HR_CHECKED enum hr_status hr_strategy_find(const char *name, uint64_t staleness,
                                           const struct hr_strategy **out);

/* The i-th strategy, NULL past the end. */
const struct hr_strategy *hr_strategy_at(size_t i);

#endif
