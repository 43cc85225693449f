/* amx_twin.h - a chunk of pairs onto a sum as TDPBF16PS does it (Intel's manual, volume 2), one
 * value at a time: the order of tiles/micro_amx.h.
 */
#ifndef HR_TESTS_SUPPORT_AMX_TWIN_H
#define HR_TESTS_SUPPORT_AMX_TWIN_H

#include "kernels/bf16.h"

enum { AMX_PAIRS = 16 };

static inline float amx_chunk(const uint32_t *a, const uint32_t *b, size_t pairs, float sum)
{
    float even = 0, odd = 0;
    for (size_t p = 0; p < pairs; p++) {
        even = hr_bf16_fma(hr_bf16_even(a[p]), hr_bf16_even(b[p]), even);
        odd = hr_bf16_fma(hr_bf16_odd(a[p]), hr_bf16_odd(b[p]), odd);
    }
    return hr_bf16_fma(1, sum, hr_bf16_fma(1, even, odd));
}

#endif
