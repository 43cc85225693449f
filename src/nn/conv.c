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
 * When a maxpool follows, perhaps behind a relu, their work is done here too, image by image, and
 * the convolution's own output is never stored (layer.h, absorbs).
 */
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

static size_t scratch_bytes(const struct hr_layer *layer, size_t B, size_t threads)
{
    (void)B;
    const struct hr_conv conv = hr_conv_of(layer);
    const size_t forward = hr_conv_forward_bytes(&conv, threads);
    const size_t data = hr_conv_data_bytes(&conv, threads);
    const size_t weights = hr_conv_weights_bytes(&conv, threads);
    const size_t backward = data > weights ? data : weights;
    return forward > backward ? forward : backward;
}

/* The pool's choices, a byte for each of its outputs. */
static size_t saved_bytes(const struct hr_layer *layer, size_t B)
{
    const struct hr_layer *pool = hr_conv_pool(layer);
    return pool ? B * hr_dims_elems(&pool->out) : 0;
}

static void forward(const struct hr_layer *layer, const struct hr_pass *pass)
{
    struct hr_conv_job job = hr_conv_job_of(layer, pass);
    hr_conv_forward(&job);
}

static void backward(const struct hr_layer *layer, const struct hr_pass *pass)
{
    struct hr_conv_job job = hr_conv_job_of(layer, pass);
    hr_conv_backward_weights(&job);
    if (pass->dx)
        hr_conv_backward_data(&job);
}

const struct hr_layer_type hr_layer_conv = {
    .name = "conv",
    .can_fuse_relu = true,
    .can_fuse_pool = true,
    .parse = parse,
    .fit = fit,
    .saved_bytes = saved_bytes,
    .scratch_bytes = scratch_bytes,
    .forward = forward,
    .backward = backward,
};
