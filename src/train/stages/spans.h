/* spans.h - when stages did what, for pictures: of a schedule on paper, or of a step.
 *
 * Threads: none.
 */
#ifndef HR_STAGES_SPANS_H
#define HR_STAGES_SPANS_H

#include "hogring/run_result.h"
#include "pipeline/walk.h"
#include "stages/pipeline.h"

/* A step of more actions is not written down. */
enum { HR_SPANS = 4096 };

/* When a stage did an action of its last step, on the monotonic clock. */
struct hr_stage_when {
    int64_t start_ns, end_ns;
};

/* The most actions of a stage; 0: those of all are more than HR_SPANS. */
size_t hr_spans_of_a_stage(const struct hr_pipeline *pipeline);

/* span (*n) out: free it; NULL, and none, where there are too many. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_spans_of_walk(const struct hr_pipeline_walk *walk, double unit_s,
                                           struct hr_stage_span **span, size_t *n);
/* when (stages, most): as hr_spans_of_a_stage has it; from the first start on. None where no step
 * has been made. */
HR_CHECKED enum hr_status hr_spans_of_step(const struct hr_pipeline *pipeline,
                                           const struct hr_stage_when *when,
                                           struct hr_stage_span **span, size_t *n);

#endif
