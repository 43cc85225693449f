/* What is equal to rounding: a ring adds in another order than a tree, and a batch cut over workers
 * in another order than the whole. Weights after a few steps differ, and by little. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hogring/checkpoint.h"
#include "verify/check.h"

/* Of the largest weight. A step multiplies what rounding did by little; a sum that lost a part is
 * wrong by far more. */
static const double TOLERANCE = 1e-4;

static const char *const rings[] = {"ring", "bidirectional-ring", "double-tree", NULL};

struct weights {
    struct hr_checkpoint checkpoint;
    struct hr_train_options options;
};

static enum hr_status train(struct hr_trial *trial, struct hr_train_options options,
                            struct weights *out)
{
    struct hr_run_result result;
    HR_TRY(hr_trial_folder(trial));
    HR_SAY(options.checkpoint_dir, "%s", trial->folder);
    options.overwrite = true;
    HR_TRY(hr_train(&options, trial->dataset, NULL, &result));
    hr_run_result_free(&result);
    out->options = options;
    return hr_checkpoint_load(trial->folder, &out->checkpoint);
}

/* Largest weight, and largest difference. */
static void compare(const struct weights *a, const struct weights *b, double *largest,
                    double *difference)
{
    *largest = *difference = 0;
    for (size_t t = 0; t < a->checkpoint.model.ntensors; t++) {
        const struct hr_tensor *x = &a->checkpoint.model.tensors[t],
                               *y = &b->checkpoint.model.tensors[t];
        const float *u = x->data, *v = y->data;
        for (size_t i = 0; i < x->bytes / sizeof *u; i++) {
            *largest = fmax(*largest, fabs((double)u[i]));
            *difference = fmax(*difference, fabs((double)u[i] - (double)v[i]));
            if (isnan(u[i]) || isnan(v[i]))
                *difference = INFINITY;
        }
    }
}

static enum hr_status near(struct hr_trial *trial, struct hr_train_options a,
                           struct hr_train_options b)
{
    struct weights x = {0}, y = {0};
    double largest, difference;
    enum hr_status status = train(trial, a, &x);
    if (status == HR_OK)
        status = train(trial, b, &y);
    if (status == HR_OK) {
        compare(&x, &y, &largest, &difference);
        trial->compared += 2;
        trial->worst = fmax(trial->worst, difference / largest);
        if (!(difference <= TOLERANCE * largest))
            status =
                hr_fail(HR_E_FAILED,
                        "%zu workers, %s, batch %zu, and %zu workers, %s, batch %zu, differ by "
                        "%.2g of the largest weight; %.0e is rounding (seed %llu)",
                        a.workers, a.algorithm, a.batch_size, b.workers, b.algorithm, b.batch_size,
                        difference / largest, TOLERANCE, (unsigned long long)a.seed);
    }
    hr_checkpoint_free(&x.checkpoint);
    hr_checkpoint_free(&y.checkpoint);
    return status;
}

static enum hr_status run(struct hr_trial *trial)
{
    const size_t workers = 3 + hr_trial_draw(trial, 5);
    struct hr_train_options tree = hr_trial_options(trial, "allreduce", workers);
    HR_SAY(tree.optimizer, "sgd");
    HR_SAY(tree.model, "flatten, dense 300, tanh, dense 31, tanh, dense 10"); /* several chunks */
    tree.lr = 0.02;
    tree.max_steps = 8;
    struct hr_train_options other = tree;
    HR_SAY(other.algorithm, "%s", hr_trial_pick(trial, rings));
    HR_TRY(near(trial, tree, other));
    other = tree;
    other.workers = 1;
    other.batch_size = workers * tree.batch_size;
    return near(trial, tree, other);
}

const struct hr_check hr_check_rounding = {
    .name = "rounding",
    .claim = "ring ~ tree, N workers ~ N B",
    .story = "Rings and double-tree beside direct, and N workers beside one whose batch is N times "
             "as large: after 8 steps weights differ by at most 1e-4 of the largest.",
    .what = "runs",
    .run = run,
};
