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

/* Behind the conditions: in virtual time, what times the stages. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_pipeline_setup_time(struct hr_train_job *job);

/* Behind hr_resume_position: does a pipeline that never drains go on where it was emptied in the
 * middle of an epoch? One line. */
void hr_pipeline_say_refill(const struct hr_run *run, const char *path);

/* What each stage has, as known before the run; (ranks) malloc'd. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_pipeline_describe(const struct hr_train_job *job,
                                               struct hr_stage_report **out);
/* What --pipeline K,recompute comes to; nothing without it. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_pipeline_recompute(const struct hr_train_job *job,
                                                struct hr_recompute_report *out);
/* Which of its layers are split how: "by columns 1; by rows 3, 5". */
void hr_split_text(const struct hr_pipeline *pipeline, char *text, size_t size);
/* And what it did: into the run's result. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_pipeline_report(struct hr_run *run);

#endif
