/* The elementwise kernels, compiled once for each instruction set (see base/isa.h). */
#include "kernels/elementwise.h"

#include <string.h>

#include "kernels/simd.h"

/* Written so that NaN is kept, and so that it is one instruction (max with NaN's operand last). */
static inline float relu_of(float x)
{
    return 0.0f > x ? 0.0f : x;
}

static void bias_add(size_t B, size_t O, const float *bias, float *y)
{
    for (size_t b = 0; b < B; b++) {
        float *row = y + b * O;
#pragma omp simd
        for (size_t o = 0; o < O; o++)
            row[o] = row[o] + bias[o];
    }
}

static void bias_relu(size_t B, size_t O, const float *bias, float *y)
{
    for (size_t b = 0; b < B; b++) {
        float *row = y + b * O;
#pragma omp simd
        for (size_t o = 0; o < O; o++)
            row[o] = relu_of(row[o] + bias[o]);
    }
}

static void relu(size_t count, const float *x, float *y)
{
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        y[i] = relu_of(x[i]);
}

static void relu_backward(size_t count, const float *y, const float *dy, float *dx)
{
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        dx[i] = y[i] <= 0.0f ? 0.0f : dy[i];
}

static void sum(size_t count, const float *x, const float *x2, bool with_relu, float *y)
{
    if (with_relu) {
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            y[i] = relu_of(x[i] + x2[i]);
    } else {
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            y[i] = x[i] + x2[i];
    }
}

static void copy(size_t count, const float *from, float *to)
{
    if (to && to != from)
        memcpy(to, from, count * sizeof *to);
}

static void sum_backward(size_t count, const float *y, const float *dy, float *dx, float *dx2)
{
    if (!y) {
        copy(count, dy, dx2);
        copy(count, dy, dx);
    } else if (dx && dx2) {
#pragma omp simd
        for (size_t i = 0; i < count; i++) {
            const float d = y[i] <= 0.0f ? 0.0f : dy[i];
            dx[i] = d;
            dx2[i] = d;
        }
    } else if (dx || dx2) {
        relu_backward(count, y, dy, dx ? dx : dx2);
    }
}

static void copy_rows(size_t B, size_t O, const float *from, size_t from_row, float *to,
                      size_t to_row)
{
    for (size_t b = 0; b < B; b++, from += from_row, to += to_row)
        for (size_t o = 0; o < O; o += LANES)
            store_part(to + o, load_part(from + o, O - o), O - o);
}

/* `vectors` of columns side by side, a constant; `count` columns of the last. */
static inline __attribute__((always_inline)) void add_columns(size_t B, const float *dy, size_t row,
                                                              size_t vectors, size_t count,
                                                              float *db)
{
    vec sum[4];
    for (size_t v = 0; v < vectors; v++)
        sum[v] = load_part(db + v * LANES, count);
    for (size_t b = 0; b < B; b++, dy += row)
#pragma GCC unroll 4
        for (size_t v = 0; v < vectors; v++)
            sum[v] += load_part(dy + v * LANES, count);
    for (size_t v = 0; v < vectors; v++)
        store_part(db + v * LANES, sum[v], count);
}

/* The sums of a few columns stay in registers. */
static void column_add(size_t B, size_t O, const float *dy, size_t row, float *db)
{
    size_t o = 0;
    for (; O - o >= 4 * LANES; o += 4 * LANES)
        add_columns(B, dy + o, row, 4, LANES, db + o);
    for (; O - o >= LANES; o += LANES)
        add_columns(B, dy + o, row, 1, LANES, db + o);
    if (O > o)
        add_columns(B, dy + o, row, 1, O - o, db + o);
}

static void column_sums(size_t B, size_t O, const float *dy, size_t row, float *db)
{
    memset(db, 0, O * sizeof *db);
    column_add(B, O, dy, row, db);
}

const struct hr_elementwise HR_ISA_NAME(hr_elementwise) = {
    .bias_add = bias_add,
    .bias_relu = bias_relu,
    .relu = relu,
    .relu_backward = relu_backward,
    .sum = sum,
    .sum_backward = sum_backward,
    .copy_rows = copy_rows,
    .column_sums = column_sums,
    .column_add = column_add,
};
