/* Networks and parameters from checkpoints, and to them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hogring/checkpoint.h"
#include "net/net.h"
#include "session/model_input.h"
#include "session/saved.h"
#include "session/target_scale.h"
#include "state/model_file.h"
#include "state/model_tensors.h"

static enum hr_status read_saved(const char *path, struct hr_checkpoint **out)
{
    *out = NULL;
    if (!path)
        return hr_fail(HR_E_USAGE, "path: found NULL");
    struct hr_checkpoint *checkpoint = calloc(1, sizeof *checkpoint);
    if (!checkpoint)
        return hr_fail(HR_E_NOMEM, "no memory to read a checkpoint");
    const enum hr_status status = hr_saved_read(path, checkpoint);
    if (status == HR_OK)
        *out = checkpoint;
    else
        free(checkpoint);
    return status;
}

static void forget(struct hr_checkpoint *checkpoint)
{
    hr_checkpoint_free(checkpoint);
    free(checkpoint);
}

static double number_of(const struct hr_checkpoint *checkpoint, const char *key)
{
    const char *text = hr_metadata_get(&checkpoint->model, key);
    return text ? strtod(text, NULL) : 0;
}

/* The caller's shape, or the checkpoint's. */
static enum hr_status shape_of(const struct hr_checkpoint *checkpoint, struct hr_shape *shape)
{
    struct hr_model_input saved;
    if (shape->channels || shape->height || shape->width)
        return HR_OK;
    const enum hr_status status = hr_model_input_get(checkpoint, &saved);
    *shape = saved.shape;
    hr_model_input_free(&saved);
    if (status != HR_OK || shape->channels)
        return status;
    return hr_fail(HR_E_USAGE, "%s: does not say the shape of its input, expected one",
                   checkpoint->path);
}

static enum hr_status open_saved(const struct hr_checkpoint *checkpoint, struct hr_shape input,
                                 struct hr_net **out)
{
    const char *targets = hr_metadata_get(&checkpoint->model, "hogring.targets");
    const double classes = number_of(checkpoint, "hogring.classes");
    struct hr_net_options options = {
        .layers = hr_metadata_get(&checkpoint->model, "hogring.model"),
        .input = input,
        .classes = classes >= 1 && classes <= HR_MAX_CLASSES ? (size_t)classes : 0,
        .loss = hr_metadata_get(&checkpoint->model, "hogring.loss"),
        .label_smoothing = number_of(checkpoint, "hogring.label_smoothing"),
        .targets = targets ? strtoull(targets, NULL, 10) : 0,
        .huber_delta = number_of(checkpoint, "hogring.huber_delta"),
    };
    if (!options.layers)
        return hr_fail(HR_E_FORMAT,
                       "%s: metadata \"hogring.model\" is missing, so the layers are not known",
                       checkpoint->path);
    HR_TRY(shape_of(checkpoint, &options.input));
    return hr_net_open(&options, out);
}

enum hr_status hr_net_open_saved(const char *path, struct hr_shape input, struct hr_net **out)
{
    struct hr_checkpoint *checkpoint;
    if (!out)
        return hr_fail(HR_E_USAGE, "hr_net_open_saved: found NULL for the net");
    *out = NULL;
    HR_TRY(read_saved(path, &checkpoint));
    const enum hr_status status = open_saved(checkpoint, input, out);
    forget(checkpoint);
    return status;
}

enum hr_status hr_net_load(const struct hr_net *net, const char *path, float *params, size_t count)
{
    struct hr_checkpoint *checkpoint;
    HR_TRY(hr_net_check(net, "params", params, count));
    HR_TRY(read_saved(path, &checkpoint));
    const enum hr_status status = hr_load_weights(checkpoint, net->model, params);
    forget(checkpoint);
    return status;
}

/* --- saved --- */

/* PyTorch's load_state_dict expects a counter behind batchnorm's variance. */
static void add_counter(const struct hr_net_view *view, uint64_t *batches,
                        struct hr_tensor_file *file)
{
    static const char before[] = "running_var";
    const size_t length = strlen(view->name), part = sizeof before - 1;
    if (length < part || strcmp(view->name + length - part, before) != 0)
        return;
    struct hr_tensor *tensor = &file->tensors[file->ntensors++];
    *tensor = (struct hr_tensor){.dtype = HR_I64, .bytes = sizeof *batches, .data = batches};
    snprintf(tensor->name, sizeof tensor->name, "%.*snum_batches_tracked", (int)(length - part),
             view->name);
}

static enum hr_status put_tensors(const struct hr_net *net, const float *params, uint64_t *batches,
                                  struct hr_tensor_file *file)
{
    for (size_t i = 0; i < hr_net_tensors(net); i++) {
        struct hr_net_view view;
        HR_TRY(hr_net_view(net, i, NULL, 0, &view));
        /* What is saved is only read. */
        hr_model_tensor_put(file, hr_model_tensor(net->model, i), "", "", (float *)params);
        add_counter(&view, batches, file);
    }
    return HR_OK;
}

static void put_metadata(const struct hr_net *net, uint64_t step, struct hr_tensor_file *file)
{
    hr_saved_put(file, "format", "pt");
    hr_saved_put(file, "hogring.version", "%s", HR_VERSION);
    hr_saved_put(file, "hogring.model", "%s", hr_net_layers(net));
    hr_saved_put(file, "hogring.input", "%zux%zux%zu", net->input.channels, net->input.height,
                 net->input.width);
    hr_saved_put(file, "hogring.step", "%" PRIu64, step);
    hr_saved_put(file, "hogring.loss", "%s", hr_loss_name(net->loss));
    hr_saved_put(file, "hogring.label_smoothing", "%.17g", net->label_smoothing);
    if (net->targets)
        hr_saved_put(file, "hogring.huber_delta", "%.17g", net->huber_delta);
    else
        hr_saved_put(file, "hogring.classes", "%zu", net->classes);
}

/* Targets are what they are: of mean 0 and deviation 1. */
static enum hr_status put_targets(const struct hr_net *net, struct hr_tensor_file *file)
{
    const size_t n = net->targets;
    struct hr_target_scale scale = {.count = n,
                                    .mean = calloc(n + 1, sizeof *scale.mean),
                                    .deviation = calloc(n + 1, sizeof *scale.deviation),
                                    .name = calloc(n + 1, sizeof *scale.name)};
    const bool enough = scale.mean && scale.deviation && scale.name;
    for (size_t k = 0; enough && k < n; k++)
        scale.deviation[k] = 1;
    if (enough)
        hr_target_scale_put(&scale, file);
    hr_target_scale_free(&scale);
    return enough ? HR_OK : hr_fail(HR_E_NOMEM, "no memory to name %zu targets", n);
}

enum hr_status hr_net_save(const struct hr_net *net, const char *dir, uint64_t step,
                           const float *params, size_t count)
{
    enum { ENTRIES = 8 };
    uint64_t batches = step;
    HR_TRY(hr_net_check(net, "params", params, count));
    if (!dir || !dir[0])
        return hr_fail(HR_E_USAGE, "dir: found %s, expected a folder", dir ? "\"\"" : "NULL");
    struct hr_checkpoint *checkpoint = calloc(1, sizeof *checkpoint);
    struct hr_tensor *tensors = calloc(2 * hr_net_tensors(net), sizeof *tensors);
    const size_t entries = ENTRIES + (net->targets ? 1 + net->targets : 0);
    struct hr_metadata *metadata = calloc(entries, sizeof *metadata);
    enum hr_status status = HR_OK;
    if (!checkpoint || !tensors || !metadata) {
        status = hr_fail(HR_E_NOMEM, "no memory to describe a checkpoint");
        goto out;
    }
    checkpoint->step = step;
    checkpoint->model = (struct hr_tensor_file){.tensors = tensors, .metadata = metadata};
    put_metadata(net, step, &checkpoint->model);
    if (net->targets)
        HR_TRY_GOTO(put_targets(net, &checkpoint->model), status, out);
    HR_TRY_GOTO(put_tensors(net, params, &batches, &checkpoint->model), status, out);
    HR_TRY_GOTO(hr_checkpoint_prepare(dir, count * sizeof *params), status, out);
    HR_TRY_GOTO(hr_checkpoint_save(dir, checkpoint, 0), status, out);
out:
    free(metadata);
    free(tensors);
    free(checkpoint);
    return status;
}
