/* sparse_data.h - small sparse data sets made up by a test, and a plain serial trainer to compare
 * with: no placing, no blocks, no atomics, but the same order of floating-point operations. */
#ifndef HR_TESTS_SUPPORT_SPARSE_DATA_H
#define HR_TESTS_SUPPORT_SPARSE_DATA_H

#include "hogring/sparse.h"

/* Rows like RCV1's, all but a fifth of them for training. Close it. */
struct hr_dataset sparse_data(size_t rows, size_t features, double nonzeros, uint64_t seed);

/* Ratings of `users` users and `items` items with a planted factorisation, `count` of them. */
struct hr_dataset sparse_ratings(size_t users, size_t items, size_t count);

/* Options of a quiet run. */
struct hr_train_options sparse_options(const char *model, const char *solver, size_t workers,
                                       size_t epochs);

/* A run, which must end well, and its result; free it. */
struct hr_run_result sparse_run(const struct hr_train_options *options,
                                const struct hr_dataset *dataset);
/* The same options, saving into scratch(name), or going on from there. */
struct hr_train_options sparse_saving(struct hr_train_options options, const char *name);
struct hr_train_options sparse_resuming(struct hr_train_options options, const char *name);
/* A run that must be refused, or fail, with this text in its message. */
void sparse_refuses(struct hr_train_options options, const struct hr_dataset *dataset,
                    enum hr_status status, const char *text);

/* C sum loss + |w|^2 / 2 over the training rows, dense, in doubles. */
double sparse_objective(const struct hr_train_options *options, const struct hr_dataset *dataset,
                        const float *weights);

/* What hr_sparse_train has to give with one worker.
 *   weights  (features) out
 *   alphas   (training rows) out, of dual; may be NULL */
void sparse_twin(const struct hr_train_options *options, const struct hr_dataset *dataset,
                 float *weights, double *alphas);

#endif
