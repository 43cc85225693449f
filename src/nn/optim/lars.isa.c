/* LARS (optimizer.h). */
#include "optim/rules.h"

/* step->lr holds lr r. */
static inline float element(float w, float g, float *m, const struct hr_step *step)
{
    *m = step->momentum * *m + step->lr * hr_decayed(w, g, step);
    return w - *m;
}

HR_UPDATE_LOOP(update, element(w[i], g[i], &s0[i], &step))

static double ratio(const struct hr_step *step, const struct hr_param_segment *segment,
                    const float *w, float *state, const float *g)
{
    const struct hr_optimizer *o = step->optimizer;
    (void)state;
    const double weights = sqrt(hr_norm_squares(w, segment));
    const double mean = sqrt(hr_norm_squares(g, segment)) * (double)step->scale;
    return weights > 0 && mean > 0 ? o->trust * weights / (mean + o->weight_decay * weights) : 1;
}

static void describe(const struct hr_optimizer *o, char *text, size_t size)
{
    snprintf(text, size, ", momentum %g, trust %g", o->momentum, o->trust);
}

const struct hr_rule HR_ISA_NAME(hr_rule_lars) = {
    .name = "lars",
    .nstates = 1,
    .state_names = {"momentum_buffer"},
    .lr = 1, /* ours: the paper has none */
    .weight_decay = 0.0005,
    .momentum_option = "momentum",
    .momentum_at = offsetof(struct hr_optimizer, momentum),
    .update = update,
    .ratio = ratio,
    .describe = describe,
};
