/* groupnorm G - torch.nn.GroupNorm(G, channels) with eps 1e-5, on (channels, height, width) or
 * (features): Wu and He, "Group Normalization", arXiv 1803.08494.
 *
 *     of each sample and each group of C / G neighbouring channels, over its n = C / G * pixels
 *     values:  mean = sum x / n    var = sum (x - mean)^2 / n
 *     y = (x - mean) / sqrt(var + eps) w + bias
 *
 * Tensors: weight, bias, (C) each. It has no statistics: a sample's output depends on this sample
 * alone, in training as in evaluation, however a batch is shared among workers.
 *
 * Order: of a sample each channel's pixels from the first on, then a group's channels; the samples'
 * parts of the gradients of weight and bias from the first sample on; in double. Threads take whole
 * samples, so they change no bit.
 */
#include <math.h>
#include <string.h>

#include "kernels/team.h"
#include "nn/layer.h"

static const double EPSILON = 1e-5;

enum { GROUPS, CHANNELS, PIXELS }; /* of layer->size */

static enum hr_status parse(struct hr_layer *layer, const struct hr_layer_text *text)
{
    if (text->nwords != 2)
        return hr_fail(HR_E_USAGE, "expected the number of groups, as in \"groupnorm 8\"");
    return hr_layer_parse_size(text->words[1], &layer->size[GROUPS]);
}

static enum hr_status fit(struct hr_layer *layer)
{
    if (layer->in.ndim == 2)
        return hr_fail(HR_E_USAGE, "its statistics would be those of places still to come, too, "
                                   "which a text has not yet; expected layernorm");
    const size_t C = layer->in.size[0];
    static const char *const names[] = {"weight", "bias"};
    static const enum hr_layer_init inits[] = {HR_INIT_ONES, HR_INIT_ZEROS};
    if (C % layer->size[GROUPS])
        return hr_fail(HR_E_USAGE, "%zu groups: expected a divisor of %zu, the channels",
                       layer->size[GROUPS], C);
    layer->size[CHANNELS] = C;
    layer->size[PIXELS] = hr_dims_elems(&layer->in) / C;
    layer->out = layer->in;
    layer->ntensors = 2;
    for (size_t t = 0; t < 2; t++)
        layer->tensors[t] = (struct hr_layer_tensor){
            .name = names[t], .ndim = 1, .shape = {C}, .init = inits[t], .role = HR_TENSOR_TRAINED};
    layer->madds = (double)hr_dims_elems(&layer->in);
    return HR_OK;
}

/* saved: of each sample the groups' means and 1 / sqrt(var + eps), (B,2,G) doubles */
static size_t saved_bytes(const struct hr_layer *layer, size_t B)
{
    return B * 2 * layer->size[GROUPS] * sizeof(double);
}

/* scratch: of each sample two sums a channel, (B,2,C) doubles; and in evaluation what `saved` holds
 * in training */
static size_t scratch_bytes(const struct hr_layer *layer, size_t B, size_t threads)
{
    (void)threads;
    return B * 2 * layer->size[CHANNELS] * sizeof(double) + saved_bytes(layer, B);
}

struct job {
    const struct hr_pass *pass;
    size_t G, C, pixels;
    double *sums;  /* (B,2,C) */
    double *saved; /* (B,2,G) */
};

static struct job job_of(const struct hr_layer *layer, const struct hr_pass *pass)
{
    struct job job = {.pass = pass,
                      .G = layer->size[GROUPS],
                      .C = layer->size[CHANNELS],
                      .pixels = layer->size[PIXELS],
                      .sums = pass->scratch};
    job.saved = pass->saved ? pass->saved : job.sums + pass->B * 2 * job.C;
    return job;
}

/* out (G): the sums of a group's channels, over its n values */
static void mean_by_group(const struct job *job, const double *channels, double *out)
{
    const size_t each = job->C / job->G;
    for (size_t g = 0; g < job->G; g++) {
        double sum = 0;
        for (size_t c = g * each; c < (g + 1) * each; c++)
            sum += channels[c];
        out[g] = sum / (double)(each * job->pixels);
    }
}

static void forward_sample(void *arg, size_t sample, size_t thread)
{
    const struct job *job = arg;
    const size_t C = job->C, each = C / job->G, at = sample * C * job->pixels;
    const float *x = job->pass->x + at, *weight = job->pass->params, *bias = weight + C;
    float *y = job->pass->y + at;
    double *sums = job->sums + sample * 2 * C, *squares = sums + C;
    double *mean = job->saved + sample * 2 * job->G, *inverse = mean + job->G;
    (void)thread;
    memset(sums, 0, 2 * C * sizeof *sums);
    for (size_t p = 0; p < job->pixels; p++)
        for (size_t c = 0; c < C; c++)
            sums[c] += (double)x[p * C + c];
    mean_by_group(job, sums, mean);
    for (size_t c = 0; c < C; c++)
        sums[c] = mean[c / each];
    for (size_t p = 0; p < job->pixels; p++)
        for (size_t c = 0; c < C; c++) {
            const double d = (double)x[p * C + c] - sums[c];
            squares[c] += d * d;
        }
    mean_by_group(job, squares, inverse);
    for (size_t g = 0; g < job->G; g++)
        inverse[g] = 1 / sqrt(inverse[g] + EPSILON);
    for (size_t c = 0; c < C; c++)
        squares[c] = inverse[c / each] * (double)weight[c];
    for (size_t p = 0; p < job->pixels; p++)
        for (size_t c = 0; c < C; c++)
            y[p * C + c] = (float)(((double)x[p * C + c] - sums[c]) * squares[c] + (double)bias[c]);
}

/* With xhat = (x - mean) inverse, and P, Q the means of w dy and w dy xhat over a group:
 *     dx = inverse (w dy - P - xhat Q)    of weight and bias: the sums of dy xhat and of dy */
static void backward_sample(void *arg, size_t sample, size_t thread)
{
    const struct job *job = arg;
    const size_t C = job->C, each = C / job->G, at = sample * C * job->pixels;
    const float *x = job->pass->x + at, *dy = job->pass->dy + at, *weight = job->pass->params;
    float *dx = job->pass->dx ? job->pass->dx + at : NULL;
    double *of_bias = job->sums + sample * 2 * C, *of_weight = of_bias + C;
    const double *mean = job->saved + sample * 2 * job->G, *inverse = mean + job->G;
    (void)thread;
    memset(of_bias, 0, 2 * C * sizeof *of_bias);
    for (size_t p = 0; p < job->pixels; p++)
        for (size_t g = 0; g < job->G; g++)
            for (size_t c = g * each; c < (g + 1) * each; c++) {
                const double d = (double)dy[p * C + c];
                of_bias[c] += d;
                of_weight[c] += d * (((double)x[p * C + c] - mean[g]) * inverse[g]);
            }
    for (size_t g = 0; dx && g < job->G; g++) {
        const double n = (double)(each * job->pixels);
        double P = 0, Q = 0;
        for (size_t c = g * each; c < (g + 1) * each; c++) {
            P += (double)weight[c] * of_bias[c] / n;
            Q += (double)weight[c] * of_weight[c] / n;
        }
        for (size_t p = 0; p < job->pixels; p++)
            for (size_t c = g * each; c < (g + 1) * each; c++) {
                const size_t i = p * C + c;
                const double xhat = ((double)x[i] - mean[g]) * inverse[g];
                dx[i] = (float)(inverse[g] * ((double)weight[c] * (double)dy[i] - P - xhat * Q));
            }
    }
}

static void forward(const struct hr_layer *layer, const struct hr_pass *pass)
{
    struct job job = job_of(layer, pass);
    hr_team_run(pass->threads ? pass->threads : 1, pass->B, forward_sample, &job);
}

static void backward(const struct hr_layer *layer, const struct hr_pass *pass)
{
    struct job job = job_of(layer, pass);
    hr_team_run(pass->threads ? pass->threads : 1, pass->B, backward_sample, &job);
    for (size_t c = 0; c < job.C; c++) {
        double bias = 0, weight = 0;
        for (size_t b = 0; b < pass->B; b++) {
            bias += job.sums[b * 2 * job.C + c];
            weight += job.sums[b * 2 * job.C + job.C + c];
        }
        pass->grads[c] = (float)weight;
        pass->grads[job.C + c] = (float)bias;
    }
}

const struct hr_layer_type hr_layer_groupnorm = {
    .name = "groupnorm",
    .parse = parse,
    .fit = fit,
    .saved_bytes = saved_bytes,
    .scratch_bytes = scratch_bytes,
    .forward = forward,
    .backward = backward,
};
