/* Bytes to floats, compiled once for each instruction set (see base/isa.h). */
#include "data/pixels.h"

static void to_floats(float *restrict x, const uint8_t *restrict bytes, float scale, size_t n)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        x[i] = scale * (float)bytes[i];
}

const struct hr_pixels HR_ISA_NAME(hr_pixels) = {to_floats};
