/* avgpool K [stride S] [pad P] - torch.nn.AvgPool2d(K, S, P); the stride is K when it is left out.
 * globalavgpool - torch.nn.AdaptiveAvgPool2d(1): one window, as large as the image.
 * maxpool K [stride S] [pad P] - torch.nn.MaxPool2d(K, S, P). Behind a convolution it is the
 * convolution that does its work (layer.h, absorbs). */
#include "base/size.h"
#include "kernels/bf16.h"
#include "kernels/pool.h"
#include "kernels/team.h"
#include "nn/window.h"

static enum hr_status parse_window(const struct hr_layer_text *text, struct hr_window *out)
{
    *out = (struct hr_window){.dilation = 1};
    const struct hr_layer_option options[] = {
        {"stride", 1, &out->stride}, {"pad", 0, &out->pad}, {0}};
    if (text->nwords < 2)
        return hr_fail(HR_E_USAGE, "expected the size of the window, as in \"%s 2\"",
                       text->words[0]);
    HR_TRY(hr_window_parse_size(text->words[1], out));
    out->stride = out->height == out->width ? out->height : 0;
    HR_TRY(hr_layer_parse_options(text, 2, options));
    if (out->stride == 0)
        return hr_fail(HR_E_USAGE, "expected a stride behind a window of %zux%zu", out->height,
                       out->width);
    if (out->pad > hr_min_size(out->height, out->width) / 2)
        return hr_fail(HR_E_USAGE, "found pad %zu, expected at most half the window of %zux%zu",
                       out->pad, out->height, out->width);
    return HR_OK;
}

static enum hr_status fit(struct hr_layer *layer)
{
    struct hr_sliding sliding;
    const struct hr_window window = hr_window_of(layer);
    HR_TRY(hr_window_fit(&window, &layer->in, &sliding));
    layer->out = (struct hr_dims){.ndim = 3, .size = {sliding.C, sliding.OH, sliding.OW}};
    return HR_OK;
}

static enum hr_status parse_avgpool(struct hr_layer *layer, const struct hr_layer_text *text)
{
    struct hr_window window;
    HR_TRY(parse_window(text, &window));
    hr_window_keep(layer, &window);
    return HR_OK;
}

static enum hr_status parse_maxpool(struct hr_layer *layer, const struct hr_layer_text *text)
{
    struct hr_window window;
    HR_TRY(parse_window(text, &window));
    if (window.height > HR_POOL_MAX_WINDOW / window.width)
        return hr_fail(HR_E_USAGE, "found a window of %zux%zu, expected at most %d pixels",
                       window.height, window.width, HR_POOL_MAX_WINDOW);
    hr_window_keep(layer, &window);
    return HR_OK;
}

static enum hr_status fit_global(struct hr_layer *layer)
{
    struct hr_window window = {1, 1, 1, 0, 1};
    if (layer->in.ndim == 3) {
        window.height = layer->in.size[1];
        window.width = layer->in.size[2];
    }
    hr_window_keep(layer, &window);
    return fit(layer);
}

/* --- passes: an image a task --- */

struct job {
    const struct hr_layer *layer;
    const struct hr_pass *pass;
    struct hr_sliding sliding;
    size_t first; /* channel */
};

static void run(const struct hr_layer *layer, const struct hr_pass *pass, hr_team_fn task)
{
    struct job job = {.layer = layer, .pass = pass};
    job.sliding = hr_sliding_of_pass(layer, pass, &job.first);
    hr_team_run(pass->threads, pass->B, task, &job);
}

static size_t in_at(const struct job *job, size_t b)
{
    return b * hr_dims_elems(&job->layer->in) + job->first;
}

static size_t out_at(const struct job *job, size_t b)
{
    return b * hr_dims_elems(&job->layer->out) + job->first;
}

static void mean_image(void *arg, size_t b, size_t thread)
{
    (void)thread;
    const struct job *job = arg;
    hr_pooling()->mean(&job->sliding, job->pass->x + in_at(job, b), job->pass->y + out_at(job, b));
}

static void mean_image_back(void *arg, size_t b, size_t thread)
{
    (void)thread;
    const struct job *job = arg;
    hr_pooling()->mean_back(&job->sliding, job->pass->dy + out_at(job, b),
                            job->pass->dx + in_at(job, b));
}

static void max_image(void *arg, size_t b, size_t thread)
{
    (void)thread;
    const struct job *job = arg;
    const struct hr_pass *pass = job->pass;
    const size_t out = out_at(job, b);
    uint8_t *places = pass->saved;
    hr_pooling()->max(&job->sliding, pass->x + in_at(job, b), pass->y + out,
                      places ? places + out : NULL);
}

/* Where windows overlap gradients are added, and sums are no bfloat16 values any more. */
static void round_image(const struct job *job, float *dx)
{
    const struct hr_sliding *s = &job->sliding;
    const size_t largest = hr_max_size(s->window.height, s->window.width);
    if (job->layer->precision != HR_PRECISION_BF16 || s->window.stride >= largest)
        return;
    for (size_t pixel = 0; pixel < s->H * s->W; pixel++, dx += s->step)
        hr_bf16()->round(s->C, dx, dx);
}

static void max_image_back(void *arg, size_t b, size_t thread)
{
    (void)thread;
    const struct job *job = arg;
    const struct hr_pass *pass = job->pass;
    const size_t in = in_at(job, b), out = out_at(job, b);
    const uint8_t *places = pass->saved;
    hr_pooling()->max_back(&job->sliding, NULL, pass->dy + out, places + out, pass->dx + in,
                           job->sliding.W * job->sliding.step);
    round_image(job, pass->dx + in);
}

static void forward_mean(const struct hr_layer *layer, const struct hr_pass *pass)
{
    run(layer, pass, mean_image);
}

static void backward_mean(const struct hr_layer *layer, const struct hr_pass *pass)
{
    run(layer, pass, mean_image_back);
}

static void forward_max(const struct hr_layer *layer, const struct hr_pass *pass)
{
    run(layer, pass, max_image);
}

static void backward_max(const struct hr_layer *layer, const struct hr_pass *pass)
{
    run(layer, pass, max_image_back);
}

/* A byte for each output. */
static size_t places_bytes(const struct hr_layer *layer, size_t B)
{
    return B * hr_dims_elems(&layer->out);
}

const struct hr_layer_type hr_layer_avgpool = {
    .name = "avgpool",
    .may_cut[HR_CUT_CHANNELS] = true,
    .parse = parse_avgpool,
    .fit = fit,
    .forward = forward_mean,
    .backward = backward_mean,
};

const struct hr_layer_type hr_layer_globalavgpool = {
    .name = "globalavgpool",
    .may_cut[HR_CUT_CHANNELS] = true,
    .parse = hr_layer_parse_nothing,
    .fit = fit_global,
    .forward = forward_mean,
    .backward = backward_mean,
};

const struct hr_layer_type hr_layer_maxpool = {
    .name = "maxpool",
    .may_cut[HR_CUT_CHANNELS] = true,
    .reads_y = true, /* where a convolution does its work */
    .rounds = {true, true},
    .parse = parse_maxpool,
    .fit = fit,
    .saved_bytes = places_bytes,
    .forward = forward_max,
    .backward = backward_max,
};
