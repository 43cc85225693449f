/* The chosen policy by the machine's clock: how wrong was the forecast? Gradients take as long as
 * their model says, and whoever is slow is slow (workers sleep); what only virtual time has, is
 * left out, and said. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/policy.h"

static void leave_out(struct hr_policy_search *search, char *field, const char *name)
{
    const size_t used = strlen(search->real_without);
    if (!field[0])
        return;
    field[0] = '\0';
    snprintf(search->real_without + used, sizeof search->real_without - used, "%s--%s",
             used ? ", " : "", name);
}

/* Emulated links exist between workers whose gradients are summed over them (transport copy). */
static struct hr_train_options real_options(struct hr_policy_search *search)
{
    struct hr_train_options options = search->space.options[search->finalist[0].policy];
    snprintf(options.clock, sizeof options.clock, "real");
    leave_out(search, options.server_time, "server-time");
    leave_out(search, options.topology, "topology");
    if (strcmp(options.strategy, "allreduce") != 0)
        leave_out(search, options.link, "link");
    else if (options.link[0])
        snprintf(options.transport, sizeof options.transport, "copy");
    return options;
}

enum hr_status hr_policy_run_real(struct hr_policy_search *search)
{
    struct hr_train_options options = real_options(search);
    const char *label = search->space.label[search->finalist[0].policy];
    search->real = calloc(search->nseeds, sizeof *search->real);
    if (!search->real)
        return hr_fail(HR_E_NOMEM, "no memory for runs in real time");
    search->share = 0;
    for (size_t s = 0; s < search->nseeds; s++) {
        bool diverged;
        options.seed = search->first_seed + s;
        hr_policy_begins(search, "%s in real time, seed %llu (%.3g s)", label,
                         (unsigned long long)options.seed, search->finalist[0].run[s].seconds);
        const enum hr_status status =
            hr_policy_train(search, &options, true, &search->real[s], &diverged);
        if (status != HR_OK)
            return hr_fail_within(status, "--confirm real: %s", label);
    }
    return HR_OK;
}

struct hr_forecast_error hr_policy_forecast(const struct hr_policy_search *search)
{
    const struct hr_finalist *first = &search->finalist[0];
    struct hr_forecast_error error = {0};
    double logs = 0;
    for (size_t s = 0; s < search->nseeds; s++) {
        const struct hr_run_result *real = &search->real[s], *said = &first->run[s];
        if (real->target_seconds >= 0 && said->target_seconds > 0 && ++error.both)
            logs += log(real->target_seconds / said->target_seconds);
        if (real->ncurve && said->ncurve && ++error.measured)
            error.value += hr_metric_at(search->metric, &real->curve[real->ncurve - 1]) -
                           hr_metric_at(search->metric, &said->curve[said->ncurve - 1]);
        error.reached += real->target_seconds >= 0;
    }
    error.ratio = error.both ? exp(logs / (double)error.both) : (double)NAN;
    error.value = error.measured ? error.value / (double)error.measured : (double)NAN;
    return error;
}
