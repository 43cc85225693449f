/* needs.h - what a run would take, for whoever starts several.
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

/* hr_train_check with these options (struct hr_train_options) as far as the shape of a sample alone
 * decides: for struct hr_data_options. */
HR_CHECKED enum hr_status hr_train_admit(const void *options, struct hr_shape shape);

struct hr_checkpoint;
struct hr_run;

/* What a prepared run takes, and has taken already: the data and, when it is resumed, the
 * checkpoint. */
HR_CHECKED enum hr_status hr_run_needs(struct hr_run *run, const struct hr_checkpoint *checkpoint,
                                       struct hr_needs *needs);
/* HR_E_NOMEM when `needs` of a run with these options are more than there is: says what it needs,
 * and which options would fit. */
HR_CHECKED enum hr_status hr_run_fits(const struct hr_train_options *options,
                                      const struct hr_dataset *dataset,
                                      const struct hr_needs *needs);

#endif
