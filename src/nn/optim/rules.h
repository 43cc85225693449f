/* rules.h - what the files of rules are made of: what several share.
 *
 * A rule is a file <name>.isa.c, which is compiled for each instruction set (base/isa.h): its
 * expression for one element, the loop over elements, and its row. A new one is a file and a
 * name below. Every operation is rounded by itself, so all copies give the same bits.
 *
 * w and state are in and out; g is a sum over samples.
 */
#ifndef HR_OPTIM_RULES_H
#define HR_OPTIM_RULES_H

#include <math.h>
#include <stdio.h>

#include "base/isa.h"
#include "optim/optimizer.h"

/* All there are, as they are listed to people. */
#define HR_OPTIMIZERS(X) X(sgd) X(adagrad) X(adam) X(adamw) X(lars) X(lamb)

#define HR_DECLARE_RULE(name) HR_ISA_DECLARE(struct hr_rule, hr_rule_##name);
HR_OPTIMIZERS(HR_DECLARE_RULE)

/* The loop of a rule: `element` is the new w[i]. It works with a copy of the step that no store to
 * an array can change. */
#define HR_SIMD _Pragma("omp simd")
#define HR_UPDATE_LOOP(name, element)                                                              \
    static void name(float *w, float *s0, float *s1, const float *g, size_t count,                 \
                     const struct hr_step *of)                                                     \
    {                                                                                              \
        const struct hr_step step = *of;                                                           \
        (void)s0, (void)s1, (void)g;                                                               \
        HR_SIMD for (size_t i = 0; i < count; i++) w[i] = element;                                 \
    }

/* Norms over blocks of so many elements, folded in order (norms.c). */
enum { HR_NORM_BLOCK = 1024 };
/* Where the block that holds element `at` of a segment ends. */
size_t hr_norm_block_end(const struct hr_param_segment *segment, size_t at);
/* Of x (count), count <= HR_NORM_BLOCK; of a whole segment of x (params). */
double hr_norm_block_squares(const float *x, size_t count);
double hr_norm_squares(const float *x, const struct hr_param_segment *segment);

/* What all rules share: each instruction set's copy of loops.isa.c. */
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

static inline void hr_adam_moments(float d, float *m, float *v, const struct hr_step *step)
{
    *m = step->beta1 * *m + step->rest1 * d;
    *v = step->beta2 * *v + step->rest2 * d * d;
}

static inline float hr_adam_direction(float m, float v, const struct hr_step *step)
{
    return step->correction1 * m / (sqrtf(v) / step->root2 + step->eps);
}

#endif
