/* The loops of batch normalisation, compiled once for each instruction set (see base/isa.h). */
#include "kernels/norm.h"

#include <string.h>

static void moments(size_t R, size_t C, size_t row, const float *x, double *sums)
{
    double *sum = sums, *squares = sums + C; /* (C) each */
    memset(sums, 0, 2 * C * sizeof *sums);
    for (size_t r = 0; r < R; r++, x += row) {
#pragma omp simd
        for (size_t c = 0; c < C; c++) {
            const double v = (double)x[c];
            sum[c] = sum[c] + v;
            squares[c] = squares[c] + v * v;
        }
    }
}

static void gradients(size_t R, size_t C, size_t row, const float *x, const float *dy,
                      const double *mean, double *sums)
{
    double *sum = sums, *products = sums + C; /* (C) each */
    memset(sums, 0, 2 * C * sizeof *sums);
    for (size_t r = 0; r < R; r++, x += row, dy += row) {
#pragma omp simd
        for (size_t c = 0; c < C; c++) {
            const double d = (double)dy[c];
            sum[c] = sum[c] + d;
            products[c] = products[c] + d * ((double)x[c] - mean[c]);
        }
    }
}

static void apply_rows(size_t R, size_t C, size_t row, const float *x, const float *coef, float *y)
{
    const float *center = coef, *scale = coef + C, *shift = coef + 2 * C; /* (C) each */
    for (size_t r = 0; r < R; r++, x += row, y += row) {
#pragma omp simd
        for (size_t c = 0; c < C; c++)
            y[c] = (x[c] - center[c]) * scale[c] + shift[c];
    }
}

/* Written so that NaN is kept (as in elementwise.isa.c). */
static void apply_rows_relu(size_t R, size_t C, size_t row, const float *x, const float *coef,
                            float *y)
{
    const float *center = coef, *scale = coef + C, *shift = coef + 2 * C; /* (C) each */
    for (size_t r = 0; r < R; r++, x += row, y += row) {
#pragma omp simd
        for (size_t c = 0; c < C; c++) {
            const float v = (x[c] - center[c]) * scale[c] + shift[c];
            y[c] = 0.0f > v ? 0.0f : v;
        }
    }
}

static void apply(size_t R, size_t C, size_t row, const float *x, const float *coef, bool relu,
                  float *y)
{
    if (relu)
        apply_rows_relu(R, C, row, x, coef, y);
    else
        apply_rows(R, C, row, x, coef, y);
}

static void backward(size_t R, size_t C, size_t row, const float *x, const float *dy,
                     const float *coef, float *dx)
{
    const float *center = coef, *scale = coef + C;            /* (C) each */
    const float *shift = coef + 2 * C, *slope = coef + 3 * C; /* (C) each */
    for (size_t r = 0; r < R; r++, x += row, dy += row, dx += row) {
#pragma omp simd
        for (size_t c = 0; c < C; c++)
            dx[c] = scale[c] * (dy[c] - shift[c] - (x[c] - center[c]) * slope[c]);
    }
}

const struct hr_norm HR_ISA_NAME(hr_norm) = {
    .moments = moments,
    .gradients = gradients,
    .apply = apply,
    .backward = backward,
};
