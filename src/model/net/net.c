#include "net/net.h"

#include <pthread.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "products/ready.h"

enum hr_status hr_net_check_floats(const char *what, const float *floats, size_t count,
                                   size_t wanted)
{
    if (count != wanted)
        return hr_fail(HR_E_USAGE, "%s: found %zu floats, expected %zu", what, count, wanted);
    if (!floats && wanted)
        return hr_fail(HR_E_USAGE, "%s: found NULL, expected %zu floats", what, wanted);
    if ((uintptr_t)floats % alignof(float))
        return hr_fail(HR_E_USAGE, "%s: found address %p, expected one aligned to %zu bytes", what,
                       (const void *)floats, alignof(float));
    return HR_OK;
}

enum hr_status hr_net_check(const struct hr_net *net, const char *what, const float *floats,
                            size_t count)
{
    if (!net)
        return hr_fail(HR_E_USAGE, "net: found NULL");
    return hr_net_check_floats(what, floats, count, hr_model_param_count(net->model));
}

/* --- built --- */

/* Kernels are tried once a process, by whoever comes first. */
static enum hr_status try_kernels(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    const enum hr_status status = hr_kernels_check();
    pthread_mutex_unlock(&lock);
    return status;
}

/* What labels are below where the caller does not say it. */
static size_t classes_of(const struct hr_model *model, enum hr_loss_kind loss)
{
    const size_t outputs = hr_model_outputs(model);
    if (outputs > 1 || loss == HR_LOSS_CROSS_ENTROPY)
        return outputs;
    return loss == HR_LOSS_BCE ? 2 : HR_MAX_CLASSES;
}

/* Without classes the model is built twice: its text says how many there are. */
static enum hr_status build(struct hr_model_options *options, struct hr_model **out)
{
    HR_TRY(hr_model_build(options, out));
    if (options->classes)
        return HR_OK;
    options->classes = classes_of(*out, options->loss);
    hr_model_destroy(*out);
    *out = NULL;
    return hr_model_build(options, out);
}

/* Its loss is computed here (passes.c): the model's own has no values. */
static enum hr_status build_values(const struct hr_net_options *options,
                                   struct hr_model_options *model, struct hr_model **out)
{
    if (options->classes)
        return hr_fail(HR_E_USAGE, "found %zu classes and %zu targets, expected one of them",
                       options->classes, options->targets);
    if (!options->loss)
        model->loss = HR_LOSS_MSE;
    model->huber_delta =
        options->huber_delta > 0 || options->huber_delta < 0 ? options->huber_delta : 1;
    model->wanted = (struct hr_target_table){.count = options->targets};
    return hr_model_build(model, out);
}

static enum hr_status list_segments(struct hr_net *net)
{
    const size_t n = hr_model_tensor_count(net->model);
    net->segments = calloc(n, sizeof *net->segments);
    if (!net->segments)
        return hr_fail(HR_E_NOMEM, "no memory to list %zu tensors", n);
    for (size_t i = 0; i < n; i++) {
        const struct hr_tensor_info *info = hr_model_tensor(net->model, i);
        net->segments[i] = (struct hr_param_segment){
            .begin = info->offset,
            .count = info->count,
            .role = info->role == HR_TENSOR_STATISTIC ? HR_SEGMENT_STATISTIC : HR_SEGMENT_TRAINED,
        };
    }
    return HR_OK;
}

static enum hr_status fill(const struct hr_net_options *options, struct hr_net *net)
{
    struct hr_model_options model = {.description = options->layers,
                                     .input = options->input,
                                     .classes = options->classes,
                                     .label_smoothing = options->label_smoothing};
    if (options->classes > HR_MAX_CLASSES)
        return hr_fail(HR_E_USAGE, "classes: found %zu, expected at most %d", options->classes,
                       HR_MAX_CLASSES);
    if (options->loss)
        HR_TRY(hr_loss_parse(options->loss, &model.loss));
    if (model.loss == HR_LOSS_HUBER && !options->targets)
        return hr_fail(HR_E_USAGE, "loss huber: is of values and not of labels; expected targets, "
                                   "or cross-entropy, bce or mse");
    HR_TRY(options->targets ? build_values(options, &model, &net->model)
                            : build(&model, &net->model));
    net->input = options->input;
    net->features = hr_shape_elems(options->input);
    net->classes = model.classes;
    net->loss = model.loss;
    net->label_smoothing = model.label_smoothing;
    net->targets = options->targets;
    net->huber_delta = model.huber_delta;
    HR_TRY(list_segments(net));
    return try_kernels();
}

enum hr_status hr_net_open(const struct hr_net_options *options, struct hr_net **out)
{
    if (out)
        *out = NULL;
    if (!out || !options || !options->layers)
        return hr_fail(HR_E_USAGE, "hr_net_open: found NULL, expected options, layers and a place "
                                   "for the net");
    struct hr_net *net = calloc(1, sizeof *net);
    if (!net)
        return hr_fail(HR_E_NOMEM, "no memory for a network");
    const enum hr_status status = fill(options, net);
    if (status == HR_OK)
        *out = net;
    else
        hr_net_close(net);
    return status;
}

void hr_net_close(struct hr_net *net)
{
    if (!net)
        return;
    hr_model_destroy(net->model);
    free(net->segments);
    free(net);
}

/* --- asked --- */

const char *hr_net_layers(const struct hr_net *net)
{
    return net ? hr_model_text(net->model) : NULL;
}

size_t hr_net_features(const struct hr_net *net)
{
    return net ? net->features : 0;
}

size_t hr_net_outputs(const struct hr_net *net)
{
    return net ? hr_model_outputs(net->model) : 0;
}

size_t hr_net_classes(const struct hr_net *net)
{
    return net ? net->classes : 0;
}

size_t hr_net_targets(const struct hr_net *net)
{
    return net ? net->targets : 0;
}

size_t hr_net_params(const struct hr_net *net)
{
    return net ? hr_model_param_count(net->model) : 0;
}

size_t hr_net_tensors(const struct hr_net *net)
{
    return net ? hr_model_tensor_count(net->model) : 0;
}

enum hr_status hr_net_view(const struct hr_net *net, size_t index, float *params, size_t count,
                           struct hr_net_view *out)
{
    if (!net || !out)
        return hr_fail(HR_E_USAGE, "hr_net_view: found NULL, expected a net and a view");
    if (params)
        HR_TRY(hr_net_check(net, "params", params, count));
    if (index >= hr_model_tensor_count(net->model))
        return hr_fail(HR_E_USAGE, "tensor %zu: there are %zu", index,
                       hr_model_tensor_count(net->model));
    const struct hr_tensor_info *info = hr_model_tensor(net->model, index);
    *out = (struct hr_net_view){.name = info->name,
                                .ndim = info->ndim,
                                .count = info->count,
                                .offset = info->offset,
                                .data = params ? params + info->offset : NULL,
                                .trained = info->role == HR_TENSOR_TRAINED};
    memcpy(out->shape, info->shape, sizeof out->shape);
    return HR_OK;
}

enum hr_status hr_net_find(const struct hr_net *net, const char *name, float *params, size_t count,
                           struct hr_net_view *out)
{
    if (!net || !name)
        return hr_fail(HR_E_USAGE, "hr_net_find: found NULL, expected a net and a name");
    for (size_t i = 0; i < hr_model_tensor_count(net->model); i++)
        if (!strcmp(name, hr_model_tensor(net->model, i)->name))
            return hr_net_view(net, i, params, count, out);
    return hr_fail(HR_E_USAGE, "tensor \"%.96s\": there is none of that name in \"%.200s\"", name,
                   hr_model_text(net->model));
}

enum hr_status hr_net_init(const struct hr_net *net, uint64_t seed, float *params, size_t count)
{
    HR_TRY(hr_net_check(net, "params", params, count));
    hr_model_init(net->model, seed, params);
    return HR_OK;
}
