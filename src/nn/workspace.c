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

/* Cuts memory into views; without memory, adds up their sizes. */
struct cutter {
    unsigned char *base; /* NULL: only count */
    size_t bytes;
    bool fits;
};

/* Tables and scratch are a rank's own; what layers read and write is its team's. */
struct cutters {
    struct cutter own, shared;
};

/* The next `rows` rows of `row_bytes`; NULL while counting. */
static void *cut(struct cutter *cutter, size_t rows, size_t row_bytes)
{
    size_t bytes;
    const size_t at = cutter->bytes;
    if (!hr_size_mul(rows, row_bytes, &bytes) || bytes > SIZE_MAX / 2 ||
        !hr_size_add(at, hr_arena_need(bytes), &cutter->bytes)) {
        cutter->fits = false;
        return NULL;
    }
    return cutter->base ? cutter->base + at : NULL;
}

/* Where layer i finds its first input. */
static float *input_of(const struct hr_model *model, const struct hr_saved_batch *batch, size_t i)
{
    const size_t from = model->text.layers[i].from[0];
    return from == HR_FROM_INPUT ? batch->x : batch->traces[from].y;
}

/* y and saved of each layer, once there is memory for the table itself. */
static void lay_out_layers(const struct hr_workspace *workspace, struct hr_saved_batch *batch,
                           struct cutters *cutters)
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
            own = cut(&cutters->shared, workspace->max_batch,
                      hr_dims_elems(&layer[layer->absorbs].out) * sizeof *own);
        void *kept = saved ? cut(&cutters->shared, 1, saved) : NULL;
        if (cutters->own.base)
            batch->traces[i] =
                (struct hr_layer_trace){owns ? own : input_of(model, batch, i), kept};
    }
}

/* Is a slot's memory that of other parts? */
static bool is_lent(const struct hr_model *model, size_t slot)
{
    return (model->part.goes_on && slot == model->part.dy_slot) ||
           (model->part.continues && slot == model->part.dx_slot);
}

/* Of one batch, or those that all share; lent ones are NULL until then. */
static void lay_out_slots(const struct hr_workspace *workspace, float **slots, bool kept,
                          struct cutters *cutters)
{
    const struct hr_model *model = workspace->model;
    for (size_t s = 0; s < model->nslots; s++) {
        float *slot = NULL;
        if (model->slots[s].kept == kept && !is_lent(model, s))
            slot =
                cut(&cutters->shared, workspace->max_batch, model->slots[s].elems * sizeof *slot);
        if (cutters->own.base)
            slots[s] = slot || !kept ? slot : workspace->slots[s];
    }
}

/* What layers without halves compute with the first of them. */
static void lay_out_grads(const struct hr_model *model, struct hr_saved_batch *batch,
                          struct cutters *cutters)
{
    batch->grads = cut(&cutters->own, model->text.nlayers, sizeof *batch->grads);
    for (size_t i = 0; i < model->text.nlayers; i++) {
        const struct hr_layer *layer = &model->layers[i];
        const size_t count = layer->type->has_halves ? 0 : hr_layer_param_count(layer);
        float *grads = count ? cut(&cutters->shared, count, sizeof *grads) : NULL;
        if (cutters->own.base)
            batch->grads[i] = grads;
    }
}

/* Activations, its own or `shared`. */
static void lay_out_activations(const struct hr_workspace *workspace, struct hr_saved_batch *batch,
                                const struct hr_saved_batch *shared, struct cutters *cutters)
{
    const struct hr_model *model = workspace->model;
    const size_t features = hr_dims_elems(&model->input);
    batch->x = batch->input;
    if (shared) {
        batch->x = model->pixels_first ? shared->x : batch->x;
        batch->traces = shared->traces;
        return;
    }
    if (model->pixels_first)
        batch->x = cut(&cutters->shared, workspace->max_batch, features * sizeof(float));
    batch->traces = cut(&cutters->own, model->text.nlayers, sizeof *batch->traces);
    lay_out_layers(workspace, batch, cutters);
}

/* What is kept of one batch. `batch` is a place to count with where there is no memory yet. */
static void lay_out_batch(const struct hr_workspace *workspace, struct hr_saved_batch *batch,
                          const struct hr_saved_batch *shared, struct cutters *cutters)
{
    const struct hr_model *model = workspace->model;
    const size_t B = workspace->max_batch, features = hr_dims_elems(&model->input);
    *batch = (struct hr_saved_batch){.draw.seed = workspace->options.seed};
    if (!model->part.continues) {
        batch->own_input = cut(&cutters->shared, B, features * sizeof(float));
        batch->own_labels = cut(&cutters->shared, B, sizeof *batch->labels);
    }
    batch->input = batch->own_input;
    batch->labels = batch->own_labels;
    lay_out_activations(workspace, batch, shared, cutters);
    if (model->part.in_halves)
        lay_out_grads(model, batch, cutters);
    batch->slots = cut(&cutters->own, model->nslots, sizeof *batch->slots);
    lay_out_slots(workspace, batch->slots, true, cutters);
}

/* Called twice: to count, then to take views. */
static void lay_out(struct hr_workspace *workspace, struct cutters *cutters)
{
    const struct hr_model *model = workspace->model;
    const size_t B = workspace->max_batch, shards = model->widest ? model->shards : 0;
    const size_t scratch = scratch_bytes(model, B, workspace->options.threads);
    const bool views = cutters->own.base != NULL;
    struct hr_saved_batch counted = {0};
    workspace->slots = cut(&cutters->own, model->nslots, sizeof *workspace->slots);
    lay_out_slots(workspace, workspace->slots, false, cutters);
    workspace->kept = cut(&cutters->own, workspace->options.batches, sizeof *workspace->kept);
    for (size_t b = 0; b < workspace->options.batches; b++) {
        struct hr_saved_batch *batch = views ? &workspace->kept[b] : &counted;
        struct hr_saved_batch *first = views ? workspace->kept : &counted;
        lay_out_batch(workspace, batch, b && model->part.recomputes ? first : NULL, cutters);
    }
    if (model->part.recomputes && model->part.goes_on)
        workspace->own_output = cut(&cutters->shared, B, hr_model_outputs(model) * sizeof(float));
    workspace->batch = workspace->kept;
    workspace->scratch = cut(&cutters->own, 1, scratch);
    workspace->partial_elems = hr_round_up(B * model->widest, HR_ARENA_ALIGN / sizeof(float));
    workspace->partial =
        cut(&cutters->shared, shards, workspace->partial_elems * sizeof *workspace->partial);
}

static bool is_shared(const struct hr_workspace *workspace)
{
    return workspace->options.team.ranks > 1;
}

/* Its tables, once it has all memory. */
static void take_views(struct hr_workspace *workspace, void *shared)
{
    struct cutters cutters = {.own = {workspace->arena.base, 0, true}, .shared = {shared, 0, true}};
    lay_out(workspace, &cutters);
    HR_ASSERT(cutters.own.bytes == workspace->own_bytes);
}

static struct cutters count_bytes(const struct hr_workspace *workspace)
{
    struct hr_workspace copy = *workspace;
    struct cutters cutters = {.own = {NULL, 0, true}, .shared = {NULL, 0, true}};
    lay_out(&copy, &cutters);
    return cutters;
}

/* 0: too many. */
static size_t bytes_of(const struct hr_workspace *workspace, const struct cutters *cutters)
{
    size_t bytes = cutters->own.bytes;
    const bool fits = cutters->own.fits && cutters->shared.fits &&
                      hr_size_add(bytes, is_shared(workspace) ? 0 : cutters->shared.bytes, &bytes);
    return fits ? bytes : 0;
}

static enum hr_status take_memory(struct hr_workspace *workspace)
{
    const struct cutters cutters = count_bytes(workspace);
    const size_t bytes = bytes_of(workspace, &cutters);
    if (bytes == 0)
        return hr_fail(HR_E_NOMEM, "a workspace for batches of %zu samples is too large",
                       workspace->max_batch);
    HR_TRY(hr_arena_init(&workspace->arena, bytes));
    workspace->own_bytes = cutters.own.bytes;
    if (!is_shared(workspace))
        take_views(workspace, workspace->arena.base + workspace->own_bytes);
    return HR_OK;
}

void hr_workspace_share(struct hr_workspace *workspace, void *memory)
{
    HR_ASSERT(is_shared(workspace));
    take_views(workspace, memory);
}

uint64_t hr_workspace_moved(const struct hr_workspace *workspace)
{
    return workspace->moved;
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
    if (workspace.options.team.ranks == 0)
        workspace.options.team.ranks = 1;
    return workspace;
}

size_t hr_workspace_bytes(const struct hr_model *model, size_t max_batch,
                          const struct hr_workspace_options *options)
{
    const struct hr_workspace workspace = without_memory(model, max_batch, options);
    const struct cutters cutters = count_bytes(&workspace);
    return bytes_of(&workspace, &cutters);
}

size_t hr_workspace_shared_bytes(const struct hr_model *model, size_t max_batch,
                                 const struct hr_workspace_options *options)
{
    const struct hr_workspace workspace = without_memory(model, max_batch, options);
    return is_shared(&workspace) ? count_bytes(&workspace).shared.bytes : 0;
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

size_t hr_workspace_place_bytes(const struct hr_model *model, size_t max_batch,
                                const struct hr_workspace_options *options)
{
    const size_t bytes = hr_workspace_bytes(model, max_batch, options);
    size_t all;
    return bytes && hr_size_add(bytes, hr_arena_need(sizeof(struct hr_workspace)), &all) ? all : 0;
}

struct hr_workspace *hr_workspace_place(const struct hr_model *model, size_t max_batch,
                                        const struct hr_workspace_options *options, void *memory)
{
    struct hr_workspace *workspace = memory;
    const size_t all = hr_workspace_place_bytes(model, max_batch, options);
    memset(memory, 0, all);
    *workspace = without_memory(model, max_batch, options);
    HR_ASSERT(all && !is_shared(workspace));
    const struct cutters cutters = count_bytes(workspace);
    workspace->own_bytes = cutters.own.bytes;
    workspace->arena.base = (unsigned char *)memory + hr_arena_need(sizeof *workspace);
    take_views(workspace, workspace->arena.base + workspace->own_bytes);
    return workspace;
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

float *hr_workspace_output_grads(struct hr_workspace *workspace)
{
    return workspace->batch->slots[workspace->model->part.dy_slot];
}

void hr_workspace_answers(const struct hr_workspace *workspace, size_t B, uint32_t *answers)
{
    hr_loss_answers(&workspace->model->loss, B, hr_workspace_outputs(workspace), answers);
}

void hr_workspace_losses(const struct hr_workspace *workspace, size_t B, float *losses)
{
    hr_loss_each(&workspace->model->loss, B, hr_workspace_outputs(workspace),
                 workspace->batch->labels, losses);
}

uint32_t *hr_workspace_labels(struct hr_workspace *workspace)
{
    return workspace->batch->labels;
}

/* Layers that work in place, in what was `before`, work in `now`. */
static void move_traces(struct hr_workspace *workspace, const float *before, float *now)
{
    struct hr_layer_trace *traces = workspace->batch->traces;
    for (size_t i = 0; i < workspace->model->text.nlayers; i++)
        if (traces[i].y == before)
            traces[i].y = now;
}

void hr_workspace_give(struct hr_workspace *workspace, const struct hr_taker *taker)
{
    HR_ASSERT(workspace->options.team.ranks <= 1);
    workspace->taker = taker;
}

void hr_workspace_lend(struct hr_workspace *workspace, float *x, uint32_t *labels)
{
    struct hr_saved_batch *batch = workspace->batch;
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

void hr_workspace_lend_table(struct hr_workspace *workspace, const float *weights, float *share)
{
    workspace->table = weights;
    workspace->share = share;
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
