/* avgpool K [stride S] [pad P] - torch.nn.AvgPool2d(K, S, P); the stride is K when it is left out.
 * globalavgpool - torch.nn.AdaptiveAvgPool2d(1): one window, as large as the image. */
#include "nn/layer.h"
#include "kernels/pool.h"
#include "kernels/team.h"
#include "nn/window.h"

static enum hr_status parse(struct hr_layer *layer, const struct hr_layer_text *text)
{
    struct hr_window window;
    HR_TRY(hr_pool_parse(text, &window));
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
    return hr_pool_fit(layer);
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
    const size_t in = b * hr_dims_elems(&job->layer->in) + job->first;
    const size_t out = b * hr_dims_elems(&job->layer->out) + job->first;
    hr_pooling()->mean(&job->sliding, job->pass->x + in, job->pass->y + out);
}

static void forward(const struct hr_layer *layer, const struct hr_pass *pass)
{
    struct job job = {.layer = layer, .pass = pass};
    job.sliding = hr_sliding_of_pass(layer, pass, &job.first);
    hr_team_run(pass->threads, pass->B, forward_image, &job);
}

static void backward_image(void *arg, size_t b, size_t thread)
{
    (void)thread;
    const struct job *job = arg;
    const size_t in = b * hr_dims_elems(&job->layer->in) + job->first;
    const size_t out = b * hr_dims_elems(&job->layer->out) + job->first;
    hr_pooling()->mean_back(&job->sliding, job->pass->dy + out, job->pass->dx + in);
}

static void backward(const struct hr_layer *layer, const struct hr_pass *pass)
{
    struct job job = {.layer = layer, .pass = pass};
    job.sliding = hr_sliding_of_pass(layer, pass, &job.first);
    hr_team_run(pass->threads, pass->B, backward_image, &job);
}

const struct hr_layer_type hr_layer_avgpool = {
    .name = "avgpool",
    .may_cut[HR_CUT_CHANNELS] = true,
    .parse = parse,
    .fit = hr_pool_fit,
    .forward = forward,
    .backward = backward,
};

const struct hr_layer_type hr_layer_globalavgpool = {
    .name = "globalavgpool",
    .may_cut[HR_CUT_CHANNELS] = true,
    .parse = hr_layer_parse_nothing,
    .fit = fit_global,
    .forward = forward,
    .backward = backward,
};
