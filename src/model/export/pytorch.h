/* pytorch.h - a network as PyTorch's module, in Python: what its layers are there, under names such
 * that its model.safetensors is the state_dict.
 *
 *     class Net(nn.Sequential):
 *         def __init__(self):
 *             super().__init__(
 *                 nn.Flatten(),
 *                 nn.Linear(64, 10),
 *             )
 *
 * Layers that PyTorch has not (residual, position, attention, tied) are classes before it. Weights
 * that are tied are the embedding's, and there once.
 *
 * Threads: none. Test: tests/cli/export.bats, tests/peers/text_oracle.py
 */
#ifndef HR_EXPORT_PYTORCH_H
#define HR_EXPORT_PYTORCH_H

#include <stdio.h>

#include "hogring/checkpoint.h"
#include "hogring/data.h"
#include "base/error.h"

/* Write the module of a checkpoint's network.
 *   shape  of a sample, where the file does not say it; else zeros
 * HR_E_USAGE: it is a sparse model, or the shape is not known; HR_E_FORMAT, HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_pytorch_write(FILE *out, const struct hr_checkpoint *checkpoint,
                                           struct hr_shape shape);

#endif
