/* best_weights.h - a copy of the weights of the best evaluation, for runs that end with them
 * (--early-stop).
 *
 * Two places in the segment, written by turns: the leader may be lost while it copies, and then the
 * copy before stands.
 *
 * Threads: keep: the leader, at a cut; last: the launcher, who saves before the next cut, and after
 *          the run.
 * Test:    tests/unit/train/test_early_stop.c
 */
#ifndef HR_SESSION_BEST_WEIGHTS_H
#define HR_SESSION_BEST_WEIGHTS_H

#include "shm/atom.h"

struct hr_best_weights {
    struct hr_atom64 *kept; /* how many copies were made: the last one is place[kept % 2]. NULL: no
                               run ends with them. Writer: the leader, or before it whoever loads a
                               checkpoint */
    float *place[2];        /* (params) */
    size_t params;
};

/* For whoever writes them by himself: (params) where the next ones go, then that they are there. */
float *hr_best_weights_next(const struct hr_best_weights *best);
void hr_best_weights_done(const struct hr_best_weights *best);
/* Nothing, where `kept` is NULL. */
void hr_best_weights_keep(const struct hr_best_weights *best, const float *weights);
/* NULL: there is none yet. */
float *hr_best_weights_last(const struct hr_best_weights *best);

#endif
