#include "forecast/noise.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hogring/model.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/size.h"
#include "data/transform.h"
#include "options/choices.h"
#include "stats/tests.h"

/* Sums over the matrix of products, but for one gradient. */
struct sums {
    double squares, pairs; /* of c_ii; of c_ij over i != j, both ways */
};

static struct sums sum_up(const double *products, size_t n, double *row)
{
    struct sums all = {0};
    for (size_t i = 0; i < n; i++) {
        row[i] = 0;
        for (size_t j = 0; j < n; j++)
            row[i] += i == j ? 0 : products[i * n + j];
        all.squares += products[i * n + i];
        all.pairs += row[i];
    }
    return all;
}

struct pair {
    double trace, gradient2;
};

static struct pair estimate(struct sums sums, size_t n, size_t batch)
{
    const double between = sums.pairs / ((double)n * (double)(n - 1));
    return (struct pair){(double)batch * (sums.squares / (double)n - between), between};
}

/* Variances and covariance of the two estimates, each of n - 1 of the gradients. */
struct spread {
    double trace, gradient2, both;
};

static struct spread jackknife(const double *products, size_t n, size_t batch)
{
    double row[HR_NOISE_BATCHES];
    struct pair without[HR_NOISE_BATCHES], mean = {0};
    struct spread out = {0};
    const struct sums all = sum_up(products, n, row);
    for (size_t k = 0; k < n; k++) {
        const struct sums rest = {all.squares - products[k * n + k], all.pairs - 2 * row[k]};
        without[k] = estimate(rest, n - 1, batch);
        mean.trace += without[k].trace / (double)n;
        mean.gradient2 += without[k].gradient2 / (double)n;
    }
    for (size_t k = 0; k < n; k++) {
        const double trace = without[k].trace - mean.trace;
        const double gradient2 = without[k].gradient2 - mean.gradient2;
        out.trace += trace * trace;
        out.gradient2 += gradient2 * gradient2;
        out.both += trace * gradient2;
    }
    const double factor = (double)(n - 1) / (double)n;
    return (struct spread){factor * out.trace, factor * out.gradient2, factor * out.both};
}

/* All ratios r for which trace - r gradient2 is not told from 0: r^2 A - 2 r B + C <= 0. */
static void fieller(struct pair mean, struct spread spread, double t, struct hr_noise *out)
{
    const double t2 = t * t;
    const double a = mean.gradient2 * mean.gradient2 - t2 * spread.gradient2;
    const double b = mean.trace * mean.gradient2 - t2 * spread.both;
    const double c = mean.trace * mean.trace - t2 * spread.trace;
    const double inside = b * b - a * c, root = sqrt(fmax(0, inside));
    const bool bounded = a > 0 && mean.gradient2 > 0;
    out->high = bounded ? fmax(0, (b + root) / a) : (double)INFINITY;
    /* The smaller root of the two, in the form that does not cancel; without an upper end all
     * ratios from the positive root on, or all there are. */
    out->low = b + root > 0 && (bounded || inside >= 0) ? fmax(0, c / (b + root)) : 0;
}

struct hr_noise hr_noise_estimate(const double *products, size_t n, size_t batch)
{
    double row[HR_NOISE_BATCHES];
    const struct pair mean = estimate(sum_up(products, n, row), n, batch);
    struct hr_noise out = {.batches = n,
                           .batch = batch,
                           .gradient2 = mean.gradient2,
                           .trace = mean.trace,
                           .scale = mean.gradient2 > 0 ? fmax(0, mean.trace) / mean.gradient2
                                                       : (double)INFINITY};
    fieller(mean, jackknife(products, n, batch), hr_student_quantile(0.975, (double)(n - 1)), &out);
    return out;
}

double hr_noise_cost(double scale, double from, double to)
{
    if (isinf(scale))
        return 1;
    return (scale + to) / (scale + from);
}

/* --- gradients ---
 * Two looks at the same network: n gradients of batches of their own at the initial weights, then
 * steps of training, of one worker, then n gradients once more. How many there are follows from the
 * time that the first one took and from the memory that they take. Batches come in the order of
 * training, those of a second look from another epoch. */

enum { LEAST = 6, MOST_BYTES = 256 << 20 };

/* Of a look: where in the order of samples it stands. */
struct look {
    const struct hr_train_options *options;
    const struct hr_dataset *dataset;
    struct hr_net *net;
    struct hr_net_space *space;
    struct hr_scaling scaling;
    size_t params, batch, n;    /* gradients of `batch` samples each */
    void *memory;               /* owned: of the space */
    float *weights;             /* (params) owned, and behind them: */
    float *gradients;           /* (n, params) */
    float *x;                   /* (batch, features) owned */
    uint32_t *labels, *samples; /* (batch) each owned, samples behind labels */
};

/* --- memory --- */

static enum hr_status open_net(struct look *look)
{
    const struct hr_train_options *o = look->options;
    const bool automatic = hr_choices_of(o).loss == HR_LOSS_BY_TASK;
    return hr_net_open(&(struct hr_net_options){.layers = o->model,
                                                .input = look->dataset->shape,
                                                .classes = look->dataset->classes,
                                                .loss = automatic ? NULL : o->loss,
                                                .label_smoothing = o->label_smoothing},
                       &look->net);
}

static enum hr_status take_memory(struct look *look)
{
    size_t bytes;
    look->params = hr_net_params(look->net);
    const size_t gradient = look->params * sizeof(float);
    look->n = hr_max_size(LEAST, hr_min_size(HR_NOISE_BATCHES, MOST_BYTES / gradient));
    HR_TRY(hr_net_space_bytes(look->net, look->batch, NULL, &bytes));
    look->memory = malloc(bytes);
    look->weights = malloc((look->n + 1) * gradient);
    look->gradients = look->weights + look->params;
    look->x = malloc(look->batch * hr_net_features(look->net) * sizeof *look->x);
    look->labels = malloc(2 * look->batch * sizeof *look->labels);
    look->samples = look->labels + look->batch;
    if (!look->memory || !look->weights || !look->x || !look->labels)
        return hr_fail(HR_E_NOMEM, "no memory for %zu gradients of %zu parameters", look->n,
                       look->params);
    return hr_net_space_open(look->net, look->batch, NULL, look->memory, bytes, &look->space);
}

static enum hr_status open_look(struct look *look)
{
    const size_t most = hr_max_size(1, look->dataset->train.count / LEAST);
    look->batch = hr_min_size(look->options->batch_size, most);
    HR_TRY(open_net(look));
    HR_TRY(take_memory(look));
    if (look->options->normalize)
        HR_TRY(hr_scaling_measure(look->dataset, &look->scaling));
    return hr_net_init(look->net, look->options->seed, look->weights, look->params);
}

static void close_look(struct look *look)
{
    hr_scaling_free(&look->scaling);
    hr_net_close(look->net);
    free(look->memory);
    free(look->weights);
    free(look->x);
    free(look->labels);
}

/* --- gradients --- */

/* Batch k of the run, as one worker alone would take it; its gradient, the sum over its samples. */
static enum hr_status compute(struct look *look, size_t k, float *gradient)
{
    const struct hr_split *split = &look->dataset->train;
    const size_t an_epoch = split->count / look->batch;
    const struct hr_net_batch batch = {.count = look->batch,
                                       .x = look->x,
                                       .labels = look->labels,
                                       .epoch = k / an_epoch,
                                       .samples = look->samples};
    HR_TRY(hr_dataset_order(look->options->seed, k / an_epoch, split->count,
                            k % an_epoch * look->batch, look->batch, look->samples));
    hr_scaling_gather(&look->scaling, look->dataset, split, look->samples, look->batch, look->x,
                      look->labels);
    hr_scaling_apply(&look->scaling, look->dataset->shape, look->batch, look->x);
    return hr_net_gradient(look->space, look->weights, look->params, &batch, gradient, NULL);
}

void hr_noise_products(const float *gradients, size_t n, size_t params, double *products)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            const float *a = gradients + i * params, *b = gradients + j * params;
            double sum = 0;
            for (size_t k = 0; k < params; k++)
                sum += (double)a[k] * (double)b[k];
            products[i * n + j] = products[j * n + i] = sum;
        }
}

/* Estimate from batches first, first + 1, ... At most look->n of them, in so many seconds. */
static enum hr_status estimate_of(struct look *look, size_t first, double seconds,
                                  struct hr_noise *out)
{
    double products[HR_NOISE_BATCHES * HR_NOISE_BATCHES];
    const int64_t began = hr_clock_ns();
    const size_t there = look->dataset->train.count / look->batch;
    const size_t most = hr_min_size(look->n, there);
    size_t n = 0;
    while (n < most && (n < LEAST || hr_seconds(hr_clock_ns() - began) < seconds)) {
        HR_TRY(compute(look, first + n, look->gradients + n * look->params));
        n++;
    }
    if (n < 3)
        return HR_OK;
    hr_noise_products(look->gradients, n, look->params, products);
    for (size_t i = 0; i < n * n; i++) /* of means over a batch, not of sums */
        products[i] /= (double)look->batch * (double)look->batch;
    *out = hr_noise_estimate(products, n, look->batch);
    return HR_OK;
}

/* --- some steps of training --- */

static void take_rule(const struct hr_train_options *o, struct hr_net_rule *rule)
{
    rule->lr = o->lr >= 0 ? o->lr : rule->lr;
    rule->weight_decay = o->weight_decay >= 0 ? o->weight_decay : rule->weight_decay;
    rule->eps = o->eps >= 0 ? o->eps : rule->eps;
    rule->momentum = o->momentum;
    rule->nesterov = o->nesterov;
    rule->beta1 = o->beta1;
    rule->beta2 = o->beta2;
    rule->trust = o->trust_coefficient;
    rule->clip_norm = o->clip_norm;
}

/* At most an epoch of them, in so many seconds. */
static enum hr_status train(struct look *look, double seconds, size_t *steps)
{
    struct hr_net_rule rule;
    size_t floats;
    const int64_t began = hr_clock_ns();
    const size_t an_epoch = look->dataset->train.count / look->batch;
    HR_TRY(hr_net_rule_defaults(look->options->optimizer, &rule));
    take_rule(look->options, &rule);
    HR_TRY(hr_net_rule_floats(look->net, &rule, &floats));
    float *state = calloc(floats + 1, sizeof *state);
    if (!state)
        return hr_fail(HR_E_NOMEM, "no memory for %zu numbers of %s", floats, rule.name);
    enum hr_status status = HR_OK;
    for (*steps = 0;
         *steps < an_epoch && hr_seconds(hr_clock_ns() - began) < seconds && status == HR_OK;) {
        status = compute(look, *steps, look->gradients);
        if (status == HR_OK)
            status = hr_net_update(look->net, &rule, ++*steps, look->batch, look->weights,
                                   look->gradients, look->params, floats ? state : NULL, floats);
    }
    free(state);
    return status;
}

static enum hr_status measure(struct look *look, double seconds, struct hr_noise_report *out)
{
    size_t steps = 0;
    HR_TRY(open_look(look)); /* which resolves the batch */
    const size_t an_epoch = look->dataset->train.count / look->batch;
    HR_TRY(estimate_of(look, 0, seconds / 3, &out->start));
    HR_TRY(train(look, seconds / 3, &steps));
    HR_TRY(estimate_of(look, an_epoch, seconds / 3, &out->later));
    const bool sound = isfinite(out->later.gradient2) && isfinite(out->later.trace);
    out->steps = sound ? steps : 0; /* at such a rate it diverges, and that says nothing */
    return HR_OK;
}

enum hr_status hr_noise_measure(const struct hr_train_options *options,
                                const struct hr_dataset *dataset, double seconds,
                                struct hr_noise_report *out)
{
    struct look look = {.options = options, .dataset = dataset};
    *out = (struct hr_noise_report){0};
    if (dataset->targets.count) {
        out->missing = "not estimated of models that predict values";
        return HR_OK;
    }
    if (dataset->tokens.context) {
        out->missing = "not estimated of text";
        return HR_OK;
    }
    if (dataset->train.count < 2 * LEAST) {
        out->missing = "there are too few samples to estimate it from";
        return HR_OK;
    }
    const enum hr_status status = measure(&look, seconds, out);
    close_look(&look);
    return status;
}
