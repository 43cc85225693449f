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
#include "shm/gauge.h"
#include "shm/wait.h"
#include "stages/pipeline.h"
#include "stages/spans.h"
#include "stages/tree_sums.h"
#include "stages/versions.h"

struct hr_stage_context; /* crew.h */

/* Rank 0: put micro-batch m where the first part reads it: x (samples, features), labels (samples)
 * and numbers (samples) out; returns the pass over the data. */
typedef uint64_t (*hr_load_fn)(void *arg, size_t m, float *x, uint32_t *labels, uint32_t *numbers);

/* Of a pipeline that never drains: the stage's own updates between the read of its weights and the
 * update by their gradient. */
struct hr_stage_stale {
    uint64_t updates, filling;  /* all, and those while the pipeline filled */
    uint64_t forward, backward; /* sums over the others */
    uint64_t since;             /* updates since the pipeline was empty */
};

static inline void hr_stage_stale_count(struct hr_stage_stale *stale, bool fills, uint64_t forward,
                                        uint64_t backward)
{
    stale->updates++;
    stale->since++;
    stale->filling += fills;
    stale->forward += fills ? 0 : forward;
    stale->backward += fills ? 0 : backward;
}

/* What a rank did. Its own line, read by others after it has ended. */
struct hr_stage_account {
    alignas(HR_LINE) int64_t busy_ns; /* in actions */
    int64_t span_ns;                  /* rank 0: from the beginnings to the ends of steps */
    uint64_t actions, bytes;          /* bytes: handed over to other parts */
    int64_t again_ns;                 /* of busy_ns: forward passes that were computed again */
    size_t peak;                      /* most micro-batches kept at once, of all its parts */
    uint64_t moved;                   /* bytes read of what others of its team wrote */
    struct hr_stage_stale stale;
    int64_t busy_ps, span_ps, again_ps; /* in virtual time: the same, as its model has it, */
    int64_t without_ps; /* and what span_ps would be if nothing were computed again */
};

/* What a stage of a stream has the gradient of: its slice of the parameters. */
struct hr_stage_update {
    size_t begin, count; /* elements [begin, begin + count) */
    float *grads;        /* (count) */
    uint64_t number;     /* of the minibatch, from 0, among those of this stream */
    uint64_t index;      /* of the batch */
    size_t samples;      /* in it */
    double loss_sum;     /* the last stage's; else 0 */
};
typedef enum hr_status (*hr_update_slice_fn)(void *arg, const struct hr_stage_update *update);

/* Where a stage meets the others. */
struct hr_stage_place {
    void *memory;                       /* hr_pipeline_bytes, zeroed at first */
    void *origin;                       /* weights and grads are counted from here */
    struct hr_bell *const *bell;        /* (members) of the ranks; NULL: nobody waits */
    struct hr_flight *flight;           /* its recorder, or NULL */
    uint32_t group;                     /* for the recorder */
    struct hr_stage_account *account;   /* its own */
    struct hr_stage_when *when;         /* (actions) of its last step, or NULL */
    struct hr_spans *spans;             /* who looks on is told of its actions; NULL: nobody does */
    const struct hr_versions *versions; /* whose weights it reads; NULL: the newest */
    hr_update_slice_fn update;          /* of a stream */
    void *update_arg;
    float *state; /* (nstates, params) that its updates change, too; counted from origin */
    size_t nstates;
};

struct hr_stage {
    const struct hr_pipeline *pipeline;
    size_t rank, t;                  /* stage, and which of its team: member rank * T + t */
    struct hr_workspace **workspace; /* (V) owned */
    struct hr_tree_sums *sums;       /* (V) owned */
    struct hr_stage_action *action;  /* (nactions) owned */
    size_t nactions, next;
    struct hr_stage_place place;
    struct hr_pipeline_memory at;
    uint32_t life;              /* of its replica, that it takes part in */
    uint64_t step;              /* steps that it has begun */
    size_t kept;                /* micro-batches, now */
    struct hr_batch_result sum; /* rank 0: of the rounds so far */
    hr_load_fn load;            /* rank 0's */
    void *load_arg;
    /* Of a stream (stream.h): */
    uint64_t forwards, backwards; /* minibatches whose forward, and backward, it has done */
    float *stash;                 /* (versions, params of its part) owned; NULL: none */
    uint64_t *read;               /* (M) owned: updates it had made when it did a forward */
    const float *stashed;         /* what a backward is to read; NULL: its weights as they are */
    /* Of a team: */
    bool (*barrier)(void *stage, bool sums); /* with the others (nn/model.h) */
    const struct hr_stage_context *context;  /* of whoever runs it, for barrier */
    uint64_t meetings;                       /* that it came to */
    enum hr_status status;                   /* of them */
};

/* For who looks from outside: what a rank behind rank 0 has done so far. */
static inline void hr_stage_report(const struct hr_stage *stage, struct hr_gauge *gauge,
                                   uint64_t steps, int64_t waited_ns)
{
    hr_gauge_work(gauge, 0, steps);
    hr_atom64_store_relaxed(&gauge->spent_ns[HR_COMPUTE], (uint64_t)stage->place.account->busy_ns);
    hr_atom64_store_relaxed(&gauge->spent_ns[HR_WAIT], (uint64_t)waited_ns);
}

static inline size_t hr_stage_member_of(const struct hr_stage *stage)
{
    return stage->rank * stage->pipeline->team + stage->t;
}

/* Bytes of private memory that a rank takes; 0: too many to address. */
size_t hr_stage_bytes(const struct hr_pipeline *pipeline, size_t member);
/* HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_stage_start(struct hr_stage *stage, const struct hr_pipeline *pipeline,
                                         size_t member);
/* Harmless on a zeroed one. */
void hr_stage_stop(struct hr_stage *stage);
/* Take part in the present life of its replica: its words count from 0. Rank 0 when all others do
 * (hr_ready_fn), in the life that it wants. */
void hr_stage_begin_life(struct hr_stage *stage);
bool hr_stage_others_live(void *lead);
/* Between two steps. */
void hr_stage_sit(struct hr_stage *stage, const struct hr_stage_place *place);

/* A step, or its end, as rank 0 publishes it. */
struct hr_stage_task {
    const float *weights; /* (params) of the whole model */
    float *grads;         /* (params) out */
    size_t count;         /* samples */
    uint64_t index;       /* of the batch, for who looks from outside */
    /* A gradient of more micro-batches than M is made in several steps: this is which of how many.
     * They are cut, and added up, as if they were one. */
    size_t round, rounds;
};
/* Is there room for it? (hr_ready_fn) */
bool hr_stage_may_publish(void *lead);
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

/* For stream.h: forward and backward of minibatch n in a rank's only part, backward with these
 * weights (NULL: as they are); and its slices of weights and gradients. */
void hr_stage_forward(struct hr_stage *stage, uint64_t n);
void hr_stage_backward(struct hr_stage *stage, uint64_t n, const float *weights);
const float *hr_stage_weights(const struct hr_stage *stage);
float *hr_stage_grads(const struct hr_stage *stage, size_t part);
/* Have the others look. */
void hr_stage_ring_all(const struct hr_stage *stage);

/* Of a team: has this one been to a meeting, and may it go on, since all have? (hr_ready_fn) */
void hr_stage_arrive(struct hr_stage *stage);
bool hr_stage_has_met(void *stage);

/* Rank 0, in a step: are the gradients of that part the batch's? */
bool hr_stage_part_is_done(const struct hr_stage *lead, size_t part);
/* Rank 0, done itself: are all others? (hr_ready_fn) Then, once: losses, added in the order of the
 * micro-batches, of this round and those before. */
bool hr_stage_all_are_done(void *lead);
struct hr_batch_result hr_stage_result(struct hr_stage *lead);

#endif
