/* schedules.h - the schedules there are, by name and by number, as they are listed to people.
 *
 * A new one is a file that defines hr_schedule_<name>, and its name here.
 * Threads: all is constant.
 */
#ifndef HR_PIPELINE_SCHEDULES_H
#define HR_PIPELINE_SCHEDULES_H

#include "pipeline/schedule.h"

#define HR_PIPELINE_SCHEDULES(X)                                                                   \
    X(gpipe) X(1f1b) X(interleaved) X(zero_bubble) X(pipedream) X(unstashed)

#define HR_SCHEDULE_DECLARE(name) extern const struct hr_pipeline_schedule hr_schedule_##name;
HR_PIPELINE_SCHEDULES(HR_SCHEDULE_DECLARE)
#undef HR_SCHEDULE_DECLARE

/* The schedule of that name. HR_E_USAGE lists the names. */
HR_CHECKED enum hr_status hr_pipeline_schedule_find(const char *name,
                                                    const struct hr_pipeline_schedule **out);

/* The i-th schedule, NULL past the end. */
const struct hr_pipeline_schedule *hr_pipeline_schedule_at(size_t i);

#endif
