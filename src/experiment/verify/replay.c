/* Asynchronous runs in real time, recorded, beside their replays. */
#include "hogring/replay.h"
#include "verify/check.h"

static enum hr_status repeat(struct hr_trial *trial, const struct hr_train_options *options)
{
    struct hr_replay *replay;
    struct hr_run_result result;
    HR_TRY(hr_replay_open(options->record, &replay));
    enum hr_status status = hr_replay_run(replay, trial->dataset, NULL, &result);
    if (status == HR_OK) {
        status = hr_trial_same_digest(trial, options, "replayed", result.weights_digest);
        hr_run_result_free(&result);
    }
    hr_replay_close(replay);
    return status;
}

static enum hr_status run(struct hr_trial *trial)
{
    const char *strategy = hr_trial_pick_strategy(trial, HR_TRIAL_ORDERED);
    struct hr_train_options options =
        hr_trial_options(trial, strategy, 2 + hr_trial_draw(trial, 3));
    HR_TRY(hr_trial_folder(trial));
    HR_SAY(options.record, "%.511s/trace", trial->folder);
    if (hr_trial_served(strategy))
        options.servers = 1 + hr_trial_draw(trial, 3);
    HR_TRY(hr_trial_same(trial, &options));
    return repeat(trial, &options);
}

const struct hr_check hr_check_replay = {
    .name = "replay",
    .claim = "replayed = recorded",
    .story =
        "Strategies that are not synchronous, recorded in real time, end with the same bits when "
        "they are replayed.",
    .what = "runs",
    .run = run,
};
