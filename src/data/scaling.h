/* scaling.h - bytes of images as floats, one copy an instruction set (base/isa.h). */
#ifndef HR_DATA_SCALING_H
#define HR_DATA_SCALING_H

#include <stddef.h>
#include <stdint.h>

#include "base/isa.h"

struct hr_scaling {
    /* x[i] = scale * bytes[i]: an exact conversion and one product, so the same bits everywhere. */
    void (*bytes)(float *x, const uint8_t *bytes, float scale, size_t n);
};

HR_ISA_KERNELS(hr_scaling)

#endif
