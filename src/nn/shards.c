/* A layer's pass as the ranks of a team compute it, shard by shard (split.h); of a model that is
 * not split one rank does all. And what becomes of what a layer wrote: sums over shards, gradients
 * of several readers added, bfloat16 values. */
#include "base/size.h"
#include "base/vec.h"
#include "kernels/bf16.h"
#include "kernels/elementwise.h"
#include "nn/model_impl.h"
#include "nn/split.h"

static void ask(const struct hr_workspace *workspace, const struct hr_layer *layer,
                const struct hr_pass *pass, bool backward)
{
    if (workspace->options.watch)
        workspace->options.watch(workspace->options.arg, layer, pass, backward);
    else
        (backward ? layer->type->backward : layer->type->forward)(layer, pass);
}

static size_t first_shard(const struct hr_workspace *workspace)
{
    const struct hr_team_seat *team = &workspace->options.team;
    return hr_split_begin(workspace->model->shards, team->ranks, team->rank);
}

static size_t end_shard(const struct hr_workspace *workspace)
{
    const struct hr_team_seat *team = &workspace->options.team;
    return hr_split_begin(workspace->model->shards, team->ranks, team->rank + 1);
}

/* The channels of all of a rank's shards. */
static struct hr_channels own_range(const struct hr_workspace *workspace,
                                    const struct hr_dims *dims)
{
    const size_t shards = workspace->model->shards, C = dims->size[0];
    return (struct hr_channels){hr_split_range(C, shards, first_shard(workspace)).begin,
                                hr_split_range(C, shards, end_shard(workspace) - 1).end};
}

static void meet(struct hr_workspace *workspace, bool sums)
{
    const struct hr_team_seat *team = &workspace->options.team;
    if (team->ranks > 1 && !workspace->left)
        workspace->left = !team->meet(team->arg, sums);
}

/* It reads all of an array of which others wrote the other channels. */
static void count_gathered(struct hr_workspace *workspace, const struct hr_dims *dims, size_t B)
{
    const struct hr_channels own = own_range(workspace, dims);
    if (workspace->options.team.ranks > 1)
        workspace->moved += sizeof(float) * B * (hr_dims_elems(dims) / dims->size[0]) *
                            (dims->size[0] - (own.end - own.begin));
}

static float *partial_of(const struct hr_workspace *workspace, size_t shard)
{
    return workspace->partial + shard * workspace->partial_elems;
}

/* to (B,dims), the rank's channels of it: the shards' partial sums, added in T(S). */
static void add_partials(struct hr_workspace *workspace, const struct hr_dims *dims, size_t B,
                         float *to)
{
    const size_t shards = workspace->model->shards;
    const size_t own = end_shard(workspace) - first_shard(workspace);
    const struct hr_strips strips = hr_strips_of(dims, B, own_range(workspace, dims));
    const float *from[HR_VEC_MAX_INPUTS];
    for (size_t r = 0, at = strips.first; r < strips.count; r++, at += strips.step) {
        float *out = to + at;
        for (size_t s = 0; s < shards; s++)
            from[s] = partial_of(workspace, s) + at;
        hr_vec()->tree_sum(&out, 1, from, shards, strips.length);
    }
    workspace->moved += sizeof(float) * strips.count * strips.length * (shards - own);
}

/* The same, y of a layer by rows: with what each shard left to do. */
static void end_sums(struct hr_workspace *workspace, const struct hr_layer *layer,
                     const struct hr_pass *pass)
{
    const struct hr_channels own = own_range(workspace, &layer->out);
    const size_t I = layer->in.size[0], O = layer->out.size[0], n = own.end - own.begin;
    const float *bias = pass->params + O * I + own.begin;
    const struct hr_elementwise *loops = hr_elementwise();
    meet(workspace, true);
    if (workspace->left)
        return;
    add_partials(workspace, &layer->out, pass->B, pass->y);
    for (size_t b = 0; b < pass->B; b++)
        (layer->relu_follows ? loops->bias_relu : loops->bias_add)(1, n, bias,
                                                                   pass->y + b * O + own.begin);
}

static void ask_shards(struct hr_workspace *workspace, const struct hr_layer *layer,
                       const struct hr_pass *whole, bool backward)
{
    const size_t shards = workspace->model->shards;
    struct hr_pass pass = *whole;
    for (size_t s = first_shard(workspace); s < end_shard(workspace); s++) {
        pass.in = hr_split_range(layer->in.size[0], shards, s);
        pass.out = hr_split_range(layer->out.size[0], shards, s);
        if (layer->cut == HR_CUT_ROWS && !backward)
            pass.y = partial_of(workspace, s);
        if (layer->cut == HR_CUT_COLUMNS && pass.dx)
            pass.dx = partial_of(workspace, s);
        ask(workspace, layer, &pass, backward);
    }
}

void hr_shards_do(struct hr_workspace *workspace, const struct hr_layer *layer,
                  const struct hr_pass *pass, bool backward)
{
    if (layer->cut != HR_CUT_NOT)
        ask_shards(workspace, layer, pass, backward);
    else if (workspace->options.team.rank == 0)
        ask(workspace, layer, pass, backward);
}

/* The same, once nobody else is in its way. */
static void do_layer(struct hr_workspace *workspace, const struct hr_layer *layer,
                     const struct hr_pass *pass, bool backward)
{
    if (layer->meets[backward])
        meet(workspace, false);
    if (workspace->left)
        return;
    hr_shards_do(workspace, layer, pass, backward);
}

/* --- what becomes of it --- */

/* What this rank has to do with an array that it wrote: nothing where another did. */
static struct hr_strips own_strips(const struct hr_workspace *workspace,
                                   const struct hr_layer *layer, const struct hr_dims *dims,
                                   size_t B)
{
    const bool whole = layer->cut == HR_CUT_NOT;
    if (workspace->left || (whole && workspace->options.team.rank))
        return (struct hr_strips){0};
    return hr_strips_of(
        dims, B, whole ? (struct hr_channels){0, dims->size[0]} : own_range(workspace, dims));
}

/* Of a model of bfloat16 values: make x (B,dims) such. */
static void round_own(const struct hr_workspace *workspace, const struct hr_layer *layer,
                      const struct hr_dims *dims, size_t B, float *x)
{
    if (layer->precision != HR_PRECISION_BF16 || !x)
        return;
    const struct hr_strips strips = own_strips(workspace, layer, dims, B);
    for (size_t r = 0, at = strips.first; r < strips.count; r++, at += strips.step)
        hr_bf16()->round(strips.length, x + at, x + at);
}

void hr_shards_add(const struct hr_workspace *workspace, const struct hr_layer *layer,
                   const struct hr_dims *dims, const float *dx, float *to, size_t B)
{
    if (!to)
        return;
    const struct hr_strips strips = own_strips(workspace, layer, dims, B);
    for (size_t r = 0, at = strips.first; r < strips.count; r++, at += strips.step)
        hr_vec()->add(to + at, dx + at, strips.length);
    round_own(workspace, layer, dims, B, to);
}

/* --- both passes --- */

void hr_shards_forward(struct hr_workspace *workspace, const struct hr_layer *layer,
                       const struct hr_pass *pass)
{
    const bool sums = layer->cut == HR_CUT_ROWS;
    do_layer(workspace, layer, pass, false);
    if (layer->cut == HR_CUT_COLUMNS)
        count_gathered(workspace, &layer->in, pass->B);
    else if (sums)
        end_sums(workspace, layer, pass);
    if (sums || !layer->type->rounds[0])
        round_own(workspace, layer, &layer[layer->absorbs].out, pass->B, pass->y);
}

void hr_shards_backward(struct hr_workspace *workspace, const struct hr_layer *layer,
                        const struct hr_pass *pass)
{
    const bool sums = layer->cut == HR_CUT_COLUMNS && pass->dx;
    do_layer(workspace, layer, pass, true);
    if (layer->cut == HR_CUT_ROWS)
        count_gathered(workspace, &layer->out, pass->B);
    if (sums) {
        meet(workspace, true);
        if (!workspace->left)
            add_partials(workspace, &layer->in, pass->B, pass->dx);
    }
    if (sums || !layer->type->rounds[1]) {
        round_own(workspace, layer, &layer->in, pass->B, pass->dx);
        round_own(workspace, layer, &layer->in2, pass->B, pass->dx2);
    }
}
