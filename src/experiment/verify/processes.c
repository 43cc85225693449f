/* Ranks are the same code as threads and as processes. Processes come first: who forks them must
 * not have multiplied anything. */
#include "verify/check.h"

static const char *const launches[] = {"process", "thread", NULL};

static enum hr_status run(struct hr_trial *trial)
{
    const char *strategy = hr_trial_pick_strategy(trial, HR_TRIAL_TOGETHER);
    const size_t workers = 2 + hr_trial_draw(trial, 3);
    struct hr_train_options options = hr_trial_options(trial, strategy, workers);
    if (hr_trial_served(strategy))
        options.servers = 1 + hr_trial_draw(trial, 3);
    if (hr_trial_obeys(strategy, "sync-every"))
        options.sync_every = 1 + hr_trial_draw(trial, 5);
    for (size_t i = 0; launches[i]; i++) {
        HR_SAY(options.launch, "%s", launches[i]);
        HR_TRY(hr_trial_same(trial, &options));
    }
    return hr_trial_same(trial, &options);
}

const struct hr_check hr_check_processes = {
    .name = "processes",
    .claim = "processes = threads = again",
    .story =
        "Strategies whose workers share a batch end with the same bits as forked processes, as "
        "threads, and as threads once more.",
    .what = "runs",
    .run = run,
};
