/* stage.h - one rank of a replica's pipeline at work: it does the actions of its list, each as soon
 * as what it needs has come.
 *
 *     hr_stage_start(&stage, pipeline, rank);
 *     hr_stage_sit(&stage, &place);                      where it meets the others
 *     rank 0                                             the others
 *     hr_pipeline_publish(..., &task)
 *     hr_stage_begin(&stage)                             hr_stage_has_task? hr_stage_begin(&stage)
 *     while (!hr_stage_is_done(&stage))                  the same
 *         wait until hr_stage_may_act(&stage); hr_stage_act(&stage)
 *     wait until hr_pipeline_are_done; hr_pipeline_result
 *
 * None of these waits. crew.h has the loops: for ranks that wait, and for one thread that does the
 * work of all.
 *
 * Gradients of the micro-batches are added in T(M), each rank those of its parts' slices, in their
 * place among the whole model's: where all are done, grads are the batch's, to the bit of one rank
 * that computes the micro-batches one by one.
 *
 * Threads: a stage belongs to one thread.
 */
#ifndef HR_STAGES_STAGE_H
#define HR_STAGES_STAGE_H

#include "shm/flight.h"
#include "shm/wait.h"
#include "stages/pipeline.h"
#include "stages/tree_sums.h"

/* Rank 0: put micro-batch m where the first part reads it: x (samples, features), labels (samples)
 * and numbers (samples) out; returns the pass over the data. */
typedef uint64_t (*hr_load_fn)(void *arg, size_t m, float *x, uint32_t *labels, uint32_t *numbers);

/* What a rank did. Its own line, read by others after it has ended. */
struct hr_stage_account {
    alignas(HR_LINE) int64_t busy_ns; /* in actions */
    int64_t span_ns;                  /* rank 0: from the beginnings to the ends of steps */
    uint64_t bytes;                   /* handed over to other parts */
    uint64_t actions;
    size_t peak; /* most micro-batches kept at once, of all its parts */
};

/* Where a stage meets the others. */
struct hr_stage_place {
    void *memory;                     /* hr_pipeline_bytes, zeroed at first */
    void *origin;                     /* weights and grads are counted from here */
    struct hr_bell *const *bell;      /* (K) of the ranks; NULL: nobody waits */
    struct hr_flight *flight;         /* its recorder, or NULL */
    uint32_t group;                   /* for the recorder */
    struct hr_stage_account *account; /* its own */
};

struct hr_stage {
    const struct hr_pipeline *pipeline;
    size_t rank;
    struct hr_workspace **workspace; /* (V) owned */
    struct hr_tree_sums *sums;       /* (V) owned */
    struct hr_stage_action *action;  /* (nactions) owned */
    size_t nactions, next;
    struct hr_stage_place place;
    struct hr_pipeline_memory at;
    uint64_t step;   /* steps that it has begun */
    size_t kept;     /* micro-batches, now */
    hr_load_fn load; /* rank 0's */
    void *load_arg;
};

/* Bytes of private memory that a rank takes; 0: too many to address. */
size_t hr_stage_bytes(const struct hr_pipeline *pipeline, size_t rank);
/* HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_stage_start(struct hr_stage *stage, const struct hr_pipeline *pipeline,
                                         size_t rank);
/* Harmless on a zeroed one. */
void hr_stage_stop(struct hr_stage *stage);
/* Between two steps. */
void hr_stage_sit(struct hr_stage *stage, const struct hr_stage_place *place);

/* A step, or its end, as rank 0 publishes it. */
struct hr_stage_task {
    const float *weights; /* (params) of the whole model */
    float *grads;         /* (params) out */
    size_t count;         /* samples */
    uint64_t index;       /* of the batch, for who looks from outside */
};
void hr_stage_publish(struct hr_stage *lead, const struct hr_stage_task *task);
/* No more steps: the other ranks may go. */
void hr_stage_publish_end(struct hr_stage *lead);

/* Has a step been published that this one has not begun, or the end? (hr_ready_fn) */
bool hr_stage_has_task(void *stage);
bool hr_stage_is_over(const struct hr_stage *stage);

void hr_stage_begin(struct hr_stage *stage);
bool hr_stage_is_done(const struct hr_stage *stage);
/* Has what its next action needs come? (hr_ready_fn) */
bool hr_stage_may_act(void *stage);
void hr_stage_act(struct hr_stage *stage);

/* Rank 0, done itself: are all others? (hr_ready_fn) Then: losses, added in the order of the
 * micro-batches. */
bool hr_stage_all_are_done(void *lead);
struct hr_batch_result hr_stage_result(const struct hr_stage *lead);

#endif
