/* pipeline_ticks.h - a pipeline, tick by tick: the twin of pipeline/walk.c, written to be obvious.
 *
 * At every tick every rank that is not busy begins the next action of its list, if what it needs
 * has arrived. Sizes are small and fixed.
 */
#ifndef HR_TESTS_SUPPORT_PIPELINE_TICKS_H
#define HR_TESTS_SUPPORT_PIPELINE_TICKS_H

#include "pipeline/schedule.h"

enum { TICKS_RANKS = 16, TICKS_PARTS = 64, TICKS_MICRO = 64, TICKS_ACTIONS = 1024 };

struct ticks_costs {
    unsigned work[4][TICKS_PARTS]; /* by enum hr_stage_work and part; at least 1 */
    unsigned message;              /* between ranks */
};

/* The same in every part; the whole backward takes as long as both halves. */
struct ticks_costs ticks_equal(unsigned forward, unsigned data, unsigned weights);

struct ticks {
    bool ends; /* else nobody can go on */
    unsigned makespan;
    unsigned idle[TICKS_RANKS];                  /* until the makespan */
    unsigned peak[TICKS_RANKS];                  /* activations stored at once */
    unsigned times[4][TICKS_PARTS][TICKS_MICRO]; /* how often an action was done */
    unsigned ended[4][TICKS_PARTS][TICKS_MICRO]; /* when, by the last; 0: not */
};

void ticks_run(const struct hr_pipeline_schedule *schedule, const struct hr_pipeline_shape *shape,
               const struct ticks_costs *costs, struct ticks *out);

#endif
