/* conv O KHxKW [stride S] [pad P] [dilation D] [groups G] - torch.nn.Conv2d(I, O, ...).
 *
 *     weight (O, I/G, KH, KW), bias (O); images (H,W,C) in memory
 *
 * Implicit products: no matrix of patches is ever made. An image is copied once, with zeros around
 * it, and the register tile reads the patches through tables (patches.h, conv_layout.h).
 *
 *     forward       images are shared out among the threads
 *     backward      dx: the same; dweight: each thread has rows of it, and goes through all images
 *                   in order; so threads change no bit
 *
 * Where it is faster, 3x3 filters without stride are made of tiles instead, by Winograd's algorithm
 * (conv_passes.c): by shape and kernels alone, all three passes or none.
 *
 * When a maxpool follows, perhaps behind a relu, their work is done here too, image by image, and
 * the convolution's own output is never stored (layer.h, absorbs).
 */
#include <string.h>

#include "base/size.h"
#include "nn/conv_job.h"

enum { MAX_STRIDE = 256 };

static enum hr_status parse(struct hr_layer *layer, const struct hr_layer_text *text)
{
    struct hr_window window = {.stride = 1, .dilation = 1};
    const struct hr_layer_option options[] = {{"stride", 1, &window.stride},
                                              {"pad", 0, &window.pad},
                                              {"dilation", 1, &window.dilation},
                                              {"groups", 1, &layer->size[6]},
                                              {0}};
    if (text->nwords < 3)
        return hr_fail(HR_E_USAGE, "expected the output channels and the size of the filter, as in "
                                   "\"conv 32 3x3\"");
    layer->size[6] = 1;
    HR_TRY(hr_layer_parse_size(text->words[1], &layer->size[5]));
    HR_TRY(hr_window_parse_size(text->words[2], &window));
    HR_TRY(hr_layer_parse_options(text, 3, options));
    if (window.stride > MAX_STRIDE)
        return hr_fail(HR_E_USAGE, "found stride %zu, expected at most %d", window.stride,
                       MAX_STRIDE);
    hr_window_keep(layer, &window);
    return HR_OK;
}

static enum hr_status check_frames(const struct hr_layer *layer)
{
    const struct hr_conv conv = hr_conv_of(layer);
    const struct hr_frame *dy = &conv.dy_frame;
    size_t elems;
    if (hr_size_mul(dy->height, dy->width, &elems) && hr_size_mul(elems, conv.O, &elems) &&
        elems <= UINT32_MAX / 2)
        return HR_OK;
    return hr_fail(HR_E_USAGE, "%zu channels of %zux%zu outputs are more than 2^31 numbers", conv.O,
                   conv.slide.OH, conv.slide.OW);
}

static enum hr_status fit(struct hr_layer *layer)
{
    struct hr_sliding s;
    const struct hr_window w = hr_window_of(layer);
    const size_t O = layer->size[5], groups = layer->size[6];
    HR_TRY(hr_window_fit(&w, &layer->in, &s));
    if (s.C % groups || O % groups)
        return hr_fail(HR_E_USAGE, "%zu groups do not divide %zu input and %zu output channels",
                       groups, s.C, O);
    const size_t Cg = s.C / groups;
    layer->out = (struct hr_dims){.ndim = 3, .size = {O, s.OH, s.OW}};
    layer->tensors[0] =
        (struct hr_layer_tensor){.name = "weight", .ndim = 4, .shape = {O, Cg, w.height, w.width}};
    layer->tensors[1] = (struct hr_layer_tensor){.name = "bias", .ndim = 1, .shape = {O}};
    layer->ntensors = 2;
    layer->fan_in = Cg * w.height * w.width;
    layer->madds = (double)layer->fan_in * (double)O * (double)s.OH * (double)s.OW;
    return check_frames(layer);
}

/* --- a shard --- */

/* A shard of a convolution is a convolution with fewer outputs. Its tensors, and its channels of y
 * and dy, are copied: little beside its products. */
struct shard {
    struct hr_layer layers[3]; /* it, and those that it absorbs */
    struct hr_pass pass;
    float *params, *grads, *y, *dy;
};

enum { SHARD_COPIES = 4 };

static size_t tensors_of(const struct hr_layer *layer, size_t outputs)
{
    return outputs * (layer->fan_in + 1);
}

/* Floats of y, or dy, of some channels. */
static size_t outputs_of(const struct hr_layer *layer, size_t B, size_t channels)
{
    const struct hr_dims *out = &layer[layer->absorbs].out;
    return B * hr_dims_elems(out) / out->size[0] * channels;
}

/* Room for the copies, in front of the convolution's own; without memory, only counted. */
static size_t take_copies(const struct hr_layer *layer, size_t B, size_t channels, void *scratch,
                          float *copies[SHARD_COPIES])
{
    struct hr_conv_views views = {scratch, 0};
    for (size_t i = 0; i < SHARD_COPIES; i++)
        copies[i] = hr_conv_view(
            &views, i < 2 ? tensors_of(layer, channels) : outputs_of(layer, B, channels),
            sizeof(float));
    return views.used;
}

/* Its channels of y or of dy, from the whole's or back to it. */
static void copy_channels(const struct shard *shard, const struct hr_layer *layer,
                          struct hr_channels out, float *whole, float *own, bool back)
{
    const struct hr_strips strips = hr_strips_of(&layer[layer->absorbs].out, shard->pass.B, out);
    for (size_t r = 0, at = strips.first; r < strips.count; r++, at += strips.step) {
        float *a = own + r * strips.length, *b = whole + at;
        memcpy(back ? b : a, back ? a : b, strips.length * sizeof *a);
    }
}

/* Its rows of the weight, and its biases. */
static void copy_tensors(const struct hr_layer *layer, struct hr_channels out, float *whole,
                         float *own, bool back)
{
    const size_t O = layer->size[5], n = out.end - out.begin, row = layer->fan_in;
    float *const from[2] = {whole + out.begin * row, whole + O * row + out.begin};
    float *const to[2] = {own, own + n * row};
    const size_t count[2] = {n * row, n};
    for (size_t t = 0; t < 2; t++)
        memcpy(back ? from[t] : to[t], back ? to[t] : from[t], count[t] * sizeof *own);
}

static void begin_shard(const struct hr_layer *layer, const struct hr_pass *pass,
                        struct shard *shard)
{
    const size_t n = pass->out.end - pass->out.begin;
    float *copies[SHARD_COPIES];
    HR_ASSERT(layer->absorbs < 3);
    for (size_t i = 0; i <= layer->absorbs; i++) {
        shard->layers[i] = layer[i];
        shard->layers[i].out.size[0] = n;
        if (i > 0)
            shard->layers[i].in.size[0] = n;
    }
    shard->layers[0].size[5] = n;
    shard->pass = *pass;
    const size_t used = take_copies(layer, pass->B, n, pass->scratch, copies);
    shard->pass.scratch = (unsigned char *)pass->scratch + used;
    shard->params = copies[0];
    shard->grads = copies[1];
    shard->y = copies[2];
    shard->dy = copies[3];
    shard->pass.params = shard->params;
    shard->pass.y = shard->y;
    if (pass->saved) /* a block a shard */
        shard->pass.saved = (uint8_t *)pass->saved + outputs_of(layer, pass->B, pass->out.begin);
    copy_tensors(layer, pass->out, (float *)(uintptr_t)pass->params, shard->params, false);
}

static void forward_shard(const struct hr_layer *layer, const struct hr_pass *pass)
{
    struct shard shard;
    begin_shard(layer, pass, &shard);
    struct hr_conv_job job = hr_conv_job_of(shard.layers, &shard.pass);
    hr_conv_forward(&job);
    copy_channels(&shard, layer, pass->out, pass->y, shard.y, true);
}

static void backward_shard(const struct hr_layer *layer, const struct hr_pass *pass)
{
    struct shard shard;
    begin_shard(layer, pass, &shard);
    copy_channels(&shard, layer, pass->out, pass->y, shard.y, false);
    copy_channels(&shard, layer, pass->out, (float *)(uintptr_t)pass->dy, shard.dy, false);
    shard.pass.dy = shard.dy;
    shard.pass.grads = pass->grads ? shard.grads : NULL;
    struct hr_conv_job job = hr_conv_job_of(shard.layers, &shard.pass);
    if (pass->grads) {
        hr_conv_backward_weights(&job);
        copy_tensors(layer, pass->out, pass->grads, shard.grads, true);
    }
    if (pass->dx)
        hr_conv_backward_data(&job);
}

/* --- the whole --- */

static size_t scratch_bytes(const struct hr_layer *layer, size_t B, size_t threads)
{
    const struct hr_conv conv = hr_conv_of(layer);
    float *copies[SHARD_COPIES];
    const size_t forward = hr_conv_forward_bytes(&conv, threads);
    const size_t data = hr_conv_data_bytes(&conv, threads);
    const size_t weights = hr_conv_weights_bytes(&conv, threads);
    const size_t backward = data > weights ? data : weights;
    const size_t of_shard =
        layer->cut == HR_CUT_NOT ? 0 : take_copies(layer, B, layer->size[5], NULL, copies);
    return of_shard + (forward > backward ? forward : backward);
}

static double multiplied(const struct hr_layer *layer)
{
    const struct hr_conv conv = hr_conv_of(layer);
    const struct hr_sliding *s = &conv.slide;
    return conv.winograd ? hr_winograd_madds(conv.Cg, conv.Og, s->OH, s->OW) : layer->madds;
}

/* The pool's choices, a byte for each of its outputs. */
static size_t saved_bytes(const struct hr_layer *layer, size_t B)
{
    const struct hr_layer *pool = hr_conv_pool(layer);
    return pool ? B * hr_dims_elems(&pool->out) : 0;
}

static void forward(const struct hr_layer *layer, const struct hr_pass *pass)
{
    if (layer->cut != HR_CUT_NOT) {
        if (pass->out.end > pass->out.begin)
            forward_shard(layer, pass);
        return;
    }
    struct hr_conv_job job = hr_conv_job_of(layer, pass);
    hr_conv_forward(&job);
}

static void backward(const struct hr_layer *layer, const struct hr_pass *pass)
{
    if (layer->cut != HR_CUT_NOT && pass->out.end > pass->out.begin) {
        backward_shard(layer, pass);
        return;
    }
    if (layer->cut != HR_CUT_NOT) { /* no part of the sum */
        if (pass->dx)
            memset(pass->dx, 0, pass->B * hr_dims_elems(&layer->in) * sizeof *pass->dx);
        return;
    }
    struct hr_conv_job job = hr_conv_job_of(layer, pass);
    if (pass->grads)
        hr_conv_backward_weights(&job);
    if (pass->dx)
        hr_conv_backward_data(&job);
}

const struct hr_layer_type hr_layer_conv = {
    .name = "conv",
    .can_fuse_relu = true,
    .can_fuse_pool = true,
    .has_halves = true,
    .may_cut[HR_CUT_COLUMNS] = true,
    .rounds = {true, true},
    .parse = parse,
    .fit = fit,
    .saved_bytes = saved_bytes,
    .scratch_bytes = scratch_bytes,
    .multiplied = multiplied,
    .forward = forward,
    .backward = backward,
};
