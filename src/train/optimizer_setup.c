/* How weights are updated: from options to the optimiser, its segments, and the learning rate. */
#include "train/optimizer_setup.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "state/model_tensors.h"
#include "train/run.h"

static enum hr_status refuse_unknown(const char *pattern, const struct hr_model *model)
{
    struct hr_listing names = {0};
    for (size_t i = 0; i < hr_model_tensor_count(model); i++)
        if (hr_model_tensor(model, i)->role == HR_TENSOR_TRAINED)
            hr_listing_add(&names, "%s", hr_model_tensor(model, i)->name);
    return hr_fail(HR_E_USAGE,
                   "--freeze %.80s: matches no trained tensor of the model, which has %s; expected "
                   "patterns of these names, with commas between them",
                   pattern, hr_listing_text(&names));
}

static enum hr_status freeze_one(const char *pattern, const struct hr_model *model,
                                 struct hr_param_segment *tensors)
{
    bool any = false;
    if (!pattern[0])
        return hr_fail(HR_E_USAGE, "--freeze: there is an empty pattern beside a comma; expected "
                                   "names, with commas between them");
    for (size_t i = 0; i < hr_model_tensor_count(model); i++) {
        const struct hr_tensor_info *info = hr_model_tensor(model, i);
        if (info->role != HR_TENSOR_TRAINED || fnmatch(pattern, info->name, 0) != 0)
            continue;
        tensors[i].role = HR_SEGMENT_FROZEN;
        any = true;
    }
    return any ? HR_OK : refuse_unknown(pattern, model);
}

/* The first pattern of *rest, without the blanks around it; *rest goes on behind it, or is NULL. */
static void next_pattern(const char **rest, char *pattern, size_t size)
{
    const char *begin = *rest + strspn(*rest, " ");
    size_t length = strcspn(begin, ",");
    *rest = begin[length] ? begin + length + 1 : NULL;
    while (length && begin[length - 1] == ' ')
        length--;
    snprintf(pattern, size, "%.*s", (int)length, begin);
}

/* Give the tensors (one a tensor of the model) that the patterns match the role FROZEN; "": none.
 * *frozen is how many parameters they have. HR_E_USAGE: an empty pattern, one that matches nothing
 * (lists the names), or nothing is left to train. */
static enum hr_status hr_freeze(const char *patterns, const struct hr_model *model,
                                struct hr_param_segment *tensors, size_t *frozen)
{
    char pattern[256];
    bool trains = false;
    *frozen = 0;
    if (!patterns[0])
        return HR_OK;
    for (const char *rest = patterns; rest;) {
        next_pattern(&rest, pattern, sizeof pattern);
        HR_TRY(freeze_one(pattern, model, tensors));
    }
    for (size_t i = 0; i < hr_model_tensor_count(model); i++) {
        *frozen += tensors[i].role == HR_SEGMENT_FROZEN ? tensors[i].count : 0;
        trains |= tensors[i].role == HR_SEGMENT_TRAINED;
    }
    return trains ? HR_OK
                  : hr_fail(HR_E_USAGE,
                            "--freeze %.160s: matches all trained tensors, and nothing is left to "
                            "train; expected fewer (hogring eval tests a model as it is)",
                            patterns);
}

void hr_freeze_text(const struct hr_model *model, const struct hr_optimizer *optimizer, char *text,
                    size_t size)
{
    struct hr_listing names = {0};
    text[0] = '\0';
    if (!optimizer->frozen)
        return;
    for (size_t i = 0; i < optimizer->nsegments; i++)
        if (optimizer->segments[i].role == HR_SEGMENT_FROZEN)
            hr_listing_add(&names, "%s", hr_model_tensor(model, i)->name);
    snprintf(text, size, "%zu of %zu tensors: %s", names.n, optimizer->nsegments,
             hr_listing_text(&names));
}

enum hr_status hr_optimizer_setup(struct hr_run *run)
{
    const struct hr_train_options *o = run->job.options;
    struct hr_optimizer *optimizer = &run->shared.optimizer;
    const size_t n = hr_model_tensor_count(run->job.model);
    *optimizer = (struct hr_optimizer){
        .momentum = o->momentum,
        .weight_decay = o->weight_decay,
        .beta1 = o->beta1,
        .beta2 = o->beta2,
        .eps = o->eps,
        .trust = o->trust_coefficient,
        .clip_norm = o->clip_norm,
        .nesterov = o->nesterov,
        .nsegments = n,
        .params = hr_model_param_count(run->job.model),
    };
    if (o->nesterov && o->momentum <= 0)
        return hr_fail(HR_E_USAGE,
                       "--optimizer sgd:nesterov: looks ahead along the momentum, expected "
                       "--momentum of more than 0");
    optimizer->rule = &run->own_rule;
    HR_TRY(o->update_rule ? hr_rule_own(o->update_rule, o->optimizer, &run->own_rule)
                          : hr_rule_find(o->optimizer, &optimizer->rule));
    if (optimizer->rule->no_momentum && o->momentum == 0)
        optimizer->rule = optimizer->rule->no_momentum;
    optimizer->segments = run->tensors = calloc(n, sizeof *run->tensors);
    if (!run->tensors)
        return hr_fail(HR_E_NOMEM, "no memory to list %zu tensors", n);
    for (size_t i = 0; i < n; i++) {
        const struct hr_tensor_info *info = hr_model_tensor(run->job.model, i);
        run->tensors[i] = (struct hr_param_segment){
            .begin = info->offset,
            .count = info->count,
            .role = info->role == HR_TENSOR_STATISTIC ? HR_SEGMENT_STATISTIC : HR_SEGMENT_TRAINED,
        };
    }
    return hr_freeze(o->freeze, run->job.model, run->tensors, &optimizer->frozen);
}

/* --- the rate --- */

/* Samples of one update over the base. Linear: Goyal et al., arXiv 1706.02677; square root:
 * Krizhevsky, arXiv 1404.5997, which keeps the variance of an update. */
static enum hr_status scale_of(const struct hr_run *run, double *out)
{
    const struct hr_train_options *o = run->job.options;
    const size_t base = o->base_batch_size ? o->base_batch_size : run->job.batch_size;
    const double times = (double)run->shared.schedule.batch / (double)base;
    *out = 1;
    if (run->job.choices.scale_lr == HR_SCALE_LR_NONE)
        return HR_OK;
    *out = run->job.choices.scale_lr == HR_SCALE_LR_LINEAR ? times : sqrt(times);
    return HR_OK;
}

enum hr_status hr_rate_setup(struct hr_run *run)
{
    const struct hr_train_options *o = run->job.options;
    struct hr_batch_schedule *schedule = &run->shared.schedule;
    const bool divides =
        !run->shared.strategy->shares_batch && run->job.choices.async_lr == HR_ASYNC_LR_DIVIDE;
    double scale;
    HR_TRY(hr_lr_kind_parse(o->lr_schedule, &schedule->lr.kind));
    HR_TRY(scale_of(run, &scale));
    schedule->lr.peak = o->lr;
    schedule->lr.warmup_epochs = o->warmup_epochs;
    schedule->lr.epochs = run->length.epochs;
    schedule->lr.step_epochs = o->lr_step_epochs;
    schedule->lr.gamma = o->lr_gamma;
    const size_t together = hr_max_size(run->shared.node_workers, 1); /* one update of them all */
    schedule->lr_factor = divides ? scale * (double)together / (double)run->shared.workers : scale;
    return HR_OK;
}

/* --- in words --- */

void hr_optimizer_setup_text(const struct hr_run *run, char *text, size_t size)
{
    const struct hr_optimizer *o = &run->shared.optimizer;
    snprintf(text, size, "%s", o->rule->name);
    if (o->rule->describe)
        o->rule->describe(o, text + strlen(text), size - strlen(text));
    if (o->rule->eps > 0)
        hr_append(text, size, ", eps %g", o->eps);
    if (o->weight_decay > 0)
        hr_append(text, size, ", weight decay %g", o->weight_decay);
    if (o->clip_norm > 0)
        hr_append(text, size, ", norm clipped at %g", o->clip_norm);
    if (run->options.accumulate > 1)
        hr_append(text, size, ", of %zu minibatches each", run->options.accumulate);
}

void hr_rate_setup_text(const struct hr_run *run, char *text, size_t size)
{
    const struct hr_batch_schedule *schedule = &run->shared.schedule;
    const double peak = schedule->lr.peak * schedule->lr_factor;
    snprintf(text, size, "lr %.6g", peak);
    if (schedule->lr_factor != 1)
        hr_append(text, size, " (%g times %.6g)", schedule->lr.peak, schedule->lr_factor);
    if (schedule->lr.warmup_epochs > 0)
        hr_append(text, size, " after %g epoch%s of warm-up", schedule->lr.warmup_epochs,
                  schedule->lr.warmup_epochs == 1 ? "" : "s");
    if (schedule->lr.kind == HR_LR_STEP)
        hr_append(text, size, ", times %g every %g epochs", schedule->lr.gamma,
                  schedule->lr.step_epochs);
    else if (schedule->lr.kind != HR_LR_CONSTANT)
        hr_append(text, size, ", %s to 0", hr_lr_kind_name(schedule->lr.kind));
}
