/* order.h - the order of an epoch: all samples shuffled (sampler.h), or within windows.
 *
 *   Windows  for data that a disk has to read: an epoch begins at a sample of the split that is
 *            drawn anew, and goes round it once; that circle is cut into windows of `window`
 *            neighbours, the last one shorter. Whole windows are taken in a drawn order, the short
 *            one last, and the samples of each in a drawn order. So all that is read in a while
 *            are a window's neighbours, and no two epochs have the same windows.
 *   Promise  whichever it is: each epoch is a permutation, a pure function of (seed, epoch,
 *            position). A window of at least all samples is the order without windows.
 *
 * Threads: pure. Test: tests/unit/data/test_order.c
 */
#ifndef HR_DATA_ORDER_H
#define HR_DATA_ORDER_H

#include <stdbool.h>

#include "data/sampler.h"

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
