#include "optim/optimizer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "base/text.h"
#include "base/vec.h"
#include "optim/rules.h"

const struct hr_rule *hr_rule_at(size_t i)
{
#define PICK(name) HR_ISA_PICK(hr_rule_##name),
    const struct hr_rule *const rules[] = {HR_OPTIMIZERS(PICK)};
    return i < sizeof rules / sizeof *rules ? rules[i] : NULL;
}

enum hr_status hr_rule_find(const char *name, const struct hr_rule **out)
{
    char known[128] = "";
    if (!strncmp(name, HR_RULE_OWN, sizeof HR_RULE_OWN - 1))
        return hr_fail(
            HR_E_USAGE,
            "--optimizer %s: is an update rule of the program that trained with it; only "
            "a program that gives it (hr_train_options.update_rule) can go on",
            name);
    const struct hr_rule *rule;
    for (size_t i = 0; (rule = hr_rule_at(i)); i++) {
        if (!strcmp(name, rule->name)) {
            *out = rule;
            return HR_OK;
        }
        hr_append(known, sizeof known, "%s%s", i ? ", " : "", rule->name);
    }
    return hr_fail(HR_E_USAGE, "--optimizer %s: there is no such optimizer (there are: %s)", name,
                   known);
}

enum hr_status hr_rule_own(const struct hr_update_rule *own, const char *name, struct hr_rule *out)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    const size_t length = own->name ? strlen(own->name) : 0;
    if (length < 1 || length > HR_UPDATE_RULE_NAME || strspn(own->name, letters) < length)
        return hr_fail(HR_E_USAGE,
                       "an update rule's name: expected 1 to %d letters, digits, - and _",
                       HR_UPDATE_RULE_NAME);
    if (!own->update || own->states > HR_UPDATE_RULE_STATES || !(own->lr >= 0))
        return hr_fail(
            HR_E_USAGE,
            "update rule %s: expected a function, at most %d states and lr of at least 0",
            own->name, HR_UPDATE_RULE_STATES);
    *out = (struct hr_rule){
        .name = name,
        .nstates = own->states,
        .state_names = {"state0", "state1", "state2", "state3"},
        .lr = own->lr,
        .own = own,
    };
    return HR_OK;
}

double hr_optimizer_momentum(const struct hr_optimizer *optimizer)
{
    const char *field = (const char *)optimizer + optimizer->rule->momentum_at;
    return optimizer->rule->momentum_option ? *(const double *)(const void *)field : 0;
}

size_t hr_optimizer_state_floats(const struct hr_optimizer *optimizer)
{
    return optimizer->rule->nstates * optimizer->params;
}

bool hr_optimizer_needs_norms(const struct hr_optimizer *optimizer)
{
    return optimizer->rule->ratio || optimizer->clip_norm > 0;
}

struct hr_step hr_step_of(const struct hr_optimizer *o, double lr, size_t n, uint64_t t)
{
    const float inverse_count = n ? 1.0f / (float)n : 0.0f;
    return (struct hr_step){
        .optimizer = o,
        .inverse_count = inverse_count,
        .scale = inverse_count,
        .lr = (float)lr,
        .momentum = (float)o->momentum,
        .weight_decay = (float)o->weight_decay,
        .eps = (float)o->eps,
        .beta1 = (float)o->beta1,
        .beta2 = (float)o->beta2,
        .rest1 = (float)(1 - o->beta1),
        .rest2 = (float)(1 - o->beta2),
        .correction1 = (float)(1 / (1 - pow(o->beta1, (double)t))),
        .root2 = (float)sqrt(1 - pow(o->beta2, (double)t)),
        .samples = n,
        .number = t,
    };
}

/* --- norms --- */

/* The segment that holds an element. */
static size_t segment_at(const struct hr_optimizer *o, size_t element)
{
    size_t low = 0, high = o->nsegments;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (o->segments[middle].begin <= element)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* hr_norm_squares of a sum T(n), which is not kept. */
static double sum_squares(const float *const *g, size_t n, const struct hr_param_segment *segment)
{
    float block[HR_NORM_BLOCK], *sum = block;
    const float *part[HR_VEC_MAX_INPUTS];
    double squares = 0;
    for (size_t at = segment->begin, end; at < segment->begin + segment->count; at = end) {
        end = hr_norm_block_end(segment, at);
        for (size_t i = 0; i < n; i++)
            part[i] = g[i] + at;
        hr_vec()->tree_sum(&sum, 1, part, n, end - at);
        squares += hr_norm_block_squares(sum, end - at);
    }
    return squares;
}

void hr_step_clip(struct hr_step *step, const float *const *g, size_t n)
{
    const struct hr_optimizer *o = step->optimizer;
    double sum = 0;
    if (o->clip_norm <= 0)
        return;
    for (size_t i = 0; i < o->nsegments; i++)
        if (o->segments[i].role == HR_SEGMENT_TRAINED)
            sum +=
                n > 1 ? sum_squares(g, n, &o->segments[i]) : hr_norm_squares(g[0], &o->segments[i]);
    const double factor = o->clip_norm / (sqrt(sum) * (double)step->inverse_count + 1e-6);
    if (factor < 1)
        step->scale = (float)((double)step->inverse_count * factor);
}

void hr_step_ratios(struct hr_step *step, size_t begin, size_t count, const float *w, float *state,
                    const float *g, float *ratio)
{
    const struct hr_optimizer *o = step->optimizer;
    if (!o->rule->ratio || !count)
        return;
    for (size_t i = segment_at(o, begin); i < o->nsegments && o->segments[i].begin < begin + count;
         i++) {
        const struct hr_param_segment *segment = &o->segments[i];
        ratio[i] = 1;
        if (segment->role == HR_SEGMENT_TRAINED)
            ratio[i] = (float)o->rule->ratio(step, segment, w, state, g);
    }
    step->ratio = ratio;
}

void hr_step_measure(struct hr_step *step, const float *w, float *state, const float *g,
                     float *ratio)
{
    hr_step_clip(step, &g, 1);
    hr_step_ratios(step, 0, step->optimizer->params, w, state, g, ratio);
}

/* --- updates --- */

static hr_update_fn update_of(const struct hr_optimizer *o, enum hr_segment_role role)
{
    const struct hr_optimizer_table *table = hr_optimizer_table();
    if (role == HR_SEGMENT_STATISTIC)
        return table->statistic;
    return o->rule->update;
}

/* The caller's rule on w, g (count), which begin at element `begin`. It is given the mean gradient,
 * some at a time. */
static void update_own(const struct hr_step *step, size_t begin, size_t count, float *w,
                       float *state, const float *g)
{
    enum { SOME = 1024 };
    const struct hr_update_rule *own = step->optimizer->rule->own;
    float mean[SOME], *states[HR_UPDATE_RULE_STATES] = {0};
    for (size_t at = 0; at < count; at += SOME) {
        const size_t some = hr_min_size(SOME, count - at);
        const struct hr_update what = {begin + at, some, step->lr, step->number, step->samples};
        for (size_t i = 0; i < some; i++)
            mean[i] = g[at + i] * step->scale;
        for (size_t s = 0; s < own->states; s++)
            states[s] = state + s * step->optimizer->params + begin + at;
        own->update(own->arg, &what, w + at, states, mean);
    }
}

void hr_step_update(const struct hr_step *step, size_t begin, size_t count, float *w, float *state,
                    const float *g)
{
    const struct hr_optimizer *o = step->optimizer;
    const size_t end = begin + count;
    for (size_t s = segment_at(o, begin), at = begin; at < end; s++) {
        const struct hr_param_segment *segment = &o->segments[s];
        const size_t stop = hr_min_size(end, segment->begin + segment->count), i = at - begin;
        float *s0 = o->rule->nstates > 0 ? state + at : NULL;
        float *s1 = o->rule->nstates > 1 ? state + o->params + at : NULL;
        struct hr_step local = *step;
        if (step->ratio)
            local.lr *= step->ratio[s];
        if (o->rule->own && segment->role == HR_SEGMENT_TRAINED)
            update_own(step, at, stop - at, w + i, state, g + i);
        else if (segment->role != HR_SEGMENT_FROZEN)
            update_of(o, segment->role)(w + i, s0, s1, g + i, stop - at, &local);
        at = stop;
    }
}

void hr_step_compensate(const struct hr_step *step, size_t begin, size_t count, float *out,
                        const float *g, const struct hr_drift *drift)
{
    const struct hr_optimizer *o = step->optimizer;
    const struct hr_optimizer_table *table = hr_optimizer_table();
    const float factor = drift->lambda * step->inverse_count;
    const size_t end = begin + count;
    for (size_t s = segment_at(o, begin), at = begin; at < end; s++) {
        const struct hr_param_segment *segment = &o->segments[s];
        const size_t stop = hr_min_size(end, segment->begin + segment->count), i = at - begin;
        const struct hr_drift part = {drift->read + i, drift->now + i, drift->lambda};
        if (segment->role == HR_SEGMENT_TRAINED)
            table->compensate(out + i, g + i, &part, factor, stop - at);
        else
            memcpy(out + i, g + i, (stop - at) * sizeof *out);
        at = stop;
    }
}

/* --- what is frozen --- */

struct hr_range hr_range_next(const struct hr_optimizer *o, bool frozen, size_t begin, size_t end)
{
    struct hr_range next = {.begin = end};
    if (!o->frozen)
        return (struct hr_range){begin, frozen ? 0 : end - begin};
    for (size_t s = segment_at(o, begin), at = begin; at < end; s++) {
        const struct hr_param_segment *segment = &o->segments[s];
        const size_t stop = hr_min_size(end, segment->begin + segment->count);
        const bool wanted = (segment->role == HR_SEGMENT_FROZEN) == frozen;
        if (wanted && !next.count)
            next.begin = at;
        if (wanted)
            next.count = stop - next.begin;
        else if (next.count)
            break;
        at = stop;
    }
    return next;
}

void hr_keep_frozen(const struct hr_optimizer *o, size_t begin, size_t count, float *to,
                    const float *from)
{
    const size_t end = begin + count;
    struct hr_range kept = hr_range_next(o, true, begin, end);
    for (; kept.count; kept = hr_range_next(o, true, kept.begin + kept.count, end))
        memcpy(to + kept.begin - begin, from + kept.begin - begin, kept.count * sizeof *to);
}
