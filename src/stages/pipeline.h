/* pipeline.h - how a replica's gradient is computed by K ranks, its stages: what all of them know,
 * and the memory that they share.
 *
 *   Parts     the model is cut into K * V; rank k computes part v * K + k as its chunk v
 *   Batch     the replica's, cut into M micro-batches
 *   Lists     what each rank does, in which order, is the schedule's (pipeline/schedule.h)
 *
 *   memory    [ step ] [ rank 0 ] ... [ rank K-1 ] [ boundary 0 ] ... [ micro-batch 0 ] ...
 *             [ labels, samples (M, most) ] [ boundary 0: y | dy (slots, most, floats) ] ...
 *
 *   Boundary p stands between parts p and p + 1. Micro-batch m has slot m mod slots there, for its
 *   activations on their way forward, where both sides read them again in backward, and for their
 *   gradients on their way back. A boundary has as many slots as the part before it keeps
 *   micro-batches: a slot is written again after the backward of what was in it, which came through
 *   the part behind. Where backward is split, one for each micro-batch.
 *
 *   Words     each has one writer, counts without end, is stored (release) after what it speaks of
 *             and loaded (acquire) before: a slot has one owner at a time.
 *
 * Threads: struct hr_pipeline is constant. Memory: as its words say.
 * Test:    tests/unit/stages/test_stages.c
 */
#ifndef HR_STAGES_PIPELINE_H
#define HR_STAGES_PIPELINE_H

#include "nn/part.h"
#include "pipeline/schedule.h"
#include "shm/atom.h"

struct hr_pipeline_options {
    const struct hr_model *model; /* must outlive it */
    const struct hr_pipeline_schedule *schedule;
    struct hr_pipeline_shape shape;
    const size_t *cut; /* (parts - 1) first layers of the parts behind the first */
    size_t most;       /* samples of a micro-batch, at most */
    uint64_t seed;     /* of dropout */
    size_t threads;    /* that a rank shares its work with */
};

struct hr_pipeline {
    struct hr_pipeline_options options; /* cut: its own */
    size_t ranks, parts;                /* K, K * V */
    size_t *cut;                        /* (parts + 1) owned: layers, from 0 to the last */
    struct hr_model **part;             /* (parts) owned */
    size_t *kept; /* (parts) owned: micro-batches whose activations it keeps */
};

/* Cut the model, and count what is kept. HR_E_USAGE where the shape or a cut cannot be,
 * HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_pipeline_create(const struct hr_pipeline_options *options,
                                             struct hr_pipeline **out);
/* Harmless on NULL. */
void hr_pipeline_destroy(struct hr_pipeline *pipeline);

/* Samples of micro-batch m of a batch of `count`. */
size_t hr_pipeline_samples(const struct hr_pipeline *pipeline, size_t count, size_t m);
/* Multiply-adds of a sample, forward and backward, and parameters, of a rank's parts. */
double hr_pipeline_madds(const struct hr_pipeline *pipeline, size_t rank);
size_t hr_pipeline_params(const struct hr_pipeline *pipeline, size_t rank);

/* --- the memory of a replica's stages --- */

struct hr_pipeline_step {
    alignas(HR_LINE) struct hr_atom64 begun; /* steps; writer: rank 0. With it is published: */
    uint64_t index;                          /* of the batch, for who looks from outside */
    size_t count;                            /* samples of it */
    uintptr_t weights, grads; /* bytes from the place that all count from (stage.h) */
    struct hr_atom32 over;    /* no more will come */
};

struct hr_pipeline_rank {
    alignas(HR_LINE) struct hr_atom64 done; /* steps whose gradients are complete; writer: it */
};

struct hr_pipeline_boundary {
    alignas(HR_LINE) struct hr_atom64 forward;  /* micro-batches; writer: the part before */
    alignas(HR_LINE) struct hr_atom64 backward; /* writer: the part behind */
};

struct hr_pipeline_micro {
    alignas(HR_LINE) uint64_t pass;                 /* over the data; writer: rank 0 */
    alignas(HR_LINE) struct hr_batch_result result; /* writer: the last part */
};

/* Views of the memory. */
struct hr_pipeline_memory {
    struct hr_pipeline_step *step;
    struct hr_pipeline_rank *rank;         /* (K) */
    struct hr_pipeline_boundary *boundary; /* (parts - 1) */
    struct hr_pipeline_micro *micro;       /* (M) */
    uint32_t *labels, *samples;            /* (M, most) writer: rank 0 */
    unsigned char *slots;                  /* of the boundaries, one after another */
};

/* Bytes of it, and of those the slots'; zeroed memory is ready. */
size_t hr_pipeline_bytes(const struct hr_pipeline *pipeline);
size_t hr_pipeline_slot_bytes(const struct hr_pipeline *pipeline);
struct hr_pipeline_memory hr_pipeline_memory_at(const struct hr_pipeline *pipeline, void *base);
/* The slot of micro-batch m at a boundary: activations, or their gradients. */
float *hr_pipeline_slot(const struct hr_pipeline *pipeline, const struct hr_pipeline_memory *at,
                        size_t boundary, size_t m, bool gradients);

#endif
