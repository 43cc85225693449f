/* half.h - the value of a float of 16 bits: IEEE 754's binary16, and bfloat16.
 *
 * Exact: every such value is a float.
 *
 * Threads: pure. Tests: tests/cli/columns.bats, tests/cli/fine_tune.bats
 */
#ifndef HR_BASE_HALF_H
#define HR_BASE_HALF_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline float hr_of_binary16(uint16_t bits)
{
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const float size = exponent == 31 ? (fraction ? NAN : INFINITY)
                       : exponent     ? ldexpf((float)(fraction + 1024), exponent - 25)
                                      : ldexpf((float)fraction, -24);
    return bits >> 15 ? -size : size;
}

static inline float hr_of_bfloat16(uint16_t bits)
{
    float value;
    memcpy(&value, &(uint32_t){(uint32_t)bits << 16}, sizeof value);
    return value;
}

#endif
