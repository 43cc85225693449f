/* some_optimizer.h - an optimizer with every value of its rule set, and gradients for it. */
#ifndef HR_TESTS_OPTIM_SOME_OPTIMIZER_H
#define HR_TESTS_OPTIM_SOME_OPTIMIZER_H

#include "base/philox.h"
#include "optim/optimizer.h"
#include "support/check.h"

static inline struct hr_optimizer some_optimizer(const struct hr_rule *rule,
                                                 const struct hr_param_segment *segments,
                                                 size_t nsegments, size_t params)
{
    return (struct hr_optimizer){
        .rule = rule,
        .momentum = 0.9,
        .weight_decay = 0.01,
        .beta1 = 0.9,
        .beta2 = 0.99,
        .eps = 1e-3,
        .trust = 0.1,
        .segments = segments,
        .nsegments = nsegments,
        .params = params,
    };
}

/* -50 to 50, another for each number of a step. */
static inline float some_gradient(size_t i, uint32_t step)
{
    const struct hr_philox drawn = hr_random_block(check_seed(), HR_STREAM_TEST, i, step);
    return 100 * hr_random_unit(drawn.v[0]) - 50;
}

#endif
