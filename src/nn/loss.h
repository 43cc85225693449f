/* loss.h - losses: value, gradient and correct answers in one pass over the logits.
 *
 * x (C) are a sample's outputs, y its label, t = onehot(y), or with a single output t = y.
 *   cross-entropy   p = softmax(x), t' = (1 - s) t + s / C with label smoothing s
 *                   loss = - sum t' log p               dx = p - t'
 *   bce             binary cross entropy with logits, p = sigmoid(x)
 *                   loss = mean of max(x,0) - x t + log(1 + e^-|x|)      dx = (p - t) / C
 *   mse             loss = mean of (x - t)^2            dx = 2 (x - t) / C
 *   huber           d = x - t, mean of d^2 / 2 where |d| <= delta, else of delta (|d| - delta / 2)
 *                                                       dx = d, at most delta in size, / C
 * As PyTorch's CrossEntropyLoss, BCEWithLogitsLoss, MSELoss and HuberLoss give for one sample;
 * means are over its outputs, and the samples' losses are summed.
 *
 * Where a gradient is wanted, class weights multiply each sample's loss and gradient by that of its
 * class. PyTorch's divides a batch's sum by the batch's weights, so that a batch of rare classes
 * counts no more than any other; here it is divided by the samples, and weights of mean 1 over the
 * training data keep the size of a step.
 *
 * Of a regression (mse, huber) t are C values, and y the number of their row in a table.
 *
 * Of a language model x (places, C), the label of place i is the token behind it, and the sample's
 * loss the mean over its places (kernels/rows.h has the sums' order, then places in their order, in
 * double); there are no answers.
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

#define HR_NO_CLASS UINT32_MAX

struct hr_loss_function {
    enum hr_loss_kind kind;
    float smoothing; /* of labels; cross-entropy only */
    size_t outputs;  /* C */
    size_t classes;  /* C, or any number where there is a single output; of a regression rows */
    float delta;     /* of huber */
    const float *class_weights; /* (classes); NULL: all 1 */
    struct hr_target_table wanted;
    const struct hr_tokens *text; /* of a language model, else NULL: y is the number of a sample's
                                     first token, and classes how many tokens the text has */
    size_t places;                /* of a sequence; 0: there is none */
};

/* Sums, not means, over the B samples.
 *   logits   (B,C) in, of a language model (B,places,C)
 *   labels   (B) in, each < classes
 *   dlogits  as logits, out, overwritten; NULL when no gradient is wanted; never logits */
struct hr_batch_result hr_loss(const struct hr_loss_function *loss, size_t B, const float *logits,
                               const uint32_t *labels, float *dlogits);

/* The same, added to what *sum holds, sample by sample: B samples at once or in pieces, the bits
 * are the same. */
void hr_loss_add(const struct hr_loss_function *loss, size_t B, const float *logits,
                 const uint32_t *labels, float *dlogits, struct hr_batch_result *sum);

/* Each sample's loss, (B) out. */
void hr_loss_each(const struct hr_loss_function *loss, size_t B, const float *logits,
                  const uint32_t *labels, float *losses);

/* The answers (B) out: classes, or HR_NO_CLASS where an output is not a number. */
void hr_loss_answers(const struct hr_loss_function *loss, size_t B, const float *logits,
                     uint32_t *answers);

#endif
