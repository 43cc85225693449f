/* strategies.h - the strategies there are, each in a file of its own (ps-sync, ps-async,
 * ssp: parameter_servers.c), as they are listed to people. A new one is a file and a line here.
 */
#ifndef HR_STRATEGIES_STRATEGIES_H
#define HR_STRATEGIES_STRATEGIES_H

#include "strategy/shared.h"

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

#endif
