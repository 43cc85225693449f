/* time.h - how long a pipeline takes for a gradient, of the time that one rank would take for all
 * of it: in virtual time, where that is drawn from a model.
 *
 *   A micro-batch takes a part as long, forward and backward, as it has multiply-adds there; what
 *   is handed over takes no time. The schedule is walked with these (pipeline/walk.h).
 *
 * Threads: pure functions.
 * Test:    tests/unit/train/test_pipeline.c
 */
#ifndef HR_STAGES_TIME_H
#define HR_STAGES_TIME_H

#include "stages/pipeline.h"

struct hr_pipeline_time {
    double share;  /* makespan over one rank's time: (M + K - 1) / (M K) of equal parts */
    double bubble; /* idle / (K x makespan) */
    double busy[]; /* (K) of the makespan */
};

/* malloc'd. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_pipeline_time(const struct hr_pipeline *pipeline,
                                           struct hr_pipeline_time **out);

#endif
