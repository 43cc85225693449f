#include "nn/loss.h"

#include <math.h>

struct row {
    float loss;
    size_t best; /* first of the largest logits; no class when one is not a number */
};

static size_t first_largest(size_t C, const float *x)
{
    size_t best = 0;
    for (size_t c = 1; c < C; c++)
        if (x[c] > x[best])
            best = c;
    return best;
}

/* x (C) in; dx (C) out, or NULL */
static struct row row_loss(size_t C, const float *x, size_t label, float *dx)
{
    const size_t best = first_largest(C, x);
    float sum = 0.0f;
    for (size_t c = 0; c < C; c++) {
        const float e = expf(x[c] - x[best]);
        sum += e;
        if (dx)
            dx[c] = e;
    }
    if (dx) {
        for (size_t c = 0; c < C; c++)
            dx[c] /= sum;
        dx[label] -= 1.0f;
    }
    return (struct row){logf(sum) - (x[label] - x[best]), isnan(sum) ? C : best};
}

struct hr_batch_result hr_softmax_loss(size_t B, size_t C, const float *logits,
                                       const uint32_t *labels, float *dlogits)
{
    struct hr_batch_result result = {0};
    for (size_t b = 0; b < B; b++) {
        HR_ASSERT(labels[b] < C);
        float *dx = dlogits ? dlogits + b * C : NULL;
        const struct row row = row_loss(C, logits + b * C, labels[b], dx);
        result.loss_sum += (double)row.loss;
        result.correct += row.best == labels[b];
    }
    return result;
}
