/* Adagrad (optimizer.h). */
#include "optim/rules.h"

static inline float element(float w, float g, float *s, const struct hr_step *step)
{
    const float d = hr_decayed(w, g, step);
    *s = *s + d * d;
    return w - step->lr * d / (sqrtf(*s) + step->eps);
}

HR_UPDATE_LOOP(update, element(w[i], g[i], &s0[i], &step))

const struct hr_rule HR_ISA_NAME(hr_rule_adagrad) = {
    .name = "adagrad",
    .nstates = 1,
    .state_names = {"sum"},
    .lr = 0.01,
    .eps = 1e-10,
    .update = update,
};
