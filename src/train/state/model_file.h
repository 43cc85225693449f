/* model_file.h - the model of a run, and weights from files.
 *
 * Threads: before the ranks start.
 */
#ifndef HR_STATE_MODEL_FILE_H
#define HR_STATE_MODEL_FILE_H

#include "hogring/checkpoint.h"
#include "worker/job.h"

/* The model of --model and --loss for the data. */
HR_CHECKED enum hr_status hr_run_model(const struct hr_train_options *options,
                                       const struct hr_dataset *dataset,
                                       const struct hr_target_scale *values, struct hr_model **out);
/* The model that a checkpoint names. layers: used when it names none; or NULL. */
HR_CHECKED enum hr_status hr_saved_model(const struct hr_checkpoint *checkpoint, const char *layers,
                                         const struct hr_dataset *dataset,
                                         const struct hr_target_scale *values,
                                         struct hr_model **out);
/* Load all tensors of the model; warn of others in the file. HR_E_FORMAT names all that do not
 * fit. */
HR_CHECKED enum hr_status hr_load_weights(const struct hr_checkpoint *checkpoint,
                                          const struct hr_model *model, float *params);
/* Initial weights of a new run: --init-weights, with replace-head but for the last layer; or
 * drawn from the seed. */
HR_CHECKED enum hr_status hr_init_weights(const struct hr_train_job *job, float *params);

#endif
