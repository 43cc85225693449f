/* Where a gradient is cut, and whether its parts are summed while the rest is computed, changes no
 * bit: of an element, the order of addition is a function of its place in the whole. */
#include "verify/check.h"

static const char *const algorithms[] = {
    "direct", "ring", "tree", "halving-doubling", "bidirectional-ring", NULL};
static const char *const transports[] = {"zero-copy", "copy", NULL};

static enum hr_status check_algorithm(struct hr_trial *trial, const char *algorithm)
{
    struct hr_train_options options =
        hr_trial_options(trial, "allreduce", 2 + hr_trial_draw(trial, 4));
    hr_trial_anew(trial);
    HR_SAY(options.algorithm, "%s", algorithm);
    HR_SAY(options.model, "flatten, dense 300, relu, dense 31, relu, dense 10"); /* three runs */
    HR_TRY(hr_trial_same(trial, &options));
    HR_SAY(options.overlap, "on");
    HR_SAY(options.bucket_size, "%u", 1u << (6 + hr_trial_draw(trial, 12)));
    HR_SAY(options.transport, "%s", hr_trial_pick(trial, transports));
    return hr_trial_same(trial, &options);
}

static enum hr_status run(struct hr_trial *trial)
{
    for (size_t i = 0; algorithms[i]; i++)
        HR_TRY(check_algorithm(trial, algorithms[i]));
    return HR_OK;
}

const struct hr_check hr_check_buckets = {
    .name = "buckets",
    .claim = "buckets of any size: one sum",
    .story = "For every algorithm of all-reduce, also rings: buckets of any size, summed while "
             "backward goes on, in place or through rings, end with the bits of one sum at the "
             "end.",
    .what = "runs",
    .run = run,
};
