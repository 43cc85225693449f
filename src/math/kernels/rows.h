/* rows.h - loops over the rows of a matrix, each row by itself: layer normalisation, cross entropy,
 * rows of a table. One copy an instruction set (base/isa.h), all with the same bits.
 *
 * Order: a sum over a row has sixteen parts, of columns 0, 16, 32, ..., of columns 1, 17, ..., each
 * from the first on; the second eight are added to the first eight, then four to four, two to two,
 * one to one. A sum over rows goes from the first to the last.
 *
 * Threads: pure functions on the caller's memory; rows may be shared out.
 * Test: tests/unit/kernels/test_rows.c
 */
#ifndef HR_KERNELS_ROWS_H
#define HR_KERNELS_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "base/isa.h"

/* Rows (R,D) of logits, without gaps, and their labels. */
struct hr_row_losses {
    size_t R, C;
    const float *x;         /* (R,C) */
    const uint32_t *labels; /* (R), each < C */
    float *losses;          /* (R) out */
    float *dx;              /* (R,C) out; may be x; NULL: not wanted */
    float scale;            /* of dx */
};

struct hr_row_loops {
    /* torch.nn.LayerNorm over rows x (R,D), with eps 1e-5:
     *     y (R,D) = (x - mean) * inverse * weight + bias      inverse = 1 / sqrt(variance + eps)
     * The variance is the mean of (x - mean)^2, after the mean.
     *   weight, bias   (D)       mean, inverse  (R) out, for backward      y may be x */
    void (*layernorm)(size_t R, size_t D, const float *x, const float *weight, const float *bias,
                      float *y, float *mean, float *inverse);

    /* With n = (x - mean) * inverse and g = dy * weight:
     *     dx (R,D) = (g - mean of g - n * mean of g * n) * inverse
     *     dweight (D) += sum over rows of dy * n       dbias (D) += sum over rows of dy
     * Both go on from what is there, row by row: a loop in pieces has the bits of the whole.
     * dx may be dy; NULL: it is not wanted. */
    void (*layernorm_backward)(size_t R, size_t D, const float *x, const float *weight,
                               const float *mean, const float *inverse, const float *dy, float *dx,
                               float *dweight, float *dbias);

    /* Softmax and cross entropy: with p = e^(x - largest) / their sum
     *     losses (R) = log(sum) - (x[label] - largest)      dx (R,C) = (p - onehot) * scale
     * Where x - largest is below -87, p is 0. A row that holds NaN or +inf, or only -inf, has
     * NaN as its loss, and in all of dx; -inf elsewhere has p = 0, and as the label's a loss of
     * +inf. */
    void (*cross_entropy)(const struct hr_row_losses *losses);

    /* y (R,D) = rows ids (R) of table (V,D); ids < V */
    void (*gather)(size_t R, size_t D, const uint32_t *ids, const float *table, float *y);

    /* Rows ids (R) of table (V,D) += dy (R,D), from the first row to the last */
    void (*scatter_add)(size_t R, size_t D, const uint32_t *ids, const float *dy, float *table);
};

HR_ISA_KERNELS(hr_row_loops)

#endif
