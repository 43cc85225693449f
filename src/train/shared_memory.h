/* shared_memory.h - one segment for all that ranks share, and the memory that a run would take.
 *
 * Threads: none. Test: tests/unit/train/test_needs.c, tests/reliability/
 */
#ifndef HR_TRAIN_SHARED_MEMORY_H
#define HR_TRAIN_SHARED_MEMORY_H

#include "base/memory.h"
#include "hogring/train.h"

/* What hr_train would take with these options, added to *out. HR_E_USAGE as hr_train_check. */
HR_CHECKED enum hr_status hr_train_needs(const struct hr_train_options *options,
                                         const struct hr_dataset *dataset, struct hr_needs *out);

struct hr_checkpoint;
struct hr_machines;
struct hr_run;
struct hr_train_call;

/* Out of the options goes what is said of several machines: for a plan of one, or of a run that
 * goes on elsewhere, where the checkpoint says whether that is refused. */
void hr_train_leave_machines(struct hr_train_options *options);

struct hr_train_plan {
    const struct hr_train_options *options;
    struct hr_machines *machines; /* NULL: there is one */
};
/* The part of hr_train_check that needs only the shape of a sample; arg: struct hr_train_plan.
 * For hr_data_options.admit. */
HR_CHECKED enum hr_status hr_train_admit(const void *arg, struct hr_shape shape);

/* What a prepared run takes; and has taken: the data and, if it is resumed, the checkpoint. */
HR_CHECKED enum hr_status hr_run_needs(struct hr_run *run, const struct hr_checkpoint *checkpoint,
                                       struct hr_needs *needs);
/* HR_E_NOMEM when this run needs more than there is: says what it needs, and which
 * options would fit. */
HR_CHECKED enum hr_status hr_run_fits(const struct hr_train_call *call,
                                      const struct hr_needs *needs);

#endif
