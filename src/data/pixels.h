/* pixels.h - bytes of images as floats, one copy an instruction set (base/isa.h). */
#ifndef HR_DATA_PIXELS_H
#define HR_DATA_PIXELS_H

#include <stddef.h>
#include <stdint.h>

#include "base/isa.h"

struct hr_pixels {
    /* x[i] = scale * bytes[i]: an exact conversion and one product, so the same bits everywhere. */
    void (*to_floats)(float *x, const uint8_t *bytes, float scale, size_t n);
};

HR_ISA_KERNELS(hr_pixels)

#endif
