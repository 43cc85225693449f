/* tile_steps.h - what register tiles of floats are made of (block, micro, narrow, lanes): one
 * multiply-add of a vector, and relu. To be included by *.isa.c files alone: bits are those of
 * their set.
 *
 * Threads: pure functions on vectors.      Test: those of the tiles
 */
#ifndef HR_TILES_TILE_STEPS_H
#define HR_TILES_TILE_STEPS_H

#include "kernels/simd.h"

#define INLINE static inline __attribute__((always_inline))

/* Zero where x < 0, x (NaN too) elsewhere. */
INLINE vec relu_of(vec x)
{
    return (vec)((bits)x & ~(bits)(x < 0.0f));
}

#endif
