/* engine.h - what train/ calls here beside hr_sparse_train (hogring/sparse.h): hr_train and
 * hr_evaluate_checkpoint pass sparse models on.
 *
 * Threads: as hr_train.
 */
#ifndef HR_SPARSE_ENGINE_H
#define HR_SPARSE_ENGINE_H

#include "base/memory.h"
#include "hogring/checkpoint.h"
#include "hogring/evaluate.h"
#include "hogring/sparse.h"

/* The memory that a run of these options takes. HR_E_USAGE: there is no such run. */
HR_CHECKED enum hr_status hr_sparse_needs(const struct hr_train_options *options,
                                          const struct hr_dataset *dataset, struct hr_needs *out);
/* hr_sparse_train, but that a result which is whole stands beside an error (hr_train_on). */
HR_CHECKED enum hr_status hr_sparse_train_whole(const struct hr_train_options *options,
                                                const struct hr_dataset *dataset,
                                                const struct hr_observer *observer,
                                                struct hr_run_result *result);

/* Would hr_sparse_train take them? HR_E_USAGE, HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_sparse_check_run(const struct hr_train_options *options,
                                              const struct hr_dataset *dataset);
/* As hr_evaluate_checkpoint: test rows, or of mf ratings; one output each. */
HR_CHECKED enum hr_status hr_sparse_evaluate_checkpoint(const struct hr_checkpoint *checkpoint,
                                                        const char *model,
                                                        const struct hr_dataset *dataset,
                                                        struct hr_evaluation *out);

#endif
