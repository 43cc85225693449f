/* Forward and backward through a model's layers, in a workspace's memory. */
#include <string.h>

#include "base/clock.h"
#include "base/size.h"
#include "base/vec.h"
#include "kernels/bf16.h"
#include "kernels/elementwise.h"
#include "nn/model_impl.h"
#include "nn/part.h"
#include "nn/planes.h"

/* --- a layer in shards ---
 * A layer's pass as the ranks of a team compute it, shard by shard (part.h); of a model that is
 * not split one rank does all. And what becomes of what a layer wrote: sums over shards, gradients
 * of several readers added, bfloat16 values. */

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
    const struct hr_team_member *team = &workspace->options.team;
    return hr_split_begin(workspace->model->shards, team->ranks, team->rank);
}

static size_t end_shard(const struct hr_workspace *workspace)
{
    const struct hr_team_member *team = &workspace->options.team;
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

static void team_barrier(struct hr_workspace *workspace, bool sums)
{
    const struct hr_team_member *team = &workspace->options.team;
    if (team->ranks > 1 && !workspace->left)
        workspace->left = !team->barrier(team->arg, sums);
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

/* The same, y of a layer by rows or heads: with what each shard left to do. Biases come last of its
 * tensors. */
static void end_sums(struct hr_workspace *workspace, const struct hr_layer *layer,
                     const struct hr_pass *pass)
{
    const struct hr_channels own = own_range(workspace, &layer->out);
    const size_t O = layer->out.size[0], n = own.end - own.begin;
    const float *bias = pass->params + hr_layer_param_count(layer) - O + own.begin;
    const struct hr_elementwise *loops = hr_elementwise();
    team_barrier(workspace, true);
    if (workspace->left)
        return;
    add_partials(workspace, &layer->out, pass->B, pass->y);
    for (size_t r = 0; r < pass->B * hr_dims_rows(&layer->out); r++)
        (layer->relu_follows ? loops->bias_relu : loops->bias_add)(1, n, bias,
                                                                   pass->y + r * O + own.begin);
}

/* The channels of a shard's heads. */
static struct hr_channels heads_of(const struct hr_layer *layer, size_t shards, size_t shard)
{
    const size_t d = layer->head, heads = layer->in.size[0] / d;
    return (struct hr_channels){d * hr_split_begin(heads, shards, shard),
                                d * hr_split_begin(heads, shards, shard + 1)};
}

static void ask_shards(struct hr_workspace *workspace, const struct hr_layer *layer,
                       const struct hr_pass *whole, bool backward)
{
    const size_t shards = workspace->model->shards;
    struct hr_pass pass = *whole;
    for (size_t s = first_shard(workspace); s < end_shard(workspace); s++) {
        pass.in = layer->cut == HR_CUT_HEADS ? heads_of(layer, shards, s)
                                             : hr_split_range(layer->in.size[0], shards, s);
        pass.out = hr_split_range(layer->out.size[0], shards, s);
        if (hr_layer_sums_y(layer) && !backward)
            pass.y = partial_of(workspace, s);
        if (hr_layer_sums_dx(layer) && pass.dx)
            pass.dx = partial_of(workspace, s);
        ask(workspace, layer, &pass, backward);
    }
}

/* The share alone, which is in nobody's way: gradients of parameters. */
static void shards_do(struct hr_workspace *workspace, const struct hr_layer *layer,
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
        team_barrier(workspace, false);
    if (workspace->left)
        return;
    shards_do(workspace, layer, pass, backward);
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

/* to += dx, both (B,dims) gradients of an input of the layer's: of the channels whose gradient this
 * rank has computed. `to` NULL: nothing. */
static void shards_add(const struct hr_workspace *workspace, const struct hr_layer *layer,
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

/* A layer's pass over a batch: this rank's share of it, with what is summed over shards and
 * rounded. It meets the others where it must. */
static void shards_forward(struct hr_workspace *workspace, const struct hr_layer *layer,
                           const struct hr_pass *pass)
{
    const bool sums = hr_layer_sums_y(layer);
    do_layer(workspace, layer, pass, false);
    if (hr_layer_sums_dx(layer))
        count_gathered(workspace, &layer->in, pass->B);
    if (sums)
        end_sums(workspace, layer, pass);
    if (sums || !layer->type->rounds[0])
        round_own(workspace, layer, &layer[layer->absorbs].out, pass->B, pass->y);
}

static void shards_backward(struct hr_workspace *workspace, const struct hr_layer *layer,
                            const struct hr_pass *pass)
{
    const bool sums = hr_layer_sums_dx(layer) && pass->dx;
    do_layer(workspace, layer, pass, true);
    if (hr_layer_sums_y(layer))
        count_gathered(workspace, &layer->out, pass->B);
    if (sums) {
        team_barrier(workspace, true);
        if (!workspace->left)
            add_partials(workspace, &layer->in, pass->B, pass->dx);
    }
    if (sums || !layer->type->rounds[1]) {
        round_own(workspace, layer, &layer->in, pass->B, pass->dx);
        round_own(workspace, layer, &layer->in2, pass->B, pass->dx2);
    }
}

static const float *output_of(const struct hr_workspace *workspace, size_t from)
{
    const struct hr_saved_batch *batch = workspace->batch;
    return from == HR_FROM_INPUT ? batch->x : batch->traces[from].y;
}

/* The pass of layer i over the first B samples, without gradients. */
static struct hr_pass pass_of(const struct hr_workspace *workspace, size_t i, const float *params,
                              size_t B)
{
    const struct hr_layer_text *text = &workspace->model->text.layers[i];
    const struct hr_layer *layer = &workspace->model->layers[i];
    return (struct hr_pass){
        .B = B,
        .params =
            layer->table && workspace->table ? workspace->table : params + layer->param_offset,
        .x = output_of(workspace, text->from[0]),
        .x2 = text->nfrom > 1 ? output_of(workspace, text->from[1]) : NULL,
        .y = workspace->batch->traces[i].y,
        .saved = workspace->batch->traces[i].saved,
        .scratch = workspace->scratch,
        .threads = workspace->options.threads,
        .draw = &workspace->batch->draw,
    };
}

/* Returns the logits (B, classes). */
static const float *forward(struct hr_workspace *workspace, const float *params, size_t B,
                            bool training)
{
    const struct hr_model *model = workspace->model;
    const struct hr_dims *in = &model->input;
    if (model->pixels_first && workspace->options.team.rank == 0)
        hr_planes_to_pixels(B, in->size[0], in->size[1] * in->size[2], workspace->batch->input,
                            workspace->batch->x);
    for (size_t i = 0; i < model->text.nlayers; i++) {
        const struct hr_layer *layer = &model->layers[i];
        struct hr_pass pass = pass_of(workspace, i, params, B);
        if (!training) {
            pass.saved = NULL;
            pass.draw = NULL;
        }
        if (!layer->done_before && !layer->absorbed)
            shards_forward(workspace, layer, &pass);
    }
    return hr_workspace_outputs(workspace);
}

/* Of `dims` as many places, and floats of one. */
static size_t take_places(struct hr_dims *dims, size_t places)
{
    if (dims->ndim == 2)
        dims->size[1] = places;
    return dims->ndim == 2 ? dims->size[0] : 1; /* the input is numbers of tokens */
}

/* Each layer as one of so many places: its rows in the arrays of a whole sequence. */
static void go_on(struct hr_workspace *workspace, const float *params, size_t first, size_t places)
{
    const struct hr_model *model = workspace->model;
    for (size_t i = 0; i < model->text.nlayers; i++) {
        struct hr_layer layer = model->layers[i];
        struct hr_pass pass = pass_of(workspace, i, params, 1);
        if (layer.done_before || layer.absorbed)
            continue;
        pass.x += first * take_places(&layer.in, places);
        pass.y += first * take_places(&layer.out, places);
        if (pass.x2)
            pass.x2 += first * take_places(&layer.in2, places);
        pass.kept = pass.saved;
        pass.before = first;
        pass.saved = NULL;
        pass.draw = NULL;
        ask(workspace, &layer, &pass, false);
        if (!layer.type->rounds[0])
            round_own(workspace, &layer, &layer.out, 1, pass.y);
    }
}

const float *hr_model_go_on(const struct hr_model *model, struct hr_workspace *workspace,
                            const float *params, size_t first, size_t end)
{
    HR_ASSERT(workspace->model == model && model->loss.text && first < end &&
              end <= model->loss.places && workspace->options.team.ranks == 1);
    go_on(workspace, params, first, end - first);
    return hr_workspace_outputs(workspace) + (end - 1) * model->classes;
}

/* A layer's gradients are final: tell the caller. */
static void say_done(const struct hr_workspace *workspace, const struct hr_layer *layer)
{
    const size_t count = hr_layer_param_count(layer);
    if (workspace->options.done && count)
        workspace->options.done(workspace->options.arg, layer->param_offset, count);
}

/* Of a layer that does not hand over its gradients itself. grads: of all. */
static void hand_over(const struct hr_workspace *workspace, const struct hr_layer *layer,
                      float *grads)
{
    const struct hr_taker *taker = workspace->taker;
    const size_t count = hr_layer_param_count(layer);
    if (taker && count && !layer->type->hands_over)
        taker->take(taker->arg, &(struct hr_final_piece){.begin = layer->param_offset,
                                                         .rows = 1,
                                                         .columns = count,
                                                         .values = grads + layer->param_offset});
}

static float *slot_of(const struct hr_workspace *workspace, size_t slot)
{
    return slot == HR_NO_SLOT ? NULL : workspace->batch->slots[slot];
}

/* Where those of layer i's tensors go: to the part's `grads`, or to what is kept between halves. A
 * layer that is tied has its embedding's tensor. */
static float *grads_of(const struct hr_workspace *workspace, size_t i, float *grads)
{
    const struct hr_model *model = workspace->model;
    const struct hr_layer *table = model->layers[i].table;
    if (table && workspace->table)
        return workspace->share;
    if (table)
        i = table->index - model->part.first;
    return model->part.in_halves ? workspace->batch->grads[i]
                                 : grads + model->layers[i].param_offset;
}

/* A pass with gradients: those of its tensors to `grads`, if they are wanted. */
static struct hr_pass backward_pass_of(const struct hr_workspace *workspace, size_t i,
                                       const float *params, size_t B, float *grads)
{
    const struct hr_flow *flow = &workspace->model->flows[i];
    struct hr_pass pass = pass_of(workspace, i, params, B);
    pass.grads = grads;
    pass.taker = workspace->taker;
    pass.dy = slot_of(workspace, flow->dy);
    pass.dx = slot_of(workspace, flow->dx[0]);
    pass.dx2 = slot_of(workspace, flow->dx[1]);
    return pass;
}

/* One layer's backward; where an input has several readers, gradients are added. grads: the part's,
 * unused in halves. */
static void backward_layer(struct hr_workspace *workspace, size_t i, const float *params, size_t B,
                           float *grads)
{
    const struct hr_layer *layer = &workspace->model->layers[i];
    const struct hr_flow *flow = &workspace->model->flows[i];
    const struct hr_pass pass =
        backward_pass_of(workspace, i, params, B, grads_of(workspace, i, grads));
    if (layer->is_tied && workspace->table && workspace->options.team.rank == 0)
        memcpy(pass.grads, workspace->share, hr_layer_param_count(layer) * sizeof *pass.grads);
    shards_backward(workspace, layer, &pass);
    shards_add(workspace, layer, &layer->in, pass.dx, slot_of(workspace, flow->add_to[0]), B);
    shards_add(workspace, layer, &layer->in2, pass.dx2, slot_of(workspace, flow->add_to[1]), B);
}

static bool has_backward(const struct hr_model *model, size_t i)
{
    return model->flows[i].trained && !model->layers[i].absorbed;
}

/* The loss is not a layer, and may be the caller's. */
static void round_loss(struct hr_workspace *workspace, size_t B)
{
    const struct hr_model *model = workspace->model;
    float *dy = hr_workspace_output_grads(workspace);
    if (model->precision == HR_PRECISION_BF16 && !model->part.goes_on &&
        workspace->options.team.rank == 0)
        hr_bf16()->round(B * hr_model_outputs(model), dy, dy);
}

static void backward(struct hr_workspace *workspace, const float *params, size_t B, float *grads)
{
    const struct hr_model *model = workspace->model;
    round_loss(workspace, B);
    for (size_t i = model->text.nlayers; i-- > 0;) {
        if (!has_backward(model, i))
            continue;
        backward_layer(workspace, i, params, B, grads);
        hand_over(workspace, &model->layers[i], grads);
        say_done(workspace, &model->layers[i]);
    }
}

/* What a layer cannot do apart is done here, and kept. */
static void backward_data(struct hr_workspace *workspace, const float *params, size_t B)
{
    const struct hr_model *model = workspace->model;
    round_loss(workspace, B);
    for (size_t i = model->text.nlayers; i-- > 0;)
        if (has_backward(model, i))
            backward_layer(workspace, i, params, B, NULL);
}

static void backward_weights(struct hr_workspace *workspace, const float *params, size_t B,
                             float *grads)
{
    const struct hr_model *model = workspace->model;
    for (size_t i = model->text.nlayers; i-- > 0;) {
        const struct hr_layer *layer = &model->layers[i];
        if (!layer->ntensors) /* a tied one's are another part's, perhaps */
            continue;
        float *of_layer = grads + layer->param_offset;
        if (layer->type->has_halves) {
            struct hr_pass pass = backward_pass_of(workspace, i, params, B, of_layer);
            pass.dx = NULL;
            shards_do(workspace, layer, &pass, true); /* which is in nobody's way */
        } else if (workspace->options.team.rank == 0) {
            memcpy(of_layer, workspace->batch->grads[i],
                   hr_layer_param_count(layer) * sizeof *of_layer);
        }
    }
}

const float *hr_model_forward(const struct hr_model *model, struct hr_workspace *workspace,
                              const float *params, size_t B, bool training)
{
    HR_ASSERT(workspace->model == model && B <= workspace->max_batch &&
              workspace->options.team.ranks == 1);
    return forward(workspace, params, B, training);
}

struct hr_batch_result hr_workspace_loss(struct hr_workspace *workspace, size_t B, bool wanted)
{
    return hr_loss(&workspace->model->loss, B, hr_workspace_outputs(workspace),
                   workspace->batch->labels, wanted ? hr_workspace_output_grads(workspace) : NULL);
}

void hr_model_backward(const struct hr_model *model, struct hr_workspace *workspace,
                       const float *params, size_t B, float *grads)
{
    HR_ASSERT(workspace->model == model && B <= workspace->max_batch);
    backward(workspace, params, B, grads);
}

struct hr_batch_result hr_model_gradient(const struct hr_model *model,
                                         struct hr_workspace *workspace, const float *params,
                                         size_t B, float *grads)
{
    const int64_t began = hr_clock_ns();
    hr_model_forward(model, workspace, params, B, true);
    struct hr_batch_result result = hr_workspace_loss(workspace, B, true);
    result.forward_ns = hr_clock_ns() - began;
    hr_model_backward(model, workspace, params, B, grads);
    return result;
}

void hr_part_forward(const struct hr_model *part, struct hr_workspace *workspace,
                     const float *params, size_t B)
{
    HR_ASSERT(workspace->model == part && B <= workspace->max_batch);
    forward(workspace, params, B, true);
    workspace->computed = workspace->batch;
}

bool hr_part_forward_again(const struct hr_model *part, struct hr_workspace *workspace,
                           const float *params, size_t B)
{
    if (!part->part.recomputes || workspace->computed == workspace->batch)
        return false;
    if (part->part.goes_on)
        hr_workspace_lend_output(workspace, workspace->own_output);
    hr_part_forward(part, workspace, params, B);
    return true;
}

/* Slots that are lent, and the loss. */
static struct hr_batch_result begin_backward(struct hr_workspace *workspace,
                                             const struct hr_part_gradients *at, size_t B)
{
    const struct hr_model *part = workspace->model;
    float **slots = workspace->batch->slots;
    HR_ASSERT(B <= workspace->max_batch);
    if (part->part.continues)
        slots[part->part.dx_slot] = at->dx;
    if (part->part.goes_on)
        slots[part->part.dy_slot] = at->dy;
    else if (workspace->options.team.rank == 0)
        return hr_workspace_loss(workspace, B, true);
    return (struct hr_batch_result){0};
}

struct hr_batch_result hr_part_backward(const struct hr_model *part, struct hr_workspace *workspace,
                                        const float *params, const struct hr_part_gradients *at,
                                        size_t B)
{
    HR_ASSERT(workspace->model == part && !part->part.in_halves);
    const struct hr_batch_result result = begin_backward(workspace, at, B);
    backward(workspace, params, B, at->grads);
    return result;
}

struct hr_batch_result hr_part_backward_data(const struct hr_model *part,
                                             struct hr_workspace *workspace, const float *params,
                                             const struct hr_part_gradients *at, size_t B)
{
    HR_ASSERT(workspace->model == part && part->part.in_halves);
    const struct hr_batch_result result = begin_backward(workspace, at, B);
    backward_data(workspace, params, B);
    return result;
}

void hr_part_backward_weights(const struct hr_model *part, struct hr_workspace *workspace,
                              const float *params, float *grads, size_t B)
{
    HR_ASSERT(workspace->model == part && part->part.in_halves && B <= workspace->max_batch);
    backward_weights(workspace, params, B, grads);
}

void hr_model_evaluate_more(const struct hr_model *model, struct hr_workspace *workspace,
                            const float *params, size_t B, struct hr_batch_result *sum)
{
    const float *logits = hr_model_forward(model, workspace, params, B, false);
    hr_loss_add(&model->loss, B, logits, workspace->batch->labels, NULL, sum);
}

struct hr_batch_result hr_model_evaluate(const struct hr_model *model,
                                         struct hr_workspace *workspace, const float *params,
                                         size_t B)
{
    struct hr_batch_result result = {0};
    hr_model_evaluate_more(model, workspace, params, B, &result);
    return result;
}
