/* loss.h - softmax cross entropy: loss, gradient and correct answers in one pass over the logits.
 *
 *     p = softmax(x)      loss = -log p[label]      dloss/dx = p - onehot(label)
 *
 * The largest logit is subtracted first, so that no finite logits overflow.
 * Test: tests/nn/test_loss.c
 */
#ifndef HR_NN_LOSS_H
#define HR_NN_LOSS_H

#include <stddef.h>
#include <stdint.h>

#include "nn/model.h"

/* Sums, not means, over the B samples.
 *   logits   (B,C) in
 *   labels   (B) in, each < C
 *   dlogits  (B,C) out, overwritten; NULL when no gradient is wanted; never logits */
struct hr_batch_result hr_softmax_loss(size_t B, size_t C, const float *logits,
                                       const uint32_t *labels, float *dlogits);

#endif
