#include "kernels/bf16.h"

static float without_denormal(float x)
{
    const uint32_t bits = hr_bf16_bits(x);
    return (bits & 0x7f800000) == 0 ? hr_bf16_float(bits & 1u << 31) : x;
}

/* In double the product, of 16 bits, is exact. The sum is rounded twice, to 53 bits and to 24, and
 * that is as good as once: bits are lost in double only where the smaller of product and c begins
 * at least 53 - 24 places below the larger, so that the larger, which fits a float, is all that
 * there is near the end of the float: never a tie. */
float hr_bf16_fma(float a, float b, float c)
{
    static const double least = 0x1p-126, rounds_to_least = 0x1p-126 - 0x1p-151;
    const double product = (double)without_denormal(a) * (double)without_denormal(b);
    const double sum = product + (double)without_denormal(c), size = sum < 0 ? -sum : sum;
    if (size < least && sum != 0) {
        const float flushed = size < rounds_to_least ? 0.0f : 0x1p-126f;
        return sum < 0 ? -flushed : flushed;
    }
    return (float)sum;
}

const char *hr_bf16_order(void)
{
    return hr_bf16_sums_as_amx() ? HR_BF16_AMX : HR_BF16_PAIRS;
}

const char *hr_bf16_name(void)
{
    static const char *const names[] = {"bf16, tiles plain", ("bf16, tiles " HR_ISA_FUSED),
                                        "bf16, tiles v4"};
    static const char *const as_amx[] = {"bf16, tiles plain, in AMX's order",
                                         ("bf16, tiles " HR_ISA_FUSED ", in AMX's order"),
                                         "bf16, tiles v4, in AMX's order"};
    if (hr_kernels_are_reference())
        return "bf16, reference";
    if (hr_isa_sums_as_amx())
        return hr_isa_has_amx() ? "bf16, tiles v4amx" : as_amx[hr_isa()];
    if (hr_isa_was_refused_amx())
        return "bf16, tiles v4bf16 (Linux refuses AMX)";
    return hr_isa_has_bf16() ? "bf16, tiles v4bf16" : names[hr_isa()];
}
