/* Loops over rows, compiled once for each instruction set (see base/isa.h). */
#include "kernels/rows.h"

#include <math.h>
#include <string.h>

#include "base/size.h"
#include "kernels/simd_sums.h"

static const float EPSILON = 1e-5f;

/* For each column c in [0, D), sixteen at a time; the last are `count` fewer. */
#define FOR_SIXTEENS(c, count, D)                                                                  \
    for (size_t c = 0, count; count = hr_min_size(SIXTEEN, (D)-c), c < (D); c += SIXTEEN)

/* --- layer normalisation --- */

/* The mean of x (D), and of (x - mean)^2. */
static inline float mean_of(size_t D, const float *x)
{
    struct sixteen sum = sixteen_of(0);
    FOR_SIXTEENS(c, count, D)
    {
        const struct sixteen v = load_sixteen(x + c, count);
        FOR_PARTS(p) sum.part[p] += v.part[p];
    }
    return sum_of(sum) / (float)D;
}

static inline float variance_of(size_t D, const float *x, float mean)
{
    struct sixteen sum = sixteen_of(0);
    const size_t whole = D - D % SIXTEEN;
    FOR_SIXTEENS(c, count, whole)
    {
        const struct sixteen v = load_sixteen(x + c, count);
        FOR_PARTS(p) sum.part[p] += (v.part[p] - mean) * (v.part[p] - mean);
    }
    if (D > whole) {
        float rest[SIXTEEN] = {0};
        for (size_t c = whole; c < D; c++)
            rest[c - whole] = (x[c] - mean) * (x[c] - mean);
        FOR_PARTS(p) sum.part[p] += load(rest + p * LANES);
    }
    return sum_of(sum) / (float)D;
}

static void layernorm(size_t R, size_t D, const float *x, const float *weight, const float *bias,
                      float *y, float *mean, float *inverse)
{
    for (size_t r = 0; r < R; r++, x += D, y += D) {
        const float m = mean_of(D, x), k = 1.0f / sqrtf(variance_of(D, x, m) + EPSILON);
        mean[r] = m;
        inverse[r] = k;
#pragma omp simd
        for (size_t c = 0; c < D; c++)
            y[c] = (x[c] - m) * k * weight[c] + bias[c];
    }
}

static void layernorm_backward(size_t R, size_t D, const float *x, const float *weight,
                               const float *mean, const float *inverse, const float *dy, float *dx,
                               float *dweight, float *dbias)
{
    for (size_t r = 0; r < R; r++, x += D, dy += D) {
        const float m = mean[r], k = inverse[r];
        struct sixteen sum = sixteen_of(0), products = sum;
        FOR_SIXTEENS(c, count, D)
        {
            const struct sixteen v = load_sixteen(x + c, count), d = load_sixteen(dy + c, count);
            const struct sixteen w = load_sixteen(weight + c, count);
            struct sixteen dw = load_sixteen(dweight + c, count);
            struct sixteen db = load_sixteen(dbias + c, count);
            FOR_PARTS(p)
            {
                const vec n = (v.part[p] - m) * k, g = d.part[p] * w.part[p];
                sum.part[p] += g;
                products.part[p] += g * n; /* g is 0 behind the last column */
                dw.part[p] += d.part[p] * n;
                db.part[p] += d.part[p];
            }
            store_sixteen(dweight + c, dw, count);
            store_sixteen(dbias + c, db, count);
        }
        const float g_mean = sum_of(sum) / (float)D, gn_mean = sum_of(products) / (float)D;
        float *to = dx ? dx + r * D : NULL;
#pragma omp simd
        for (size_t c = 0; c < (to ? D : 0); c++) {
            const float n = (x[c] - m) * k;
            to[c] = ((dy[c] * weight[c] - g_mean) - n * gn_mean) * k;
        }
    }
}

/* --- cross entropy --- */

static inline float largest(size_t C, const float *x)
{
    struct sixteen most = sixteen_of(x[0]);
    const size_t whole = C - C % SIXTEEN;
    FOR_SIXTEENS(c, count, whole)
    {
        const struct sixteen v = load_sixteen(x + c, count);
        FOR_PARTS(p) most.part[p] = larger(v.part[p], most.part[p]);
    }
    float found = largest_of(most);
    for (size_t c = whole; c < C; c++)
        found = x[c] > found ? x[c] : found;
    return found;
}

/* e^x, and 0 below -87 */
INLINE vec exp_or_zero(vec x)
{
    const bits far = (bits)(x < (vec){0} - 87.0f);
    return (vec)(~far & (bits)exp_of_negative(x));
}

/* The sum of e (C) = e^(x - most), which is stored where it is wanted. */
static inline float exponentials(size_t C, const float *x, float most, float *e)
{
    struct sixteen sum = sixteen_of(0);
    FOR_SIXTEENS(c, count, C)
    {
        struct sixteen v = load_sixteen(x + c, count);
        FOR_PARTS(p) v.part[p] = exp_or_zero(v.part[p] - most);
        if (count < SIXTEEN) { /* none behind the last */
            float some[SIXTEEN] = {0};
            store_sixteen(some, v, count);
            v = load_sixteen(some, SIXTEEN);
        }
        FOR_PARTS(p) sum.part[p] += v.part[p];
        if (e)
            store_sixteen(e + c, v, count);
    }
    return sum_of(sum);
}

static void cross_entropy(const struct hr_row_losses *all)
{
    const size_t C = all->C;
    for (size_t r = 0; r < all->R; r++) {
        const float *x = all->x + r * C;
        float *dx = all->dx ? all->dx + r * C : NULL;
        const uint32_t label = all->labels[r];
        const float most = largest(C, x), below = x[label] - most;
        const float sum = exponentials(C, x, most, dx);
        all->losses[r] = logf(sum) - below;
        if (!dx)
            continue;
        const float p = dx[label] / sum, factor = all->scale / sum;
#pragma omp simd
        for (size_t c = 0; c < C; c++)
            dx[c] *= factor;
        dx[label] = (p - 1.0f) * all->scale;
    }
}

/* --- rows of a table --- */

static void gather(size_t R, size_t D, const uint32_t *ids, const float *table, float *y)
{
    for (size_t r = 0; r < R; r++)
        memcpy(y + r * D, table + ids[r] * D, D * sizeof *y);
}

static void scatter_add(size_t R, size_t D, const uint32_t *ids, const float *dy, float *table)
{
    for (size_t r = 0; r < R; r++, dy += D) {
        float *row = table + ids[r] * D;
#pragma omp simd
        for (size_t c = 0; c < D; c++)
            row[c] += dy[c];
    }
}

const struct hr_row_loops HR_ISA_NAME(hr_row_loops) = {
    .layernorm = layernorm,
    .layernorm_backward = layernorm_backward,
    .cross_entropy = cross_entropy,
    .gather = gather,
    .scatter_add = scatter_add,
};
