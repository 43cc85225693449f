/* --reduce repro cuts a global batch into pieces of one shape and folds them in T: who computes
 * them decides nothing. */
#include <string.h>

#include "verify/check.h"

static const char *const algorithms[] = {
    "direct", "tree", "one-shot", "master-worker", "hierarchical", "halving-doubling", NULL};

static struct hr_train_options shards(struct hr_trial *trial, const char *strategy, size_t workers,
                                      size_t batch)
{
    struct hr_train_options options = hr_trial_options(trial, strategy, workers);
    HR_SAY(options.reduce, "repro");
    options.global_batch_size = batch;
    return options;
}

static enum hr_status run(struct hr_trial *trial)
{
    const size_t batch = 20 + hr_trial_draw(trial, 30);
    for (size_t workers = 1; workers <= 8; workers *= 2) {
        struct hr_train_options options = shards(trial, "allreduce", workers, batch);
        if (workers > 1)
            HR_SAY(options.algorithm, "%s", hr_trial_pick(trial, algorithms));
        HR_TRY(hr_trial_same(trial, &options));
    }
    struct hr_train_options options =
        shards(trial, "ps-sync", (size_t)1 << hr_trial_draw(trial, 4), batch);
    options.servers = 1 + hr_trial_draw(trial, 3);
    HR_TRY(hr_trial_same(trial, &options));
    options = shards(trial, "allreduce", (size_t)1 << hr_trial_draw(trial, 4), batch);
    options.threads_per_worker = 2;
    return hr_trial_same(trial, &options);
}

const struct hr_check hr_check_repro = {
    .name = "repro",
    .claim = "--reduce repro: any workers",
    .story = "With --reduce repro and --global-batch-size, 1, 2, 4 and 8 workers, every algorithm "
             "that adds in T(n), ps-sync, and threads inside a worker change no bit.",
    .what = "runs",
    .run = run,
};
