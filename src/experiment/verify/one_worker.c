/* With one worker nothing can be stale and nothing is added, so a strategy is serial, unless it
 * keeps more than weights and the state of an optimizer: the same updates of the same batches in
 * the same order, by the one update expression. */
#include <string.h>

#include "options/choices.h"
#include "verify/check.h"

static const char *const placements[] = {"dedicated", "colocated", NULL};

static enum hr_status run(struct hr_trial *trial)
{
    const char *strategy;
    for (size_t i = 0; (strategy = hr_trial_strategy(HR_TRIAL_PLAIN, i)); i++) {
        struct hr_train_options options = hr_trial_options(trial, strategy, 1);
        if (hr_trial_served(strategy)) {
            HR_SAY(options.placement, "%s", hr_trial_pick(trial, placements));
            options.servers = hr_choices_of(&options).placement == HR_PLACEMENT_DEDICATED
                                  ? 1 + hr_trial_draw(trial, 3)
                                  : 1;
        }
        HR_TRY(hr_trial_same(trial, &options));
    }
    return HR_OK;
}

const struct hr_check hr_check_one_worker = {
    .name = "one-worker",
    .claim = "1 worker: every strategy same",
    .story =
        "With one worker strategies that keep nothing but weights and the state of an optimizer "
        "end with the same bits, with any servers wherever they are.",
    .what = "runs",
    .run = run,
};
