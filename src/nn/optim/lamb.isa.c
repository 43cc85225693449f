/* LAMB (optimizer.h). */
#include "optim/rules.h"

/* z; the moments have moved before. */
static inline float direction(float w, float m, float v, const struct hr_step *step)
{
    return hr_adam_direction(m, v, step) + step->weight_decay * w;
}

static inline float element(float w, float m, float v, const struct hr_step *step)
{
    return w - step->lr * direction(w, m, v, step);
}

HR_UPDATE_LOOP(update, element(w[i], s0[i], s1[i], &step))

static void move_moments(float *m, float *v, const float *g, size_t count, const struct hr_step *of)
{
    const struct hr_step step = *of;
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        hr_adam_moments(g[i] * step.scale, &m[i], &v[i], &step);
}

static void directions(float *z, const float *w, const float *m, const float *v, size_t count,
                       const struct hr_step *of)
{
    const struct hr_step step = *of;
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        z[i] = direction(w[i], m[i], v[i], &step);
}

/* Moves the moments on the way: the direction is made of the new ones. */
static double ratio(const struct hr_step *step, const struct hr_param_segment *segment,
                    const float *w, float *state, const float *g)
{
    float *m = state, *v = state + step->optimizer->params, z[HR_NORM_BLOCK];
    double sum = 0;
    for (size_t at = segment->begin, end; at < segment->begin + segment->count; at = end) {
        end = hr_norm_block_end(segment, at);
        move_moments(m + at, v + at, g + at, end - at, step);
        directions(z, w + at, m + at, v + at, end - at, step);
        sum += hr_norm_block_squares(z, end - at);
    }
    const double weights = sqrt(hr_norm_squares(w, segment)), direction = sqrt(sum);
    return weights > 0 && direction > 0 ? weights / direction : 1;
}

static void describe(const struct hr_optimizer *o, char *text, size_t size)
{
    snprintf(text, size, ", betas %g %g", o->beta1, o->beta2);
}

const struct hr_rule HR_ISA_NAME(hr_rule_lamb) = {
    .name = "lamb",
    .nstates = 2,
    .state_names = {"exp_avg", "exp_avg_sq"},
    .lr = 0.005, /* ours: the paper has none */
    .weight_decay = 0.01,
    .eps = 1e-6,
    .momentum_option = "beta1",
    .momentum_at = offsetof(struct hr_optimizer, beta1),
    .update = update,
    .ratio = ratio,
    .describe = describe,
};
