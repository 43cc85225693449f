/* maxpool K [stride S] [pad P] - torch.nn.MaxPool2d(K, S, P); the stride is K when it is left out.
 * Behind a convolution it is the convolution that does its work (layer.h, absorbs). */
#include "nn/layer.h"
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
};

static void forward_image(void *arg, size_t b, size_t thread)
{
    (void)thread;
    const struct job *job = arg;
    const struct hr_pass *pass = job->pass;
    const size_t in = hr_dims_elems(&job->layer->in), out = hr_dims_elems(&job->layer->out);
    uint8_t *places = pass->saved;
    hr_pooling()->max(&job->sliding, pass->x + b * in, pass->y + b * out,
                      places ? places + b * out : NULL);
}

static void forward(const struct hr_layer *layer, const struct hr_pass *pass)
{
    struct job job = {layer, pass, hr_sliding_of(layer)};
    hr_team_run(pass->threads, pass->B, forward_image, &job);
}

static void backward_image(void *arg, size_t b, size_t thread)
{
    (void)thread;
    const struct job *job = arg;
    const struct hr_pass *pass = job->pass;
    const size_t in = hr_dims_elems(&job->layer->in), out = hr_dims_elems(&job->layer->out);
    const uint8_t *places = pass->saved;
    hr_pooling()->max_back(&job->sliding, NULL, pass->dy + b * out, places + b * out,
                           pass->dx + b * in, job->sliding.W * job->sliding.C);
}

static void backward(const struct hr_layer *layer, const struct hr_pass *pass)
{
    struct job job = {layer, pass, hr_sliding_of(layer)};
    hr_team_run(pass->threads, pass->B, backward_image, &job);
}

const struct hr_layer_type hr_layer_maxpool = {
    .name = "maxpool",
    .reads_y = true, /* where a convolution does its work */
    .parse = parse,
    .fit = hr_pool_fit,
    .saved_bytes = saved_bytes,
    .forward = forward,
    .backward = backward,
};
