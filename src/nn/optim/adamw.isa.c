/* AdamW (optimizer.h). */
#include "optim/rules.h"

static inline float element(float w, float g, float *m, float *v, const struct hr_step *step)
{
    const float kept = w * (1.0f - step->lr * step->weight_decay);
    hr_adam_moments(g * step->scale, m, v, step);
    return kept - step->lr * hr_adam_direction(*m, *v, step);
}

HR_UPDATE_LOOP(update, element(w[i], g[i], &s0[i], &s1[i], &step))

static void describe(const struct hr_optimizer *o, char *text, size_t size)
{
    snprintf(text, size, ", betas %g %g", o->beta1, o->beta2);
}

const struct hr_rule HR_ISA_NAME(hr_rule_adamw) = {
    .name = "adamw",
    .nstates = 2,
    .state_names = {"exp_avg", "exp_avg_sq"},
    .lr = 0.001,
    .weight_decay = 0.01,
    .eps = 1e-8,
    .momentum_option = "beta1",
    .momentum_at = offsetof(struct hr_optimizer, beta1),
    .update = update,
    .describe = describe,
};
