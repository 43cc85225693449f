/* loops.h - the table that each instruction set's copy of loops.isa.c fills. */
#ifndef HR_OPTIM_LOOPS_H
#define HR_OPTIM_LOOPS_H

#include "base/isa.h"
#include "optim/rules.h"

struct hr_optimizer_table {
    hr_update_fn statistic;
    /* Sum of the squares of x (count), count <= HR_NORM_BLOCK: eight partial sums, element i to
     * sum i % 8, then folded in halves. */
    double (*sum_squares)(const float *x, size_t count);
    /* out (count) = g + factor g g (now - read) */
    void (*compensate)(float *out, const float *g, const struct hr_drift *drift, float factor,
                       size_t count);
};

HR_ISA_KERNELS(hr_optimizer_table)

#endif
