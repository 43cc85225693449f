/* linear.h - torch.nn.Linear's three products, or a part of them: what dense, attention and tied
 * are made of.
 *
 *     y (rows,O) = x (rows,I) W^T + bias        W (O,I), bias (O)
 *     dx (rows,I) = dy W        dW (O,I) = dy^T x        dbias (O) = column sums of dy
 *
 * A part is some inputs by some outputs; arrays are the whole's, and the rest of them stays as it
 * is.
 *
 * Order: of an element of y over the inputs, of dx over the outputs, of dW and dbias over the rows,
 * as products/gemm.h and kernels/elementwise.h add them.
 * Threads: pure functions on the caller's memory. Test: tests/unit/nn/test_gradient.c
 */
#ifndef HR_NN_LINEAR_H
#define HR_NN_LINEAR_H

#include "nn/layer.h"

struct hr_linear {
    enum hr_precision precision;
    size_t rows, I, O;
    struct hr_channels in, out; /* of I and of O: the part */
    size_t x_row, y_row;        /* floats from a row of x (and dx), of y (and dy) to the next */
    void *scratch;              /* hr_linear_scratch_bytes of as many rows, I and O, or more */
    size_t threads;
};

/* All inputs and outputs, without gaps. */
static inline struct hr_linear hr_linear_of(const struct hr_layer *layer,
                                            const struct hr_pass *pass, size_t rows, size_t I,
                                            size_t O)
{
    return (struct hr_linear){.precision = layer->precision,
                              .rows = rows,
                              .I = I,
                              .O = O,
                              .in = {0, I},
                              .out = {0, O},
                              .x_row = I,
                              .y_row = O,
                              .scratch = pass->scratch,
                              .threads = pass->threads};
}

size_t hr_linear_scratch_bytes(enum hr_precision precision, size_t rows, size_t I, size_t O,
                               size_t threads);

/* bias NULL: none, and y may be a partial sum. `round` below: of bfloat16 values, what is stored is
 * no partial sum. */
void hr_linear_forward(const struct hr_linear *linear, const float *x, const float *weight,
                       const float *bias, bool relu, bool round, float *y);
void hr_linear_backward_data(const struct hr_linear *linear, const float *dy, const float *weight,
                             bool round, float *dx);
/* taker: of dweight, whose first element is number taken_at; NULL: nobody */
void hr_linear_backward_weights(const struct hr_linear *linear, const float *dy, const float *x,
                                const struct hr_taker *taker, size_t taken_at, float *dweight);

#endif
