/* Update rules on the caller's arrays. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fpenv.h"
#include "net/net.h"

/* Numbers that rules share: the defaults of the command's options. */
static const double MOMENTUM = 0.9, BETA1 = 0.9, BETA2 = 0.999, TRUST = 0.001;

enum hr_status hr_net_rule_defaults(const char *name, struct hr_net_rule *out)
{
    const struct hr_rule *rule;
    if (!name || !out)
        return hr_fail(HR_E_USAGE, "hr_net_rule_defaults: found NULL, expected a name and a rule");
    HR_TRY(hr_rule_find(name, &rule));
    *out = (struct hr_net_rule){.lr = rule->lr,
                                .weight_decay = rule->weight_decay,
                                .eps = rule->eps,
                                .momentum = MOMENTUM,
                                .beta1 = BETA1,
                                .beta2 = BETA2,
                                .trust = TRUST};
    snprintf(out->name, sizeof out->name, "%s", rule->name);
    return HR_OK;
}

static enum hr_status check_number(const char *what, double number, double below)
{
    if (number >= 0 && number < below)
        return HR_OK;
    return hr_fail(HR_E_USAGE, "%s of the rule: found %g, expected 0 to below %g", what, number,
                   below);
}

static enum hr_status check_numbers(const struct hr_net_rule *rule)
{
    HR_TRY(check_number("lr", rule->lr, INFINITY));
    HR_TRY(check_number("weight_decay", rule->weight_decay, INFINITY));
    HR_TRY(check_number("eps", rule->eps, INFINITY));
    HR_TRY(check_number("trust", rule->trust, INFINITY));
    HR_TRY(check_number("clip_norm", rule->clip_norm, INFINITY));
    HR_TRY(check_number("momentum", rule->momentum, 1));
    HR_TRY(check_number("beta1", rule->beta1, 1));
    return check_number("beta2", rule->beta2, 1);
}

static enum hr_status optimizer_of(const struct hr_net *net, const struct hr_net_rule *rule,
                                   struct hr_optimizer *out)
{
    if (!net || !rule)
        return hr_fail(HR_E_USAGE, "found NULL, expected a net and a rule");
    if (!memchr(rule->name, 0, sizeof rule->name))
        return hr_fail(HR_E_USAGE, "name of the rule: found no end of it");
    *out = (struct hr_optimizer){
        .momentum = rule->momentum,
        .weight_decay = rule->weight_decay,
        .beta1 = rule->beta1,
        .beta2 = rule->beta2,
        .eps = rule->eps,
        .trust = rule->trust,
        .clip_norm = rule->clip_norm,
        .nesterov = rule->nesterov,
        .segments = net->segments,
        .nsegments = hr_model_tensor_count(net->model),
        .params = hr_model_param_count(net->model),
    };
    HR_TRY(hr_rule_find(rule->name, &out->rule));
    return check_numbers(rule);
}

enum hr_status hr_net_rule_floats(const struct hr_net *net, const struct hr_net_rule *rule,
                                  size_t *floats)
{
    struct hr_optimizer optimizer;
    HR_TRY(optimizer_of(net, rule, &optimizer));
    if (!floats)
        return hr_fail(HR_E_USAGE, "hr_net_rule_floats: found NULL for the number");
    *floats = hr_optimizer_state_floats(&optimizer);
    return HR_OK;
}

/* A rule's ratios, one a tensor; none where it needs none. */
static enum hr_status take_ratios(const struct hr_optimizer *optimizer, float **out)
{
    *out = NULL;
    if (!optimizer->rule->ratio)
        return HR_OK;
    *out = calloc(optimizer->nsegments, sizeof **out);
    return *out ? HR_OK
                : hr_fail(HR_E_NOMEM, "no memory for norms of %zu tensors", optimizer->nsegments);
}

enum hr_status hr_net_update(const struct hr_net *net, const struct hr_net_rule *rule,
                             uint64_t number, size_t samples, float *params, const float *grads,
                             size_t count, float *state, size_t floats)
{
    struct hr_optimizer optimizer;
    float *ratios;
    HR_TRY(optimizer_of(net, rule, &optimizer));
    HR_TRY(hr_net_check(net, "params", params, count));
    HR_TRY(hr_net_check(net, "grads", grads, count));
    HR_TRY(hr_net_check_floats("state", state, floats, hr_optimizer_state_floats(&optimizer)));
    if (number < 1 || samples < 1)
        return hr_fail(HR_E_USAGE, "found update %llu of %zu samples, expected both from 1",
                       (unsigned long long)number, samples);
    HR_TRY(take_ratios(&optimizer, &ratios));
    const uint64_t mode = hr_fp_mode();
    hr_fp_flush_denormals();
    struct hr_step step = hr_step_of(&optimizer, rule->lr, samples, number);
    if (hr_optimizer_needs_norms(&optimizer))
        hr_step_measure(&step, params, state, grads, ratios);
    hr_step_update(&step, 0, count, params, state, grads);
    hr_fp_mode_set(mode);
    free(ratios);
    return HR_OK;
}
