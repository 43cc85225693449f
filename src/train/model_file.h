/* model_file.h - the model of a run, and weights from files.
 *
 * Threads: before the ranks start.
 */
#ifndef HR_TRAIN_MODEL_FILE_H
#define HR_TRAIN_MODEL_FILE_H

#include "hogring/checkpoint.h"
#include "worker/job.h"

/* The model of --model, --loss and --label-smoothing for the data. */
HR_CHECKED enum hr_status hr_run_model(const struct hr_train_options *options,
                                       const struct hr_dataset *dataset, struct hr_model **out);
/* The model that a checkpoint says it holds; layers: of one that does not say; or NULL. */
HR_CHECKED enum hr_status hr_saved_model(const struct hr_checkpoint *checkpoint, const char *layers,
                                         const struct hr_dataset *dataset, struct hr_model **out);
/* All tensors of the model; a line names those that the file has beside them. */
HR_CHECKED enum hr_status hr_load_weights(const struct hr_checkpoint *checkpoint,
                                          const struct hr_model *model, float *params);
/* What a new run begins with: --init-weights, or values drawn from the seed. */
HR_CHECKED enum hr_status hr_init_weights(const struct hr_train_job *job, float *params);

#endif
