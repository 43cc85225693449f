/* The update loops, compiled once for each instruction set (see base/isa.h). Each works with a copy
 * of the step that no store to an array can change. */
#include "optim/optimizer_table.h"
#include "optim/rules.h"

#define UPDATE_LOOP(name, element)                                                                 \
    static void name(float *w, float *s0, float *s1, const float *g, size_t count,                 \
                     const struct hr_step *of)                                                     \
    {                                                                                              \
        const struct hr_step step = *of;                                                           \
        (void)s0, (void)s1, (void)g;                                                               \
        HR_SIMD for (size_t i = 0; i < count; i++) w[i] = element;                                 \
    }
#define HR_SIMD _Pragma("omp simd")

UPDATE_LOOP(update_sgd, hr_sgd_element(w[i], g[i], &s0[i], &step, false))
UPDATE_LOOP(update_nesterov, hr_sgd_element(w[i], g[i], &s0[i], &step, true))
UPDATE_LOOP(update_adagrad, hr_adagrad_element(w[i], g[i], &s0[i], &step))
UPDATE_LOOP(update_adam, hr_adam_element(w[i], g[i], &s0[i], &s1[i], &step))
UPDATE_LOOP(update_adamw, hr_adamw_element(w[i], g[i], &s0[i], &s1[i], &step))
UPDATE_LOOP(update_lars, hr_lars_element(w[i], g[i], &s0[i], &step))
UPDATE_LOOP(update_lamb, hr_lamb_element(w[i], s0[i], s1[i], &step))
UPDATE_LOOP(update_statistic, hr_statistic_element(w[i], g[i], &step))

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

static void lamb_moments(float *m, float *v, const float *g, size_t count, const struct hr_step *of)
{
    const struct hr_step step = *of;
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        hr_adam_moments(g[i] * step.scale, &m[i], &v[i], &step);
}

static void lamb_direction(float *z, const float *w, const float *m, const float *v, size_t count,
                           const struct hr_step *of)
{
    const struct hr_step step = *of;
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        z[i] = hr_lamb_direction(w[i], m[i], v[i], &step);
}

static void compensate(float *out, const float *g, const struct hr_drift *drift, float factor,
                       size_t count)
{
    const float *read = drift->read, *now = drift->now;
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        out[i] = hr_compensated(g[i], read[i], now[i], factor);
}

const struct hr_optimizer_table HR_ISA_NAME(hr_optimizer_table) = {
    .update =
        {
            [HR_SGD] = update_sgd,
            [HR_ADAGRAD] = update_adagrad,
            [HR_ADAM] = update_adam,
            [HR_ADAMW] = update_adamw,
            [HR_LARS] = update_lars,
            [HR_LAMB] = update_lamb,
        },
    .nesterov = update_nesterov,
    .statistic = update_statistic,
    .sum_squares = sum_squares,
    .lamb_moments = lamb_moments,
    .lamb_direction = lamb_direction,
    .compensate = compensate,
};
