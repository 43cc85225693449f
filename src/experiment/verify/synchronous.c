/* What adds in T(n) gives one sum, whoever adds it: all-reduces, servers, and one worker that
 * accumulates as many minibatches. ssp with staleness 0 is ps-sync; backup-workers without backups
 * wait for all. */
#include <string.h>

#include "verify/check.h"

static const char *const in_tree_order[] = {"one-shot", "tree", "master-worker", NULL};
static const char *const placements[] = {"dedicated", "colocated", NULL};

static enum hr_status check_servers(struct hr_trial *trial, size_t workers)
{
    struct hr_train_options options = hr_trial_options(trial, "ps-sync", workers);
    HR_SAY(options.placement, "%s", hr_trial_pick(trial, placements));
    options.servers = 1 + hr_trial_draw(trial, workers);
    HR_TRY(hr_trial_same(trial, &options));
    HR_SAY(options.strategy, "ssp");
    options.staleness = 0;
    return hr_trial_same(trial, &options);
}

static enum hr_status run(struct hr_trial *trial)
{
    const size_t workers = 2 + hr_trial_draw(trial, 5);
    struct hr_train_options options = hr_trial_options(trial, "allreduce", workers);
    HR_SAY(options.algorithm, "direct");
    HR_TRY(hr_trial_same(trial, &options));
    HR_SAY(options.algorithm, "%s", hr_trial_pick(trial, in_tree_order));
    HR_TRY(hr_trial_same(trial, &options));
    HR_TRY(check_servers(trial, workers));
    options = hr_trial_options(trial, "backup-workers", workers);
    HR_TRY(hr_trial_same(trial, &options));
    options = hr_trial_options(trial, "allreduce", 1);
    options.accumulate = workers;
    return hr_trial_same(trial, &options);
}

const struct hr_check hr_check_synchronous = {
    .name = "synchronous",
    .claim = "allreduce=ps-sync=accumulated",
    .story = "allreduce (direct, one-shot, tree, master-worker) = ps-sync with any servers = ssp "
             "--staleness 0 = backup-workers --backups 0 = one worker with --accumulate, to the "
             "bit: all add in T(n).",
    .what = "runs",
    .run = run,
};
