/* optimizer_table.h - the table that each instruction set's copy of optimizer.isa.c fills. */
#ifndef HR_OPTIM_OPTIMIZER_TABLE_H
#define HR_OPTIM_OPTIMIZER_TABLE_H

#include "base/isa.h"
#include "optim/optimizer.h"

enum { HR_NORM_BLOCK = 1024 }; /* elements that a norm sums at a time */

/* w, s0, s1 (count) in and out, g (count) in; s0, s1: the rule's state, NULL where it has none. */
typedef void (*hr_update_fn)(float *w, float *s0, float *s1, const float *g, size_t count,
                             const struct hr_step *step);

struct hr_optimizer_table {
    hr_update_fn update[HR_NRULES], nesterov, statistic;
    /* Sum of the squares of x (count), count <= HR_NORM_BLOCK: eight partial sums, element i to
     * sum i % 8, then folded in halves. */
    double (*sum_squares)(const float *x, size_t count);
    /* lamb before its update: m, v (count) move; then z (count) out. */
    void (*lamb_moments)(float *m, float *v, const float *g, size_t count,
                         const struct hr_step *step);
    void (*lamb_direction)(float *z, const float *w, const float *m, const float *v, size_t count,
                           const struct hr_step *step);
    /* out (count) = g + factor g g (now - read) */
    void (*compensate)(float *out, const float *g, const struct hr_drift *drift, float factor,
                       size_t count);
};

HR_ISA_KERNELS(hr_optimizer_table)

#endif
