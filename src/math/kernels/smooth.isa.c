/* Smooth activations, compiled once for each instruction set (see base/isa.h). Written in vectors,
 * because gcc makes none of such long expressions for AVX2. */
#include "kernels/smooth.h"

#include "base/size.h"
#include "kernels/simd_sums.h"

INLINE vec size_of(vec x)
{
    return (vec)((bits)x & INT32_MAX);
}

INLINE vec with_sign_of(vec x, vec size)
{
    return (vec)(((bits)x & INT32_MIN) | (bits)size);
}

INLINE vec sigmoid_of(vec x)
{
    const vec zero = {0}, e = exp_of_negative(-size_of(x));
    return choose((bits)(x < zero), e, zero + 1.0f) / (1.0f + e);
}

/* Near 0 Cephes' polynomial, which is odd; elsewhere (1 - e) / (1 + e) with e = e^-2|x|. */
INLINE vec tanh_of(vec x)
{
    const vec a = size_of(x), e = exp_of_negative(-2.0f * a), z = x * x;
    vec p = (vec){0} - 5.70498872745e-3f;
    p = p * z + 2.06390887954e-2f;
    p = p * z - 5.37397155531e-2f;
    p = p * z + 1.33314422036e-1f;
    p = p * z - 3.33332819422e-1f;
    const vec near = x + x * z * p, far = with_sign_of(x, (1.0f - e) / (1.0f + e));
    return choose((bits)(a < 0.625f), near, far);
}

/* 1/2 + middle where |x| <= end, elsewhere 0 or 1. */
INLINE vec between_0_and_1(vec x, vec middle, float end)
{
    const vec half = (vec){0} + 0.5f;
    return half + choose((bits)(size_of(x) > end), with_sign_of(x, half), middle);
}

/* The normal distribution's P(X <= x). It is 1/2 and an odd function, here x times a quotient of
 * polynomials in x^2, fitted for the least largest error: 6e-8, 2.4e-7 with rounding. */
INLINE vec normal_below(vec x)
{
    const vec z = x * x;
    vec p = (vec){0} + 5.840739504e-06f, q = (vec){0} + 5.019085165e-07f;
    p = p * z + 3.142695932e-04f;
    p = p * z + 5.518771242e-03f;
    p = p * z + 4.959401116e-02f;
    p = p * z + 3.989419043e-01f;
    q = q * z + 1.127431678e-04f;
    q = q * z + 2.703782171e-03f;
    q = q * z + 3.734015673e-02f;
    q = q * z + 2.909745276e-01f;
    q = q * z + 1.0f;
    return between_0_and_1(x, x * p / q, 5.2f);
}

/* gelu'(x) = P(X <= x) + x density(x), which is 1/2 and an odd function, too: 1.1e-7, 3e-7. */
INLINE vec gelu_slope(vec x)
{
    const vec z = x * x;
    vec p = (vec){0} + 1.921673203e-07f, q = (vec){0} + 8.928172065e-06f;
    p = p * z + 3.589929111e-05f;
    p = p * z + 1.975128725e-05f;
    p = p * z + 1.422606874e-02f;
    p = p * z - 3.097536042e-02f;
    p = p * z + 7.978853583e-01f;
    q = q * z + 1.920517971e-04f;
    q = q * z + 3.522637533e-03f;
    q = q * z + 4.098374024e-02f;
    q = q * z + 2.945195735e-01f;
    q = q * z + 1.0f;
    return between_0_and_1(x, x * p / q, 5.6f);
}

/* y (count) = f(x (count)) */
#define EACH(f)                                                                                    \
    size_t i = 0;                                                                                  \
    for (; i + LANES <= count; i += LANES)                                                         \
        store(y + i, f(load(x + i)));                                                              \
    if (i < count)                                                                                 \
    store_part(y + i, f(load_part(x + i, count - i)), count - i)

static void sigmoid(size_t count, const float *x, float *y)
{
    EACH(sigmoid_of);
}

static void tanh_(size_t count, const float *x, float *y)
{
    EACH(tanh_of);
}

INLINE vec gelu_of(vec x)
{
    return x * normal_below(x);
}

static void gelu(size_t count, const float *x, float *y)
{
    EACH(gelu_of);
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

static void gelu_backward(size_t count, const float *x, const float *dy, float *dx)
{
    for (size_t i = 0; i < count; i += LANES) {
        const size_t left = count - i;
        const vec slope = gelu_slope(load_part(x + i, left));
        store_part(dx + i, load_part(dy + i, left) * slope, left);
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
