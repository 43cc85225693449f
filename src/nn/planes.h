/* planes.h - images from PyTorch's order in memory to the layers' own, and back.
 *
 *     planes   (B, channels, pixels)    PyTorch: one channel after another
 *     pixels   (B, pixels, channels)    ours: the channels of a pixel side by side
 *
 * Threads: pure functions on the caller's memory.      Test: tests/unit/nn/test_planes.c
 */
#ifndef HR_NN_PLANES_H
#define HR_NN_PLANES_H

#include <stddef.h>

/* from and to (B * channels * pixels), disjoint */
void hr_planes_to_pixels(size_t B, size_t channels, size_t pixels, const float *from, float *to);
void hr_pixels_to_planes(size_t B, size_t channels, size_t pixels, const float *from, float *to);

#endif
