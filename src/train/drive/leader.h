/* leader.h - worker 0 at a cut: what networks tell the session's cut (session/cut.h), which
 * decides: position, workers' counts, a point of the curve.
 *
 * Threads: as session/cut.h says.
 */
#ifndef HR_DRIVE_LEADER_H
#define HR_DRIVE_LEADER_H

#include "worker/job.h"

struct hr_leader {
    struct hr_cuts cuts;
    const struct hr_train_job *job;
};

/* Both may be done once more by another, where the first has died in it. */
void hr_leader_decide(const struct hr_leader *leader);
void hr_leader_conclude(const struct hr_leader *leader);

#endif
