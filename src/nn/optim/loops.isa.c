/* The loops that all rules share, compiled once for each instruction set (base/isa.h). */
#include "optim/rules.h"

static inline float statistic_element(float w, float g, const struct hr_step *step)
{
    return w - 0.1f * (g * step->inverse_count + w);
}

/* factor: lambda / n */
static inline float compensated(float g, float read, float now, float factor)
{
    return g + factor * g * g * (now - read);
}

HR_UPDATE_LOOP(statistic, statistic_element(w[i], g[i], &step))

static double sum_squares(const float *x, size_t count)
{
    enum { LANES = 8 };
    double sum[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= count; i += LANES)
        for (size_t lane = 0; lane < LANES; lane++)
            sum[lane] += (double)x[i + lane] * (double)x[i + lane];
    for (size_t lane = 0; i + lane < count; lane++)
        sum[lane] += (double)x[i + lane] * (double)x[i + lane];
    for (size_t half = LANES / 2; half > 0; half /= 2)
        for (size_t lane = 0; lane < half; lane++)
            sum[lane] += sum[lane + half];
    return sum[0];
}

static void compensate(float *out, const float *g, const struct hr_drift *drift, float factor,
                       size_t count)
{
    const float *read = drift->read, *now = drift->now;
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        out[i] = compensated(g[i], read[i], now[i], factor);
}

const struct hr_optimizer_table HR_ISA_NAME(hr_optimizer_table) = {
    .statistic = statistic,
    .sum_squares = sum_squares,
    .compensate = compensate,
};
