/* one_forward_one_backward.h - the order of 1F1B, for the schedules that share it.
 *
 * Contracts: the functions of struct hr_pipeline_schedule (schedule.h).
 */
#ifndef HR_PIPELINE_ONE_FORWARD_ONE_BACKWARD_H
#define HR_PIPELINE_ONE_FORWARD_ONE_BACKWARD_H

#include "pipeline/schedule.h"

size_t hr_1f1b_actions(const struct hr_pipeline_shape *shape, size_t rank,
                       struct hr_stage_action *out);
double hr_1f1b_bubble(const struct hr_pipeline_shape *shape);
size_t hr_1f1b_stored(const struct hr_pipeline_shape *shape, size_t rank);

#endif
