/* freeze.h - which tensors --freeze keeps as they are.
 *
 * Its patterns are shell globs (fnmatch) over the names of trained tensors, as they stand in
 * model.safetensors; commas part them. Running statistics (of batchnorm) are none of these: they go
 * on following the batches, as in PyTorch those of a layer whose requires_grad is False.
 *
 * Threads: before the ranks start.
 * Test:    tests/unit/train/test_freeze.c
 */
#ifndef HR_TRAIN_FREEZE_H
#define HR_TRAIN_FREEZE_H

#include "nn/model.h"
#include "optim/optimizer.h"

/* Give the tensors (one a tensor of the model) that the patterns match the role FROZEN; "": none.
 * *frozen is how many parameters they have. HR_E_USAGE: an empty pattern, one that matches nothing
 * (lists the names), or nothing is left to train. */
HR_CHECKED enum hr_status hr_freeze(const char *patterns, const struct hr_model *model,
                                    struct hr_param_segment *tensors, size_t *frozen);

/* "2 of 4 tensors: 1.weight, 1.bias"; "" where nothing is frozen. */
void hr_freeze_text(const struct hr_model *model, const struct hr_optimizer *optimizer, char *text,
                    size_t size);

#endif
