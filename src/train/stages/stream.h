/* stream.h - stages of a pipeline that never drains, each a rank: minibatches follow one another,
 * and a stage updates its own weights as soon as it has their gradient.
 *
 *   Order     that of 1F1B without an end: rank k of K begins a minibatch while no more than
 *             K - 1 - k others are on their way behind it; else it does the oldest one's backward,
 *             and its update. So forward n reads weights of K - 1 - k updates fewer than are made
 *             before its own. A stage that stashes them (pipeline/schedule.h, versions) gives
 *             backward the same.
 *   Draining  rank 0 says of how many minibatches nothing shall be on its way. The others do what
 *             is left of them, and wait for the next.
 *
 *     rank 0                                             the others
 *     hr_stream_put(task, &done) ...                    hr_stream_serve
 *     hr_stream_drain(&done) until done.any is false
 *
 * Threads: a stage belongs to one thread.
 * Test:    tests/unit/train/test_stale_pipeline.c
 */
#ifndef HR_STAGES_STREAM_H
#define HR_STAGES_STREAM_H

#include "stages/crew.h"

/* A minibatch that all stages have made their update of. */
struct hr_stream_done {
    bool any;
    uint64_t index;
    size_t samples;
    struct hr_batch_result result;
};

/* Rank 0, whose stage has load set: the next minibatch; all have the same weights and grads. One
 * before it may be done by then. */
HR_CHECKED enum hr_status hr_stream_put(struct hr_stage *lead,
                                        const struct hr_stage_context *context,
                                        const struct hr_stage_task *task,
                                        struct hr_stream_done *done);
/* No other follows for now: the oldest that is on its way, or none. */
HR_CHECKED enum hr_status hr_stream_drain(struct hr_stage *lead,
                                          const struct hr_stage_context *context,
                                          struct hr_stream_done *done);
/* Another rank's: until rank 0 has published the end. */
HR_CHECKED enum hr_status hr_stream_serve(struct hr_stage *stage,
                                          const struct hr_stage_context *context);

#endif
