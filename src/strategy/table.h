/* table.h - the strategies there are, each in a file of its own. */
#ifndef HR_STRATEGY_TABLE_H
#define HR_STRATEGY_TABLE_H

#include "strategy/shared.h"

extern const struct hr_strategy hr_strategy_allreduce;
extern const struct hr_strategy hr_strategy_ps_sync, hr_strategy_ps_async,
    hr_strategy_ssp; /* server.c */
extern const struct hr_strategy hr_strategy_hogwild, hr_strategy_hogwild_recorded;
extern const struct hr_strategy hr_strategy_local_sgd;
extern const struct hr_strategy hr_strategy_backup_workers;
extern const struct hr_strategy hr_strategy_elastic_averaging;

#endif
