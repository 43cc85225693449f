/* past.h - what earlier runs did, where this one is resumed. The curve and its axes continue as if
 * training had never stopped.
 *
 * Threads: before the ranks start, or the launcher's. Test: tests/unit/train/test_past.c
 */
#ifndef HR_SESSION_PAST_H
#define HR_SESSION_PAST_H

#include "session/cut.h"
#include "session/saved.h"

/* Numbers of a point of the curve: samples, seconds, epoch, train_loss, loss; then accuracy, or
 * where values are predicted rmse, mae and r2. */
enum { HR_PAST_TENSORS = 1, HR_PAST_CLASSES = 6, HR_PAST_VALUES = 8 };

/* How many doubles the curve takes at the current cut. */
size_t hr_past_numbers(const struct hr_cuts *cuts);
/* Put curve and counts into a trainer's file. curve: room for those doubles, kept by the caller
 * until the file is written. */
void hr_past_put(const struct hr_cuts *cuts, double *curve, struct hr_tensor_file *file);

/* Before the segment exists: read the counts and the number of points, and reserve room. */
HR_CHECKED enum hr_status hr_past_take(const struct hr_checkpoint *checkpoint,
                                       struct hr_cuts *cuts);
/* Afterwards: read the points. */
HR_CHECKED enum hr_status hr_past_restore(const struct hr_checkpoint *checkpoint,
                                          const struct hr_cuts *cuts);
/* Which of its points is the best by --early-stop. HR_E_FORMAT, HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_past_best(const struct hr_checkpoint *checkpoint,
                                       const struct hr_cuts *cuts, struct hr_best *out);

/* HR_E_USAGE: it has not the best weights by this run's rules. */
HR_CHECKED enum hr_status hr_past_check_best(const struct hr_checkpoint *checkpoint,
                                             const struct hr_cuts *cuts,
                                             const struct hr_train_options *options);

#endif
