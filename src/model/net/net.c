/* A network without a run, for other people's loops: hogring/model.h. */
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hogring/checkpoint.h"
#include "hogring/model.h"
#include "base/arena.h"
#include "base/cpus.h"
#include "base/error.h"
#include "base/fpenv.h"
#include "base/size.h"
#include "kernels/team.h"
#include "nn/loss.h"
#include "nn/model.h"
#include "optim/optimizer.h"
#include "products/ready.h"
#include "session/model_input.h"
#include "session/saved.h"
#include "session/target_scale.h"
#include "state/model_file.h"
#include "state/model_tensors.h"

/* --- inside of hogring/model.h's network, and how its calls look at their arguments --- */

struct hr_net {
    struct hr_model *model;            /* owned */
    struct hr_param_segment *segments; /* (tensors) owned: what an update does with each */
    struct hr_shape input;
    size_t features, classes;
    enum hr_loss_kind loss;
    double label_smoothing;
    size_t targets; /* values that it predicts; 0: classes */
    double huber_delta;
};

/* HR_E_USAGE unless floats is aligned, has `count` of them, and these are as many as `wanted`.
 *   what  "grads", for the message */
static enum hr_status net_check_floats(const char *what, const float *floats, size_t count,
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

/* The same of an array of parameters or gradients. */
static enum hr_status net_check(const struct hr_net *net, const char *what, const float *floats,
                                size_t count)
{
    if (!net)
        return hr_fail(HR_E_USAGE, "net: found NULL");
    return net_check_floats(what, floats, count, hr_model_param_count(net->model));
}

/* --- built --- */

/* Kernels are tried once per process, by whoever comes first. */
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

/* Its loss is computed here: the model's own has no values. */
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
        HR_TRY(net_check(net, "params", params, count));
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
    HR_TRY(net_check(net, "params", params, count));
    hr_model_init(net->model, seed, params);
    return HR_OK;
}

/* --- inside of hogring/model.h's space: a workspace, and how far its batch has come --- */

struct hr_net_space {
    const struct hr_net *net;       /* borrowed */
    struct hr_workspace *workspace; /* in the memory behind this struct */
    float *targets;                 /* (max_batch, targets) behind that: of the last forward */
    size_t max_batch;
    size_t B;         /* of the last forward, */
    bool passed;      /* if there was one */
    bool labelled;    /* it had labels, or targets */
    bool may_go_back; /* it was training, and no backward has been since */
};

enum { MOST_AT_ONCE = 1024 };

static enum hr_status check_options(const struct hr_net *net, size_t max_batch,
                                    const struct hr_net_space_options *o)
{
    if (!net)
        return hr_fail(HR_E_USAGE, "net: found NULL");
    if (max_batch < 1)
        return hr_fail(HR_E_USAGE, "max_batch: found 0, expected at least 1");
    if (o->threads > HR_TEAM_MAX || o->at_once > MOST_AT_ONCE)
        return hr_fail(HR_E_USAGE, "found %zu threads, %zu at once; expected at most %d and %d",
                       o->threads, o->at_once, HR_TEAM_MAX, MOST_AT_ONCE);
    return HR_OK;
}

static struct hr_workspace_options workspace_options(const struct hr_net_space_options *o)
{
    return (struct hr_workspace_options){.seed = o->seed, .threads = o->threads};
}

static bool target_bytes(const struct hr_net *net, size_t max_batch, size_t *bytes)
{
    return hr_size_mul(max_batch, net->targets * sizeof(float), bytes);
}

/* Wherever the memory begins, there is an aligned address in its first bytes. */
enum hr_status hr_net_space_bytes(const struct hr_net *net, size_t max_batch,
                                  const struct hr_net_space_options *options, size_t *bytes)
{
    static const struct hr_net_space_options zeros;
    const struct hr_net_space_options *o = options ? options : &zeros;
    HR_TRY(check_options(net, max_batch, o));
    const struct hr_workspace_options of = workspace_options(o);
    const size_t own = HR_ARENA_ALIGN + hr_arena_need(sizeof(struct hr_net_space));
    const size_t rest = hr_workspace_place_bytes(net->model, max_batch, &of);
    size_t values, all;
    if (!bytes)
        return hr_fail(HR_E_USAGE, "bytes: found NULL");
    if (!rest || !target_bytes(net, max_batch, &values) || !hr_size_add(own, rest, &all) ||
        !hr_size_add(all, values, bytes))
        return hr_fail(HR_E_NOMEM, "a space for batches of %zu samples is too large", max_batch);
    return HR_OK;
}

enum hr_status hr_net_space_open(const struct hr_net *net, size_t max_batch,
                                 const struct hr_net_space_options *options, void *memory,
                                 size_t bytes, struct hr_net_space **out)
{
    const struct hr_net_space_options o = options ? *options : (struct hr_net_space_options){0};
    size_t needed;
    if (!out)
        return hr_fail(HR_E_USAGE, "hr_net_space_open: found NULL for the space");
    *out = NULL;
    HR_TRY(hr_net_space_bytes(net, max_batch, &o, &needed));
    if (!memory || bytes < needed)
        return hr_fail(HR_E_USAGE, "memory of a space: found %zu bytes at %p, expected %zu", bytes,
                       memory, needed);
    HR_TRY(hr_kernels_init_process(o.at_once ? o.at_once : hr_cpus_allowed()));
    unsigned char *at = memory;
    at += (HR_ARENA_ALIGN - (uintptr_t)at % HR_ARENA_ALIGN) % HR_ARENA_ALIGN;
    struct hr_net_space *space = (void *)at;
    const struct hr_workspace_options of = workspace_options(&o);
    *space = (struct hr_net_space){.net = net, .max_batch = max_batch};
    at += hr_arena_need(sizeof *space);
    space->workspace = hr_workspace_place(net->model, max_batch, &of, at);
    at += hr_workspace_place_bytes(net->model, max_batch, &of);
    space->targets = net->targets ? (void *)at : NULL;
    *out = space;
    return HR_OK;
}

/* --- Forward, loss and backward of a space's batch --- */

/* --- arguments --- */

static enum hr_status check_space(const struct hr_net_space *space)
{
    return space ? HR_OK : hr_fail(HR_E_USAGE, "space: found NULL");
}

static enum hr_status check_passed(const struct hr_net_space *space)
{
    HR_TRY(check_space(space));
    return space->passed ? HR_OK : hr_fail(HR_E_USAGE, "the space has had no forward pass yet");
}

static enum hr_status check_labels(const struct hr_net *net, const struct hr_net_batch *batch)
{
    if ((uintptr_t)batch->labels % alignof(uint32_t))
        return hr_fail(HR_E_USAGE, "labels: found address %p, expected one aligned to %zu bytes",
                       (const void *)batch->labels, alignof(uint32_t));
    for (size_t b = 0; batch->labels && b < batch->count; b++)
        if (batch->labels[b] >= net->classes)
            return hr_fail(HR_E_USAGE, "label of sample %zu: found %lu, expected below %zu", b,
                           (unsigned long)batch->labels[b], net->classes);
    return HR_OK;
}

/* Labels where classes are told apart, targets where values are predicted. */
static enum hr_status check_wanted(const struct hr_net *net, const struct hr_net_batch *batch)
{
    const size_t floats = batch->count * net->targets;
    if (net->targets && batch->labels)
        return hr_fail(HR_E_USAGE, "labels: the net predicts values, expected targets");
    if (!net->targets && batch->targets)
        return hr_fail(HR_E_USAGE, "targets: the net tells classes apart, expected labels");
    if (batch->targets)
        HR_TRY(net_check_floats("targets", batch->targets, floats, floats));
    return check_labels(net, batch);
}

static enum hr_status check_batch(const struct hr_net_space *space,
                                  const struct hr_net_batch *batch)
{
    if (!batch)
        return hr_fail(HR_E_USAGE, "batch: found NULL");
    if (batch->count > space->max_batch)
        return hr_fail(HR_E_USAGE, "batch: found %zu samples, the space is for up to %zu",
                       batch->count, space->max_batch);
    const size_t floats = batch->count * space->net->features;
    HR_TRY(net_check_floats("x of the batch", batch->x, floats, floats));
    if ((uintptr_t)batch->samples % alignof(uint32_t))
        return hr_fail(HR_E_USAGE, "samples: found address %p, expected one aligned to %zu bytes",
                       (const void *)batch->samples, alignof(uint32_t));
    return check_wanted(space->net, batch);
}

/* --- passes, with arguments that are good --- */

static void forward(struct hr_net_space *space, const float *params,
                    const struct hr_net_batch *batch, enum hr_net_mode mode)
{
    struct hr_workspace *workspace = space->workspace;
    const size_t B = batch->count;
    if (B)
        memcpy(hr_workspace_input(workspace), batch->x,
               B * space->net->features * sizeof *batch->x);
    if (B && batch->labels)
        memcpy(hr_workspace_labels(workspace), batch->labels, B * sizeof *batch->labels);
    if (B && batch->targets)
        memcpy(space->targets, batch->targets, B * space->net->targets * sizeof *batch->targets);
    hr_workspace_draw(workspace, batch->epoch, batch->samples);
    hr_model_forward(space->net->model, workspace, params, B, mode == HR_NET_TRAIN);
    hr_workspace_draw(workspace, 0, NULL); /* which were borrowed */
    space->B = B;
    space->passed = true;
    space->labelled = batch->labels || batch->targets || !B;
    space->may_go_back = mode == HR_NET_TRAIN;
}

static void backward(struct hr_net_space *space, const float *params, float *grads)
{
    hr_model_backward(space->net->model, space->workspace, params, space->B, grads);
    space->may_go_back = false;
}

/* The batch's targets are a table, of which sample b has row b. */
static struct hr_batch_result loss_of_values(struct hr_net_space *space, bool wanted)
{
    const struct hr_net *net = space->net;
    struct hr_workspace *workspace = space->workspace;
    const struct hr_loss_function of = {.kind = net->loss,
                                        .outputs = net->targets,
                                        .classes = space->B,
                                        .delta = (float)net->huber_delta,
                                        .wanted = {net->targets, space->B, space->targets}};
    uint32_t *rows = hr_workspace_labels(workspace);
    for (size_t b = 0; b < space->B; b++)
        rows[b] = (uint32_t)b;
    return hr_loss(&of, space->B, hr_workspace_outputs(workspace), rows,
                   wanted ? hr_workspace_output_grads(workspace) : NULL);
}

static struct hr_net_result loss(struct hr_net_space *space, bool wanted)
{
    const struct hr_batch_result sums = space->net->targets
                                            ? loss_of_values(space, wanted)
                                            : hr_workspace_loss(space->workspace, space->B, wanted);
    return (struct hr_net_result){sums.loss_sum, sums.correct};
}

/* --- calls --- */

enum hr_status hr_net_gradient(struct hr_net_space *space, const float *params, size_t count,
                               const struct hr_net_batch *batch, float *grads,
                               struct hr_net_result *result)
{
    HR_TRY(check_space(space));
    HR_TRY(net_check(space->net, "params", params, count));
    HR_TRY(net_check(space->net, "grads", grads, count));
    HR_TRY(check_batch(space, batch));
    if (batch->count && !batch->labels && !batch->targets)
        return hr_fail(HR_E_USAGE, "%s: found NULL, expected %zu",
                       space->net->targets ? "targets" : "labels",
                       batch->count * (space->net->targets ? space->net->targets : 1));
    const uint64_t mode = hr_fp_mode();
    hr_fp_flush_denormals();
    forward(space, params, batch, HR_NET_TRAIN);
    const struct hr_net_result sums = loss(space, true);
    backward(space, params, grads);
    hr_fp_mode_set(mode);
    if (result)
        *result = sums;
    return HR_OK;
}

enum hr_status hr_net_forward(struct hr_net_space *space, const float *params, size_t count,
                              const struct hr_net_batch *batch, enum hr_net_mode mode,
                              const float **outputs)
{
    HR_TRY(check_space(space));
    HR_TRY(net_check(space->net, "params", params, count));
    HR_TRY(check_batch(space, batch));
    if (mode != HR_NET_EVALUATE && mode != HR_NET_TRAIN)
        return hr_fail(HR_E_USAGE, "mode: found %d, expected HR_NET_EVALUATE or HR_NET_TRAIN",
                       (int)mode);
    const uint64_t fp = hr_fp_mode();
    hr_fp_flush_denormals();
    forward(space, params, batch, mode);
    hr_fp_mode_set(fp);
    if (outputs)
        *outputs = hr_workspace_outputs(space->workspace);
    return HR_OK;
}

enum hr_status hr_net_loss(struct hr_net_space *space, struct hr_net_result *out)
{
    HR_TRY(check_passed(space));
    if (!out)
        return hr_fail(HR_E_USAGE, "hr_net_loss: found NULL for the result");
    if (!space->labelled)
        return hr_fail(HR_E_USAGE, "the space's last forward pass had no labels, nor targets");
    const uint64_t mode = hr_fp_mode();
    hr_fp_flush_denormals();
    *out = loss(space, false);
    hr_fp_mode_set(mode);
    return HR_OK;
}

/* x (C) in, p (C) out */
static void softmax(size_t C, const float *x, float *p)
{
    float most = x[0], sum = 0;
    for (size_t c = 1; c < C; c++)
        most = x[c] > most ? x[c] : most;
    for (size_t c = 0; c < C; c++)
        sum += p[c] = expf(x[c] - most);
    for (size_t c = 0; c < C; c++)
        p[c] /= sum;
}

/* The exponent is never above 0, so that nothing overflows. */
static float sigmoid(float x)
{
    const float e = expf(-fabsf(x));
    return (x < 0 ? e : 1.0f) / (1.0f + e);
}

enum hr_status hr_net_probabilities(struct hr_net_space *space, float *out, size_t floats)
{
    HR_TRY(check_passed(space));
    const struct hr_net *net = space->net;
    const size_t C = hr_net_outputs(net);
    HR_TRY(net_check_floats("probabilities", out, floats, space->B * C));
    if (net->loss != HR_LOSS_CROSS_ENTROPY && net->loss != HR_LOSS_BCE)
        return hr_fail(HR_E_USAGE, "loss %s has no probabilities, its outputs are values",
                       hr_loss_name(net->loss));
    const float *x = hr_workspace_outputs(space->workspace);
    for (size_t b = 0; b < space->B && net->loss == HR_LOSS_CROSS_ENTROPY; b++)
        softmax(C, x + b * C, out + b * C);
    for (size_t i = 0; i < floats && net->loss == HR_LOSS_BCE; i++)
        out[i] = sigmoid(x[i]);
    return HR_OK;
}

enum hr_status hr_net_answers(struct hr_net_space *space, uint32_t *out, size_t answers)
{
    HR_TRY(check_passed(space));
    if (space->net->targets)
        return hr_fail(HR_E_USAGE,
                       "hr_net_answers: the net predicts values, which are its outputs");
    if (answers != space->B || (!out && answers) || (uintptr_t)out % alignof(uint32_t))
        return hr_fail(HR_E_USAGE, "answers: found %zu at %p, expected %zu", answers, (void *)out,
                       space->B);
    hr_workspace_answers(space->workspace, space->B, out);
    return HR_OK;
}

enum hr_status hr_net_backward(struct hr_net_space *space, const float *params, size_t count,
                               const float *doutputs, size_t floats, float *grads)
{
    HR_TRY(check_passed(space));
    HR_TRY(net_check(space->net, "params", params, count));
    HR_TRY(net_check(space->net, "grads", grads, count));
    const size_t wanted = space->B * hr_net_outputs(space->net);
    if (!space->may_go_back)
        return hr_fail(HR_E_USAGE, "hr_net_backward: expected a forward pass in HR_NET_TRAIN "
                                   "before it, one for each");
    if (doutputs || floats)
        HR_TRY(net_check_floats("doutputs", doutputs, floats, wanted));
    else if (!space->labelled)
        return hr_fail(HR_E_USAGE,
                       "hr_net_backward: found neither labels or targets in the forward "
                       "pass, nor doutputs");
    const uint64_t mode = hr_fp_mode();
    hr_fp_flush_denormals();
    if (!doutputs)
        loss(space, true);
    else
        memcpy(hr_workspace_output_grads(space->workspace), doutputs, floats * sizeof *doutputs);
    backward(space, params, grads);
    hr_fp_mode_set(mode);
    return HR_OK;
}

/* --- Update rules on the caller's arrays --- */

/* Numbers that rules share: the defaults of the command's options. */
static const double MOMENTUM = 0.9, BETA1 = 0.9, BETA2 = 0.999, TRUST = 0.001;

enum hr_status hr_net_rule_defaults(const char *name, struct hr_net_rule *out)
{
    const struct hr_rule *rule;
    if (!name || !out)
        return hr_fail(HR_E_USAGE, "hr_net_rule_defaults: found NULL, expected a name and a rule");
    HR_TRY(hr_rule_find(name, &rule));
    *out = (struct hr_net_rule){.lr = rule->lr,
                                .weight_decay = rule->weight_decay,
                                .eps = rule->eps,
                                .momentum = MOMENTUM,
                                .beta1 = BETA1,
                                .beta2 = BETA2,
                                .trust = TRUST};
    snprintf(out->name, sizeof out->name, "%s", rule->name);
    return HR_OK;
}

static enum hr_status check_number(const char *what, double number, double below)
{
    if (number >= 0 && number < below)
        return HR_OK;
    return hr_fail(HR_E_USAGE, "%s of the rule: found %g, expected 0 to below %g", what, number,
                   below);
}

static enum hr_status check_numbers(const struct hr_net_rule *rule)
{
    HR_TRY(check_number("lr", rule->lr, INFINITY));
    HR_TRY(check_number("weight_decay", rule->weight_decay, INFINITY));
    HR_TRY(check_number("eps", rule->eps, INFINITY));
    HR_TRY(check_number("trust", rule->trust, INFINITY));
    HR_TRY(check_number("clip_norm", rule->clip_norm, INFINITY));
    HR_TRY(check_number("momentum", rule->momentum, 1));
    HR_TRY(check_number("beta1", rule->beta1, 1));
    return check_number("beta2", rule->beta2, 1);
}

static enum hr_status optimizer_of(const struct hr_net *net, const struct hr_net_rule *rule,
                                   struct hr_optimizer *out)
{
    if (!net || !rule)
        return hr_fail(HR_E_USAGE, "found NULL, expected a net and a rule");
    if (!memchr(rule->name, 0, sizeof rule->name))
        return hr_fail(HR_E_USAGE, "name of the rule: found no end of it");
    *out = (struct hr_optimizer){
        .momentum = rule->momentum,
        .weight_decay = rule->weight_decay,
        .beta1 = rule->beta1,
        .beta2 = rule->beta2,
        .eps = rule->eps,
        .trust = rule->trust,
        .clip_norm = rule->clip_norm,
        .nesterov = rule->nesterov,
        .segments = net->segments,
        .nsegments = hr_model_tensor_count(net->model),
        .params = hr_model_param_count(net->model),
    };
    HR_TRY(hr_rule_find(rule->name, &out->rule));
    return check_numbers(rule);
}

enum hr_status hr_net_rule_floats(const struct hr_net *net, const struct hr_net_rule *rule,
                                  size_t *floats)
{
    struct hr_optimizer optimizer;
    HR_TRY(optimizer_of(net, rule, &optimizer));
    if (!floats)
        return hr_fail(HR_E_USAGE, "hr_net_rule_floats: found NULL for the number");
    *floats = hr_optimizer_state_floats(&optimizer);
    return HR_OK;
}

/* A rule's ratios, one a tensor; none where it needs none. */
static enum hr_status take_ratios(const struct hr_optimizer *optimizer, float **out)
{
    *out = NULL;
    if (!optimizer->rule->ratio)
        return HR_OK;
    *out = calloc(optimizer->nsegments, sizeof **out);
    return *out ? HR_OK
                : hr_fail(HR_E_NOMEM, "no memory for norms of %zu tensors", optimizer->nsegments);
}

enum hr_status hr_net_update(const struct hr_net *net, const struct hr_net_rule *rule,
                             uint64_t number, size_t samples, float *params, const float *grads,
                             size_t count, float *state, size_t floats)
{
    struct hr_optimizer optimizer;
    float *ratios;
    HR_TRY(optimizer_of(net, rule, &optimizer));
    HR_TRY(net_check(net, "params", params, count));
    HR_TRY(net_check(net, "grads", grads, count));
    HR_TRY(net_check_floats("state", state, floats, hr_optimizer_state_floats(&optimizer)));
    if (number < 1 || samples < 1)
        return hr_fail(HR_E_USAGE, "found update %llu of %zu samples, expected both from 1",
                       (unsigned long long)number, samples);
    HR_TRY(take_ratios(&optimizer, &ratios));
    const uint64_t mode = hr_fp_mode();
    hr_fp_flush_denormals();
    struct hr_step step = hr_step_of(&optimizer, rule->lr, samples, number);
    if (hr_optimizer_needs_norms(&optimizer))
        hr_step_measure(&step, params, state, grads, ratios);
    hr_step_update(&step, 0, count, params, state, grads);
    hr_fp_mode_set(mode);
    free(ratios);
    return HR_OK;
}

/* --- Networks and parameters from checkpoints, and to them --- */

static enum hr_status read_saved(const char *path, struct hr_checkpoint *out)
{
    *out = (struct hr_checkpoint){0};
    return path ? hr_saved_read(path, out) : hr_fail(HR_E_USAGE, "path: found NULL");
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
    struct hr_checkpoint checkpoint;
    if (!out)
        return hr_fail(HR_E_USAGE, "hr_net_open_saved: found NULL for the net");
    *out = NULL;
    HR_TRY(read_saved(path, &checkpoint));
    const enum hr_status status = open_saved(&checkpoint, input, out);
    hr_checkpoint_free(&checkpoint);
    return status;
}

enum hr_status hr_net_load(const struct hr_net *net, const char *path, float *params, size_t count)
{
    struct hr_checkpoint checkpoint;
    HR_TRY(net_check(net, "params", params, count));
    HR_TRY(read_saved(path, &checkpoint));
    const enum hr_status status = hr_load_weights(&checkpoint, net->model, params);
    hr_checkpoint_free(&checkpoint);
    return status;
}

/* --- saved --- */

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
    int64_t batches = (int64_t)step;
    HR_TRY(net_check(net, "params", params, count));
    if (!dir || !dir[0])
        return hr_fail(HR_E_USAGE, "dir: found %s, expected a folder", dir ? "\"\"" : "NULL");
    struct hr_tensor *tensors = calloc(2 * hr_net_tensors(net), sizeof *tensors);
    const size_t entries = ENTRIES + (net->targets ? 1 + net->targets : 0);
    struct hr_metadata *metadata = calloc(entries, sizeof *metadata);
    enum hr_status status = HR_OK;
    if (!tensors || !metadata) {
        status = hr_fail(HR_E_NOMEM, "no memory to describe a checkpoint");
        goto out;
    }
    struct hr_checkpoint checkpoint = {.step = step,
                                       .model = {.tensors = tensors, .metadata = metadata}};
    put_metadata(net, step, &checkpoint.model);
    if (net->targets)
        HR_TRY_GOTO(put_targets(net, &checkpoint.model), status, out);
    /* What is saved is only read. */
    hr_model_state_put(&checkpoint.model, net->model, (float *)params, &batches);
    HR_TRY_GOTO(hr_checkpoint_prepare(dir, count * sizeof *params), status, out);
    HR_TRY_GOTO(hr_checkpoint_save(dir, &checkpoint, 0), status, out);
out:
    free(metadata);
    free(tensors);
    return status;
}
