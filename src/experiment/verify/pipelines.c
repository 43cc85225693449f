/* A pipeline beside one worker that accumulates as many micro-batches, which is unsplit. */
#include "verify/check.h"

static const char *const models[] = {
    "flatten, dense 21, relu, dense 18, relu, dense 15, tanh, dense 10",
    "conv 4 3x3 pad 1, relu, maxpool 2, conv 5 3x3, relu, flatten, dense 16, relu, dense 10",
    NULL,
};
static const char *const schedules[] = {"gpipe", "1f1b", "zero-bubble", NULL};

/* Stages from micro-batches and the schedule: interleaved deals the micro-batches out evenly. */
static struct hr_train_options staged(struct hr_trial *trial, const char *model, size_t micro)
{
    struct hr_train_options options = hr_trial_options(trial, "allreduce", 1);
    const bool two = micro % 2 == 0 && hr_trial_draw(trial, 3) == 0;
    const char *schedule = two ? "interleaved" : hr_trial_pick(trial, schedules);
    HR_SAY(options.model, "%s", model);
    HR_SAY(options.pipeline_schedule, "%s", schedule);
    options.pipeline = two ? 2 : 2 + hr_trial_draw(trial, 2);
    options.chunks = two ? 2 : 1;
    options.micro_batches = micro;
    options.batch_size = 2 * micro;
    options.recompute = hr_trial_draw(trial, 2);
    return options;
}

static enum hr_status run(struct hr_trial *trial)
{
    const size_t micro = 2 + hr_trial_draw(trial, 7);
    const char *model = hr_trial_pick(trial, models);
    struct hr_train_options options = hr_trial_options(trial, "allreduce", 1);
    HR_SAY(options.model, "%s", model);
    options.batch_size = 2;
    options.accumulate = micro;
    HR_TRY(hr_trial_same(trial, &options));
    for (size_t i = 0; i < 3; i++) {
        options = staged(trial, model, micro);
        if (i == 1)
            HR_SAY(options.clock, "virtual");
        if (i == 2)
            HR_SAY(options.schedule, "explore:%zu", hr_trial_draw(trial, 1 << 20));
        HR_TRY(hr_trial_same(trial, &options));
    }
    return HR_OK;
}

const struct hr_check hr_check_pipelines = {
    .name = "pipelines",
    .claim = "stages = unsplit, accumulated",
    .story = "A network in 2 or 3 stages under gpipe, 1f1b, zero-bubble and interleaved (threads, "
             "virtual time, explored) ends with the bits of one worker that accumulates as many "
             "micro-batches.",
    .what = "runs",
    .run = run,
};
