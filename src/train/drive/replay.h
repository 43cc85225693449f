/* replay.h - the recorded run, as its replay sees it.
 *
 *   replay.c         opens a trace, checks that this machine and these data can give its bits
 *   drive_replay.c   the driver: each owner follows its log
 *   trace_text.h     header and trailer
 */
#ifndef HR_DRIVE_REPLAY_H
#define HR_DRIVE_REPLAY_H

#include <jansson.h>

#include "trace/trace.h"
#include "drive/trace_text.h"

/* hr_replay.own */
struct hr_replay_own {
    struct hr_trace trace;
    struct hr_trace_texts texts;
};

static inline const struct hr_replay_own *hr_replay_own(const struct hr_replay *replay)
{
    return replay->own;
}

/* Will the run end before the recorded one did (--max-steps)? */
static inline bool hr_replay_is_cut_short(const struct hr_drive *drive)
{
    return drive->job->shared->schedule.end < drive->replay->end;
}

/* After the run is prepared: end its schedule where the recorded run ended, unless that outlives
 * losses: then it may have gone farther before. HR_E_FORMAT: the logs do not fit such a run. */
HR_CHECKED enum hr_status hr_replay_prepare(struct hr_drive *drive);
/* After the state is initialised: HR_E_USAGE when the recorded run began with another state. */
HR_CHECKED enum hr_status hr_replay_check_state(const struct hr_drive *drive);

#endif
