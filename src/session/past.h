/* past.h - what the runs did that this one goes on from. The curve goes on where it ended, and so
 * do its axes: they are those of a run that was never stopped.
 *
 * Threads: before the ranks start, or the launcher's. Test: tests/unit/train/test_past.c
 */
#ifndef HR_SESSION_PAST_H
#define HR_SESSION_PAST_H

#include "session/cut.h"
#include "session/saved.h"

enum { HR_PAST_TENSORS = 1, HR_PAST_POINT = 6 };

/* Doubles that the curve takes at the cut in hand. */
size_t hr_past_numbers(const struct hr_cuts *cuts);
/* Put curve and counts into a trainer's file; `curve` has room for those doubles, and lives until
 * the file is written. */
void hr_past_put(const struct hr_cuts *cuts, double *curve, struct hr_tensor_file *file);

/* Before there is a segment: counts, how many points there are, and room for them. */
HR_CHECKED enum hr_status hr_past_take(const struct hr_checkpoint *checkpoint,
                                       struct hr_cuts *cuts);
/* Then: the points. */
HR_CHECKED enum hr_status hr_past_restore(const struct hr_checkpoint *checkpoint,
                                          const struct hr_cuts *cuts);

#endif
