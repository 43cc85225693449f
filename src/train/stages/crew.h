/* crew.h - the loops of stages at work (stage.h): ranks that wait for one another, and one thread
 * that does the work of all.
 *
 * Threads: hr_stage_lead, hr_stage_serve: each stage's own. hr_crew: one thread's.
 * Test:    tests/unit/stages/test_stages.c
 */
#ifndef HR_STAGES_CREW_H
#define HR_STAGES_CREW_H

#include "shm/control.h"
#include "stages/stage.h"

/* How a rank waits. */
struct hr_stage_context {
    struct hr_waiter *waiter;
    struct hr_control *control;
    size_t rank;            /* in it */
    struct hr_stage *stage; /* it takes what comes from other machines (remote.h) */
    /* Rank 0, in the middle of a step: grads [offset, params) are the batch's. From the last part
     * to the first, each by itself, whenever that is: all replicas hear the same. NULL: nobody. */
    void (*final)(void *arg, size_t offset);
    void *arg;
    const struct hr_atom32
        *lives;    /* of the replica (pipeline.h): a wait ends with HR_E_GONE where */
    uint32_t life; /* it is not this; NULL: it has only one */
};

/* For what other stages do; `ready` of arg. */
HR_CHECKED enum hr_status hr_stage_wait(const struct hr_stage_context *context, hr_ready_fn ready,
                                        void *arg, const char *what);

/* A step of rank 0, whose stage has load set: publish it, do its part, wait for all others. */
HR_CHECKED enum hr_status hr_stage_lead(struct hr_stage *lead,
                                        const struct hr_stage_context *context,
                                        const struct hr_stage_task *task,
                                        struct hr_batch_result *result);
/* Another rank's: one step after the other, until rank 0 has published the end, or the run is over.
 * When its replica is lost it leaves its step, and waits for one of the next life. */
HR_CHECKED enum hr_status hr_stage_serve(struct hr_stage *stage,
                                         const struct hr_stage_context *context);

/* All stages in one thread, with memory of their own. */
struct hr_crew {
    struct hr_stage *stage; /* (K) owned */
    void *memory;           /* owned */
};

size_t hr_crew_bytes(const struct hr_pipeline *pipeline);
HR_CHECKED enum hr_status hr_crew_start(struct hr_crew *crew, const struct hr_pipeline *pipeline);
/* Harmless on a zeroed one. */
void hr_crew_stop(struct hr_crew *crew);
/* Whose step it is. */
struct hr_crew_replica {
    struct hr_stage_account *accounts;  /* (K) */
    const struct hr_versions *versions; /* whose weights it reads; NULL: the newest */
    hr_load_fn load;                    /* stage.h */
    void *load_arg;
};
struct hr_batch_result hr_crew_step(struct hr_crew *crew, const struct hr_stage_task *task,
                                    const struct hr_crew_replica *replica);

#endif
