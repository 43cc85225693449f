/* sparse.h - linear models and matrix factorisation on sparse data, trained by Hogwild.
 *
 *     struct hr_train_options options;
 *     hr_sparse_defaults(&options);                       logistic, hogwild, dual
 *     struct hr_run_result result;
 *     if (hr_sparse_train(&options, &dataset, NULL, &result) != HR_OK) ...
 *     hr_run_result_free(&result);
 *
 * Models, each minimising  C sum_i loss_i + |w|^2 / 2  (C: options.cost; LIBLINEAR's objective):
 *     logistic  log(1 + exp(-y w.x))           two classes; y is -1 for class 0, +1 for class 1
 *     svm       max(0, 1 - y w.x)              the same
 *     linear    (w.x - y)^2 / 2                y: a row's value (hr_data_options.values), as scaled
 *                                              by options.target_scale; no bias
 *     mf        (r - mean - u.v)^2 / 2         u and v: options.factors numbers a user and an item;
 *                                              w is all of them
 * Data: sparse (libsvm text, or packed from it). For mf a line is USER ITEM:RATING (or several such
 * pairs): the label names the user, who may be called anything; indices name items.
 *
 * Solvers: sgd, one row at a time, the regulariser of feature f shared out over the d_f rows that
 * have it, so that a step touches the features of its row and nothing else (Niu, Recht, Re, Wright,
 * "Hogwild!", NIPS 2011); dual (all but mf), coordinate descent on the dual problem, which needs no
 * learning rate (Yu, Huang, Lin 2011; Hsieh et al. 2008; Ho, Lin 2012), its workers updating w
 * without locks (PASSCoDe-Wild: Hsieh, Yu, Dhillon, ICML 2015).
 *
 * Strategies: hogwild; and locked, a lock around each update, to compare with.
 *
 * Of hr_train_options are used: strategy, model, launch, workers, solver, cost, factors,
 * hot_copies, epochs, lr, lr_schedule, warmup_epochs, lr_step_epochs, lr_gamma, seed, max_seconds,
 * timeout, target_accuracy, target_rmse, target_scale, init_weights (sgd), checkpoint_dir,
 * checkpoint_every, keep, overwrite, resume, finished_ok, validation_fraction, keep_best and
 * early_stop (sgd). With one worker the same seed gives the same bits, stopped and resumed or not.
 *
 * A step is a training row. Checkpoints are saved at the ends of epochs (checkpoint_every is
 * rounded up to them), and where a run is stopped; nobody trains while one is written.
 *
 * Of the result: train_loss is the objective, test_loss the mean loss of the test rows (mf: the
 * root mean square error). Of linear and mf test_fit is in the targets' own units, and
 * test_accuracy NaN.
 *
 * hr_train, hr_train_check and hr_evaluate_checkpoint take these models too.
 *
 * Threads: as hr_train.
 */
#ifndef HOGRING_SPARSE_H
#define HOGRING_SPARSE_H

#include "hogring/train.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Is `name` one of the models above? */
bool hr_sparse_is_model(const char *name);

/* hr_train_defaults, and what is different here: logistic, hogwild, and a rate that begins at 0.5
 * (mf: 0.05) and is multiplied by 0.9 after each epoch. */
void hr_sparse_options_init(struct hr_train_options *options, size_t size);
static inline void hr_sparse_defaults(struct hr_train_options *options)
{
    hr_sparse_options_init(options, sizeof *options);
}

/* Train. As hr_train: HR_OK also when should_stop ended it; HR_E_DIVERGED when a number was not
 * finite, which then was not written into the weights. */
enum hr_status hr_sparse_train(const struct hr_train_options *options,
                               const struct hr_dataset *dataset, const struct hr_observer *observer,
                               struct hr_run_result *result);

/* How often rows share features; exact, but rho and overlap are from a sample of the training rows.
 * HR_E_USAGE: the data are not sparse. */
enum hr_status hr_sparse_conflicts(const struct hr_dataset *dataset, struct hr_conflicts *out);

/* Rows such as those of RCV1: few features a row, some features in most rows, most in few. */
struct hr_sparse_shape {
    size_t rows, features; /* each at least 2, below 2^31 */
    double nonzeros;       /* mean a row; half of it is fixed, the rest exponentially distributed */
    double exponent; /* the k-th most frequent feature is drawn in proportion to k^-exponent */
    double noise;    /* share of the labels that are flipped */
    uint64_t seed;
    int (*should_stop)(void *arg); /* asked now and then, with NULL; nonzero: stop; or NULL */
};

/* 20,242 rows, 47,236 features, 74 nonzeros, exponent 1, noise 0.02, seed 1. */
void hr_sparse_shape_defaults(struct hr_sparse_shape *shape);

/* Write a new libsvm file: values positive, rare features heavier, rows of unit length; labels +1
 * and -1 from a planted hyperplane over a part of the features. Same shape and seed: the same bytes
 * on every machine. HR_E_USAGE, HR_E_IO (there is a file of that name), HR_E_INTERRUPTED: then, as
 * after any error, no file is left. */
enum hr_status hr_sparse_make(const char *path, const struct hr_sparse_shape *shape);

#ifdef __cplusplus
}
#endif
#endif
