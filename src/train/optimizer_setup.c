/* How weights are updated: from options to the optimiser, its segments, and the learning rate. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/freeze.h"
#include "train/optimizer_setup.h"
#include "train/run.h"

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
        return hr_fail(HR_E_USAGE, "--nesterov: looks ahead along the momentum, expected "
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

/* Append to a text, truncated if it does not fit. */
static void add(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void add(char *text, size_t size, const char *format, ...)
{
    const size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + used, size - used, format, args);
    va_end(args);
}

void hr_optimizer_setup_text(const struct hr_run *run, char *text, size_t size)
{
    const struct hr_optimizer *o = &run->shared.optimizer;
    snprintf(text, size, "%s", o->rule->name);
    if (o->rule->describe)
        o->rule->describe(o, text + strlen(text), size - strlen(text));
    if (o->rule->eps > 0)
        add(text, size, ", eps %g", o->eps);
    if (o->weight_decay > 0)
        add(text, size, ", weight decay %g", o->weight_decay);
    if (o->clip_norm > 0)
        add(text, size, ", norm clipped at %g", o->clip_norm);
    if (run->options.accumulate > 1)
        add(text, size, ", of %zu minibatches each", run->options.accumulate);
}

void hr_rate_setup_text(const struct hr_run *run, char *text, size_t size)
{
    const struct hr_batch_schedule *schedule = &run->shared.schedule;
    const double peak = schedule->lr.peak * schedule->lr_factor;
    snprintf(text, size, "lr %.6g", peak);
    if (schedule->lr_factor != 1)
        add(text, size, " (%g times %.6g)", schedule->lr.peak, schedule->lr_factor);
    if (schedule->lr.warmup_epochs > 0)
        add(text, size, " after %g epoch%s of warm-up", schedule->lr.warmup_epochs,
            schedule->lr.warmup_epochs == 1 ? "" : "s");
    if (schedule->lr.kind == HR_LR_STEP)
        add(text, size, ", times %g every %g epochs", schedule->lr.gamma, schedule->lr.step_epochs);
    else if (schedule->lr.kind != HR_LR_CONSTANT)
        add(text, size, ", %s to 0", hr_lr_kind_name(schedule->lr.kind));
}
