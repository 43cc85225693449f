/* Stochastic gradient descent with momentum (optimizer.h). */
#include "optim/rules.h"

static inline float element(float w, float g, float *m, const struct hr_step *step, bool nesterov)
{
    const float d = hr_decayed(w, g, step);
    const float velocity = step->momentum * *m + d;
    *m = velocity;
    return w - step->lr * (nesterov ? d + step->momentum * velocity : velocity);
}

/* The same without momentum, to the bit, and without a state: 0 times the velocity is 0. */
static inline float plain(float w, float g, const struct hr_step *step)
{
    const float velocity = 0.0f + hr_decayed(w, g, step);
    return w - step->lr * velocity;
}

HR_UPDATE_LOOP(without, plain(w[i], g[i], &step))
HR_UPDATE_LOOP(heavy_ball, element(w[i], g[i], &s0[i], &step, false))
HR_UPDATE_LOOP(nesterov, element(w[i], g[i], &s0[i], &step, true))

static void update(float *w, float *s0, float *s1, const float *g, size_t count,
                   const struct hr_step *step)
{
    (step->optimizer->nesterov ? nesterov : heavy_ball)(w, s0, s1, g, count, step);
}

static void describe(const struct hr_optimizer *o, char *text, size_t size)
{
    snprintf(text, size, ", %smomentum %g", o->nesterov ? "Nesterov " : "", o->momentum);
}

#define HR_SGD                                                                                     \
    .name = "sgd", .lr = 0.05, /* ours: PyTorch has none */                                        \
        .lr_is_step = true, .momentum_option = "momentum",                                         \
    .momentum_at = offsetof(struct hr_optimizer, momentum), .describe = describe

static const struct hr_rule no_momentum = {HR_SGD, .update = without};

const struct hr_rule HR_ISA_NAME(hr_rule_sgd) = {HR_SGD, .nstates = 1,
                                                 .state_names = {"momentum_buffer"},
                                                 .no_momentum = &no_momentum, .update = update};
