/* order.h - the order of samples, a pure function of (seed, epoch, position).
 *
 * Each epoch is a permutation of [0, count): every sample once, whoever asks, in any order of
 * asking. There is no state, so nothing needs to be reset, saved or agreed on.
 *
 *   Sampler  a Feistel network over the smallest even number of bits that holds `count`, its round
 *            keys from Philox(seed, epoch); a value outside [0, count) is sent through again (cycle
 *            walking), which keeps it a bijection (Black and Rogaway, "Ciphers with arbitrary
 *            finite domains", 2002).
 *   Windows  for data that a disk has to read: an epoch begins at a sample of the split that is
 *            drawn anew, and goes round it once; that circle is cut into windows of `window`
 *            neighbours, the last one shorter. Whole windows are taken in a drawn order, the short
 *            one last, and the samples of each in a drawn order. So all that is read in a while
 *            are a window's neighbours, and no two epochs have the same windows. A window of at
 *            least all samples is the order without windows.
 *
 * Threads: pure. Test: tests/unit/data/test_sampler.c, test_order.c
 */
#ifndef HR_DATA_ORDER_H
#define HR_DATA_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HR_SAMPLER_ROUNDS = 8 };

/* One epoch's order; a plain value, cheap to make (once per epoch, not per batch). */
struct hr_sampler {
    uint32_t count;
    uint32_t half_bits;
    uint32_t keys[HR_SAMPLER_ROUNDS];
};

/* The order of epoch `epoch` over `count` samples, 1 <= count < 2^31. */
struct hr_sampler hr_sampler_of(uint64_t seed, uint64_t epoch, size_t count);

/* Samples at positions first .. first + n - 1 of the order; first + n <= count. */
void hr_sampler_fill(const struct hr_sampler *sampler, size_t first, size_t n, uint32_t *samples);

/* An epoch's order, with windows or without. */
struct hr_order {
    struct hr_sampler sampler; /* of samples; or of whole windows, where there are two or more */
    uint64_t seed, epoch;
    uint32_t count, window; /* window 0: none */
    uint32_t whole;         /* windows of that size */
    uint32_t start;         /* the sample that the circle begins at */
};

/* The order of epoch `epoch` over `count` samples, 1 <= count < 2^31. window 0: none. */
struct hr_order hr_order_of(uint64_t seed, uint64_t epoch, size_t count, size_t window);

/* Samples at positions first .. first + n - 1 of the order; first + n <= count. */
void hr_order_fill(const struct hr_order *order, size_t first, size_t n, uint32_t *samples);

/* Positions [first, first + count), and the samples there in the order in which they lie: from
 * `sample` on, behind the last one from 0. */
struct hr_order_window {
    uint32_t first, count, sample;
};

/* The window that a position is in; order->window > 0. */
struct hr_order_window hr_order_window(const struct hr_order *order, size_t position);

#endif
