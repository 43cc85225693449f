/* rules.h - the update expressions (optimizer.h tells them), one element each, each here alone.
 *
 * w and state are in and out; g is a sum over samples. Every operation is rounded by itself.
 */
#ifndef HR_OPTIM_RULES_H
#define HR_OPTIM_RULES_H

#include <math.h>

#include "optim/optimizer.h"

static inline float hr_statistic_element(float w, float g, const struct hr_step *step)
{
    return w - 0.1f * (g * step->inverse_count + w);
}

/* factor: lambda / n */
static inline float hr_compensated(float g, float read, float now, float factor)
{
    return g + factor * g * g * (now - read);
}

/* The mean gradient with weight decay as a part of the loss. */
static inline float hr_decayed(float w, float g, const struct hr_step *step)
{
    return g * step->scale + step->weight_decay * w;
}

static inline float hr_sgd_element(float w, float g, float *m, const struct hr_step *step,
                                   bool nesterov)
{
    const float d = hr_decayed(w, g, step);
    const float velocity = step->momentum * *m + d;
    *m = velocity;
    return w - step->lr * (nesterov ? d + step->momentum * velocity : velocity);
}

static inline float hr_adagrad_element(float w, float g, float *s, const struct hr_step *step)
{
    const float d = hr_decayed(w, g, step);
    *s = *s + d * d;
    return w - step->lr * d / (sqrtf(*s) + step->eps);
}

static inline void hr_adam_moments(float d, float *m, float *v, const struct hr_step *step)
{
    *m = step->beta1 * *m + step->rest1 * d;
    *v = step->beta2 * *v + step->rest2 * d * d;
}

static inline float hr_adam_direction(float m, float v, const struct hr_step *step)
{
    return step->correction1 * m / (sqrtf(v) / step->root2 + step->eps);
}

static inline float hr_adam_element(float w, float g, float *m, float *v,
                                    const struct hr_step *step)
{
    hr_adam_moments(hr_decayed(w, g, step), m, v, step);
    return w - step->lr * hr_adam_direction(*m, *v, step);
}

static inline float hr_adamw_element(float w, float g, float *m, float *v,
                                     const struct hr_step *step)
{
    const float kept = w * (1.0f - step->lr * step->weight_decay);
    hr_adam_moments(g * step->scale, m, v, step);
    return kept - step->lr * hr_adam_direction(*m, *v, step);
}

/* step->lr holds lr r here and in lamb. */
static inline float hr_lars_element(float w, float g, float *m, const struct hr_step *step)
{
    *m = step->momentum * *m + step->lr * hr_decayed(w, g, step);
    return w - *m;
}

/* The z of lamb; its moments have moved before. */
static inline float hr_lamb_direction(float w, float m, float v, const struct hr_step *step)
{
    return hr_adam_direction(m, v, step) + step->weight_decay * w;
}

static inline float hr_lamb_element(float w, float m, float v, const struct hr_step *step)
{
    return w - step->lr * hr_lamb_direction(w, m, v, step);
}

#endif
