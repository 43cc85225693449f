/* conv_layout.h - where everything of a convolution stands: the tables of patches, the weights as
 * panels, the images with zeros around them. Plain arithmetic on shapes; the arithmetic on floats
 * is in products/patches.h.
 *
 * Backward-data is the same product as forward: each pixel of dx gathers from dy what it gave to.
 * With a stride S, pixels fall into S*S phases by which taps of the filter ever touch them; each
 * phase is a convolution of its own over dy, without stride.
 *
 * A 3x3 convolution without stride, of many channels, is made of tiles of 2x2 outputs instead
 * (products/winograd.h): its frames reach to the end of the last tile, and there are no tables.
 *
 * Threads: pure functions on the caller's memory.      Test: tests/unit/nn/test_conv.c
 */
#ifndef HR_NN_CONV_LAYOUT_H
#define HR_NN_CONV_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nn/window.h"
#include "products/patches.h"
#include "products/winograd.h"

/* --- images with zeros around them, as a convolution reads them ---
 *
 * Threads: pure functions on the caller's memory.      Test: tests/unit/nn/test_conv.c */

/* Images of (H,W,channels) one behind the other, each with zeros around it: (height,width,channels)
 * in all. Small images are computed several at a time, so that each fetched weight is used more
 * often. */
struct hr_frame {
    size_t channels, H, W;
    size_t top, left, height, width;
    size_t images;
    bool planes; /* one channel after another instead, for pixels in lanes (tiles/lanes.h) */
    bool round;  /* to bfloat16, on their way there */
    bool zeros;  /* as many behind all images, for a tap that finds nothing else */
};

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

struct hr_conv {
    struct hr_sliding slide;
    size_t O, groups, Cg, Og; /* channels of a group: in, out */
    size_t ntaps;             /* of a group's filter: height * width * Cg */
    struct hr_frame x_frame;  /* for forward and the weights' gradient */
    struct hr_frame dy_frame; /* for backward-data */
    bool bf16;                /* of bfloat16 values, ... */
    bool pairs;               /* ... two in 32 bits (products/patches_bf16.h), not as floats */
    bool as_amx;              /* ... summed in the order of AMX (products/patches_amx.h) */
    bool swapped;             /* in memory: of two channels the odd one has the first tap */
    bool winograd;            /* of tiles, all three passes */
};

struct hr_conv hr_conv_of(const struct hr_layer *layer);
/* What forward's and backward-data's tables, frames and panels are made by. The convolution itself;
 * with pairs that where a channel, of x and of y, is a pair of them, and a number is a pair's 32
 * bits: of an odd group the last pair has a zero.
 *
 * Of bfloat16 values as floats (kernels/bf16.h) the odd one of two channels has the first tap. Of
 * an odd group only the last pair of all has its zero, a tap more: zeros change nothing of a sum
 * but the sign of one that is 0, and the last of them makes that what it would be. */
struct hr_conv hr_conv_in_memory(const struct hr_conv *conv);

/* --- forward and the weights' gradient --- */

/* pixel (images, OH*OW) and tap (ntaps) of the first group; the g-th's image begins g * Cg floats
 * later. Fewer images are fewer pixels. */
struct hr_patches hr_conv_patches(const struct hr_conv *conv, uint32_t *pixel, uint32_t *tap);

/* Numbers of a (rows, columns) matrix as panels. */
size_t hr_conv_panels_elems(const struct hr_conv *conv, size_t rows, size_t columns);

/* panels (ntaps, Og) of group g, of weight (O,Cg,KH,KW)
 *   turned  with pairs: room for (ntaps, Og) floats */
void hr_conv_pack(const struct hr_conv *conv, size_t g, const float *weight, float *turned,
                  void *panels);

/* group g of dweight (O,Cg,KH,KW) = dw (ntaps,Og) */
void hr_conv_unpack(const struct hr_conv *conv, size_t g, const float *dw, float *dweight);

/* --- backward-data --- */

/* One phase: pixels (y, x) of dx with (y + pad) % stride == phase_y, and the same for x. */
struct hr_conv_phase {
    struct hr_patches patches;  /* over a dy_frame; the g-th group's begins g * Og floats later */
    size_t y, x, rows, columns; /* the first pixel in dx, and how many along each side */
    size_t panels;              /* floats before this phase's in the packed weights */
};

/* Tables of phase number [0, stride * stride).
 *   pixel  (images, rows * columns) out      tap  (Og * KH * KW at most) out */
struct hr_conv_phase hr_conv_phase(const struct hr_conv *conv, size_t number, uint32_t *pixel,
                                   uint32_t *tap);

/* turned (groups,KH,KW,Og,Cg) = weight (O,Cg,KH,KW) */
void hr_conv_turn(const struct hr_conv *conv, const float *weight, float *turned);

/* panels (phase's taps, Cg) of group g, of weight (O,Cg,KH,KW), with pairs of the turned one */
void hr_conv_phase_pack(const struct hr_conv *conv, size_t number, size_t g, const float *weight,
                        void *panels);

#endif
