/* block_twin.h - the naive twin of networks whose samples meet (batchnorm) or whose paths fork
 * (residual): a whole batch in double, by walking the text of the layer list, forward alone.
 * Gradients are finite differences of it. It shares no code with what it checks but Philox.
 */
#ifndef HR_TESTS_NN_BLOCK_TWIN_H
#define HR_TESTS_NN_BLOCK_TWIN_H

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "support/check.h"

enum { TWIN_MAX_VALUES = 4096 };

/* What a layer gives for a batch: v[(b * C + c) * P + p], PyTorch's order. */
struct twin_batch {
    size_t B, C, P;
    double v[TWIN_MAX_VALUES];
};

struct block_twin {
    const double *params; /* the next layer's */
    bool training;
    uint64_t seed, epoch;    /* of dropout; samples are 0, 1, ... */
    size_t layer;            /* number of the next layer in the flat list */
    double nearest_bend;     /* of relu */
    double statistics[1024]; /* mean and unbiased variance of each batchnorm, in order */
    size_t nstatistics;
};

static inline void twin_dense(struct block_twin *twin, struct twin_batch *x, size_t O)
{
    static struct twin_batch y;
    const size_t I = x->C;
    const double *weight = twin->params, *bias = weight + O * I;
    assert_true(x->P == 1 && x->B * O <= TWIN_MAX_VALUES);
    for (size_t b = 0; b < x->B; b++)
        for (size_t o = 0; o < O; o++) {
            double sum = bias[o];
            for (size_t i = 0; i < I; i++)
                sum += weight[o * I + i] * x->v[b * I + i];
            y.v[b * O + o] = sum;
        }
    memcpy(x->v, y.v, sizeof x->v);
    x->C = O;
    twin->params += O * I + O;
}

static inline void twin_batchnorm(struct block_twin *twin, struct twin_batch *x)
{
    const double n = (double)(x->B * x->P), *p = twin->params;
    for (size_t c = 0; c < x->C; c++) {
        double mean = 0, var = 0;
        for (size_t i = 0; i < x->B * x->P; i++)
            mean += x->v[(i / x->P * x->C + c) * x->P + i % x->P] / n;
        for (size_t i = 0; i < x->B * x->P; i++)
            var += pow(x->v[(i / x->P * x->C + c) * x->P + i % x->P] - mean, 2);
        twin->statistics[twin->nstatistics + c] = mean;
        twin->statistics[twin->nstatistics + x->C + c] = n > 1 ? var / (n - 1) : 0;
        var /= n;
        if (!twin->training) {
            mean = p[2 * x->C + c];
            var = p[3 * x->C + c];
        }
        for (size_t i = 0; i < x->B * x->P; i++) {
            double *v = &x->v[(i / x->P * x->C + c) * x->P + i % x->P];
            *v = (*v - mean) / sqrt(var + 1e-5) * p[c] + p[x->C + c];
        }
    }
    twin->nstatistics += 2 * x->C;
    twin->params += 4 * x->C;
}

/* Is the unit kept? (its number counts in the network's own order, pixels of channels) */
static inline bool twin_keeps(const struct block_twin *twin, double P, size_t sample, size_t unit)
{
    const struct hr_philox counter = {{(uint32_t)(unit / 4), (uint32_t)sample,
                                       (uint32_t)twin->epoch, 7 + 256 * (uint32_t)twin->layer}};
    const struct hr_philox r =
        hr_philox4x32(counter, (uint32_t)twin->seed, (uint32_t)(twin->seed >> 32));
    return r.v[unit % 4] >= P * 4294967296.0;
}

static inline void twin_dropout(const struct block_twin *twin, struct twin_batch *x, double P)
{
    for (size_t i = 0; twin->training && i < x->B * x->C * x->P; i++) {
        const size_t b = i / (x->C * x->P), c = i / x->P % x->C, pixel = i % x->P;
        x->v[i] *= twin_keeps(twin, P, b, pixel * x->C + c) ? 1 / (1 - P) : 0;
    }
}

static inline double twin_activation(struct block_twin *twin, const char *name, double x)
{
    if (!strcmp(name, "relu")) {
        if (x != 0)
            twin->nearest_bend = fmin(twin->nearest_bend, fabs(x));
        return fmax(x, 0);
    }
    if (!strcmp(name, "tanh"))
        return tanh(x);
    if (!strcmp(name, "sigmoid"))
        return 1 / (1 + exp(-x));
    assert_string_equal(name, "gelu");
    return x * erfc(-x / sqrt(2)) / 2;
}

static inline void twin_layer(struct block_twin *twin, const char *name, double argument,
                              struct twin_batch *x)
{
    if (!strcmp(name, "dense"))
        twin_dense(twin, x, (size_t)argument);
    else if (!strcmp(name, "batchnorm"))
        twin_batchnorm(twin, x);
    else if (!strcmp(name, "dropout"))
        twin_dropout(twin, x, argument);
    else if (!strcmp(name, "flatten"))
        x->C *= x->P, x->P = 1;
    else
        for (size_t i = 0; i < x->B * x->C * x->P; i++)
            x->v[i] = twin_activation(twin, name, x->v[i]);
    twin->layer++;
}

static inline const char *twin_list(struct block_twin *twin, const char *at, struct twin_batch *x);

static inline const char *twin_block(struct block_twin *twin, const char *at, struct twin_batch *x)
{
    struct twin_batch *shortcut = malloc(sizeof *shortcut);
    *shortcut = *x;
    at = twin_list(twin, strchr(at, '(') + 1, x) + 1;
    if (!strncmp(at, " shortcut", 9))
        at = twin_list(twin, strchr(at, '(') + 1, shortcut) + 1;
    assert_true(x->C == shortcut->C && x->P == shortcut->P);
    for (size_t i = 0; i < x->B * x->C * x->P; i++)
        x->v[i] += shortcut->v[i];
    free(shortcut);
    twin->layer++;
    return at;
}

/* Run the layers from `at` on; returns where the list ends: at its ")", or at the end. */
static inline const char *twin_list(struct block_twin *twin, const char *at, struct twin_batch *x)
{
    for (;;) {
        char name[16] = "";
        size_t length = 0;
        while (*at == ' ' || *at == ',')
            at++;
        if (*at == ')' || !*at)
            return at;
        for (; isalnum((unsigned char)*at); at++)
            name[length++] = *at;
        if (!strcmp(name, "residual"))
            at = twin_block(twin, at, x);
        else
            twin_layer(twin, name, strtod(at, NULL), x);
        at += strcspn(at, ",)");
    }
}

/* Sum of the cross entropies of a batch of images (B,C,P); leaves twin's statistics. */
static inline double twin_loss(struct block_twin *twin, const char *list, const double *params,
                               const struct twin_batch *images, const uint32_t *labels)
{
    static struct twin_batch x;
    double loss = 0;
    x = *images;
    twin->params = params;
    twin->layer = twin->nstatistics = 0;
    twin->nearest_bend = INFINITY;
    twin_list(twin, list, &x);
    for (size_t b = 0; b < x.B; b++) {
        double sum = 0;
        for (size_t c = 0; c < x.C; c++)
            sum += exp(x.v[b * x.C + c]);
        loss += log(sum) - x.v[b * x.C + labels[b]];
    }
    return loss;
}

#endif
