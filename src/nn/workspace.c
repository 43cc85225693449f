/* The private memory of one computing thread, and the two things done with it: forward and
 * backward. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/size.h"
#include "nn/loss.h"
#include "nn/model_impl.h"

struct hr_workspace {
    const struct hr_model *model; /* borrowed */
    size_t max_batch;
    struct hr_arena arena; /* everything below */
    float *x;              /* (max_batch, features) */
    uint8_t *labels;       /* (max_batch) */
    float **y;             /* (nlayers): (max_batch, out) of each layer; in place: its input's */
    float *dy[2];          /* (max_batch, widest): gradient of a layer's output and of its input */
};

/* Floats of a sample's largest gradient: backward wants those of the outputs of all layers from
 * the first trained one on. */
static size_t widest_gradient(const struct hr_model *model)
{
    size_t widest = 0;
    for (size_t i = model->first_trained; i < model->text.nlayers; i++) {
        const size_t elems = hr_dims_elems(&model->layers[i].out);
        widest = elems > widest ? elems : widest;
    }
    return widest;
}

/* *total += what `rows` rows of `row_bytes` take up in the arena; false when that does not fit. */
static bool add_need(size_t *total, size_t rows, size_t row_bytes)
{
    size_t bytes;
    return hr_size_mul(rows, row_bytes, &bytes) && bytes <= SIZE_MAX / 2 &&
           hr_size_add(*total, hr_arena_need(bytes), total);
}

static bool count_bytes(const struct hr_model *model, size_t max_batch, size_t *out)
{
    size_t total = 0;
    bool fits = add_need(&total, max_batch, model->features * sizeof(float)) &&
                add_need(&total, max_batch, sizeof(uint8_t)) &&
                add_need(&total, model->text.nlayers, sizeof(float *));
    for (size_t i = 0; i < model->text.nlayers; i++) {
        const struct hr_layer *layer = &model->layers[i];
        if (!layer->type->in_place)
            fits = fits && add_need(&total, max_batch, hr_dims_elems(&layer->out) * sizeof(float));
    }
    for (int i = 0; i < 2; i++)
        fits = fits && add_need(&total, max_batch, widest_gradient(model) * sizeof(float));
    *out = total;
    return fits;
}

/* Cut the arena into the views; the same sizes in the same order as count_bytes. */
static void take_views(struct hr_workspace *workspace)
{
    const struct hr_model *model = workspace->model;
    const size_t B = workspace->max_batch, nlayers = model->text.nlayers;
    struct hr_arena *arena = &workspace->arena;
    workspace->x = hr_arena_take(arena, B * model->features * sizeof(float));
    workspace->labels = hr_arena_take(arena, B * sizeof(uint8_t));
    workspace->y = hr_arena_take(arena, nlayers * sizeof(float *));
    float *y = workspace->x;
    for (size_t i = 0; i < nlayers; i++) {
        const struct hr_layer *layer = &model->layers[i];
        if (!layer->type->in_place)
            y = hr_arena_take(arena, B * hr_dims_elems(&layer->out) * sizeof(float));
        workspace->y[i] = y;
    }
    for (int i = 0; i < 2; i++)
        workspace->dy[i] = hr_arena_take(arena, B * widest_gradient(model) * sizeof(float));
    HR_ASSERT(arena->used == arena->bytes);
}

enum hr_status hr_workspace_create(const struct hr_model *model, size_t max_batch,
                                   struct hr_workspace **out)
{
    size_t bytes;
    if (!count_bytes(model, max_batch, &bytes))
        return hr_fail(HR_E_NOMEM, "a workspace for batches of %zu samples is too large",
                       max_batch);
    struct hr_workspace *workspace = calloc(1, sizeof *workspace);
    if (!workspace)
        return hr_fail(HR_E_NOMEM, "no memory for a workspace");
    const enum hr_status status = hr_arena_init(&workspace->arena, bytes);
    if (status != HR_OK) {
        free(workspace);
        return hr_fail_within(status, "workspace for batches of %zu samples", max_batch);
    }
    workspace->model = model;
    workspace->max_batch = max_batch;
    take_views(workspace);
    *out = workspace;
    return HR_OK;
}

void hr_workspace_destroy(struct hr_workspace *workspace)
{
    if (!workspace)
        return;
    hr_arena_fini(&workspace->arena);
    free(workspace);
}

float *hr_workspace_input(struct hr_workspace *workspace)
{
    return workspace->x;
}

uint8_t *hr_workspace_labels(struct hr_workspace *workspace)
{
    return workspace->labels;
}

/* The pass of layer i over the first B samples, without gradients. */
static struct hr_pass pass_of(const struct hr_workspace *workspace, size_t i, const float *params,
                              size_t B)
{
    return (struct hr_pass){
        .B = B,
        .params = params + workspace->model->layers[i].param_offset,
        .x = i ? workspace->y[i - 1] : workspace->x,
        .y = workspace->y[i],
    };
}

/* Returns the logits (B, classes). */
static const float *forward(struct hr_workspace *workspace, const float *params, size_t B)
{
    const struct hr_model *model = workspace->model;
    for (size_t i = 0; i < model->text.nlayers; i++) {
        const struct hr_layer *layer = &model->layers[i];
        const struct hr_pass pass = pass_of(workspace, i, params, B);
        if (!layer->done_before)
            layer->type->forward(layer, &pass);
    }
    return workspace->y[model->text.nlayers - 1];
}

/* dlogits stand in dy[0]. The two buffers change places at each layer that does not work in place;
 * the first trained layer needs no gradient of its input, and those before it none at all. */
static void backward(struct hr_workspace *workspace, const float *params, size_t B, float *grads)
{
    const struct hr_model *model = workspace->model;
    float *dy = workspace->dy[0], *other = workspace->dy[1];
    for (size_t i = model->text.nlayers; i-- > model->first_trained;) {
        const struct hr_layer *layer = &model->layers[i];
        struct hr_pass pass = pass_of(workspace, i, params, B);
        pass.grads = grads + layer->param_offset;
        pass.dy = dy;
        pass.dx = layer->type->in_place ? dy : other;
        if (i == model->first_trained)
            pass.dx = NULL;
        layer->type->backward(layer, &pass);
        if (!layer->type->in_place) {
            other = dy;
            dy = pass.dx;
        }
    }
}

struct hr_batch_result hr_model_gradient(const struct hr_model *model,
                                         struct hr_workspace *workspace, const float *params,
                                         size_t B, float *grads)
{
    HR_ASSERT(workspace->model == model && B <= workspace->max_batch);
    const float *logits = forward(workspace, params, B);
    const struct hr_batch_result result =
        hr_softmax_loss(B, model->classes, logits, workspace->labels, workspace->dy[0]);
    backward(workspace, params, B, grads);
    return result;
}

struct hr_batch_result hr_model_evaluate(const struct hr_model *model,
                                         struct hr_workspace *workspace, const float *params,
                                         size_t B)
{
    HR_ASSERT(workspace->model == model && B <= workspace->max_batch);
    const float *logits = forward(workspace, params, B);
    return hr_softmax_loss(B, model->classes, logits, workspace->labels, NULL);
}
