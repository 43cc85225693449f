/* What a user may want to change, with the numbers that say so. */
#include <stdio.h>
#include <string.h>

#include "base/cpus.h"
#include "report/groups.h"
#include "report/human.h"
#include "report/report.h"

bool hr_advice_before(const struct hr_run_info *info, char text[HR_ADVICE_MAX])
{
    const struct hr_cpu_budget budget = hr_cpu_budget();
    const size_t servers_apart = info->colocated || info->servers_rest ? 0 : info->servers;
    const size_t threads = info->workers + servers_apart;
    char quota[32] = "none", servers[48] = "";
    if (threads <= 2 * info->processors || info->played)
        return false;
    if (budget.quota)
        snprintf(quota, sizeof quota, "%zu", budget.quota);
    if (servers_apart)
        snprintf(servers, sizeof servers, " and %zu server%s", servers_apart,
                 servers_apart == 1 ? "" : "s");
    snprintf(text, HR_ADVICE_MAX,
             "%zu workers%s take turns on %zu processor%s (affinity mask %zu, cgroup quota %s): "
             "good for trying things out, not for speed",
             info->workers, servers, info->processors, info->processors == 1 ? "" : "s",
             budget.affinity, quota);
    return true;
}

/* Larger batches need fewer messages. They are no help against waiting for a worker that is slow,
 * or stalls (who that is stands below the table), nor for want of processors. */
bool hr_advice_after(const struct hr_run_result *run, const char *name, char text[HR_ADVICE_MAX])
{
    const double worth_it = 0.1; /* seconds; shorter runs need no advice */
    const double useful = run->compute_s + run->load_s;
    const double other =
        run->communicate_s + run->wait_s - run->waited_for_others_s - run->stalled_s;
    const bool crowded = !strcmp(run->clock, "real") && run->workers > hr_cpus_allowed();
    char batch[60] = "";
    if (run->workers < 2 || other <= useful || other < worth_it || run->conflicts.omega)
        return false; /* sparse models have no batches to enlarge */
    if (!crowded)
        snprintf(batch, sizeof batch, "a larger --batch-size (now %zu) or ", run->batch_size);
    snprintf(
        text, HR_ADVICE_MAX,
        "%s: %.2f s of computing, %.2f s of communicating and waiting; %sfewer --workers would "
        "be faster",
        name, useful, other, batch);
    return true;
}

bool hr_advice_rising(const struct hr_run_result *run, const char *name, char text[HR_ADVICE_MAX])
{
    char last[HR_HUMAN_MAX], first[HR_HUMAN_MAX];
    struct hr_rise rise;
    if (!(run->lr > 0) || !hr_run_rose(run, &rise)) /* what no rate made, none mends */
        return false;
    snprintf(text, HR_ADVICE_MAX,
             "%s: the training loss ended at %s, above the %s %s; change first %s", name,
             hr_human_loss(last, run->train_loss), hr_human_loss(first, rise.above), rise.what,
             run->cure[0] ? run->cure : "the step itself: a smaller --lr");
    return true;
}

bool hr_advice_chance(const struct hr_run_result *run, const char *name, char text[HR_ADVICE_MAX])
{
    if (run->chance[0])
        snprintf(text, HR_ADVICE_MAX, "%s: %.2f %% right is %s", name, 100 * run->test_accuracy,
                 run->chance);
    return run->chance[0];
}

/* The measure is a gradient's total effect on the weights, lr / (1 - momentum), times the updates
 * in flight: runs near 1 learned worse, or diverged. Adaptive rules scale their own steps. */
bool hr_advice_asynchrony(const struct hr_run_result *run, const char *name,
                          char text[HR_ADVICE_MAX])
{
    const struct hr_asynchrony *a = &run->asynchrony;
    const double in_flight = 1 / (1 - a->implicit_momentum);
    const bool large = a->lr_is_step && a->effective_lr >= 1 - a->explicit_momentum;
    if (!(in_flight >= 1.5) || !(large || a->total_momentum >= 0.98))
        return false;
    const double momentum = 1 - (1 - a->explicit_momentum) * in_flight;
    char cure[80] = "a smaller --lr (--async-lr divide) is the safer choice";
    if (momentum > 0.005 && a->lr_is_step)
        snprintf(cure, sizeof cure, "--momentum %.2f would keep it at %.2f", momentum,
                 a->explicit_momentum);
    snprintf(text, HR_ADVICE_MAX,
             "%s: %.1f updates were in flight on average, so lr %.3g acts like %.3g and momentum "
             "%.2f like %.3f (predicted); %s",
             name, in_flight, a->effective_lr / in_flight, a->effective_lr, a->explicit_momentum,
             a->total_momentum, cure);
    return true;
}
