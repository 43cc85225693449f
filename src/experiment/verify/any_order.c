/* One thread plays all ranks in a drawn order of events. A synchronous run is the same in every
 * order; an asynchronous one is a function of it: the same again, and another in another order. */
#include "verify/check.h"

static const char *const algorithms[] = {"direct", "tree", "master-worker", NULL};

static enum hr_status check_synchronous(struct hr_trial *trial, size_t workers)
{
    const char *strategy = hr_trial_pick_strategy(trial, HR_TRIAL_IN_STEP);
    struct hr_train_options options = hr_trial_options(trial, strategy, workers);
    if (hr_trial_obeys(strategy, "algorithm"))
        HR_SAY(options.algorithm, "%s", hr_trial_pick(trial, algorithms));
    HR_TRY(hr_trial_same(trial, &options));
    for (size_t i = 0; i < 3; i++) {
        HR_SAY(options.schedule, "explore:%zu", hr_trial_draw(trial, 1 << 20));
        HR_TRY(hr_trial_same(trial, &options));
    }
    return HR_OK;
}

static enum hr_status check_ordered(struct hr_trial *trial, size_t workers)
{
    const char *strategy = hr_trial_pick_strategy(trial, HR_TRIAL_ORDERED);
    struct hr_train_options options = hr_trial_options(trial, strategy, workers);
    hr_trial_anew(trial);
    HR_SAY(options.schedule, "explore:%zu", hr_trial_draw(trial, 1 << 20));
    HR_TRY(hr_trial_same(trial, &options));
    return hr_trial_same(trial, &options);
}

static enum hr_status run(struct hr_trial *trial)
{
    const size_t workers = 2 + hr_trial_draw(trial, 4);
    HR_TRY(check_synchronous(trial, workers));
    return check_ordered(trial, workers);
}

const struct hr_check hr_check_any_order = {
    .name = "any-order",
    .claim = "synchronous in any order",
    .story = "Synchronous strategies end with the same bits in any order of events (--schedule "
             "explore); all others again in the same order.",
    .what = "runs",
    .run = run,
};
