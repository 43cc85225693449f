/* frame.h - images with zeros around them, as a convolution reads them.
 *
 * Threads: pure functions on the caller's memory.      Test: tests/unit/nn/test_conv.c
 */
#ifndef HR_NN_FRAME_H
#define HR_NN_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "products/winograd.h"

/* Images of (H,W,channels) one behind the other, each with zeros around it: (height,width,channels)
 * in all. Small images are computed several at a time, so that each fetched weight is used more
 * often. */
struct hr_frame {
    size_t channels, H, W;
    size_t top, left, height, width;
    size_t images;
    bool planes; /* one channel after another instead, for pixels in lanes (tiles/lanes.h) */
};

/* Floats from a pixel to its right neighbour, and from a channel to the next. */
size_t hr_frame_step(const struct hr_frame *frame);
size_t hr_frame_channel(const struct hr_frame *frame);

size_t hr_frame_elems(const struct hr_frame *frame);       /* of all images */
size_t hr_frame_image_elems(const struct hr_frame *frame); /* of one, with its zeros */
/* No zeros are needed: the image itself is the frame. */
bool hr_frame_is_bare(const struct hr_frame *frame);
/* Floats before the image's first pixel. */
size_t hr_frame_origin(const struct hr_frame *frame);
/* Copy images into their places; the zeros around them must be there already. */
void hr_frame_fill(const struct hr_frame *frame, const float *images, size_t count, float *to);
/* The same of pairs: images of `groups` times `channels` floats a pixel. */
void hr_frame_fill_pairs(const struct hr_frame *frame, size_t groups, size_t channels,
                         const float *images, size_t count, uint32_t *to);
/* And of pairs of images, `count` images in all; of an odd number the last with zeros. */
void hr_frame_fill_two(const struct hr_frame *frame, const float *images, size_t count,
                       uint32_t *to);

/* Tiles of the first `images` of a frame, whose height and width are those of the tiles and
 * `beyond` more. */
struct hr_winograd_tiles hr_frame_tiles(const struct hr_frame *frame, size_t beyond, size_t images);

#endif
