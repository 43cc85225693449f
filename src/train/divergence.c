/* What staleness does to the step (hogring/train.h, struct hr_asynchrony), and which of step size,
 * momentum and staleness to change first when a run has diverged. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/look.h"
#include "train/counters.h"
#include "train/histogram.h"

/* The mean factor of lr over the updates: 1, or with --staleness-lr inverse 1 / (1 + staleness). */
static double rate_left(const struct hr_run *run, const struct hr_run_result *result)
{
    double sum = 0;
    if (!run->shared.slows)
        return 1;
    for (size_t i = 0; i < HR_RESULT_STALENESS_BUCKETS; i++)
        sum += (double)result->stale[i] / (1 + (double)i);
    return sum / (double)result->stale_updates;
}

/* Else workers push something other than gradients. */
static bool pushes_gradients(const struct hr_strategy *strategy)
{
    return strategy->shares_batch || hr_strategy_obeys(strategy, "async-lr");
}

struct hr_asynchrony hr_asynchrony_of(const struct hr_run *run, const struct hr_run_result *result,
                                      double lr)
{
    const bool pushes = pushes_gradients(run->shared.strategy);
    const double stale = (double)result->stale_sum / (double)result->stale_updates;
    const double in_flight = pushes ? 1 + stale : (double)NAN;
    const double set = hr_optimizer_momentum(&run->shared.optimizer);
    const double implicit = 1 - 1 / in_flight; /* NaN when nothing was counted */
    return (struct hr_asynchrony){
        .effective_lr = lr * rate_left(run, result) * in_flight,
        .lr_is_step = run->shared.optimizer.rule->lr_is_step,
        .explicit_momentum = set,
        .implicit_momentum = implicit,
        .total_momentum = 1 - (1 - set) * (1 - implicit),
    };
}

/* --- divergence --- */

/* What to change first. Asynchrony multiplies the step by the updates in flight. Lower momentum
 * undoes that if there is enough of it (it keeps total momentum as it was set, as Mitliagkas et al.
 * advise); else a smaller step does; a bound cuts a long tail of staleness. */
static void write_cure(const struct hr_run *run, uint64_t stale_max, const struct hr_asynchrony *a,
                       char *text, size_t size)
{
    const double in_flight = 1 / (1 - a->implicit_momentum);
    const double momentum = 1 - (1 - a->explicit_momentum) * in_flight;
    const char *option = run->shared.optimizer.rule->momentum_option;
    const bool divides = run->job.choices.async_lr == HR_ASYNC_LR_DIVIDE;
    if (isnan(in_flight)) /* nothing was stale, or no gradients were */
        snprintf(text, size, "the step itself: a smaller --lr");
    else if (in_flight < 1.5)
        snprintf(text, size, "the step itself: a smaller --lr (asynchrony adds little to it)");
    else if (option && momentum > 0.005)
        snprintf(text, size, "momentum: --%s %.2f", option, momentum);
    else if (!divides)
        snprintf(text, size, "the step size: --async-lr divide");
    else if (run->shared.staleness_bound == UINT64_MAX && (double)stale_max > 4 * in_flight)
        snprintf(text, size, "staleness: --strategy ssp --staleness %.0f", ceil(in_flight));
    else
        snprintf(text, size, "the step size: a smaller --lr, or fewer --workers");
}

/* Steps right for inputs of about 1 are too large for inputs of hundreds. Returns the largest input
 * when inputs are large and not normalized; else 0. */
static double large_inputs(const struct hr_run *run)
{
    const double large = 10;
    const double most = (double)hr_look_at_largest(run->job.dataset, &run->job.dataset->train);
    return run->job.options->normalize || most <= large ? 0 : most;
}

/* Which columns are on unlike scales, by name: " (m has maximum 500, km 11)"; "": none are. */
static void write_scales(const struct hr_dataset *dataset, char *text, size_t size)
{
    struct hr_scale_look look;
    text[0] = '\0';
    if (hr_look_at_scales(dataset, &look) != HR_OK || !look.unlike)
        return;
    snprintf(text, size, " (%s has maximum %.4g, %s %.4g)",
             hr_look_at_name(dataset, look.large).text, (double)look.scales[1],
             hr_look_at_name(dataset, look.small).text, (double)look.scales[0]);
}

/* Why a network may have learned nothing; the first that holds. */
static void write_chance(const struct hr_run *run, struct hr_run_result *result)
{
    enum { FEW_UPDATES = 100 };
    char what[100], scales[140];
    const struct hr_dataset *held_out_of = run->final_test.dataset;
    const struct hr_dataset *whole = held_out_of ? held_out_of : run->job.dataset;
    const double updates = (double)(result->past_updates + result->updates);
    const struct hr_asynchrony *a = &result->asynchrony;
    const char *option = run->shared.optimizer.rule->momentum_option;
    const double stale = (double)result->stale_sum / (double)result->stale_updates;
    if (!hr_look_at_chance(whole, result->test_accuracy, what, sizeof what))
        return;
    char *cause =
        result->chance + snprintf(result->chance, sizeof result->chance, "%s; likely ", what);
    const size_t room = sizeof result->chance - strlen(result->chance);
    write_scales(run->job.dataset, scales, sizeof scales);
    if (large_inputs(run) > 0 || (scales[0] && !run->job.options->normalize))
        snprintf(cause, room, "the scales of columns: --normalize%s", scales);
    else if (!run->shared.strategy->synchronous && stale >= 1 && option && a->explicit_momentum > 0)
        snprintf(cause, room,
                 "lr %.3g and %s %.2f under a mean staleness of %.3g: --%s 0, or a smaller --lr",
                 result->lr, option, a->explicit_momentum, stale, option);
    else if (!run->shared.strategy->synchronous && stale >= 1)
        snprintf(cause, room, "lr %.3g under a mean staleness of %.3g: a smaller --lr", result->lr,
                 stale);
    else if (updates < FEW_UPDATES)
        snprintf(cause, room, "too few updates (%.0f): more --epochs", updates);
    else
        snprintf(cause, room, "the rate (lr %.3g), or too few --epochs", result->lr);
}

void hr_divergence_cure(const struct hr_run *run, struct hr_run_result *result)
{
    const bool asynchronous = !run->shared.strategy->synchronous;
    const struct hr_asynchrony none = {.implicit_momentum = (double)NAN};
    write_cure(run, result->stale_max, asynchronous ? &result->asynchrony : &none, result->cure,
               sizeof result->cure);
    const double inputs = large_inputs(run);
    if (inputs > 0)
        snprintf(result->cure, sizeof result->cure,
                 "the inputs: --normalize (their maximum is %.4g)", inputs);
    write_chance(run, result);
}

/* The rate of the last index handed out. */
static double last_lr(const struct hr_run *run)
{
    const struct hr_batch_schedule *schedule = &run->shared.schedule;
    const uint64_t next = hr_atom64_load_acquire(&run->shared.dispenser->next); /* all are gone */
    const uint64_t begun = next < schedule->end ? next : schedule->end;
    return (double)hr_batch_schedule_lr(schedule,
                                        begun > schedule->first ? begun - 1 : schedule->first);
}

/* The tensor with the first weight that is not finite, of those that the run began with; NULL:
 * there was none, or others stand there by now. */
static const char *began_unfinite(const struct hr_run *run)
{
    const struct hr_model *model = run->job.model;
    const float *weights = run->shared.snapshot.weights;
    if (hr_digest64(weights, run->shared.params * sizeof *weights) != run->job.begins_with)
        return NULL;
    for (size_t t = 0; t < hr_model_tensor_count(model); t++) {
        const struct hr_tensor_info *tensor = hr_model_tensor(model, t);
        for (size_t i = 0; i < tensor->count; i++)
            if (!isfinite(weights[tensor->offset + i]))
                return tensor->name;
    }
    return NULL;
}

/* Was something done to gradients or weights on purpose? */
static bool is_injected(const struct hr_run *run)
{
    const struct hr_inject *inject = &run->job.conditions.inject;
    return hr_inject_has(inject, HR_INJECT_NAN) || hr_inject_has(inject, HR_INJECT_FLIP_BIT);
}

/* What asynchrony did to the step. */
static void write_asynchrony(const struct hr_run *run, const struct hr_run_result *so_far,
                             char *text, size_t size)
{
    char cure[200];
    const double lr = last_lr(run);
    const struct hr_asynchrony a = hr_asynchrony_of(run, so_far, lr);
    write_cure(run, so_far->stale_max, &a, cure, sizeof cure);
    snprintf(text, size,
             "; staleness so far: p50 %zu, max %llu; lr %.3g acts like %.3g, momentum %.2f like "
             "%.3f; change first %s",
             hr_histogram_quantile(so_far->stale, HR_RESULT_STALENESS_BUCKETS, 0.5),
             (unsigned long long)so_far->stale_max, lr, a.effective_lr, a.explicit_momentum,
             a.total_momentum, cure);
}

/* The rate is blamed where updates were made by one; and whatever else is found. */
enum hr_status hr_divergence_explain(const struct hr_run *run, enum hr_status status)
{
    struct hr_run_result so_far = {0};
    char message[480], advice[480] = "";
    const struct hr_strategy *strategy = run->shared.strategy;
    size_t sample;
    if (status != HR_E_DIVERGED || !run->segment.base || is_injected(run))
        return status;
    snprintf(message, sizeof message, "%s", hr_error_message());
    const char *tensor = began_unfinite(run);
    if (tensor)
        return hr_fail(status,
                       "%s; %s has numbers that are not finite in the weights that the run "
                       "begins with",
                       message, tensor);
    if (hr_look_for_unfinite(run->job.dataset, &run->job.dataset->train, &sample))
        return hr_fail(status, "%s; features of training sample %zu are not finite", message,
                       sample + 1);
    hr_result_count(run, &so_far);
    const bool updated = so_far.updates > 0 && run->job.options->lr > 0;
    const double inputs = large_inputs(run);
    if (inputs > 0)
        snprintf(advice, sizeof advice,
                 "; the maximum of the inputs is %.4g: try --normalize first", inputs);
    else if (updated && !strategy->synchronous && pushes_gradients(strategy) &&
             so_far.stale_updates > 0)
        write_asynchrony(run, &so_far, advice, sizeof advice);
    return hr_fail(status, "%s%s%s", message,
                   updated ? "; a smaller --lr may help"
                           : ", by the weights that the run begins with",
                   advice);
}
