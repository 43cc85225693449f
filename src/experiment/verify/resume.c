/* A run that was stopped and goes on from its checkpoint, beside one that never was. */
#include <string.h>

#include "verify/check.h"

/* Stops behind update k, and goes on. */
static enum hr_status stop_and_go_on(struct hr_trial *trial, struct hr_train_options options,
                                     uint64_t k)
{
    struct hr_train_options before = options;
    struct hr_run_result result;
    HR_TRY(hr_trial_folder(trial));
    HR_SAY(before.checkpoint_dir, "%s", trial->folder);
    before.overwrite = true;
    before.max_steps = k;
    HR_TRY(hr_train(&before, trial->dataset, NULL, &result));
    hr_run_result_free(&result);
    HR_SAY(options.resume, "%s", trial->folder);
    return hr_trial_same(trial, &options);
}

static enum hr_status run(struct hr_trial *trial)
{
    struct hr_run_result whole;
    const char *strategy = hr_trial_pick_strategy(trial, HR_TRIAL_IN_STEP);
    struct hr_train_options options =
        hr_trial_options(trial, strategy, 1 + hr_trial_draw(trial, 4));
    HR_TRY(hr_train(&options, trial->dataset, NULL, &whole));
    const uint64_t updates = whole.updates;
    const enum hr_status status = hr_trial_same_digest(trial, &options, "", whole.weights_digest);
    hr_run_result_free(&whole);
    HR_TRY(status);
    return updates < 2 ? HR_OK
                       : stop_and_go_on(trial, options, 1 + hr_trial_draw(trial, updates - 1));
}

const struct hr_check hr_check_resume = {
    .name = "resume",
    .claim = "resumed = never stopped",
    .story =
        "Synchronous strategies, stopped after a few steps and resumed from the checkpoint, end "
        "with the bits of a run that was not.",
    .what = "runs",
    .run = run,
};
