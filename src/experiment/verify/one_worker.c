/* With one worker nothing can be stale and nothing is added, so every strategy is serial: the same
 * updates of the same batches in the same order, by the one update expression. */
#include <string.h>

#include "verify/check.h"

static const char *const served[] = {"ps-sync", "ps-async", "ssp", NULL};
static const char *const alone[] = {"hogwild", "local-sgd", "backup-workers", "gossip", NULL};
static const char *const placements[] = {"dedicated", "colocated", NULL};

static enum hr_status run(struct hr_trial *trial)
{
    struct hr_train_options options = hr_trial_options(trial, "allreduce", 1);
    HR_TRY(hr_trial_same(trial, &options));
    for (size_t i = 0; served[i]; i++) {
        options = hr_trial_options(trial, served[i], 1);
        HR_SAY(options.placement, "%s", hr_trial_pick(trial, placements));
        options.servers = strcmp(options.placement, "colocated") ? 1 + hr_trial_draw(trial, 3) : 1;
        HR_TRY(hr_trial_same(trial, &options));
    }
    for (size_t i = 0; alone[i]; i++) {
        options = hr_trial_options(trial, alone[i], 1);
        HR_TRY(hr_trial_same(trial, &options));
    }
    return HR_OK;
}

const struct hr_check hr_check_one_worker = {
    .name = "one-worker",
    .claim = "1 worker: every strategy same",
    .story = "With one worker allreduce, ps-sync, ps-async, ssp, hogwild, local-sgd, gossip and "
             "backup-workers (--backups 0), with any servers wherever they are, end with the same "
             "bits.",
    .what = "runs",
    .run = run,
};
