/* Layers as one model (model.h): who reads whose output, and what follows from it, which layers
 * work in place and where each gradient lies on its way back; what a step takes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "base/size.h"
#include "nn/model.h"
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

static void resolve_places(struct hr_model *model)
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

/* Decide on fused relus, places and slots of a model whose layers are built. HR_E_NOMEM. */
static enum hr_status graph_plan(struct hr_model *model)
{
    resolve_places(model);
    fuse_relus(model);
    fuse_pools(model);
    return hr_graph_route(model);
}

/* 8 GiB of floats. A larger network is more likely a mistake than meant for one machine. */
static const size_t MAX_PARAMS = (size_t)1 << 31;

/* Put the place before the message: `model: layer 2 "dens 10": ...`. */
static enum hr_status fail_in_layer(enum hr_status status, const struct hr_model *model,
                                    size_t index)
{
    char text[60];
    hr_layer_text_join(&model->text.layers[index], text, sizeof text);
    return hr_fail_within(status, "model: layer %s \"%s\"", model->text.layers[index].path, text);
}

/* Elements of a tensor, or of a sample; false when there are too many to address. */
static bool count_elems(size_t ndim, const size_t *shape, size_t *out)
{
    size_t product = 1;
    for (size_t d = 0; d < ndim; d++)
        if (!hr_size_mul(product, shape[d], &product))
            return false;
    *out = product;
    return product <= MAX_PARAMS;
}

static enum hr_status check_input(struct hr_shape input, struct hr_dims *out)
{
    size_t elems;
    char text[80];
    *out = (struct hr_dims){.ndim = 3, .size = {input.channels, input.height, input.width}};
    if (!count_elems(out->ndim, out->size, &elems) || elems == 0)
        return hr_fail(HR_E_USAGE, "model: input of shape %s, expected 1 to %zu elements",
                       hr_dims_text(out, text, sizeof text), MAX_PARAMS);
    return HR_OK;
}

/* Give the layer its place in the parameter array, after all tensors so far. */
static enum hr_status place_tensors(struct hr_model *model, struct hr_layer *layer)
{
    layer->first_tensor = model->ntensors;
    layer->param_offset = model->param_count;
    for (size_t t = 0; t < layer->ntensors; t++) {
        size_t count;
        const struct hr_layer_tensor *tensor = &layer->tensors[t];
        if (!count_elems(tensor->ndim, tensor->shape, &count) ||
            count > MAX_PARAMS - model->param_count)
            return hr_fail(HR_E_USAGE, "the model has more than %zu parameters", MAX_PARAMS);
        model->param_count += count;
    }
    model->ntensors += layer->ntensors;
    return HR_OK;
}

static const struct hr_dims *output_of(const struct hr_model *model, size_t from)
{
    return from == HR_FROM_INPUT ? &model->input : &model->layers[from].out;
}

/* The first embedding before it, whose weights a layer `tied` has. */
static struct hr_layer *find_table(struct hr_model *model, size_t before)
{
    struct hr_layer *table = NULL;
    for (size_t i = before; i-- > 0;)
        if (model->layers[i].type == &hr_layer_embedding)
            table = &model->layers[i];
    return table;
}

static enum hr_status build_layer(struct hr_model *model, size_t index)
{
    const struct hr_layer_text *text = &model->text.layers[index];
    struct hr_layer *layer = &model->layers[index];
    HR_TRY(hr_layer_parse(text, model->text.nlayers == 1, layer));
    layer->index = index;
    layer->precision = model->precision;
    layer->in = *output_of(model, text->from[0]);
    layer->tokens = model->loss.text ? model->classes : 0;
    struct hr_layer *table = layer->type == &hr_layer_tied ? find_table(model, index) : NULL;
    layer->table = table;
    if (text->nfrom > 1)
        layer->in2 = *output_of(model, text->from[1]);
    HR_TRY(layer->type->fit(layer));
    layer->out.planes = false;
    HR_TRY(place_tensors(model, layer));
    if (table) {
        table->is_tied = true;
        layer->param_offset = table->param_offset;
    }
    return HR_OK;
}

/* When only flattens read it, the input stays in PyTorch's order, which they want. */
static void choose_input_order(struct hr_model *model)
{
    const struct hr_dims *in = &model->input;
    bool flat = true;
    for (size_t i = 0; i < model->text.nlayers; i++) {
        const struct hr_layer_text *text = &model->text.layers[i];
        for (size_t k = 0; k < text->nfrom; k++)
            if (text->from[k] == HR_FROM_INPUT)
                flat = flat && !strcmp(text->words[0], hr_layer_flatten.name);
    }
    model->pixels_first = !flat && in->size[0] > 1 && in->size[1] * in->size[2] > 1;
    model->input.planes = flat;
}

static enum hr_status build_layers(struct hr_model *model)
{
    model->layers = calloc(model->text.nlayers, sizeof *model->layers);
    if (!model->layers)
        return hr_fail(HR_E_NOMEM, "no memory for a model of %zu layers", model->text.nlayers);
    choose_input_order(model);
    for (size_t i = 0; i < model->text.nlayers; i++) {
        const enum hr_status status = build_layer(model, i);
        if (status != HR_OK)
            return fail_in_layer(status, model, i);
    }
    return HR_OK;
}

/* A regression has an output for each target. */
static enum hr_status check_values(struct hr_model *model, size_t outputs)
{
    const struct hr_loss_function *loss = &model->loss;
    if (loss->kind != HR_LOSS_MSE && loss->kind != HR_LOSS_HUBER)
        return hr_fail(HR_E_USAGE, "--loss %s: is of classes; values are learned with mse or huber",
                       hr_loss_name(loss->kind));
    if (outputs != loss->wanted.count)
        return hr_fail(HR_E_USAGE, "the last layer has %zu outputs, expected %zu, the targets",
                       outputs, loss->wanted.count);
    model->loss.outputs = outputs;
    return HR_OK;
}

/* May the loss compare this many outputs with the classes? */
static enum hr_status check_loss(struct hr_model *model, size_t outputs)
{
    const struct hr_loss_function *loss = &model->loss;
    if (loss->wanted.count)
        return check_values(model, outputs);
    if (loss->text && loss->kind != HR_LOSS_CROSS_ENTROPY)
        return hr_fail(HR_E_USAGE, "--loss %s: tokens are learned with cross-entropy",
                       hr_loss_name(loss->kind));
    const bool single = model->classes && outputs == 1 && model->classes != 1 &&
                        loss->kind != HR_LOSS_CROSS_ENTROPY;
    if (single && loss->kind == HR_LOSS_BCE && model->classes != 2)
        return hr_fail(HR_E_USAGE,
                       "a single output with --loss bce tells 2 classes apart, the data has %zu",
                       model->classes);
    if (model->classes && outputs != model->classes && !single)
        return hr_fail(HR_E_USAGE, "the last layer has %zu outputs, expected %zu, the classes%s",
                       outputs, model->classes,
                       outputs > model->classes ? " (--classes says which ones the data lacks)"
                                                : "");
    model->loss.outputs = outputs;
    return HR_OK;
}

/* The last layer gives one logit a class, and something can be learned. */
static enum hr_status check_output(struct hr_model *model)
{
    char text[80];
    const size_t last = model->text.nlayers - 1;
    const struct hr_dims *out = &model->layers[last].out;
    const size_t places = model->loss.places;
    enum hr_status status = HR_OK;
    if (places && (out->ndim != 2 || out->size[1] != places))
        status =
            hr_fail(HR_E_USAGE,
                    "the last layer has outputs of shape %s, expected (%zu, %zu): one of each "
                    "token at each place of a text, as --model gpt-nano, or \"tied\" or \"dense "
                    "%zu\" at the end, give them",
                    hr_dims_text(out, text, sizeof text), places, model->classes, model->classes);
    else if (!places && out->ndim != 1)
        status = hr_fail(HR_E_USAGE, "the last layer has outputs of shape %s, expected (%zu)",
                         hr_dims_text(out, text, sizeof text), model->classes);
    else
        status = check_loss(model, out->size[0]);
    if (status == HR_OK && model->ntensors == 0)
        status = hr_fail(HR_E_USAGE, "no layer up to here has parameters: nothing can be learned");
    return status == HR_OK ? HR_OK : fail_in_layer(status, model, last);
}

/* The public table of tensors. */
static enum hr_status list_tensors(struct hr_model *model)
{
    struct hr_tensor_info *info = calloc(model->ntensors, sizeof *info);
    if (!info)
        return hr_fail(HR_E_NOMEM, "no memory for a model of %zu tensors", model->ntensors);
    model->tensors = info;
    size_t offset = 0;
    for (size_t i = 0; i < model->text.nlayers; i++) {
        const struct hr_layer *layer = &model->layers[i];
        for (size_t t = 0; t < layer->ntensors; t++, info++) {
            const struct hr_layer_tensor *tensor = &layer->tensors[t];
            snprintf(info->name, sizeof info->name, "%s.%s", model->text.layers[i].path,
                     tensor->name);
            info->role = tensor->role;
            info->ndim = tensor->ndim;
            memcpy(info->shape, tensor->shape, sizeof info->shape);
            info->offset = offset;
            count_elems(info->ndim, info->shape, &info->count);
            offset += info->count;
        }
    }
    return HR_OK;
}

static enum hr_status check_smoothing(const struct hr_model_options *options)
{
    if (!(options->label_smoothing >= 0 && options->label_smoothing < 1))
        return hr_fail(HR_E_USAGE, "--loss cross-entropy:%g: expected 0 to below 1",
                       options->label_smoothing);
    if (options->label_smoothing > 0 && options->text && options->text->context)
        return hr_fail(HR_E_USAGE, "smoothed labels: are not supported for text");
    if (options->label_smoothing > 0 && options->loss != HR_LOSS_CROSS_ENTROPY)
        return hr_fail(HR_E_USAGE, "smoothed labels: are not supported with --loss %s",
                       hr_loss_name(options->loss));
    return HR_OK;
}

/* Of a built-in model. */
static size_t usual_outputs(const struct hr_model_options *options)
{
    return options->wanted.count ? options->wanted.count : options->classes ? options->classes : 2;
}

static enum hr_status check_huber(const struct hr_model_options *options)
{
    const bool huber = options->loss == HR_LOSS_HUBER;
    if (huber && !options->wanted.count && options->classes)
        return hr_fail(HR_E_USAGE, "--loss huber: is of values; expected it with --task regress");
    if (huber && !(options->huber_delta > 0))
        return hr_fail(HR_E_USAGE, "--loss huber:%g: expected more than 0", options->huber_delta);
    return HR_OK;
}

enum hr_status hr_model_build(const struct hr_model_options *options, struct hr_model **out)
{
    struct hr_dims in;
    HR_TRY(check_input(options->input, &in));
    HR_TRY(check_smoothing(options));
    HR_TRY(check_huber(options));
    struct hr_model *model = calloc(1, sizeof *model);
    if (!model)
        return hr_fail(HR_E_NOMEM, "no memory for a model");
    model->input = in;
    model->classes = options->classes;
    model->precision = options->precision;
    model->loss = (struct hr_loss_function){.kind = options->loss,
                                            .smoothing = (float)options->label_smoothing,
                                            .classes = options->wanted.count ? options->wanted.rows
                                                                             : options->classes,
                                            .delta = (float)options->huber_delta,
                                            .wanted = options->wanted};
    if (options->text && options->text->context) {
        model->loss.text = options->text;
        model->loss.places = options->text->context;
        model->loss.classes = options->text->count;
    }
    enum hr_status status;
    if (options->class_weights) {
        const size_t bytes = options->classes * sizeof *options->class_weights;
        void *weights = malloc(bytes);
        if (weights)
            memcpy(weights, options->class_weights, bytes);
        model->loss.class_weights = model->class_weights = weights;
        status = weights ? HR_OK : hr_fail(HR_E_NOMEM, "no memory for weights of classes");
        HR_TRY_GOTO(status, status, out);
    }
    HR_TRY_GOTO(hr_model_text_parse(options->description, usual_outputs(options), &model->text),
                status, out);
    HR_TRY_GOTO(build_layers(model), status, out);
    HR_TRY_GOTO(check_output(model), status, out);
    HR_TRY_GOTO(list_tensors(model), status, out);
    HR_TRY_GOTO(graph_plan(model), status, out);
    *out = model;
    model = NULL;
out:
    hr_model_destroy(model);
    return status;
}

enum hr_status hr_model_create(const char *description, struct hr_shape input, size_t classes,
                               struct hr_model **out)
{
    const struct hr_model_options options = {
        .description = description, .input = input, .classes = classes};
    return hr_model_build(&options, out);
}

enum hr_status hr_model_of_data(const char *description, const struct hr_dataset *dataset,
                                struct hr_model **out)
{
    const size_t outputs = dataset->targets.count ? dataset->targets.count : dataset->classes;
    const struct hr_model_options options = {.description = description,
                                             .input = dataset->shape,
                                             .classes = outputs,
                                             .text = &dataset->tokens};
    return hr_model_build(&options, out);
}

void hr_model_destroy(struct hr_model *model)
{
    if (!model)
        return;
    hr_model_text_fini(&model->text);
    free(model->layers);
    free(model->tensors);
    free(model->flows);
    free(model->slots);
    free(model->class_weights);
    free(model);
}

const char *hr_model_text(const struct hr_model *model)
{
    return model->text.list;
}

enum hr_precision hr_model_precision(const struct hr_model *model)
{
    return model->precision;
}

size_t hr_model_outputs(const struct hr_model *model)
{
    return hr_dims_elems(&model->layers[model->text.nlayers - 1].out);
}

size_t hr_model_param_count(const struct hr_model *model)
{
    return model->param_count;
}

size_t hr_model_tensor_count(const struct hr_model *model)
{
    return model->ntensors;
}

const struct hr_tensor_info *hr_model_tensor(const struct hr_model *model, size_t index)
{
    HR_ASSERT(index < model->ntensors);
    return &model->tensors[index];
}

/* w (count) = U(-bound, bound); one block of Philox is four elements. */
static void fill_uniform(float *w, size_t count, float bound, uint64_t seed, size_t tensor)
{
    for (size_t i = 0; i < count; i += 4) {
        const struct hr_philox block =
            hr_random_block(seed, HR_STREAM_INIT, i / 4, (uint32_t)tensor);
        for (size_t j = 0; j < hr_min_size(4, count - i); j++)
            w[i + j] = bound * (2.0f * hr_random_unit(block.v[j]) - 1.0f);
    }
}

/* w (count) = N(0, deviation), by Box and Muller; one block of Philox is four elements. */
static void fill_normal(float *w, size_t count, double deviation, uint64_t seed, size_t tensor)
{
    const double turn = 2 * acos(-1);
    for (size_t i = 0; i < count; i += 4) {
        const struct hr_philox block =
            hr_random_block(seed, HR_STREAM_INIT, i / 4, (uint32_t)tensor);
        for (size_t j = 0; j < hr_min_size(4, count - i); j++) {
            const uint32_t size = block.v[j & 2], angle = block.v[j | 1];
            const double radius = deviation * sqrt(-2 * log(((double)size + 0.5) * 0x1p-32));
            const double phase = turn * (double)angle * 0x1p-32;
            w[i + j] = (float)(radius * (j & 1 ? sin(phase) : cos(phase)));
        }
    }
}

static void fill(float *w, size_t count, float value)
{
    for (size_t i = 0; i < count; i++)
        w[i] = value;
}

static void init_tensor(const struct hr_model *model, const struct hr_layer *layer, size_t t,
                        uint64_t seed, float *params)
{
    const size_t index = layer->first_tensor + t;
    const struct hr_tensor_info *info = &model->tensors[index];
    float *w = params + info->offset;
    switch (layer->tensors[t].init) {
    case HR_INIT_UNIFORM:
        fill_uniform(w, info->count, (float)(1.0 / sqrt((double)layer->fan_in)), seed, index);
        break;
    case HR_INIT_NORMAL:
        fill_normal(w, info->count, 1, seed, index);
        break;
    case HR_INIT_ZEROS:
    case HR_INIT_ONES:
        fill(w, info->count, layer->tensors[t].init == HR_INIT_ONES);
    }
}

/* --- as GPT-2: Radford et al., "Language models are unsupervised multitask learners", 2.3 --- */

static bool is_tied(const struct hr_model *model)
{
    bool tied = false;
    for (size_t i = 0; i < model->text.nlayers; i++)
        tied |= model->layers[i].table != NULL;
    return tied;
}

/* Residual blocks of the model, and whether layer i is the last inside of one. */
static bool ends_block(const struct hr_model *model, size_t i, size_t *blocks)
{
    bool ends = false;
    *blocks = 0;
    for (size_t j = 0; j < model->text.nlayers; j++)
        if (model->layers[j].type == &hr_layer_residual) {
            ends |= model->text.layers[j].from[0] == i;
            ++*blocks;
        }
    return ends;
}

/* Of an attention the output alone is what the block adds. */
static void init_as_gpt2(const struct hr_model *model, size_t i, size_t t, uint64_t seed,
                         float *params)
{
    const struct hr_layer *layer = &model->layers[i];
    const size_t index = layer->first_tensor + t;
    const struct hr_tensor_info *info = &model->tensors[index];
    const enum hr_layer_init init = layer->tensors[t].init;
    size_t blocks;
    const bool ends =
        ends_block(model, i, &blocks) &&
        (layer->type != &hr_layer_attention || !strcmp(layer->tensors[t].name, "output.weight"));
    if (info->ndim == 2)
        fill_normal(params + info->offset, info->count, ends ? 0.02 / sqrt((double)blocks) : 0.02,
                    seed, index);
    else
        fill(params + info->offset, info->count, init == HR_INIT_ONES);
}

void hr_model_init(const struct hr_model *model, uint64_t seed, float *params)
{
    const bool tied = is_tied(model);
    for (size_t i = 0; i < model->text.nlayers; i++)
        for (size_t t = 0; t < model->layers[i].ntensors; t++)
            if (tied)
                init_as_gpt2(model, i, t, seed, params);
            else
                init_tensor(model, &model->layers[i], t, seed, params);
}

size_t hr_model_layer_count(const struct hr_model *model)
{
    return model->text.nlayers;
}

enum hr_loss_kind hr_model_loss(const struct hr_model *model)
{
    return model->loss.kind;
}

const struct hr_layer *hr_model_layer_at(const struct hr_model *model, size_t index,
                                         struct hr_sources *sources)
{
    HR_ASSERT(index < model->text.nlayers);
    const struct hr_layer_text *text = &model->text.layers[index];
    *sources = (struct hr_sources){text->nfrom, {text->from[0], text->from[1]}};
    return &model->layers[index];
}

struct hr_layer_info hr_model_layer(const struct hr_model *model, size_t index)
{
    HR_ASSERT(index < model->text.nlayers);
    const struct hr_layer *layer = &model->layers[index];
    struct hr_layer_info info = {
        .path = model->text.layers[index].path, .ndim = layer->out.ndim, .madds = layer->madds};
    hr_layer_text_join(&model->text.layers[index], info.text, sizeof info.text);
    memcpy(info.shape, layer->out.size, sizeof info.shape);
    if (info.ndim == 2) {
        info.shape[0] = layer->out.size[1];
        info.shape[1] = layer->out.size[0];
    }
    for (size_t t = 0; t < layer->ntensors; t++) {
        const struct hr_tensor_info *tensor = &model->tensors[layer->first_tensor + t];
        *(tensor->role == HR_TENSOR_TRAINED ? &info.params : &info.statistics) += tensor->count;
    }
    return info;
}

/* --- multiply-adds --- */

/* Of a layer that `ranks` share, over one sample. */
static struct hr_model_madds madds_of(const struct hr_model *model, size_t i, size_t ranks)
{
    const struct hr_flow *flow = &model->flows[i];
    const struct hr_layer *layer = &model->layers[i];
    const double madds = layer->madds / (layer->cut == HR_CUT_NOT ? 1 : (double)ranks);
    const bool wants_dx = flow->trained && flow->dx[0] != HR_NO_SLOT;
    struct hr_model_madds of = {.forward = madds, .data = wants_dx ? madds : 0};
    *(layer->type->has_halves ? &of.weights : &of.data) += flow->trained ? madds : 0;
    return of;
}

struct hr_model_madds hr_model_madds_apart(const struct hr_model *model, size_t ranks)
{
    struct hr_model_madds sum = {0};
    for (size_t i = 0; i < model->text.nlayers; i++) {
        const struct hr_model_madds of = madds_of(model, i, ranks);
        sum.forward += of.forward;
        sum.data += of.data;
        sum.weights += of.weights;
    }
    return sum;
}

double hr_model_madds(const struct hr_model *model)
{
    const struct hr_model_madds sum = hr_model_madds_apart(model, 1);
    return sum.forward + sum.data + sum.weights;
}

double hr_model_multiplied(const struct hr_model *model)
{
    double sum = 0;
    for (size_t i = 0; i < model->text.nlayers; i++) {
        const struct hr_layer *layer = &model->layers[i];
        const struct hr_model_madds of = madds_of(model, i, 1);
        const double share = layer->madds > 0 ? hr_layer_multiplied(layer) / layer->madds : 0;
        sum += share * (of.forward + of.data + of.weights);
    }
    return sum;
}

bool hr_model_is_direct(const struct hr_model *model)
{
    for (size_t i = 0; i < model->text.nlayers; i++)
        if (hr_layer_multiplied(&model->layers[i]) < model->layers[i].madds)
            return false;
    return true;
}

static bool has_gradients(const struct hr_model *model, size_t i)
{
    return model->flows[i].trained && !model->layers[i].absorbed && model->layers[i].ntensors;
}

bool hr_model_final(const struct hr_model *model, size_t number, struct hr_model_final *out)
{
    const double all = hr_model_madds(model);
    double done = hr_model_madds_apart(model, 1).forward;
    for (size_t i = model->text.nlayers; i-- > 0;) {
        const struct hr_model_madds of = madds_of(model, i, 1);
        done += of.data + of.weights;
        if (!has_gradients(model, i) || number-- > 0)
            continue;
        *out = (struct hr_model_final){model->layers[i].param_offset, all > 0 ? done / all : 1};
        return true;
    }
    return false;
}
