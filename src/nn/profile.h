/* profile.h - where the time of a training step goes: every layer, forward and backward, beside the
 * roofs of the machine.
 *
 * Layers are timed where they stand, inside whole steps, so that they find the caches as they do in
 * training. Rounds of the roofs and of steps take turns. In every other step each layer with
 * parameters is asked for their gradients alone (dx = NULL) before it is asked for all: the first
 * is backward weights, the median of the second less that of the first is backward data.
 *
 * Work is counted from shapes: multiply-adds of the products (of Winograd's, which are fewer, where
 * a convolution is made so), and the bytes of inputs, outputs,
 * parameters and gradients, each once; what a kernel moves besides is the kernel's own affair.
 *
 * Threads: one thread; it starts teams.                   Test: tests/unit/nn/test_profile.c
 */
#ifndef HR_NN_PROFILE_H
#define HR_NN_PROFILE_H

#include "nn/model.h"
#include "products/roofs.h"

enum hr_profile_part { HR_PART_FORWARD, HR_PART_WEIGHTS, HR_PART_DATA, HR_PART_LOSS, HR_PARTS };

/* "forward", "backward weights", "backward data", "loss" */
const char *hr_part_name(enum hr_profile_part part);

struct hr_profile_row {
    char layer[80]; /* "1 dense 256, relu": with the layers whose work it does as well */
    enum hr_profile_part part;
    struct hr_work work;
    double seconds; /* median; 0: too short to measure */
};

struct hr_profile {
    char *model;                               /* the layer list, owned */
    size_t batch_size, threads, params, steps; /* steps: that were timed */
    size_t tokens; /* of a sample, of text: whoever knows the data sets it; else 0 */
    double madds;  /* of a step */
    size_t n;
    struct hr_profile_row *rows; /* (n) in the order of a step; owned */
    double step_s;               /* median of whole steps: rows, and what lies between them */
    struct hr_roofs roofs;
};

/* Time steps of `model` over B random samples for about `seconds`, with `threads` threads.
 * HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_profile_measure(const struct hr_model *model, size_t B, size_t threads,
                                             double seconds, struct hr_profile *out);
void hr_profile_free(struct hr_profile *profile);

/* What share of the time of all rows each bound has. */
void hr_profile_shares(const struct hr_profile *profile, double share[HR_BOUNDS]);

/* Does a layer do this part in training? Absorbed layers do nothing themselves; a relu done by the
 * layer before still has its backward. No layer has a backward where nothing before it is trained.
 * A flatten that moves nothing is idle. */
bool hr_model_has_part(const struct hr_model *model, size_t index, enum hr_profile_part part);

/* The least work of any of its parts over B samples, with what the layer absorbs. They are alike:
 * x, parameters -> y;   x, dy -> gradients;   dy, parameters -> dx. */
struct hr_work hr_layer_work(const struct hr_layer *layer, size_t B);

#endif
