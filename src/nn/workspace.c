/* The private memory of one computing thread, and the two things done with it: forward and
 * backward. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/size.h"
#include "nn/loss.h"
#include "nn/model_impl.h"
#include "nn/planes.h"

/* What a layer leaves of a batch. */
struct trace {
    float *y;    /* (max_batch, out); in place: its input's */
    void *saved; /* saved_bytes, or NULL */
};

struct hr_workspace {
    const struct hr_model *model; /* borrowed */
    size_t max_batch;
    struct hr_workspace_options options;
    struct hr_draw draw;
    struct hr_arena arena; /* everything below */
    float *own_input;      /* (max_batch, features) as data sets have it */
    uint32_t *own_labels;  /* (max_batch) */
    float *input;          /* own_input, or lent */
    float *x;              /* the same in the layers' order; may be input */
    uint32_t *labels;      /* own_labels, or lent */
    struct trace *traces;  /* (nlayers) */
    float *dy[2];          /* (max_batch, widest): gradient of a layer's output and of its input */
    void *scratch;         /* of all layers in turn */
};

/* --- memory --- */

/* Floats of a sample's largest gradient: backward wants those of the outputs of all layers from
 * the first trained one on. */
static size_t widest_gradient(const struct hr_model *model)
{
    size_t widest = 0;
    for (size_t i = model->first_trained; i < model->text.nlayers; i++) {
        i += model->layers[i].absorbs;
        const size_t elems = hr_dims_elems(&model->layers[i].out);
        widest = elems > widest ? elems : widest;
    }
    return widest;
}

static size_t saved_bytes(const struct hr_layer *layer, size_t max_batch)
{
    return layer->type->saved_bytes ? layer->type->saved_bytes(layer, max_batch) : 0;
}

static size_t scratch_bytes(const struct hr_model *model, size_t max_batch, size_t threads)
{
    size_t most = 0;
    for (size_t i = 0; i < model->text.nlayers; i++) {
        const struct hr_layer *layer = &model->layers[i];
        if (layer->type->scratch_bytes) {
            const size_t bytes = layer->type->scratch_bytes(layer, max_batch, threads);
            most = bytes > most ? bytes : most;
        }
    }
    return most;
}

/* Cuts an arena into views; without an arena, adds up their sizes. */
struct cutter {
    struct hr_arena *arena; /* NULL: only count */
    size_t bytes;
    bool fits;
};

/* The next `rows` rows of `row_bytes`; NULL while counting. */
static void *cut(struct cutter *cutter, size_t rows, size_t row_bytes)
{
    size_t bytes;
    if (!hr_size_mul(rows, row_bytes, &bytes) || bytes > SIZE_MAX / 2 ||
        !hr_size_add(cutter->bytes, hr_arena_need(bytes), &cutter->bytes)) {
        cutter->fits = false;
        return NULL;
    }
    return cutter->arena ? hr_arena_take(cutter->arena, bytes) : NULL;
}

/* y and saved of each layer, once there is memory for the table itself. */
static void lay_out_layers(struct hr_workspace *workspace, struct cutter *cutter)
{
    const struct hr_model *model = workspace->model;
    float *y = workspace->x;
    for (size_t i = 0; i < model->text.nlayers; i++) {
        const struct hr_layer *layer = &model->layers[i];
        const size_t saved = saved_bytes(layer, workspace->max_batch);
        /* What a layer absorbs has no y but for the last one's, which all of them share. */
        if (!layer->in_place && !layer->absorbed)
            y = cut(cutter, workspace->max_batch,
                    hr_dims_elems(&layer[layer->absorbs].out) * sizeof *y);
        void *kept = saved ? cut(cutter, 1, saved) : NULL;
        if (cutter->arena)
            workspace->traces[i] = (struct trace){y, kept};
    }
}

/* Walked twice: to count, then to cut. */
static void lay_out(struct hr_workspace *workspace, struct cutter *cutter)
{
    const struct hr_model *model = workspace->model;
    const size_t B = workspace->max_batch, features = hr_dims_elems(&model->input);
    const size_t scratch = scratch_bytes(model, B, workspace->options.threads);
    workspace->own_input = cut(cutter, B, features * sizeof(float));
    workspace->input = workspace->x = workspace->own_input;
    if (model->pixels_first)
        workspace->x = cut(cutter, B, features * sizeof(float));
    workspace->own_labels = cut(cutter, B, sizeof *workspace->labels);
    workspace->labels = workspace->own_labels;
    workspace->traces = cut(cutter, model->text.nlayers, sizeof *workspace->traces);
    lay_out_layers(workspace, cutter);
    for (int i = 0; i < 2; i++)
        workspace->dy[i] = cut(cutter, B, widest_gradient(model) * sizeof(float));
    workspace->scratch = cut(cutter, 1, scratch);
}

static enum hr_status take_memory(struct hr_workspace *workspace)
{
    struct cutter counter = {.fits = true};
    lay_out(workspace, &counter);
    if (!counter.fits)
        return hr_fail(HR_E_NOMEM, "a workspace for batches of %zu samples is too large",
                       workspace->max_batch);
    HR_TRY(hr_arena_init(&workspace->arena, counter.bytes));
    struct cutter cutter = {.arena = &workspace->arena, .fits = true};
    lay_out(workspace, &cutter);
    HR_ASSERT(workspace->arena.used == counter.bytes);
    return HR_OK;
}

enum hr_status hr_workspace_create(const struct hr_model *model, size_t max_batch,
                                   const struct hr_workspace_options *options,
                                   struct hr_workspace **out)
{
    struct hr_workspace *workspace = calloc(1, sizeof *workspace);
    if (!workspace)
        return hr_fail(HR_E_NOMEM, "no memory for a workspace");
    workspace->model = model;
    workspace->max_batch = max_batch;
    if (options)
        workspace->options = *options;
    if (workspace->options.threads == 0)
        workspace->options.threads = 1;
    workspace->draw.seed = workspace->options.seed;
    const enum hr_status status = take_memory(workspace);
    if (status != HR_OK) {
        free(workspace);
        return hr_fail_within(status, "workspace for batches of %zu samples", max_batch);
    }
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
    return workspace->input;
}

uint32_t *hr_workspace_labels(struct hr_workspace *workspace)
{
    return workspace->labels;
}

void hr_workspace_lend(struct hr_workspace *workspace, float *x, uint32_t *labels)
{
    const struct hr_model *model = workspace->model;
    const float *before = workspace->x;
    workspace->input = x ? x : workspace->own_input;
    workspace->labels = labels ? labels : workspace->own_labels;
    if (model->pixels_first) /* layers read a copy */
        return;
    workspace->x = workspace->input;
    for (size_t i = 0; i < model->text.nlayers && workspace->traces[i].y == before; i++)
        workspace->traces[i].y = workspace->x; /* the first layers that work in place work there */
}

void hr_workspace_draw(struct hr_workspace *workspace, uint64_t epoch, const uint32_t *samples)
{
    workspace->draw.epoch = epoch;
    workspace->draw.samples = samples;
}

/* --- computing --- */

/* The pass of layer i over the first B samples, without gradients. */
static struct hr_pass pass_of(const struct hr_workspace *workspace, size_t i, const float *params,
                              size_t B)
{
    return (struct hr_pass){
        .B = B,
        .params = params + workspace->model->layers[i].param_offset,
        .x = i ? workspace->traces[i - 1].y : workspace->x,
        .y = workspace->traces[i].y,
        .saved = workspace->traces[i].saved,
        .scratch = workspace->scratch,
        .threads = workspace->options.threads,
        .draw = &workspace->draw,
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
        hr_planes_to_pixels(B, in->size[0], in->size[1] * in->size[2], workspace->input,
                            workspace->x);
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
    return workspace->traces[model->text.nlayers - 1].y;
}

/* Tell whoever wants to know that a layer's gradients are final. */
static void say_done(const struct hr_workspace *workspace, const struct hr_layer *layer)
{
    size_t count = 0;
    for (size_t t = 0; t < layer->ntensors; t++)
        count += workspace->model->tensors[layer->first_tensor + t].count;
    if (workspace->options.done && count)
        workspace->options.done(workspace->options.arg, layer->param_offset, count);
}

/* dlogits stand in dy[0]. The two buffers change places at each layer that does not work in place;
 * the first trained layer needs no gradient of its input, and those before it none at all. */
static void backward(struct hr_workspace *workspace, const float *params, size_t B, float *grads)
{
    const struct hr_model *model = workspace->model;
    float *dy = workspace->dy[0], *other = workspace->dy[1];
    for (size_t i = model->text.nlayers; i-- > model->first_trained;) {
        const struct hr_layer *layer = &model->layers[i];
        if (layer->absorbed)
            continue;
        struct hr_pass pass = pass_of(workspace, i, params, B);
        pass.grads = grads + layer->param_offset;
        pass.dy = dy;
        pass.dx = layer->in_place ? dy : other;
        if (i == model->first_trained)
            pass.dx = NULL;
        ask(workspace, layer, &pass, true);
        say_done(workspace, layer);
        if (!layer->in_place) {
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
    const int64_t began = hr_clock_ns();
    const float *logits = forward(workspace, params, B, true);
    struct hr_batch_result result =
        hr_softmax_loss(B, model->classes, logits, workspace->labels, workspace->dy[0]);
    result.forward_ns = hr_clock_ns() - began;
    backward(workspace, params, B, grads);
    return result;
}

struct hr_batch_result hr_model_evaluate(const struct hr_model *model,
                                         struct hr_workspace *workspace, const float *params,
                                         size_t B)
{
    HR_ASSERT(workspace->model == model && B <= workspace->max_batch);
    const float *logits = forward(workspace, params, B, false);
    return hr_softmax_loss(B, model->classes, logits, workspace->labels, NULL);
}
