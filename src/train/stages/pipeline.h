/* pipeline.h - how a replica's gradient is computed by K ranks, its stages: what all of them know,
 * and the memory that they share.
 *
 *   Parts     the model is cut into K * V; rank k computes part v * K + k as its chunk v
 *   Batch     the replica's, cut into M micro-batches
 *   Lists     what each rank does, in which order, is the schedule's (pipeline/schedule.h)
 *   Teams     where layers are split (nn/part.h), a stage is T ranks: each does the stage's list,
 *             of every action its shards, and they meet in the middle of it and at its end. What
 *             the others see, the first of them says. Member k * T + t is rank t of stage k.
 *
 *   memory    [ step ] [ member 0 ] ... [ member K T - 1 ] [ boundary 0 ] ... [ micro-batch 0 ] ...
 *             [ labels, samples (M, 2, most) ] [ boundary 0: y | dy (slots, most, floats) ] ...
 *             [ of tied weights: shares (slots of boundary 0, count) ]
 *             [ a team's activations in part 0 ] ... [ rings between machines (remote.h) ]
 *
 *   Boundary p stands between parts p and p + 1. Micro-batch m has slot m mod slots there, for its
 *   activations on their way forward, where both sides read them again in backward, and for their
 *   gradients on their way back. A boundary has as many slots as the part before it keeps
 *   micro-batches: a slot is written again after the backward of what was in it, which came through
 *   the part behind. Where backward is split, one for each micro-batch.
 *
 *   Tied      where the embedding and the layer tied to it are in two parts, the weights are one
 *             tensor, which both read; what the second adds to a micro-batch's gradient (nn/part.h)
 *             lies in a slot that is its own as long as one at boundary 0 is.
 *
 *   Lives     when a rank is lost (lives), the others leave the step, whatever it has come to;
 *             words count from 0 again, each brought back by its writer, which says so in its life
 *
 *   Words     each has one writer, counts without end, is stored (release) after what it speaks of
 *             and loaded (acquire) before: a slot has one owner at a time.
 *
 * Threads: struct hr_pipeline is constant. Memory: as its words say.
 * Test:    tests/unit/stages/test_stages.c
 */
#ifndef HR_STAGES_PIPELINE_H
#define HR_STAGES_PIPELINE_H

#include "base/size.h"
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
    size_t rounds;     /* steps that make a gradient together, at most; 0: 1 */
    bool recompute;    /* a part keeps its input of a micro-batch, and computes forward again */
    bool streams;      /* minibatches follow one another without end (stream.h), each as a
                          micro-batch; no more than shape.micro_batches are on their way */
    size_t shards;     /* that layers are split into; 0, 1: they are not */
    size_t team;       /* T ranks that compute a stage; a divisor of shards */
    bool serial;       /* one thread does the work of all ranks: of a team, too */
    size_t machines;   /* that a replica's stages live on, in equal runs (remote.h); 0: 1 */
};

struct hr_pipeline {
    struct hr_pipeline_options options; /* cut: of its own */
    size_t ranks, parts;                /* K, K * V */
    size_t team, members;               /* T, or 1 where it is serial; K T */
    struct hr_model_split split;
    struct hr_tied tied;    /* of two parts; count 0: none is, or one part has both layers */
    size_t *cut;            /* (parts + 1) owned: layers, from 0 to the last */
    struct hr_model **part; /* (parts) owned */
    size_t *kept;           /* (parts) owned: micro-batches whose activations it keeps */
};

/* Cut the model, and count what is kept. HR_E_USAGE where the shape or a cut cannot be,
 * HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_pipeline_create(const struct hr_pipeline_options *options,
                                             struct hr_pipeline **out);
/* Harmless on NULL. */
void hr_pipeline_destroy(struct hr_pipeline *pipeline);

/* Multiply-adds of a sample, forward and backward, and parameters, of a rank's parts. */
double hr_pipeline_madds(const struct hr_pipeline *pipeline, size_t rank);
size_t hr_pipeline_params(const struct hr_pipeline *pipeline, size_t rank);

/* --- the memory of a replica's stages --- */

struct hr_pipeline_step {
    alignas(HR_LINE) struct hr_atom64 begun; /* steps; writer: rank 0. With it is published: */
    uint64_t index;                          /* of the batch, for who looks from outside */
    size_t count;                            /* samples of it */
    size_t first, pieces; /* it is cut into so many; the step has M of them, from the first on */
    uintptr_t weights, grads; /* bytes from the place that all count from (stage.h) */
    struct hr_atom32 over;    /* no more will come */
    struct hr_atom64 drains;  /* a stream: of so many minibatches nothing is on its way, before
                                 another comes; writer: rank 0 */
    alignas(HR_LINE) struct hr_atom32 lives; /* how often one of the ranks was lost; writer: the
                                                launcher */
};

struct hr_pipeline_rank {
    alignas(HR_LINE) struct hr_atom64 done; /* steps whose gradients are complete; writer: it */
    struct hr_atom64 met;                   /* meetings of its team that it came to; the same */
    struct hr_atom32 life;                  /* in which it takes part; the same */
};

struct hr_pipeline_boundary {
    alignas(HR_LINE) struct hr_atom64 forward;  /* micro-batches; writer: the part before */
    alignas(HR_LINE) struct hr_atom64 backward; /* writer: the part behind */
};

struct hr_pipeline_micro {
    alignas(HR_LINE) uint64_t pass; /* over the data; writer: rank 0 */
    uint64_t index;                 /* a stream: of the minibatch; the same writer */
    size_t count;                   /* and its samples */
    alignas(HR_LINE) struct hr_batch_result result; /* writer: the last part */
};

/* Views of the memory. */
struct hr_pipeline_memory {
    struct hr_pipeline_step *step;
    struct hr_pipeline_rank *rank;         /* (members) */
    struct hr_pipeline_boundary *boundary; /* (parts - 1) */
    struct hr_pipeline_micro *micro;       /* (M) */
    uint32_t *numbers;                     /* (M, labels and samples (most)) writer: rank 0 */
    unsigned char *slots;                  /* of the boundaries, one after another */
    unsigned char *shares;                 /* of tied weights */
    unsigned char *shared;                 /* of the teams, part by part */
    unsigned char *rings;                  /* remote.h */
};

/* Labels of micro-batch m, and `most` numbers behind them its samples: bytes of both, on cache
 * lines of their own. */
static inline size_t hr_pipeline_number_bytes(const struct hr_pipeline *pipeline)
{
    return hr_round_up(2 * pipeline->options.most * sizeof(uint32_t), HR_LINE);
}

static inline uint32_t *hr_pipeline_labels(const struct hr_pipeline *pipeline,
                                           const struct hr_pipeline_memory *at, size_t m)
{
    return at->numbers + m * hr_pipeline_number_bytes(pipeline) / sizeof *at->numbers;
}

/* A part's workspace, of rank t of its team; team_bytes: what it shares with the others. */
struct hr_workspace_options hr_pipeline_workspace(const struct hr_pipeline *pipeline, size_t part,
                                                  size_t t);
size_t hr_pipeline_team_bytes(const struct hr_pipeline *pipeline, size_t part);

/* The part's gradients that rank t of its team adds up. */
struct hr_pipeline_stripe {
    size_t begin, count;
};
struct hr_pipeline_stripe hr_pipeline_stripe(const struct hr_pipeline *pipeline, size_t part,
                                             size_t t);

/* Bytes of it; zeroed memory is ready. */
size_t hr_pipeline_bytes(const struct hr_pipeline *pipeline);
struct hr_pipeline_memory hr_pipeline_memory_at(const struct hr_pipeline *pipeline, void *base);
/* Where the tied layer's share of micro-batch m's gradient lies. */
float *hr_pipeline_share(const struct hr_pipeline *pipeline, const struct hr_pipeline_memory *at,
                         size_t m);
/* The slot of micro-batch m at a boundary: activations, or their gradients. */
float *hr_pipeline_slot(const struct hr_pipeline *pipeline, const struct hr_pipeline_memory *at,
                        size_t boundary, size_t m, bool gradients);

#endif
