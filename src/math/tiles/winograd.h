/* winograd.h - to and from the 16 planes in which a 3x3 convolution is made of 4 products of
 * numbers an output instead of 9: F(2x2, 3x3) of Lavin and Gray, "Fast Algorithms for
 * Convolutional Neural Networks" (CVPR 2016, arXiv:1509.09308).
 *
 *     y = At (G g Gt . Bt d B) A      d (4,4) a patch of x, g (3,3) a filter, y (2,2); . is
 *                                     element by element, and summed over channels
 *     dg = Gt (Bt d B . A dy At) G    the same, turned round: summed over all tiles
 *
 *          1  0 -1  0         1    0   0          1 1  1  0
 *     Bt = 0  1  1  0    G = .5   .5  .5     At = 0 1 -1 -1
 *          0 -1  1  0        .5  -.5  .5
 *          0  1  0 -1         0    0   1
 *
 * A tile is two by two pixels of y; those of an image are numbered row by row, those of the next
 * image follow. Number 4 i + j of the 16 planes is element (i, j). Images are (H,W,channels).
 *
 * Order: each matrix product first from the left, then from the right. Of Bt, A and its transposed
 * a sum goes from the first term to the last (but d2 - d1); G has (g0 + g2) + g1 and
 * (g0 + g2) - g1, then halved; its transposed u0 + (u1 + u2) / 2, (u1 - u2) / 2 and
 * (u1 + u2) / 2 + u3. No operation is contracted: all instruction sets give the same bits.
 *
 * What is not finite in d is in those outputs that the direct sum brings it to, and in no others,
 * but an infinity as NaN, since it is both added and subtracted. In dg it is in all 9 numbers,
 * where a direct sum at an image's edge would leave some out.
 *
 * Threads: pure functions on the caller's memory.   Test: tests/unit/tiles/test_winograd.c
 */
#ifndef HR_TILES_WINOGRAD_H
#define HR_TILES_WINOGRAD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/isa.h"
#include "kernels/select.h"

enum { HR_WINOGRAD_PLANES = 16, HR_WINOGRAD_FILTER = 9 };

/* Tiles [first, first + count) of images. */
struct hr_winograd_tiles {
    size_t high, wide;       /* tiles of an image */
    size_t height, width;    /* pixels of an image: tiles may reach one beyond */
    size_t step, row, image; /* floats to the pixel on the right, to the one below, to the next
                              * image's */
    size_t channels;         /* side by side, of each pixel; at least 1 */
    size_t first, count;
};

/* Element (tile t, channel c) of plane p is at[p * plane + t * tile + c]; t counts from `first`. */
struct hr_winograd_planes {
    float *at;
    size_t plane, tile;
};

struct hr_winograd {
    size_t width; /* of a panel of filters: hr_blocks's */

    /* Bt d B; all of 2 high + 2 by 2 wide + 2 pixels are read. */
    void (*patches)(const struct hr_winograd_tiles *tiles, const float *x,
                    const struct hr_winograd_planes *to);
    /* A dy At; all of 2 high by 2 wide pixels are read. */
    void (*gradients)(const struct hr_winograd_tiles *tiles, const float *dy,
                      const struct hr_winograd_planes *to);
    /* At m A + bias (channels; NULL: none), relu: NaN stays NaN. No pixel beyond height and width
     * is stored. */
    void (*outputs)(const struct hr_winograd_tiles *tiles, const struct hr_winograd_planes *from,
                    const float *bias, bool relu, float *y);

    /* G g Gt of filters (count, 9, width) to (16 planes; count, width); turned by half a turn:
     * element (i, j) of g is its (2 - i, 2 - j). */
    void (*filters)(size_t count, bool turned, const float *g, float *to, size_t plane);
    /* Gt u G of (16 planes; count, channels) to (count, 9, channels) */
    void (*weights)(size_t count, size_t channels, const float *u, size_t plane, float *to);
};

HR_ISA_DECLARE(struct hr_winograd, hr_winograd);

static inline const struct hr_winograd *hr_winograd(void)
{
    return hr_kernels_are_reference() ? &hr_winograd_plain : HR_ISA_PICK(hr_winograd);
}

#endif
