/* replay.h - what a run that is replayed knows of the one that was recorded.
 *
 *   replay.c         opens a trace, checks that this machine and these data can give its bits
 *   drive_replay.c   the driver: each owner is fed its own log
 *   trace_text.h     header and trailer
 *   what_if.c        the recorded run in virtual time, with something else
 */
#ifndef HR_TRAIN_REPLAY_H
#define HR_TRAIN_REPLAY_H

#include <jansson.h>

#include "trace/trace.h"
#include "train/trace_text.h"

/* hr_replay.own */
struct hr_replay_own {
    struct hr_trace trace;
    json_t *machine;
    struct hr_trace_begin_state begin;
};

static inline const struct hr_replay_own *hr_replay_own(const struct hr_replay *replay)
{
    return replay->own;
}

/* Will the run end before the recorded one did (--max-steps)? */
static inline bool hr_replay_is_cut_short(const struct hr_run *run)
{
    return run->shared.course.end < run->replay->end;
}

/* Once the run is prepared: the course ends where the recorded one did. HR_E_FORMAT: the
 * logs are not those of such a run. */
HR_CHECKED enum hr_status hr_replay_prepare(struct hr_run *run);
/* Once the state is initialised: HR_E_USAGE when the recorded run began with another. */
HR_CHECKED enum hr_status hr_replay_check_state(const struct hr_run *run);

/* The driver (drive_replay.c). */
HR_CHECKED enum hr_status hr_drive_replay(struct hr_run *run);

/* hr_train (run.c); the run of a trace once more, or NULL; in virtual time with gradients that take
 * as long as these, or NULL. */
HR_CHECKED enum hr_status hr_train_as(const struct hr_train_options *options,
                                      const struct hr_replay *replay,
                                      const struct hr_recorded_times *times,
                                      const struct hr_dataset *dataset,
                                      const struct hr_observer *observer,
                                      struct hr_run_result *result);

#endif
