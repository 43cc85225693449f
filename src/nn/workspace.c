/* The private memory of one computing thread. */
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "nn/model_impl.h"
#include "nn/part.h"

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

/* Where layer i finds its first input. */
static float *input_of(const struct hr_model *model, const struct hr_kept_batch *batch, size_t i)
{
    const size_t from = model->text.layers[i].from[0];
    return from == HR_FROM_INPUT ? batch->x : batch->traces[from].y;
}

/* y and saved of each layer, once there is memory for the table itself. */
static void lay_out_layers(const struct hr_workspace *workspace, struct hr_kept_batch *batch,
                           struct cutter *cutter)
{
    const struct hr_model *model = workspace->model;
    for (size_t i = 0; i < model->text.nlayers; i++) {
        const struct hr_layer *layer = &model->layers[i];
        const bool lent = model->part.goes_on && i == model->part.output_layer;
        const size_t saved = saved_bytes(layer, workspace->max_batch);
        float *own = NULL;
        /* Absorbed layers share the y of the last of them. */
        const bool owns = !layer->in_place && !layer->absorbed;
        if (owns && !lent)
            own = cut(cutter, workspace->max_batch,
                      hr_dims_elems(&layer[layer->absorbs].out) * sizeof *own);
        void *kept = saved ? cut(cutter, 1, saved) : NULL;
        if (cutter->arena)
            batch->traces[i] = (struct hr_trace){owns ? own : input_of(model, batch, i), kept};
    }
}

/* What is kept of one batch. `batch` is a place to count with where there is no memory yet. */
static void lay_out_batch(const struct hr_workspace *workspace, struct hr_kept_batch *batch,
                          struct cutter *cutter)
{
    const struct hr_model *model = workspace->model;
    const size_t B = workspace->max_batch, features = hr_dims_elems(&model->input);
    *batch = (struct hr_kept_batch){.draw.seed = workspace->options.seed};
    if (!model->part.continues) {
        batch->own_input = cut(cutter, B, features * sizeof(float));
        batch->own_labels = cut(cutter, B, sizeof *batch->labels);
    }
    batch->input = batch->x = batch->own_input;
    if (model->pixels_first)
        batch->x = cut(cutter, B, features * sizeof(float));
    batch->labels = batch->own_labels;
    batch->traces = cut(cutter, model->text.nlayers, sizeof *batch->traces);
    lay_out_layers(workspace, batch, cutter);
}

/* Is a slot's memory that of other parts? */
static bool is_lent(const struct hr_model *model, size_t slot)
{
    return (model->part.goes_on && slot == model->part.dy_slot) ||
           (model->part.continues && slot == model->part.dx_slot);
}

/* Called twice: to count, then to take views. */
static void lay_out(struct hr_workspace *workspace, struct cutter *cutter)
{
    const struct hr_model *model = workspace->model;
    const size_t B = workspace->max_batch;
    const size_t scratch = scratch_bytes(model, B, workspace->options.threads);
    struct hr_kept_batch counted;
    workspace->kept = cut(cutter, workspace->options.batches, sizeof *workspace->kept);
    for (size_t b = 0; b < workspace->options.batches; b++)
        lay_out_batch(workspace, cutter->arena ? &workspace->kept[b] : &counted, cutter);
    workspace->batch = workspace->kept;
    workspace->slots = cut(cutter, model->nslots, sizeof *workspace->slots);
    for (size_t s = 0; s < model->nslots; s++) {
        float *slot =
            is_lent(model, s) ? NULL : cut(cutter, B, model->slot_elems[s] * sizeof *slot);
        if (cutter->arena)
            workspace->slots[s] = slot;
    }
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

static struct hr_workspace without_memory(const struct hr_model *model, size_t max_batch,
                                          const struct hr_workspace_options *options)
{
    struct hr_workspace workspace = {.model = model, .max_batch = max_batch};
    if (options)
        workspace.options = *options;
    if (workspace.options.threads == 0)
        workspace.options.threads = 1;
    if (workspace.options.batches == 0)
        workspace.options.batches = 1;
    return workspace;
}

size_t hr_workspace_bytes(const struct hr_model *model, size_t max_batch,
                          const struct hr_workspace_options *options)
{
    struct hr_workspace workspace = without_memory(model, max_batch, options);
    struct cutter counter = {.fits = true};
    lay_out(&workspace, &counter);
    return counter.fits ? counter.bytes : 0;
}

enum hr_status hr_workspace_create(const struct hr_model *model, size_t max_batch,
                                   const struct hr_workspace_options *options,
                                   struct hr_workspace **out)
{
    struct hr_workspace *workspace = calloc(1, sizeof *workspace);
    if (!workspace)
        return hr_fail(HR_E_NOMEM, "no memory for a workspace");
    *workspace = without_memory(model, max_batch, options);
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
    return workspace->batch->input;
}

const float *hr_workspace_outputs(const struct hr_workspace *workspace)
{
    return workspace->batch->traces[workspace->model->text.nlayers - 1].y;
}

uint32_t *hr_workspace_labels(struct hr_workspace *workspace)
{
    return workspace->batch->labels;
}

/* Layers that work in place, in what was `before`, work in `now`. */
static void move_traces(struct hr_workspace *workspace, const float *before, float *now)
{
    struct hr_trace *traces = workspace->batch->traces;
    for (size_t i = 0; i < workspace->model->text.nlayers; i++)
        if (traces[i].y == before)
            traces[i].y = now;
}

void hr_workspace_lend(struct hr_workspace *workspace, float *x, uint32_t *labels)
{
    struct hr_kept_batch *batch = workspace->batch;
    const float *before = batch->x;
    batch->input = x ? x : batch->own_input;
    batch->labels = labels ? labels : batch->own_labels;
    if (workspace->model->pixels_first) /* layers read a copy */
        return;
    batch->x = batch->input;
    if (before)
        move_traces(workspace, before, batch->x);
}

void hr_workspace_lend_output(struct hr_workspace *workspace, float *y)
{
    const struct hr_part_place *part = &workspace->model->part;
    HR_ASSERT(part->goes_on);
    move_traces(workspace, workspace->batch->traces[part->output_layer].y, y);
}

void hr_workspace_turn(struct hr_workspace *workspace, size_t batch)
{
    HR_ASSERT(batch < workspace->options.batches);
    workspace->batch = &workspace->kept[batch];
}

void hr_workspace_draw(struct hr_workspace *workspace, uint64_t epoch, const uint32_t *samples)
{
    workspace->batch->draw.epoch = epoch;
    workspace->batch->draw.samples = samples;
}
