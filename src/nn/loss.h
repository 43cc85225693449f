/* loss.h - losses: value, gradient and correct answers in one pass over the logits.
 *
 * x (C) are a sample's outputs, y its label, t = onehot(y), or with a single output t = y.
 *   cross-entropy   p = softmax(x), t' = (1 - s) t + s / C with label smoothing s
 *                   loss = - sum t' log p               dx = p - t'
 *   bce             binary cross entropy with logits, p = sigmoid(x)
 *                   loss = mean of max(x,0) - x t + log(1 + e^-|x|)      dx = (p - t) / C
 *   mse             loss = mean of (x - t)^2            dx = 2 (x - t) / C
 * As PyTorch's CrossEntropyLoss, BCEWithLogitsLoss and MSELoss give for one sample; means are over
 * its outputs, and the samples' losses are summed.
 *
 * The answer is the first largest output. With a single output it is x > 0 for bce, and for mse the
 * class number that is nearest (the lower of two). The largest logit is subtracted before
 * exponentials, so that no finite logits overflow.
 * Test: tests/unit/nn/test_loss.c
 */
#ifndef HR_NN_LOSS_H
#define HR_NN_LOSS_H

#include <stddef.h>
#include <stdint.h>

#include "nn/model.h"

struct hr_loss {
    enum hr_loss_kind kind;
    float smoothing; /* of labels; cross-entropy only */
    size_t outputs;  /* C */
    size_t classes;  /* C, or any number where there is a single output */
};

/* Sums, not means, over the B samples.
 *   logits   (B,C) in
 *   labels   (B) in, each < classes
 *   dlogits  (B,C) out, overwritten; NULL when no gradient is wanted; never logits */
struct hr_batch_result hr_loss(const struct hr_loss *loss, size_t B, const float *logits,
                               const uint32_t *labels, float *dlogits);

/* The same, added to what *sum holds, sample by sample: B samples at once or in pieces, the bits
 * are the same. */
void hr_loss_add(const struct hr_loss *loss, size_t B, const float *logits, const uint32_t *labels,
                 float *dlogits, struct hr_batch_result *sum);

#endif
