#include "nn/linear.h"

#include "base/size.h"
#include "products/gemm.h"
#include "products/product_bf16.h"

/* Sums over inputs forward, over rows for dW, over outputs for dx. */
size_t hr_linear_scratch_bytes(enum hr_precision precision, size_t rows, size_t I, size_t O,
                               size_t threads)
{
    const size_t widest = hr_max_size(I, O);
    if (precision == HR_PRECISION_BF16)
        return hr_max_size(hr_product_bf16_scratch_bytes(rows, widest, threads),
                           hr_product_bf16_scratch_bytes(O, rows, threads));
    return hr_gemm_scratch_bytes(hr_max_size(widest, rows), threads);
}

static void multiply(const struct hr_linear *linear, const struct hr_gemm *gemm, bool round)
{
    if (linear->precision == HR_PRECISION_BF16)
        hr_gemm_bf16(gemm, round);
    else
        hr_gemm(gemm);
}

void hr_linear_forward(const struct hr_linear *linear, const float *x, const float *weight,
                       const float *bias, bool relu, bool round, float *y)
{
    const struct hr_channels in = linear->in, out = linear->out;
    multiply(linear,
             &(struct hr_gemm){.form = HR_GEMM_NT,
                               .M = linear->rows,
                               .N = out.end - out.begin,
                               .K = in.end - in.begin,
                               .a = x + in.begin,
                               .a_row = linear->x_row,
                               .b = weight + out.begin * linear->I + in.begin,
                               .b_row = linear->I,
                               .c = y + out.begin,
                               .c_row = linear->y_row,
                               .bias = bias ? bias + out.begin : NULL,
                               .relu = relu,
                               .scratch = linear->scratch,
                               .threads = linear->threads},
             round);
}

void hr_linear_backward_weights(const struct hr_linear *linear, const float *dy, const float *x,
                                const struct hr_taker *taker, size_t taken_at, float *dweight)
{
    const struct hr_channels in = linear->in, out = linear->out;
    const size_t at = out.begin * linear->I + in.begin;
    multiply(linear,
             &(struct hr_gemm){.form = HR_GEMM_TN,
                               .M = out.end - out.begin,
                               .N = in.end - in.begin,
                               .K = linear->rows,
                               .a = dy + out.begin,
                               .a_row = linear->y_row,
                               .b = x + in.begin,
                               .b_row = linear->x_row,
                               .c = dweight + at,
                               .c_row = linear->I,
                               .taker = taker,
                               .taken_at = taken_at + at,
                               .scratch = linear->scratch,
                               .threads = linear->threads},
             false);
}

void hr_linear_backward_data(const struct hr_linear *linear, const float *dy, const float *weight,
                             bool round, float *dx)
{
    const struct hr_channels in = linear->in, out = linear->out;
    multiply(linear,
             &(struct hr_gemm){.form = HR_GEMM_NN,
                               .M = linear->rows,
                               .N = in.end - in.begin,
                               .K = out.end - out.begin,
                               .a = dy + out.begin,
                               .a_row = linear->y_row,
                               .b = weight + out.begin * linear->I + in.begin,
                               .b_row = linear->I,
                               .c = dx + in.begin,
                               .c_row = linear->x_row,
                               .scratch = linear->scratch,
                               .threads = linear->threads},
             round);
}
