/* Smooth activations, compiled once for each instruction set (see base/isa.h). */
#include "kernels/smooth.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* e^x for x <= 0, not less than e^-87; NaN stays NaN. x = n ln 2 + r, |r| <= ln 2 / 2: adding
 * ROUND leaves n in the low bits of a float, and the polynomial is that of Cephes' expf. */
static inline float exp_of_negative(float x)
{
    const float ROUND = 0x1.8p23f;
    x = x < -87.0f ? -87.0f : x;
    const float rounded = x * 0x1.715476p0f + ROUND;
    const float n = rounded - ROUND;
    const float r = (x - n * 0x1.63p-1f) + n * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = (p * r * r + r) + 1.0f;
    uint32_t bits;
    float power;
    memcpy(&bits, &rounded, sizeof bits);
    bits = (bits + 127) << 23;
    memcpy(&power, &bits, sizeof power);
    return p * power;
}

static inline float sigmoid_of(float x)
{
    const float e = exp_of_negative(-fabsf(x)), numerator = x < 0.0f ? e : 1.0f;
    return numerator / (1.0f + e);
}

/* Near 0 Cephes' polynomial, which is odd; elsewhere (1 - e) / (1 + e) with e = e^-2|x|. */
static inline float tanh_of(float x)
{
    const float a = fabsf(x), e = exp_of_negative(-2.0f * a), z = x * x;
    float p = -5.70498872745e-3f;
    p = p * z + 2.06390887954e-2f;
    p = p * z - 5.37397155531e-2f;
    p = p * z + 1.33314422036e-1f;
    p = p * z - 3.33332819422e-1f;
    const float near = x + x * z * p, far = copysignf((1.0f - e) / (1.0f + e), x);
    return a < 0.625f ? near : far;
}

/* The normal distribution's P(X <= x): half of erfc(|x| / sqrt 2) on the left, by the Chebyshev fit
 * of Press et al., Numerical Recipes, 2nd edition, section 6.2 (1.2e-7 of the value). */
static inline float normal_below(float x)
{
    const float z = fabsf(x) * 0x1.6a09e6p-1f, t = 1.0f / (1.0f + 0.5f * z);
    float p = 0.17087277f;
    p = p * t - 0.82215223f;
    p = p * t + 1.48851587f;
    p = p * t - 1.13520398f;
    p = p * t + 0.27886807f;
    p = p * t - 0.18628806f;
    p = p * t + 0.09678418f;
    p = p * t + 0.37409196f;
    p = p * t + 1.00002368f;
    const float tail = 0.5f * t * exp_of_negative((t * p - 1.26551223f) - z * z);
    return x < 0.0f ? tail : 1.0f - tail;
}

static void sigmoid(size_t count, const float *x, float *y)
{
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        y[i] = sigmoid_of(x[i]);
}

static void tanh_(size_t count, const float *x, float *y)
{
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        y[i] = tanh_of(x[i]);
}

static void gelu(size_t count, const float *x, float *y)
{
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        y[i] = x[i] * normal_below(x[i]);
}

static void sigmoid_backward(size_t count, const float *y, const float *dy, float *dx)
{
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        dx[i] = dy[i] * (y[i] * (1.0f - y[i]));
}

static void tanh_backward(size_t count, const float *y, const float *dy, float *dx)
{
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        dx[i] = dy[i] * ((1.0f - y[i]) * (1.0f + y[i]));
}

/* gelu'(x) = P(X <= x) + x density(x); the density is 0 where it rounds away. */
static void gelu_backward(size_t count, const float *x, const float *dy, float *dx)
{
    const float PEAK = 0x1.988454p-2f; /* 1 / sqrt(2 pi) */
#pragma omp simd
    for (size_t i = 0; i < count; i++) {
        const float far = fabsf(x[i]) > 13.0f ? 0.0f : x[i];
        const float density = PEAK * exp_of_negative(-0.5f * (far * far));
        dx[i] = dy[i] * (normal_below(x[i]) + far * density);
    }
}

const struct hr_smooth HR_ISA_NAME(hr_smooth) = {
    .sigmoid = sigmoid,
    .tanh = tanh_,
    .gelu = gelu,
    .sigmoid_backward = sigmoid_backward,
    .tanh_backward = tanh_backward,
    .gelu_backward = gelu_backward,
};
