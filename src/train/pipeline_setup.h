/* pipeline_setup.h - pipelines, from options to parts, and from counters to the result.
 *
 * Threads: the launcher's.
 */
#ifndef HR_TRAIN_PIPELINE_SETUP_H
#define HR_TRAIN_PIPELINE_SETUP_H

#include "train/run.h"

/* The other stages' ranks stand behind all other ranks: job.nranks grows. HR_E_USAGE. */
HR_CHECKED enum hr_status hr_pipeline_count_ranks(struct hr_run *run);
/* Behind the model and the batch: cut the model. HR_E_USAGE says what does not go with a pipeline,
 * HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_pipeline_setup(struct hr_run *run);

/* What each stage has, as known before the run; (ranks) malloc'd. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_pipeline_describe(const struct hr_train_job *job,
                                               struct hr_stage_report **out);
/* And what it did: into the run's result. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_pipeline_report(struct hr_run *run);

#endif
