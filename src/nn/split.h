/* split.h - a model cut into S shards, which one rank computes, or several together.
 *
 *     dense by columns   shard s has rows of W:      y[:, s] = x W[s]^T + b[s]
 *                                                    dx = sum over shards of dy[:, s] W[s]
 *     dense by rows      shard s has columns of W:   y = sum over shards of x[:, s] W[:, s]^T, + b
 *                                                    dx[:, s] = dy W[:, s]
 *     by channels        relu, batchnorm, dropout, ...: each channel alone
 *     not                what needs all channels: one rank does it
 *
 * A dense layer by columns feeds one by rows wherever one follows: each shard reads what it wrote,
 * and only the second's sums travel, in forward, and the first's, in backward. Without a partner a
 * layer is cut along its longer side.
 *
 * The shards are part of the recipe: each is computed by calls of its own, and sums over shards are
 * added in T(S) (base/vec.h), so the bits are a function of S, and who computes a shard changes
 * none. Each channel belongs to a shard, in eights (hr_split_range).
 *
 * Ranks that compute together have one workspace's activations between them (hr_workspace_share);
 * the weights and gradients of a shard are touched by its rank alone. A rank writes its channels of
 * an array, and reads others' only after all have met: where that must be is worked out
 * beforehand.
 *
 *     hr_split_plan(whole, S, &split)           of the whole model: whatever parts it is cut into,
 *     hr_part_split(part, &split)               they are split alike
 *     hr_workspace_create(part, B, &(options){.team = {rank, T, meet, arg}}, &w)
 *     hr_workspace_share(w, memory)             T > 1
 *     hr_part_forward(...), hr_part_backward(...)   by all ranks, which meet in the middle of them
 *
 * Threads: as part.h.
 * Test:    tests/unit/nn/test_split.c
 */
#ifndef HR_NN_SPLIT_H
#define HR_NN_SPLIT_H

#include "nn/layer.h"
#include "nn/part.h"

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
/* "by columns", "by rows", "by channels", "not". */
const char *hr_layer_cut_name(enum hr_layer_cut cut);

#endif
