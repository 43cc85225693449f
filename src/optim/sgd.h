/* sgd.h - stochastic gradient descent with momentum and weight decay, PyTorch's rule.
 *
 *     d = g / n + weight_decay * w          g: sum of n samples' gradients; the only division by n
 *     m = momentum * m + d                  m starts at 0
 *     w = w - lr * m
 *
 * (torch.optim.SGD with dampening 0, nesterov off.) hr_sgd_element is the only place where this
 * expression stands: every strategy and every kernel calls it, so that all give the same bits.
 *
 * Threads: pure functions on the caller's memory.
 */
#ifndef HR_OPTIM_SGD_H
#define HR_OPTIM_SGD_H

#include <stddef.h>

struct hr_sgd {
    float lr, momentum, weight_decay;
    float inverse_count; /* 1 / n, rounded once */
};

static inline float hr_sgd_inverse_count(size_t n)
{
    return n ? 1.0f / (float)n : 0.0f;
}

/* One element: returns the new weight, and *m is the new momentum. */
static inline float hr_sgd_element(float w, float g, float *m, const struct hr_sgd *sgd)
{
    const float d = g * sgd->inverse_count + sgd->weight_decay * w;
    const float velocity = sgd->momentum * *m + d;
    *m = velocity;
    return w - sgd->lr * velocity;
}

/* w, m (count) in and out; g (count) in; disjoint. */
void hr_sgd_update(float *w, float *m, const float *g, size_t count, const struct hr_sgd *sgd);

#endif
