/* round.h - what compressors share: a float's bits, and denormals, which are zeros here.
 *
 * Threads: pure functions.
 */
#ifndef HR_COMPRESS_ROUND_H
#define HR_COMPRESS_ROUND_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { HR_FLOAT_SIZE_BITS = 0x7fffffff, HR_FLOAT_INFINITY = 0x7f800000 };

static inline uint32_t hr_float_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float hr_float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint32_t hr_float_size(float x)
{
    return hr_float_bits(x) & HR_FLOAT_SIZE_BITS;
}

static inline bool hr_float_is_finite(float x)
{
    return hr_float_size(x) < HR_FLOAT_INFINITY;
}

/* A denormal becomes a zero of its sign, whatever the thread's mode. */
static inline float hr_float_flush(float x)
{
    const uint32_t bits = hr_float_bits(x);
    return hr_float_of(bits & HR_FLOAT_INFINITY ? bits : bits & ~(uint32_t)HR_FLOAT_SIZE_BITS);
}

/* What is to be sent. */
static inline float hr_compress_due(float x, float error)
{
    return hr_float_flush(hr_float_flush(x) + error);
}

/* What the receiver of `got` lacks. */
static inline float hr_compress_lacks(float due, float got)
{
    return hr_float_is_finite(due) ? hr_float_flush(due - got) : 0;
}

#endif
