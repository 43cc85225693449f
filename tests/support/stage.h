/* stage.h - a world of a strategy without a run around it: the test is the driver, and calls the
 * strategy's functions in the order of its script. */
#ifndef HR_TESTS_SUPPORT_STAGE_H
#define HR_TESTS_SUPPORT_STAGE_H

#include "strategy/staleness.h"
#include "strategy/strategy.h"

enum { STAGE_MAX = 4 };

struct stage {
    struct hr_world world;
    struct hr_worker worker[STAGE_MAX];
    struct hr_shard shard[STAGE_MAX];
    struct hr_param_segment keys[STAGE_MAX];
    float *arrays[2 * STAGE_MAX]; /* (params) weights, then gradients of each worker */
    void *memory[24];             /* to be freed */
    size_t nmemory;
};

/* Workers and shards of a model of `params` parameters, all 0, whose tensor i begins at
 * begins[i] (nkeys); plain SGD of rate 1, batches of one sample without
 * end; ssp has a bound of 3. */
void stage_set(struct stage *stage, const char *strategy, size_t workers, size_t servers,
               size_t params, const size_t *begins, size_t nkeys);
void stage_strike(struct stage *stage);

/* The worker asks for weights, all shards answer, and it takes them. */
void stage_pull(struct stage *stage, size_t worker);
/* It hands in a gradient of zeros; no shard takes it yet. */
void stage_push(struct stage *stage, size_t worker);
/* The shard takes the worker's oldest message. */
void stage_take(struct stage *stage, size_t shard, size_t worker);

#endif
