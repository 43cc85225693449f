/* optimizer_setup.h - optimizer and learning rate, from options; model and batch are known.
 *
 * Errors:  HR_E_USAGE names option and value.
 */
#ifndef HR_TRAIN_OPTIMIZER_SETUP_H
#define HR_TRAIN_OPTIMIZER_SETUP_H

#include "nn/model.h"
#include "optim/optimizer.h"
#include "train/run.h"

/* Which tensors --freeze keeps as they are.
 *
 * Its patterns are shell globs (fnmatch) over the names of trained tensors, as they stand in
 * model.safetensors; commas part them. Running statistics (of batchnorm) are none of these: they go
 * on following the batches, as in PyTorch those of a layer whose requires_grad is False.
 *
 * Threads: before the ranks start.
 * Test:    tests/unit/train/test_freeze.c
 */

/* "2 of 4 tensors: 1.weight, 1.bias"; "" where nothing is frozen. */
void hr_freeze_text(const struct hr_model *model, const struct hr_optimizer *optimizer, char *text,
                    size_t size);

HR_CHECKED enum hr_status hr_optimizer_setup(struct hr_run *run);
HR_CHECKED enum hr_status hr_rate_setup(struct hr_run *run); /* behind lay_out_schedule */
/* "adam, betas 0.9 0.999, eps 1e-08" and "lr 0.001 after 1 epoch of warm-up, linear to 0". */
void hr_optimizer_setup_text(const struct hr_run *run, char *text, size_t size);
void hr_rate_setup_text(const struct hr_run *run, char *text, size_t size);

#endif
