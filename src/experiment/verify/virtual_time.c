/* In virtual time one process plays all ranks, and events have made-up times: of what does not
 * depend on the order of events, the bits are those of threads. */
#include "verify/check.h"

static const char *const times[] = {"10ms", "lognormal(10ms,0.5)", "exponential(3ms)",
                                    "pareto(5ms,1.5)", NULL};
static const char *const troubles[] = {"", "slow:0x5", "slow:*x3@20%", "stall:1@step=3+2s", NULL};
static const char *const links[] = {"", "1MB/s,1ms", "1GB/s,5us", NULL};

static enum hr_status run(struct hr_trial *trial)
{
    const char *strategy = hr_trial_pick_strategy(trial, HR_TRIAL_IN_STEP);
    struct hr_train_options options =
        hr_trial_options(trial, strategy, 2 + hr_trial_draw(trial, 6));
    HR_TRY(hr_trial_same(trial, &options));
    HR_SAY(options.clock, "virtual");
    for (size_t i = 0; i < 3; i++) {
        HR_SAY(options.compute_time, "%s", hr_trial_pick(trial, times));
        HR_SAY(options.inject, "%s", hr_trial_pick(trial, troubles));
        HR_SAY(options.link, "%s", hr_trial_pick(trial, links));
        if (hr_trial_served(strategy))
            options.servers = 1 + hr_trial_draw(trial, 3);
        HR_TRY(hr_trial_same(trial, &options));
    }
    return HR_OK;
}

const struct hr_check hr_check_virtual_time = {
    .name = "virtual-time",
    .claim = "virtual time = threads",
    .story =
        "Synchronous strategies end with the same bits in virtual time, whatever gradients take, "
        "whoever is slow or stalls, over whatever links.",
    .what = "runs",
    .run = run,
};
