/* Who reads whose output, and what follows from it: which layers work in place, and where each
 * gradient lies on its way back. */
#include <stdlib.h>

#include "nn/model_impl.h"

/* --- forward --- */

/* Layers that read the output of layer `of` (or of the input). */
static size_t readers(const struct hr_model *model, size_t of)
{
    size_t count = 0;
    for (size_t i = 0; i < model->text.nlayers; i++)
        for (size_t k = 0; k < model->text.layers[i].nfrom; k++)
            count += model->text.layers[i].from[k] == of;
    return count;
}

/* May layer i overwrite its (first) input? Not when another layer reads it too, nor when the layer
 * that wrote it (perhaps through layers that work in place) needs it in backward. */
static bool may_overwrite(const struct hr_model *model, size_t i)
{
    const size_t from = model->text.layers[i].from[0];
    if (readers(model, from) != 1)
        return false;
    if (model->layers[i].type == &hr_layer_flatten) /* which moves nothing there */
        return true;
    for (size_t at = from; at != HR_FROM_INPUT; at = model->text.layers[at].from[0]) {
        if (model->layers[at].type->reads_y)
            return false;
        if (!model->layers[at].in_place)
            return true;
    }
    return true;
}

static void settle_places(struct hr_model *model)
{
    for (size_t i = 0; i < model->text.nlayers; i++)
        if (model->layers[i].in_place && !may_overwrite(model, i))
            model->layers[i].in_place = false;
}

/* A layer that can does the work of the relu behind it: one pass over y instead of two, and over dy
 * where it can that too. */
static void fuse_relus(struct hr_model *model)
{
    for (size_t i = 0; i + 1 < model->text.nlayers; i++) {
        struct hr_layer *layer = &model->layers[i], *next = layer + 1;
        layer->relu_follows = layer->type->can_fuse_relu && next->type == &hr_layer_relu &&
                              next->in_place && model->text.layers[i + 1].from[0] == i;
        next->done_before = layer->relu_follows;
        next->absorbed = layer->relu_follows && layer->type->can_absorb_relu;
        layer->absorbs = next->absorbed;
    }
}

/* Do layers i .. i + count follow one another, with nobody else reading between them? */
static bool in_a_row(const struct hr_model *model, size_t i, size_t count)
{
    for (size_t j = i; j < i + count; j++)
        if (model->text.layers[j + 1].from[0] != j || readers(model, j) != 1)
            return false;
    return true;
}

/* A convolution's output is large, and a pool makes it small: neither it nor its gradient need be
 * stored when both are done together, image by image. */
static void fuse_pools(struct hr_model *model)
{
    for (size_t i = 0; i + 1 < model->text.nlayers; i++) {
        struct hr_layer *layer = &model->layers[i];
        const size_t behind = layer->relu_follows ? 2 : 1;
        if (!layer->type->can_fuse_pool || i + behind >= model->text.nlayers ||
            layer[behind].type != &hr_layer_maxpool || !in_a_row(model, i, behind))
            continue;
        layer->absorbs = behind;
        for (size_t j = 1; j <= behind; j++)
            layer[j].absorbed = true;
    }
}

/* --- backward --- */

/* State while backward is simulated to assign slots. */
struct slots {
    struct hr_model *model;
    bool *taken;   /* (nlayers + 2) */
    size_t *where; /* (nlayers) of the gradient of each output so far, or HR_NO_SLOT */
    size_t input;  /* the same of the input of a part that continues another */
};

static size_t take_slot(struct slots *slots, size_t elems)
{
    struct hr_model *model = slots->model;
    size_t slot = 0;
    while (slots->taken[slot])
        slot++;
    slots->taken[slot] = true;
    if (slot == model->nslots)
        model->nslots++;
    if (elems > model->slots[slot].elems)
        model->slots[slot].elems = elems;
    return slot;
}

/* One that nobody had before, and whose memory is lent (part.h). */
static size_t take_own_slot(struct slots *slots)
{
    const size_t slot = slots->model->nslots++;
    slots->taken[slot] = true;
    return slot;
}

/* Where input k of layer i gets its gradient. The first reader's is written into the input's slot;
 * later ones into a temporary slot, and added: so gradients are added in the order of backward,
 * from the last reader to the first. */
static void route_input(struct slots *slots, size_t i, size_t k)
{
    const struct hr_model *model = slots->model;
    const size_t from = model->text.layers[i].from[k];
    const bool input = from == HR_FROM_INPUT;
    struct hr_flow *flow = &model->flows[i];
    flow->dx[k] = flow->add_to[k] = HR_NO_SLOT;
    if (input ? !model->part.continues : !model->flows[from].trained)
        return;
    size_t *where = input ? &slots->input : &slots->where[from];
    const size_t elems = hr_dims_elems(input ? &model->input : &model->layers[from].out);
    if (*where != HR_NO_SLOT) {
        flow->add_to[k] = *where;
        flow->dx[k] = take_slot(slots, elems);
        slots->taken[flow->dx[k]] = false;
    } else {
        const bool stays = k == 0 && model->layers[i].in_place && !input;
        *where = flow->dx[k] = stays   ? flow->dy
                               : input ? take_own_slot(slots)
                                       : take_slot(slots, elems);
    }
}

static void route_layer(struct slots *slots, size_t i)
{
    const struct hr_model *model = slots->model;
    struct hr_flow *flow = &model->flows[i];
    flow->dy = slots->where[i + model->layers[i].absorbs];
    for (size_t k = 2; k-- > 0;)
        if (k < model->text.layers[i].nfrom)
            route_input(slots, i, k);
        else
            flow->dx[k] = flow->add_to[k] = HR_NO_SLOT;
    model->slots[flow->dy].kept |= model->part.in_halves && model->layers[i].type->has_halves;
    const bool lent = model->part.goes_on && flow->dy == model->part.dy_slot;
    if (flow->dx[0] != flow->dy && !lent && !model->slots[flow->dy].kept)
        slots->taken[flow->dy] = false;
}

static void find_trained(struct hr_model *model)
{
    for (size_t i = 0; i < model->text.nlayers; i++) {
        const struct hr_layer_text *text = &model->text.layers[i];
        bool trained = model->layers[i].ntensors > 0;
        for (size_t k = 0; k < text->nfrom; k++)
            trained |= text->from[k] == HR_FROM_INPUT ? model->part.continues
                                                      : model->flows[text->from[k]].trained;
        model->flows[i].trained = trained;
    }
    while (!model->flows[model->first_trained].trained)
        model->first_trained++;
}

enum hr_status hr_graph_route(struct hr_model *model)
{
    const size_t n = model->text.nlayers, last = n - 1;
    struct slots slots = {model, calloc(n + 3, sizeof *slots.taken), calloc(n, sizeof *slots.where),
                          HR_NO_SLOT};
    model->flows = calloc(n, sizeof *model->flows);
    model->slots = calloc(n + 3, sizeof *model->slots);
    const bool enough = slots.taken && slots.where && model->flows && model->slots;
    if (enough) {
        find_trained(model);
        for (size_t i = 0; i < n; i++)
            slots.where[i] = HR_NO_SLOT;
        model->part.dy_slot = slots.where[last] =
            model->part.goes_on ? take_own_slot(&slots)
                                : take_slot(&slots, hr_dims_elems(&model->layers[last].out));
        for (size_t i = n; i-- > 0;)
            if (model->flows[i].trained && !model->layers[i].absorbed)
                route_layer(&slots, i);
        model->part.dx_slot = slots.input;
    }
    free(slots.taken);
    free(slots.where);
    return enough ? HR_OK : hr_fail(HR_E_NOMEM, "no memory for a model of %zu layers", n);
}

enum hr_status hr_graph_plan(struct hr_model *model)
{
    settle_places(model);
    fuse_relus(model);
    fuse_pools(model);
    return hr_graph_route(model);
}
