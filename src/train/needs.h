/* needs.h - the memory that a run would take.
 *
 * Threads: none. Test: tests/unit/train/test_needs.c, tests/reliability/
 */
#ifndef HR_TRAIN_NEEDS_H
#define HR_TRAIN_NEEDS_H

#include "base/needs.h"
#include "hogring/train.h"

/* What hr_train would take with these options, added to *out. HR_E_USAGE as hr_train_check. */
HR_CHECKED enum hr_status hr_train_needs(const struct hr_train_options *options,
                                         const struct hr_dataset *dataset, struct hr_needs *out);

/* The part of hr_train_check that needs only the shape of a sample; arg: struct hr_train_options.
 * For hr_data_options.admit. */
HR_CHECKED enum hr_status hr_train_admit(const void *options, struct hr_shape shape);

struct hr_checkpoint;
struct hr_run;

/* What a prepared run takes; and has taken: the data and, if it is resumed, the checkpoint. */
HR_CHECKED enum hr_status hr_run_needs(struct hr_run *run, const struct hr_checkpoint *checkpoint,
                                       struct hr_needs *needs);
/* HR_E_NOMEM when a run with these options needs more than there is: says what it needs, and which
 * options would fit. */
HR_CHECKED enum hr_status hr_run_fits(const struct hr_train_options *options,
                                      const struct hr_dataset *dataset,
                                      const struct hr_needs *needs);

#endif
