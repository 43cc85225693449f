/* part.h - a part of a model: layers [first, end), computed where the others are not.
 *
 *     whole    x -> [ part 0 ] -> y0 -> [ part 1 ] -> y1 -> [ part 2 ] -> loss
 *                   [        ] <- dy0 - [        ] <- dy1 - [        ]
 *     params   [ part 0's | part 1's | part 2's ]       slices of the whole model's array, in order
 *
 * A part is a model of its own: its parameters and gradients are counted from its slice, and its
 * input, but for the first part's, lies in the layers' order (layer.h) and has a gradient. Only the
 * last part has a loss. Parts one after another give the whole model's bits: a layer does in a part
 * what it does in the whole, and draws the same numbers.
 *
 *     hr_workspace_turn(w, slot)             activations of several batches at once
 *     hr_workspace_lend(w, x, labels)        x: what the part before wrote; labels: the last part's
 *     hr_workspace_draw(w, epoch, samples)
 *     hr_workspace_lend_output(w, y)         for the part behind
 *     hr_part_forward(part, w, params, B)
 *     ...
 *     hr_workspace_turn(w, slot)
 *     hr_part_backward(part, w, params, &(struct hr_part_gradients){dy, dx, grads}, B)
 *
 * Or in halves, where the part is made for it: the gradient of x, which the part before waits for,
 * and later, perhaps behind other batches', that of the parameters, to the same bits:
 *
 *     hr_part_backward_data(part, w, params, &(struct hr_part_gradients){dy, dx}, B)
 *     ...
 *     hr_workspace_turn(w, slot)
 *     hr_part_backward_weights(part, w, params, grads, B)
 *
 * A part that recomputes has the activations of one batch alone, whatever options.batches, and
 * keeps x of each; before backward, or a half of it, they are brought back:
 *
 *     hr_workspace_turn(w, slot)
 *     hr_part_forward_again(part, w, params, B)
 *
 * A part keeps x, y and, in halves, dy as they are until the end of its backward, and reads them
 * again there.
 *
 * Where a layer `tied` stands in another part than its embedding, it reads the embedding's weights
 * in the whole array, and writes its share of their gradient to a place of the caller's, of each
 * batch, with the first half of its backward. The embedding's part, whose backward comes later,
 * takes it from there and adds its own: in the whole model's order, so to its bits.
 *
 *     hr_workspace_lend_table(w, whole array + tied.begin, share)      of both parts, before a pass
 *
 * Threads: as model.h.
 * Test:    tests/unit/nn/test_part.c
 */
#ifndef HR_NN_PART_H
#define HR_NN_PART_H

#include "nn/layer.h"
#include "nn/model.h"

/* May the model be cut before layer `at` of the flat list? Not at its ends, not before it has
 * parameters, not where a layer behind the cut reads more than the output right before it (inside
 * of a residual block), nor between a layer and those whose work it does. HR_E_USAGE says why
 * not. */
HR_CHECKED enum hr_status hr_model_may_cut(const struct hr_model *model, size_t at);

struct hr_part_manner {
    bool in_halves;  /* backward */
    bool recomputes; /* of a batch x is kept, and forward is computed again before backward */
};

/* Layers [first, end), where both are ends or places where it may be cut. The whole model must
 * outlive it; destroy with hr_model_destroy. HR_E_USAGE, HR_E_NOMEM.
 *   manner  how it computes, always; its workspaces keep what that needs */
HR_CHECKED enum hr_status hr_model_part(const struct hr_model *model, size_t first, size_t end,
                                        struct hr_part_manner manner, struct hr_model **out);

/* The embedding and the layer that has its weights: [begin, begin + count) of the whole array. */
struct hr_tied {
    size_t embedding, tied; /* layers */
    size_t begin, count;    /* 0: no layer is tied */
};
struct hr_tied hr_model_tied(const struct hr_model *model);

/* Where its slice of the whole model's parameters begins (hr_model_param_count long). */
size_t hr_part_param_begin(const struct hr_model *part);
/* Floats of a sample's input. */
size_t hr_part_inputs(const struct hr_model *part);

/* The pass that follows writes its output, of a part that is not the last, to y (B, outputs). */
void hr_workspace_lend_output(struct hr_workspace *workspace, float *y);

/* The passes that follow find an embedding's weights (count) at `weights`, and leave, or take, the
 * gradient of the layer tied to it at `share` (count). NULL, NULL: one part has both layers. */
void hr_workspace_lend_table(struct hr_workspace *workspace, const float *weights, float *share);

/* Which of the workspace's options.batches is in hand from now on. */
void hr_workspace_turn(struct hr_workspace *workspace, size_t batch);

/* Forward over B samples. No allocation. */
void hr_part_forward(const struct hr_model *part, struct hr_workspace *workspace,
                     const float *params, size_t B);

/* Where the part recomputes and another batch went forward since the batch in hand: forward once
 * more, y to memory of its own. Numbers that are drawn are the same, so are all bits; statistics
 * (model.h) move with gradients only. Was there anything to do? */
bool hr_part_forward_again(const struct hr_model *part, struct hr_workspace *workspace,
                           const float *params, size_t B);

struct hr_part_gradients {
    float *dy;    /* (B, outputs) in, may be overwritten; of the last part unused */
    float *dx;    /* (B, inputs) out; of the first part unused */
    float *grads; /* (param_count) out, overwritten */
};

/* Backward of the batch in hand, whose forward went before. The last part's loss; else zeros. */
struct hr_batch_result hr_part_backward(const struct hr_model *part, struct hr_workspace *workspace,
                                        const float *params, const struct hr_part_gradients *at,
                                        size_t B);

/* The half for x: at->dx, and the loss; at->grads is not used. What a layer cannot do apart, its
 * tensors' gradients, is done here, too, and kept. */
struct hr_batch_result hr_part_backward_data(const struct hr_model *part,
                                             struct hr_workspace *workspace, const float *params,
                                             const struct hr_part_gradients *at, size_t B);
/* The half for the parameters, of the batch in hand: grads (param_count) out, overwritten. */
void hr_part_backward_weights(const struct hr_model *part, struct hr_workspace *workspace,
                              const float *params, float *grads, size_t B);

/* --- a model cut into S shards, which one rank computes, or several together ---
 *
 * dense by columns   shard s has rows of W:      y[:, s] = x W[s]^T + b[s]
 *                                                    dx = sum over shards of dy[:, s] W[s]
 *     dense by rows      shard s has columns of W:   y = sum over shards of x[:, s] W[:, s]^T, + b
 *                                                    dx[:, s] = dy W[:, s]
 *     attention by heads shard s has the rows of W of its heads' q, k and v, and the columns of the
 *                        projection:                y = sum over shards of o[:, s] W[:, s]^T, + b
 *                                                   dx = sum over shards, as by columns
 *     by channels        relu, batchnorm, dropout, ...: each channel alone
 *     not                what needs all channels: one rank does it
 *
 * A dense layer by columns feeds one by rows wherever one follows: each shard reads what it wrote,
 * and only the second's sums travel, in forward, and the first's, in backward. Without a partner a
 * layer is cut along its longer side.
 *
 * The shards are part of the recipe: each is computed by calls of its own, and sums over shards are
 * added in T(S) (base/vec.h), so the bits are a function of S, and who computes a shard changes
 * none. Each channel belongs to a shard, in eights (hr_split_range), or whole heads.
 *
 * Ranks that compute together have one workspace's activations between them (hr_workspace_share);
 * the weights and gradients of a shard are touched by its rank alone. A rank writes its channels of
 * an array, and reads others' only after all have met: where that must be is worked out
 * beforehand.
 *
 *     hr_split_plan(whole, S, &split)           of the whole model: whatever parts it is cut into,
 *     hr_part_split(part, &split)               they are split alike
 *     hr_workspace_create(part, B, &(options){.team = {rank, T, barrier, arg}}, &w)
 *     hr_workspace_share(w, memory)             T > 1
 *     hr_part_forward(...), hr_part_backward(...)   by all ranks, which meet in the middle of them
 *
 * Threads: as part.h.
 * Test:    tests/unit/nn/test_split.c */

struct hr_model_split {
    size_t shards; /* 0 or 1: nothing is split */
    enum hr_layer_cut cut[HR_MODEL_MAX_LAYERS];
};

/* How each layer is cut. HR_E_USAGE where no layer has work for so many shards; it says how many
 * would do. */
HR_CHECKED enum hr_status hr_split_plan(const struct hr_model *model, size_t shards,
                                        struct hr_model_split *out);
/* Of a part of that model, or the model itself: before workspaces are made for it. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_part_split(struct hr_model *part, const struct hr_model_split *split);

/* The channels of a shard, of so many: whole eights, as even as can be, but for the last. */
struct hr_channels hr_split_range(size_t channels, size_t shards, size_t shard);
/* "by columns", "by rows", "by channels", "by heads", "not". */
const char *hr_layer_cut_name(enum hr_layer_cut cut);

#endif
