/* walk.h - how long a schedule takes: the lists of its ranks, walked on paper.
 *
 * Model:     a rank does its actions in order, each as soon as its inputs are there (schedule.h).
 *            What another rank needs is sent when an action ends, and is there when `arrival` says,
 *            at once where nobody says it; the sender goes on meanwhile. The whole backward takes
 *            as long as both of its halves. Asynchronous schedules walk alike: their updates take
 *            no time.
 * Units:     time in any unit, the costs'. M times the sum of all costs stays below 2^62.
 * Threads:   none; the figures are the same everywhere.
 * Test:      tests/unit/pipeline/test_walk.c, against tests/support/pipeline_ticks.h
 */
#ifndef HR_PIPELINE_WALK_H
#define HR_PIPELINE_WALK_H

#include "pipeline/schedule.h"

/* Of one micro-batch in one part of the model. */
struct hr_part_cost {
    int64_t forward, backward_data, backward_weights;
};

/* When what part `from` sends at `now` to the part beside it, of another rank, is there: not before
 * now. Asked in order of time; at one time, of ranks in their order. */
typedef int64_t (*hr_arrival_fn)(void *arg, size_t from, size_t to, int64_t now);

struct hr_pipeline_costs {
    const struct hr_part_cost *part; /* (K * V) in the order of the layers */
    hr_arrival_fn arrival;           /* NULL: messages take no time */
    void *arg;
    bool recompute; /* a part has the activations of the micro-batch that it computed last: before
                       the backward of another, forward is computed again */
};

struct hr_pipeline_span {
    struct hr_stage_action action;
    int64_t start, end;
};

struct hr_rank_walk {
    struct hr_pipeline_span *span; /* (count) in the order of its list */
    size_t count;
    int64_t idle;  /* until the makespan */
    size_t stored; /* the most activations at once, as in schedule.h */
    int64_t again; /* time of forward that was computed again */
};

struct hr_pipeline_walk {
    struct hr_pipeline_shape shape;
    struct hr_rank_walk *rank;     /* (K) owned */
    struct hr_pipeline_span *span; /* all; owned */
    int64_t makespan;
    double bubble;     /* idle / (K * makespan); 0 where nothing takes time */
    uint64_t messages; /* from rank to rank */
};

/* Walk a checked shape. HR_E_FAILED, in words for who wrote the schedule: it never ends, and who
 * waits for whom; an action comes twice, or not at all. HR_E_NOMEM.
 *   out  fini with hr_pipeline_walk_fini */
HR_CHECKED enum hr_status hr_pipeline_walk(const struct hr_pipeline_schedule *schedule,
                                           const struct hr_pipeline_shape *shape,
                                           const struct hr_pipeline_costs *costs,
                                           struct hr_pipeline_walk *out);

/* Harmless on a zeroed struct. */
void hr_pipeline_walk_fini(struct hr_pipeline_walk *walk);

#endif
