/* schedule.h - what a pipeline's schedule is: for each rank, the list of what it does.
 *
 * Words:     a model is cut into K * V parts, in the order of its layers; a batch into M
 *            micro-batches. Rank k of K has V parts: its chunk v is part v * K + k. The forward of
 *            (part, micro-batch) needs that of the part before; its backward needs its own forward
 *            and the backward of the part behind. Between parts of one rank nothing travels.
 * Promises:  a rank does every action once, in the order of its list, and waits for inputs only.
 *            In every part the backward goes in the order of the micro-batches 0..M-1, and so does
 *            the backward for the weights: their gradients fold in T(M) with log2 M buffers.
 * Threads:   all is constant; nothing here runs anything.
 * Errors:    check() says in one line what would work; the other functions want a checked shape.
 * Test:      tests/unit/pipeline/test_schedules.c
 */
#ifndef HR_PIPELINE_SCHEDULE_H
#define HR_PIPELINE_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum hr_stage_work {
    HR_FORWARD,
    HR_BACKWARD,         /* for the data and for the weights */
    HR_BACKWARD_DATA,    /* dx, which the part before waits for */
    HR_BACKWARD_WEIGHTS, /* dw, which nobody waits for */
};

struct hr_stage_action {
    enum hr_stage_work work;
    uint32_t micro; /* micro-batch, below M */
    uint32_t chunk; /* which of the rank's parts, below V */
};

struct hr_pipeline_shape {
    size_t stages;        /* K: ranks of a pipeline */
    size_t micro_batches; /* M; minibatches of a run, where each is an update */
    size_t chunks;        /* V: parts a rank has; 1 but for interleaved */
};

enum { HR_PIPELINE_STAGES = 1024, HR_PIPELINE_MICRO_BATCHES = 65536, HR_PIPELINE_CHUNKS = 64 };

struct hr_pipeline_schedule {
    const char *name, *about;
    bool synchronous;     /* one update for M micro-batches; else one for each, stage by stage */
    bool splits_backward; /* into HR_BACKWARD_DATA and HR_BACKWARD_WEIGHTS */

    /* HR_E_USAGE and what would work, where the schedule has no such shape. */
    enum hr_status (*check)(const struct hr_pipeline_shape *shape);

    /* How many actions `rank` does; they are written to `out` unless it is NULL. */
    size_t (*actions)(const struct hr_pipeline_shape *shape, size_t rank,
                      struct hr_stage_action *out);

    /* idle / (K * makespan), by the schedule's paper: the forward and the backward of every part
     * take one time each, and so do both halves of a backward that is split; messages none. */
    double (*bubble)(const struct hr_pipeline_shape *shape);

    /* The most activations at once, in micro-batches of one chunk: from the start of a forward to
     * the end of its backward (for the weights, where that is apart). */
    size_t (*stored)(const struct hr_pipeline_shape *shape, size_t rank);

    /* Where it is not synchronous, and M >= 2 K; else NULL. How many versions of its weights a
     * stage keeps at once, the newest counted. By how many of the stage's own updates the weights
     * that `work` reads are behind those to which the gradient is applied, once the pipeline is
     * full. */
    size_t (*versions)(const struct hr_pipeline_shape *shape, size_t rank);
    size_t (*staleness)(const struct hr_pipeline_shape *shape, size_t rank,
                        enum hr_stage_work work);
};

/* --- the schedules there are, by name and by number, as they are listed to people ---
 * A new one is an hr_schedule_<name> in schedule.c, and its name here. */

#define HR_PIPELINE_SCHEDULES(X)                                                                   \
    X(gpipe) X(1f1b) X(interleaved) X(zero_bubble) X(pipedream) X(unstashed)

#define HR_SCHEDULE_DECLARE(name) extern const struct hr_pipeline_schedule hr_schedule_##name;
HR_PIPELINE_SCHEDULES(HR_SCHEDULE_DECLARE)
#undef HR_SCHEDULE_DECLARE

/* The schedule of that name. HR_E_USAGE lists the names. */
HR_CHECKED enum hr_status hr_pipeline_schedule_find(const char *name,
                                                    const struct hr_pipeline_schedule **out);

/* The i-th schedule, NULL past the end. */
const struct hr_pipeline_schedule *hr_pipeline_schedule_at(size_t i);

#endif
