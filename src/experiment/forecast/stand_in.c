/* The stand-in is "flatten, dense N, dense 2": of one feature, with 4 N + 2 parameters. A batch is
 * one sample, and so many samples there are as there were batches. */
#include "forecast/stand_in.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/size.h"
#include "netsim/link.h"
#include "strategies/find.h"

enum {
    MOST_PARAMS = 1 << 12,
    LEAST_A_RANK = 256,
    LEAST_STEPS = 12,
    MOST_STEPS = 64,
    ALL_STEPS = 2048
};

/* Of as many samples, all alike. numbers: the caller's, labels and the pixels behind them. */
static enum hr_status make_data(size_t samples, struct hr_dataset *out, void **numbers)
{
    uint32_t *labels = *numbers = calloc(samples + 1, sizeof *labels + 1);
    *out = (struct hr_dataset){.name = "stand-in",
                               .shape = {1, 1, 1},
                               .features = HR_FEATURES_BYTES,
                               .classes = 2,
                               .scale = 1};
    if (!labels)
        return hr_fail(HR_E_NOMEM, "no memory for %zu samples", samples);
    const uint8_t *pixels = (const uint8_t *)(labels + samples + 1);
    out->train = (struct hr_split){.count = samples, .pixels = pixels, .labels = labels};
    out->test = (struct hr_split){.count = 1, .pixels = pixels, .labels = labels};
    return HR_OK;
}

/* As slow, for fewer bytes. */
static enum hr_status slow_down(struct hr_train_options *o, double share)
{
    struct hr_link link;
    if (o->topology[0])
        return hr_fail(HR_E_USAGE, "--topology: links of a file cannot be scaled; a forecast in "
                                   "virtual time expects --link");
    if (!o->link[0])
        return HR_OK;
    HR_TRY(hr_link_parse("--link ", o->link, &link));
    snprintf(o->link, sizeof o->link, "%.6fB/s,%.3fns", link.bandwidth * share,
             (double)link.latency_ps / 1000);
    return HR_OK;
}

/* Some of every worker; of many, fewer each. */
static uint64_t steps_of(const struct hr_train_options *o, bool shares_batch)
{
    const uint64_t each = hr_min_size(MOST_STEPS, hr_max_size(LEAST_STEPS, ALL_STEPS / o->workers));
    return each * (shares_batch ? 1 : o->workers);
}

enum hr_status hr_stand_in_gradient(const struct hr_train_options *options, size_t params,
                                    size_t samples, double *out)
{
    struct hr_train_options o = *options;
    struct hr_dataset data;
    void *numbers;
    struct hr_run_result result;
    const struct hr_strategy *strategy;
    const size_t ranks = o.workers + o.servers;
    const size_t few = hr_min_size(params, hr_max_size(MOST_PARAMS, LEAST_A_RANK * ranks));
    const size_t units = hr_max_size(1, few / 4);
    HR_TRY(hr_strategy_find(o.strategy, o.staleness, &strategy));
    snprintf(o.model, sizeof o.model, "flatten, dense %zu, dense 2", units);
    o.batch_size = 1;
    snprintf(o.loss, sizeof o.loss, "auto");
    HR_TRY(slow_down(&o, (4 * (double)units + 2) / (double)params));
    o.max_steps = steps_of(&o, strategy->shares_batch);
    o.epochs = 1 << 20;
    o.budget[0] = '\0';
    o.lr = 1e-4;
    enum hr_status status =
        make_data((samples + options->batch_size - 1) / options->batch_size, &data, &numbers);
    if (status == HR_OK)
        status = hr_train(&o, &data, NULL, &result);
    free(numbers);
    HR_TRY(status);
    *out = result.seconds / fmax(1, (double)result.samples);
    hr_run_result_free(&result);
    return HR_OK;
}
