/* time.h - how long a pipeline takes for a gradient, of the time that one rank would take for all
 * of it: in virtual time, where that is drawn from a model.
 *
 *   A micro-batch takes a part as long, forward and backward, as it has multiply-adds there. The
 *   schedule is walked with these (pipeline/walk.h), in whole picoseconds. What is handed over
 *   passes over the links of a topology (netsim/links.h), of full micro-batches, each link
 *   first come first served, where nothing else passes: as an all-reduce, a gradient takes as long
 *   as over idle links.
 *
 *   A pipeline that never drains, once it is full, has a gradient every time its slowest stage or
 *   link has done one: a K-th of what the walk of 3 K minibatches takes longer than that of 2 K.
 *   The first gradient finds it empty, and passes through all stages.
 *
 * Threads: a timer belongs to one thread.
 * Test:    tests/unit/stages/test_time.c
 */
#ifndef HR_STAGES_TIME_H
#define HR_STAGES_TIME_H

#include "netsim/links.h"
#include "pipeline/walk.h"
#include "stages/pipeline.h"

struct hr_pipeline_timer {
    const struct hr_pipeline *pipeline;
    struct hr_part_cost *madds; /* (parts) owned: of a sample */
    struct hr_part_cost *cost;  /* (parts) owned: of the gradient under way */
    double all;                 /* madds of the model */
    struct hr_links links;      /* of no topology: messages take no time */
    const size_t *rank;         /* of the gradient under way */
    bool once;                  /* nothing is computed again, though it is */
};

/* Borrows both; topology may be NULL. HR_E_NOMEM; fini *out in any case. */
HR_CHECKED enum hr_status hr_pipeline_timer_init(struct hr_pipeline_timer *out,
                                                 const struct hr_pipeline *pipeline,
                                                 const struct hr_topology *topology);
/* Harmless on a zeroed one. */
void hr_pipeline_timer_fini(struct hr_pipeline_timer *timer);

struct hr_pipeline_gradient {
    int64_t ps;         /* that one rank would take for all of it */
    const double *slow; /* (ranks) how many times as long each stage takes */
    const size_t *rank; /* (ranks) where each stage is, in the topology */
    bool first;         /* the pipeline is empty before it */
};

/* So many micro-batches (or minibatches, of a pipeline that never drains), as large as those of the
 * gradient. HR_E_NOMEM.
 *   out  in picoseconds; fini with hr_pipeline_walk_fini */
HR_CHECKED enum hr_status hr_pipeline_timer_walk(struct hr_pipeline_timer *timer,
                                                 const struct hr_pipeline_gradient *gradient,
                                                 size_t micro_batches,
                                                 struct hr_pipeline_walk *out);

struct hr_stage_time {
    int64_t busy_ps;  /* at work */
    int64_t again_ps; /* of it: forward passes that are computed again */
};

/* How long it takes until the gradient is there, since the one before it if that is under way too;
 * and without what is computed again: *without_ps out. Of each stage: `of` (ranks) out.
 * HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_pipeline_timer_take(struct hr_pipeline_timer *timer,
                                                 const struct hr_pipeline_gradient *gradient,
                                                 int64_t *ps, int64_t *without_ps,
                                                 struct hr_stage_time *of);

/* Multiply-adds of forward passes that are computed again, over all others of a gradient. */
HR_CHECKED enum hr_status hr_pipeline_again(const struct hr_pipeline *pipeline, double *share);

#endif
