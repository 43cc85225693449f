/* Layers cut into shards: who computes them decides nothing. */
#include "verify/check.h"

enum { SHARDS = 4 };

static enum hr_status run(struct hr_trial *trial)
{
    const char *strategy = hr_trial_pick_strategy(trial, HR_TRIAL_IN_STEP);
    struct hr_train_options options =
        hr_trial_options(trial, strategy, 1 + hr_trial_draw(trial, 2));
    HR_SAY(options.model, "flatten, dense 40, relu, dense 36, batchnorm, relu, dropout 0.3, "
                          "dense 32, gelu, dense 10");
    options.tensor_shards = SHARDS;
    options.max_steps = 10;
    for (options.tensor_parallel = 1; options.tensor_parallel <= SHARDS;
         options.tensor_parallel *= 2)
        HR_TRY(hr_trial_same(trial, &options));
    return HR_OK;
}

const struct hr_check hr_check_tensor = {
    .name = "tensor",
    .claim = "ranks of a layer: 1 = 2 = 4",
    .story = "With --tensor-shards 4, a network whose layers 1, 2 or 4 ranks share ends with the "
             "same bits, under any synchronous strategy.",
    .what = "runs",
    .run = run,
};
