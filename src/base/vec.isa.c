/* The vector kernels, compiled once for each instruction set (see isa.h). */
#include "base/vec_table.h"

#include <string.h>

#include "base/size.h"
#include "base/vec.h"

/* Elements that are summed at a time: one block of partial sums a tree level stays in L1. */
enum { BLOCK = 256, LEVELS = 6 };

static void add(float *y, const float *x, size_t count)
{
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        y[i] = y[i] + x[i];
}

static void scale(float *y, float a, size_t count)
{
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        y[i] = a * y[i];
}

static void axpy(float *y, float a, const float *x, size_t count)
{
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        y[i] = y[i] + a * x[i];
}

/* The common case, two ranks: no block between the inputs and the outputs. */
static void sum_two(float *out0, float *out1, const float *x0, const float *x1, size_t count)
{
#pragma omp simd
    for (size_t i = 0; i < count; i++) {
        const float sum = x0[i] + x1[i];
        out0[i] = sum;
        out1[i] = sum;
    }
}

static void sum_pair(float *sum, const float *x0, const float *x1, size_t count)
{
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        sum[i] = x0[i] + x1[i];
}

/* sum[i] = T(n)(x[0][at + i] ...); scratch has one block for each further level of the tree. */
static void tree_block(float *sum, float (*scratch)[BLOCK], const float *const *x, size_t n,
                       size_t at, size_t count)
{
    if (n == 1) {
        memcpy(sum, x[0] + at, count * sizeof *sum);
    } else if (n == 2) {
        sum_pair(sum, x[0] + at, x[1] + at, count);
    } else {
        size_t left = 1;
        while (left * 2 < n)
            left *= 2;
        tree_block(sum, scratch, x, left, at, count);
        tree_block(scratch[0], scratch + 1, x + left, n - left, at, count);
        add(sum, scratch[0], count);
    }
}

static void tree_sum(float *const *out, size_t nout, const float *const *x, size_t n, size_t count)
{
    if (n == 2 && nout == 2) {
        sum_two(out[0], out[1], x[0], x[1], count);
        return;
    }
    if (n == 2 && nout == 1) {
        sum_pair(out[0], x[0], x[1], count);
        return;
    }
    float sum[BLOCK], scratch[LEVELS][BLOCK];
    for (size_t at = 0; at < count; at += BLOCK) {
        const size_t length = hr_min_size(BLOCK, count - at);
        tree_block(sum, scratch, x, n, at, length);
        for (size_t j = 0; j < nout; j++)
            memcpy(out[j] + at, sum, length * sizeof *sum);
    }
}

const struct hr_vec_table HR_ISA_NAME(hr_vec_table) = {tree_sum, add, scale, axpy};
