/* elementwise.h - the elementwise loops of the layers, one copy an instruction set (base/isa.h).
 *
 * Matrices are row-major (B,O): B samples of O features. All copies give the same bits.
 * NaN passes through, as in PyTorch: relu(NaN) = NaN, and its gradient is not masked.
 *
 * Threads: pure functions on the caller's memory.
 * Test: tests/unit/kernels/test_elementwise.c, against naive twins, bit by bit.
 */
#ifndef HR_KERNELS_ELEMENTWISE_H
#define HR_KERNELS_ELEMENTWISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/isa.h"

struct hr_elementwise {
    /* y (B,O) in and out: y[b][o] += bias[o];  bias (O); aliasing: none */
    void (*bias_add)(size_t B, size_t O, const float *bias, float *y);

    /* y (B,O) in and out: y[b][o] = max(0, y[b][o] + bias[o]), one pass */
    void (*bias_relu)(size_t B, size_t O, const float *bias, float *y);

    /* y (count) = max(0, x (count)); y may be x */
    void (*relu)(size_t count, const float *x, float *y);

    /* dx (count) = y (count) > 0 ? dy (count) : 0, y being the output of relu; dx may be dy */
    void (*relu_backward)(size_t count, const float *y, const float *dy, float *dx);

    /* y (count) = x (count) + x2 (count), and max(0, .) with `relu`; y may be x */
    void (*sum)(size_t count, const float *x, const float *x2, bool relu, float *y);

    /* The gradient of that, one for each: dx, dx2 (count) = dy (count), and 0 where y <= 0.
     *   y    NULL: there was no relu          dx   NULL: not wanted; may be dy
     *   dx2  NULL: not wanted */
    void (*sum_backward)(size_t count, const float *y, const float *dy, float *dx, float *dx2);

    /* to (B,O) = from (B,O), whose rows are as many floats apart as said */
    void (*copy_rows)(size_t B, size_t O, const float *from, size_t from_row, float *to,
                      size_t to_row);

    /* db (O) = sum over the rows b = 0, 1, ... of dy (B,O), `row` floats apart, from 0 on;
     * overwritten */
    void (*column_sums)(size_t B, size_t O, const float *dy, size_t row, float *db);

    /* The same, from db on: added to what is there */
    void (*column_add)(size_t B, size_t O, const float *dy, size_t row, float *db);

    /* bits (count / 8, rounded up) out: bit i is set where word i of blocks counter, counter + 1,
     * ... (base/philox.h, four words each) is at least `least`; zeros behind the last
     *   counter  its first word counts the blocks; `key` is the seed */
    void (*draw_bits)(size_t count, const uint32_t counter[4], uint64_t key, uint32_t least,
                      uint8_t *bits);

    /* to (count) = from (count) times `scale` where the bit is set, else 0; to may be from */
    void (*keep)(size_t count, const uint8_t *bits, float scale, const float *from, float *to);
};

HR_ISA_KERNELS(hr_elementwise)

#endif
