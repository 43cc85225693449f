/* batchnorm - torch.nn.BatchNorm1d on (features), BatchNorm2d on (channels, height, width), with
 * eps 1e-5 and momentum 0.1.
 *
 *     R = B * height * width values of each channel c; in training, over the batch in hand:
 *     mean = sum x / R    var = sum x^2 / R - mean^2    y = (x - mean) / sqrt(var + eps) w + bias
 *     in evaluation mean and var are the running ones
 *
 * Tensors: weight, bias, running_mean, running_var, (C) each. The last two are statistics
 * (model.h): their "gradients" are -B mean and -B var R / (R - 1), the unbiased variance.
 * R = 1: PyTorch refuses to train on one value a channel. Here it is a share beside others (a run
 * without others is refused, train/prepare.c): its variance is 0, so y = bias, nothing flows back
 * to x, and it tells nothing of the data. It reports the running statistics themselves, by which
 * the update leaves them where they are.
 *
 * A relu behind it is done in the same passes (kernels/norm.h).
 *
 * Order: blocks of HR_NORM_BLOCK values, each summed from its first on, the blocks added in their
 * order; in double. Threads take whole blocks, so they change no bit.
 */
#include <math.h>
#include <string.h>

#include "base/size.h"
#include "nn/layer.h"
#include "kernels/norm.h"
#include "kernels/team.h"

enum { TASK_ROWS = 2 * HR_NORM_BLOCK }; /* of a thread */
static const double EPSILON = 1e-5;

/* size[0], size[1]: channels C and pixels of a sample */
static enum hr_status fit(struct hr_layer *layer)
{
    if (layer->in.ndim == 2)
        return hr_fail(HR_E_USAGE, "its statistics would be those of places still to come, too, "
                                   "which a text has not yet; expected layernorm");
    const size_t C = layer->in.size[0];
    static const struct {
        const char *name;
        enum hr_layer_init init;
        enum hr_tensor_role role;
    } tensors[] = {{"weight", HR_INIT_ONES, HR_TENSOR_TRAINED},
                   {"bias", HR_INIT_ZEROS, HR_TENSOR_TRAINED},
                   {"running_mean", HR_INIT_ZEROS, HR_TENSOR_STATISTIC},
                   {"running_var", HR_INIT_ONES, HR_TENSOR_STATISTIC}};
    layer->size[0] = C;
    layer->size[1] = hr_dims_elems(&layer->in) / C;
    layer->out = layer->in;
    layer->ntensors = 4;
    for (size_t t = 0; t < 4; t++)
        layer->tensors[t] = (struct hr_layer_tensor){.name = tensors[t].name,
                                                     .ndim = 1,
                                                     .shape = {C},
                                                     .init = tensors[t].init,
                                                     .role = tensors[t].role};
    layer->madds = (double)hr_dims_elems(&layer->in);
    return HR_OK;
}

/* saved: mean and variance of the batch, (2,C) doubles */
static size_t saved_bytes(const struct hr_layer *layer, size_t B)
{
    (void)B;
    return 2 * layer->size[0] * sizeof(double);
}

/* scratch: the blocks' sums (blocks,2,C) and their total (2,C), doubles; coefficients (3,C) of
 * forward and (4,C) of backward */
static size_t scratch_bytes(const struct hr_layer *layer, size_t B, size_t threads)
{
    (void)threads;
    const size_t C = layer->size[0];
    return (hr_norm_blocks(B * layer->size[1]) + 1) * 2 * C * sizeof(double) +
           7 * C * sizeof(float);
}

/* One loop over the rows of a batch, in blocks. */
struct job {
    size_t R, C;
    size_t begin, row; /* its first channel, and all that there are */
    size_t threads;
    const float *x, *dy; /* (R,C) */
    float *out;          /* (R,C) y or dx */
    double *saved;       /* (2,row) its channels of mean, and of variance */
    const float *coef;   /* (3,C) or (4,C) */
    const float *gate;   /* (3,C) of forward, where relu's gradient is wanted too, or NULL */
    double *sums;        /* (1 + blocks,2,C): the total, then a block each */
    struct hr_norm_end end;
};

static struct job job_of(const struct hr_layer *layer, const struct hr_pass *pass)
{
    const size_t row = layer->size[0];
    const struct hr_channels part = layer->cut ? pass->out : (struct hr_channels){0, row};
    return (struct job){
        .R = pass->B * layer->size[1],
        .C = part.end - part.begin,
        .begin = part.begin,
        .row = row,
        .threads = pass->threads ? pass->threads : 1,
        .x = pass->x + part.begin,
        .dy = pass->dy ? pass->dy + part.begin : NULL,
        .saved = pass->saved ? (double *)pass->saved + part.begin : NULL,
        .sums = pass->scratch,
        .end = {.relu = layer->relu_follows, .round = layer->precision == HR_PRECISION_BF16},
    };
}

static float *coefficients(const struct job *job)
{
    return (float *)(job->sums + (hr_norm_blocks(job->R) + 1) * 2 * job->C);
}

static size_t tasks_of(const struct job *job)
{
    return (job->R + TASK_ROWS - 1) / TASK_ROWS;
}

static size_t rows_of(const struct job *job, size_t task)
{
    return hr_min_size(TASK_ROWS, job->R - task * TASK_ROWS);
}

static void sum_task(void *arg, size_t task, size_t thread)
{
    const struct job *job = arg;
    const size_t at = task * TASK_ROWS * job->row, rows = rows_of(job, task);
    double *sums = job->sums + (1 + task * TASK_ROWS / HR_NORM_BLOCK) * 2 * job->C;
    (void)thread;
    if (job->dy)
        hr_norm()->gradients(rows, job->C, job->row, job->x + at, job->dy + at, job->saved,
                             job->gate, sums);
    else
        hr_norm()->moments(rows, job->C, job->row, job->x + at, sums);
}

static void write_task(void *arg, size_t task, size_t thread)
{
    const struct job *job = arg;
    const size_t at = task * TASK_ROWS * job->row, rows = rows_of(job, task);
    (void)thread;
    if (job->dy)
        hr_norm()->backward(rows, job->C, job->row, job->x + at, job->dy + at, job->coef, job->gate,
                            job->end, job->out + at);
    else
        hr_norm()->apply(rows, job->C, job->row, job->x + at, job->coef, job->end, job->out + at);
}

/* sums[0] = all blocks' sums, in their order */
static void sum_blocks(struct job *job)
{
    memset(job->sums, 0, 2 * job->C * sizeof *job->sums);
    hr_team_run(job->threads, tasks_of(job), sum_task, job);
    for (size_t block = 1; block <= hr_norm_blocks(job->R); block++)
        for (size_t c = 0; c < 2 * job->C; c++)
            job->sums[c] += job->sums[block * 2 * job->C + c];
}

static double inverse_of(double var)
{
    return 1 / sqrt(var + EPSILON);
}

/* The batch's coefficients of forward. */
static void write_coefficients(const struct job *job, const float *params, float *coef)
{
    const size_t C = job->C;
    for (size_t c = 0; c < C; c++) {
        coef[c] = (float)job->saved[c];
        coef[C + c] = (float)(inverse_of(job->saved[job->row + c]) * (double)params[c]);
        coef[2 * C + c] = params[job->row + c];
    }
}

/* Those of the running statistics. */
static void write_running_coefficients(const struct job *job, const float *params, float *coef)
{
    const size_t C = job->C, row = job->row;
    for (size_t c = 0; c < C; c++) {
        coef[c] = params[2 * row + c];
        coef[C + c] = (float)(inverse_of((double)params[3 * row + c]) * (double)params[c]);
        coef[2 * C + c] = params[row + c];
    }
}

/* The batch's mean and variance, into saved. */
static void measure(struct job *job)
{
    const size_t C = job->C;
    double *mean_of = job->saved, *var_of = job->saved + job->row;
    sum_blocks(job);
    for (size_t c = 0; c < C; c++) {
        const double mean = job->sums[c] / (double)job->R;
        const double var = job->sums[C + c] / (double)job->R - mean * mean;
        mean_of[c] = mean;
        var_of[c] = var < 0 ? 0 : var;
    }
}

static void forward(const struct hr_layer *layer, const struct hr_pass *pass)
{
    struct job job = job_of(layer, pass);
    const float *params = pass->params + job.begin;
    float *coef = coefficients(&job);
    job.dy = NULL;
    if (pass->B == 0)
        return;
    if (pass->draw) {
        measure(&job);
        write_coefficients(&job, params, coef);
    } else {
        write_running_coefficients(&job, params, coef);
    }
    job.coef = coef;
    job.out = pass->y + job.begin;
    hr_team_run(job.threads, tasks_of(&job), write_task, &job);
}

/* The "gradients" of the running statistics (model.h), which are `running`. */
static void report_statistics(const struct job *job, size_t B, const float *running, float *dmean,
                              float *dvar)
{
    for (size_t c = 0; c < job->C && job->R == 1; c++) { /* of B = 1 sample */
        dmean[c] = -running[c];
        dvar[c] = -running[job->row + c];
    }
    if (job->R == 1)
        return;
    const double R = (double)job->R, unbias = R / (R - 1);
    for (size_t c = 0; c < job->C; c++) {
        dmean[c] = (float)(-(double)B * job->saved[c]);
        dvar[c] = (float)(-(double)B * unbias * job->saved[job->row + c]);
    }
}

/* With xhat = (x - mean) / sigma, p = mean of dy and q = mean of dy xhat:
 *     dweight = R q    dbias = R p    dx = weight / sigma (dy - p - xhat q) */
static void backward(const struct hr_layer *layer, const struct hr_pass *pass)
{
    struct job job = job_of(layer, pass);
    const size_t C = job.C, row = job.row;
    const double *saved = job.saved;
    float *dweight = pass->grads + job.begin, *dbias = dweight + row;
    float *gate = coefficients(&job), *coef = gate + 3 * C;
    if (pass->B == 0) {
        for (size_t t = 0; t < 4; t++)
            memset(dweight + t * row, 0, C * sizeof *dweight);
        return;
    }
    write_coefficients(&job, pass->params + job.begin, gate);
    job.gate = layer->absorbs ? gate : NULL;
    sum_blocks(&job);
    for (size_t c = 0; c < C; c++) {
        const double inverse = inverse_of(saved[row + c]), product = job.sums[C + c] * inverse;
        dweight[c] = (float)product;
        dbias[c] = (float)job.sums[c];
        coef[c] = gate[c];
        coef[C + c] = gate[C + c];
        coef[2 * C + c] = (float)(job.sums[c] / (double)job.R);
        coef[3 * C + c] = (float)(product / (double)job.R * inverse);
    }
    report_statistics(&job, pass->B, pass->params + job.begin + 2 * row, dbias + row,
                      dbias + 2 * row);
    job.coef = coef;
    job.out = pass->dx ? pass->dx + job.begin : NULL;
    if (pass->dx)
        hr_team_run(job.threads, tasks_of(&job), write_task, &job);
}

const struct hr_layer_type hr_layer_batchnorm = {
    .name = "batchnorm",
    .can_fuse_relu = true,
    .can_absorb_relu = true,
    .may_cut[HR_CUT_CHANNELS] = true,
    .rounds = {true, true},
    .parse = hr_layer_parse_nothing,
    .fit = fit,
    .saved_bytes = saved_bytes,
    .scratch_bytes = scratch_bytes,
    .forward = forward,
    .backward = backward,
};
