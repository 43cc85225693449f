/* Forward and backward through a model's layers, in a workspace's memory. */
#include "base/clock.h"
#include "base/vec.h"
#include "nn/model_impl.h"
#include "nn/part.h"
#include "nn/planes.h"

static const float *output_of(const struct hr_workspace *workspace, size_t from)
{
    const struct hr_kept_batch *batch = workspace->batch;
    return from == HR_FROM_INPUT ? batch->x : batch->traces[from].y;
}

/* The pass of layer i over the first B samples, without gradients. */
static struct hr_pass pass_of(const struct hr_workspace *workspace, size_t i, const float *params,
                              size_t B)
{
    const struct hr_layer_text *text = &workspace->model->text.layers[i];
    return (struct hr_pass){
        .B = B,
        .params = params + workspace->model->layers[i].param_offset,
        .x = output_of(workspace, text->from[0]),
        .x2 = text->nfrom > 1 ? output_of(workspace, text->from[1]) : NULL,
        .y = workspace->batch->traces[i].y,
        .saved = workspace->batch->traces[i].saved,
        .scratch = workspace->scratch,
        .threads = workspace->options.threads,
        .draw = &workspace->batch->draw,
    };
}

static void ask(const struct hr_workspace *workspace, const struct hr_layer *layer,
                const struct hr_pass *pass, bool backward)
{
    if (workspace->options.watch)
        workspace->options.watch(workspace->options.arg, layer, pass, backward);
    else
        (backward ? layer->type->backward : layer->type->forward)(layer, pass);
}

/* Returns the logits (B, classes). */
static const float *forward(struct hr_workspace *workspace, const float *params, size_t B,
                            bool training)
{
    const struct hr_model *model = workspace->model;
    const struct hr_dims *in = &model->input;
    if (model->pixels_first)
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
            ask(workspace, layer, &pass, false);
    }
    return hr_workspace_outputs(workspace);
}

/* A layer's gradients are final: tell the caller. */
static void say_done(const struct hr_workspace *workspace, const struct hr_layer *layer)
{
    size_t count = 0;
    for (size_t t = 0; t < layer->ntensors; t++)
        count += workspace->model->tensors[layer->first_tensor + t].count;
    if (workspace->options.done && count)
        workspace->options.done(workspace->options.arg, layer->param_offset, count);
}

static float *slot_of(const struct hr_workspace *workspace, size_t slot)
{
    return slot == HR_NO_SLOT ? NULL : workspace->slots[slot];
}

/* One layer's backward; where an input has several readers, gradients are added. */
static void backward_layer(struct hr_workspace *workspace, size_t i, const float *params, size_t B,
                           float *grads)
{
    const struct hr_layer *layer = &workspace->model->layers[i];
    const struct hr_flow *flow = &workspace->model->flows[i];
    struct hr_pass pass = pass_of(workspace, i, params, B);
    pass.grads = grads + layer->param_offset;
    pass.dy = slot_of(workspace, flow->dy);
    pass.dx = slot_of(workspace, flow->dx[0]);
    pass.dx2 = slot_of(workspace, flow->dx[1]);
    ask(workspace, layer, &pass, true);
    if (flow->add_to[0] != HR_NO_SLOT)
        hr_vec()->add(slot_of(workspace, flow->add_to[0]), pass.dx, B * hr_dims_elems(&layer->in));
    if (flow->add_to[1] != HR_NO_SLOT)
        hr_vec()->add(slot_of(workspace, flow->add_to[1]), pass.dx2,
                      B * hr_dims_elems(&layer->in2));
}

static void backward(struct hr_workspace *workspace, const float *params, size_t B, float *grads)
{
    const struct hr_model *model = workspace->model;
    for (size_t i = model->text.nlayers; i-- > 0;) {
        if (!model->flows[i].trained || model->layers[i].absorbed)
            continue;
        backward_layer(workspace, i, params, B, grads);
        say_done(workspace, &model->layers[i]);
    }
}

struct hr_batch_result hr_model_gradient(const struct hr_model *model,
                                         struct hr_workspace *workspace, const float *params,
                                         size_t B, float *grads)
{
    HR_ASSERT(workspace->model == model && B <= workspace->max_batch);
    const int64_t began = hr_clock_ns();
    const float *logits = forward(workspace, params, B, true);
    struct hr_batch_result result = hr_loss(&model->loss, B, logits, workspace->batch->labels,
                                            workspace->slots[model->part.dy_slot]);
    result.forward_ns = hr_clock_ns() - began;
    backward(workspace, params, B, grads);
    return result;
}

void hr_part_forward(const struct hr_model *part, struct hr_workspace *workspace,
                     const float *params, size_t B)
{
    HR_ASSERT(workspace->model == part && B <= workspace->max_batch);
    forward(workspace, params, B, true);
}

struct hr_batch_result hr_part_backward(const struct hr_model *part, struct hr_workspace *workspace,
                                        const float *params, const struct hr_part_gradients *at,
                                        size_t B)
{
    HR_ASSERT(workspace->model == part && B <= workspace->max_batch);
    struct hr_batch_result result = {0};
    if (part->part.continues)
        workspace->slots[part->part.dx_slot] = at->dx;
    if (part->part.goes_on)
        workspace->slots[part->part.dy_slot] = at->dy;
    else
        result = hr_loss(&part->loss, B, hr_workspace_outputs(workspace), workspace->batch->labels,
                         workspace->slots[part->part.dy_slot]);
    backward(workspace, params, B, at->grads);
    return result;
}

void hr_model_evaluate_more(const struct hr_model *model, struct hr_workspace *workspace,
                            const float *params, size_t B, struct hr_batch_result *sum)
{
    HR_ASSERT(workspace->model == model && B <= workspace->max_batch);
    const float *logits = forward(workspace, params, B, false);
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
