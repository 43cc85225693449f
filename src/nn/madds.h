/* madds.h - multiply-adds of a model, and when in the time of a gradient what of it is there.
 *
 * Threads: pure functions of a model. Test: tests/unit/nn/test_model.c
 */
#ifndef HR_NN_MADDS_H
#define HR_NN_MADDS_H

#include "nn/model.h"

/* Multiply-adds of one sample, forward and backward (no gradient for the first layer's input); each
 * is two floating-point operations. */
double hr_model_madds(const struct hr_model *model);
double hr_model_multiplied(const struct hr_model *model); /* done: some are spared (winograd.h) */
bool hr_model_is_direct(const struct hr_model *model);    /* none is spared */
/* Of them those forward, and those of both halves of backward (part.h): what a layer cannot do
 * apart is counted with the data. Layers that are split (split.h) are shared by so many ranks. */
struct hr_model_madds {
    double forward, data, weights;
};
struct hr_model_madds hr_model_madds_apart(const struct hr_model *model, size_t ranks);

/* When backward has finished a layer that has parameters, grads [offset, params) are final, as
 * hr_workspace_options.done says; `share` of the multiply-adds of a gradient are done then. The
 * number-th of these moments, from 0, in the order of backward; false: there are no more. */
struct hr_model_final {
    size_t offset;
    double share; /* 0 to 1 */
};
bool hr_model_final(const struct hr_model *model, size_t number, struct hr_model_final *out);

#endif
