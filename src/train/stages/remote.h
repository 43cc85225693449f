/* remote.h - a replica whose stages live on several machines: what they hand over goes in rings.
 *
 *     machine 0: stages 0, 1                     machine 1: stages 2, 3
 *       lead ---- weights of its stages, the step -----> first stage there
 *       stage 1 -- labels, activations ----------------> stage 2
 *       stage 1 <-- gradients of activations, losses --- stage 2
 *       lead <---- gradients of its parts -------------- each stage there
 *
 *   The lead of a stream (stream.h) says weights, and the step, before its first minibatch alone,
 *   and then when it drains; stages say that they have drained, with the weights and the state of
 *   the optimiser that they have come to. What a stage updates in between is its machine's.
 *
 *   Every machine has laid out the same memory (machines/bridge.h). What lies there travels with a
 *   message that speaks of it; the rank that takes the message stores the word that its writer has
 *   stored over there, so that ranks here see what they would see of a stage beside them.
 *   A stage's machines are equal runs of stages; a team (pipeline.h) is never torn.
 *
 *   Release   at once, when the word is stored: what was sent is written again only behind what
 *             comes back for it: a slot behind its backward, all else behind the end of the step.
 *   Room      a stage begins no action, and the lead no step, before there is room for all that it
 *             may have to say, which is freed while it waits.
 *   Cost      of each step, but of a stream, the weights of the other machines' parts, there, and
 *             their gradients, back; of each micro-batch activations and their gradients, where
 *             machines meet.
 *
 * Threads: the stage's. Of a team the first speaks and listens.
 * Test:    tests/unit/train/test_multinode_split.c, test_multinode_stale.c
 */
#ifndef HR_STAGES_REMOTE_H
#define HR_STAGES_REMOTE_H

#include "shm/ring.h"
#include "stages/stage.h"

/* --- the rings, in the memory of a replica --- */

size_t hr_remote_bytes(const struct hr_pipeline *pipeline);
void hr_remote_init(const struct hr_pipeline *pipeline, const struct hr_pipeline_memory *at);
/* Those between machines, in the same order on all: between members. word[1] bytes at word[0] of
 * place.origin go with a message. */
typedef enum hr_status (*hr_remote_visit_fn)(void *arg, size_t from, size_t to,
                                             struct hr_ring *ring);
HR_CHECKED enum hr_status hr_remote_each(const struct hr_pipeline *pipeline,
                                         const struct hr_pipeline_memory *at,
                                         hr_remote_visit_fn visit, void *arg);

/* --- a stage; all of these do nothing where its replica is on one machine --- */

/* Is there room for what it says in an action, or (lead) of a step? */
bool hr_remote_has_room(const struct hr_stage *stage);
/* Take what has come for it. */
void hr_remote_take(struct hr_stage *stage);

/* The lead: a step, with the weights if they are others than those of the step before; the end. */
void hr_remote_publish(const struct hr_stage *lead, bool weights);
void hr_remote_publish_end(const struct hr_stage *lead);
/* Micro-batch m is in the slot behind the part, or its gradients in that before it: floats at x. */
void hr_remote_forward(const struct hr_stage *stage, size_t part, size_t m, const float *x,
                       size_t floats);
void hr_remote_backward(const struct hr_stage *stage, size_t part, size_t m, const float *dx,
                        size_t floats);
/* Does the lead live elsewhere? Then the gradients of the stage's parts, which are all there. */
bool hr_remote_from_lead(const struct hr_stage *stage);
void hr_remote_finish(const struct hr_stage *stage);
/* Of a stream: the lead wants nothing on its way, as its word says; a stage has nothing. */
void hr_remote_drain(const struct hr_stage *lead);
void hr_remote_drained(const struct hr_stage *stage);

#endif
