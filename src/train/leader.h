/* leader.h - worker 0 at a cut (session/cut.h): where all stand, what they have done, the curve.
 *
 * Threads: as session/cut.h says; workers fill the cells.
 */
#ifndef HR_TRAIN_LEADER_H
#define HR_TRAIN_LEADER_H

#include "session/cut.h"
#include "strategy/strategy.h"

enum { HR_EVAL_BLOCK = 250 }; /* test samples evaluated at a time, whatever the number of workers */

struct hr_eval_cell {
    double loss_sum;
    uint64_t correct;
};

struct hr_leader {
    struct hr_cuts cuts;
    struct hr_shared_state *shared;
    struct hr_eval_cell *cells; /* (neval) in the segment */
    size_t neval, tests;        /* blocks and samples of the test split */
};

/* ended_ns: by the run's clock, when the last worker had come. */
void hr_leader_decide(const struct hr_leader *leader, int64_t ended_ns);
void hr_leader_conclude(const struct hr_leader *leader);

#endif
