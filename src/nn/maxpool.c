/* maxpool K [stride S] [pad P] - torch.nn.MaxPool2d(K, S, P); the stride is K when it is left out.
 * Behind a convolution it is the convolution that does its work (layer.h, absorbs). */
#include "base/size.h"
#include "nn/layer.h"
#include "kernels/bf16.h"
#include "kernels/pool.h"
#include "kernels/team.h"
#include "nn/window.h"

static enum hr_status parse(struct hr_layer *layer, const struct hr_layer_text *text)
{
    struct hr_window window;
    HR_TRY(hr_pool_parse(text, &window));
    if (window.height > HR_POOL_MAX_WINDOW / window.width)
        return hr_fail(HR_E_USAGE, "found a window of %zux%zu, expected at most %d pixels",
                       window.height, window.width, HR_POOL_MAX_WINDOW);
    hr_window_keep(layer, &window);
    return HR_OK;
}

/* A byte for each output. */
static size_t saved_bytes(const struct hr_layer *layer, size_t B)
{
    return B * hr_dims_elems(&layer->out);
}

struct job {
    const struct hr_layer *layer;
    const struct hr_pass *pass;
    struct hr_sliding sliding;
    size_t first; /* channel */
};

static void forward_image(void *arg, size_t b, size_t thread)
{
    (void)thread;
    const struct job *job = arg;
    const struct hr_pass *pass = job->pass;
    const size_t in = b * hr_dims_elems(&job->layer->in) + job->first;
    const size_t out = b * hr_dims_elems(&job->layer->out) + job->first;
    uint8_t *places = pass->saved;
    hr_pooling()->max(&job->sliding, pass->x + in, pass->y + out, places ? places + out : NULL);
}

static void forward(const struct hr_layer *layer, const struct hr_pass *pass)
{
    struct job job = {.layer = layer, .pass = pass};
    job.sliding = hr_sliding_of_pass(layer, pass, &job.first);
    hr_team_run(pass->threads, pass->B, forward_image, &job);
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

static void backward_image(void *arg, size_t b, size_t thread)
{
    (void)thread;
    const struct job *job = arg;
    const struct hr_pass *pass = job->pass;
    const size_t in = b * hr_dims_elems(&job->layer->in) + job->first;
    const size_t out = b * hr_dims_elems(&job->layer->out) + job->first;
    const uint8_t *places = pass->saved;
    hr_pooling()->max_back(&job->sliding, NULL, pass->dy + out, places + out, pass->dx + in,
                           job->sliding.W * job->sliding.step);
    round_image(job, pass->dx + in);
}

static void backward(const struct hr_layer *layer, const struct hr_pass *pass)
{
    struct job job = {.layer = layer, .pass = pass};
    job.sliding = hr_sliding_of_pass(layer, pass, &job.first);
    hr_team_run(pass->threads, pass->B, backward_image, &job);
}

const struct hr_layer_type hr_layer_maxpool = {
    .name = "maxpool",
    .may_cut[HR_CUT_CHANNELS] = true,
    .reads_y = true, /* where a convolution does its work */
    .rounds = {true, true},
    .parse = parse,
    .fit = hr_pool_fit,
    .saved_bytes = saved_bytes,
    .forward = forward,
    .backward = backward,
};
