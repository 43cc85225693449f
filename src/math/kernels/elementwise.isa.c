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

/* --- dropout --- */

enum { BLOCKS = 16 }; /* of Philox side by side */

/* The ten rounds of base/philox.c on each. */
static void draw_blocks(const uint32_t counter[4], uint64_t key, uint32_t w[4][BLOCKS])
{
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (uint32_t l = 0; l < BLOCKS; l++) {
        w[0][l] = counter[0] + l;
        w[1][l] = counter[1], w[2][l] = counter[2], w[3][l] = counter[3];
    }
    for (int round = 0; round < 10; round++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
#pragma omp simd
        for (size_t l = 0; l < BLOCKS; l++) {
            const uint64_t p0 = (uint64_t)0xD2511F53u * w[0][l];
            const uint64_t p1 = (uint64_t)0xCD9E8D57u * w[2][l];
            w[0][l] = (uint32_t)(p1 >> 32) ^ w[1][l] ^ k0;
            w[2][l] = (uint32_t)(p0 >> 32) ^ w[3][l] ^ k1;
            w[1][l] = (uint32_t)p1;
            w[3][l] = (uint32_t)p0;
        }
    }
}

static void draw_bits(size_t count, const uint32_t counter[4], uint64_t key, uint32_t least,
                      uint8_t *mask)
{
    uint32_t at[4] = {counter[0], counter[1], counter[2], counter[3]};
    for (size_t i = 0; i < count; i += 4 * BLOCKS, at[0] += BLOCKS) {
        uint32_t w[4][BLOCKS], four[BLOCKS];
        draw_blocks(at, key, w);
#pragma omp simd
        for (size_t l = 0; l < BLOCKS; l++)
            four[l] = (uint32_t)(w[0][l] >= least) | (uint32_t)(w[1][l] >= least) << 1 |
                      (uint32_t)(w[2][l] >= least) << 2 | (uint32_t)(w[3][l] >= least) << 3;
        for (size_t b = 0; b < BLOCKS / 2 && i + 8 * b < count; b++) {
            const size_t left = count - i - 8 * b;
            mask[i / 8 + b] = (uint8_t)((four[2 * b] | four[2 * b + 1] << 4) &
                                        (left < 8 ? (1u << left) - 1 : 0xff));
        }
    }
}

static void keep(size_t count, const uint8_t *mask, float scale, const float *from, float *to)
{
    enum { EIGHT = 8 };
    size_t i = 0;
    for (; i + EIGHT <= count; i += EIGHT) {
        const int32_t byte = mask[i / EIGHT];
#pragma omp simd
        for (int32_t l = 0; l < EIGHT; l++) {
            const float grown = from[i + (size_t)l] * scale;
            to[i + (size_t)l] = byte & 1 << l ? grown : 0.0f;
        }
    }
    for (; i < count; i++)
        to[i] = mask[i / EIGHT] >> (i % EIGHT) & 1 ? from[i] * scale : 0.0f;
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
    .draw_bits = draw_bits,
    .keep = keep,
};
