/* twin.h - the naive twin of src/nn: the same networks in double precision, one sample at a time,
 * one loop nest a formula, sharing no code with what it checks (its own reading of the layer list
 * included). test_gradient.c checks the twin itself against finite differences.
 */
#ifndef HR_TESTS_NN_TWIN_H
#define HR_TESTS_NN_TWIN_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "unit/nn/conv_twin.h"
#include "support/check.h"

enum { TWIN_MAX_LAYERS = 13, TWIN_MAX_WIDTH = 4704 };

struct twin_layer {
    char kind;              /* 'f'latten, 'r'elu, 'd'ense; 'c'onv, 'm'axpool, 'a'vgpool: conv */
    size_t in, out, offset; /* widths; of the weight (out,in) in the parameters, the bias behind */
    struct conv_twin conv;
};

struct twin {
    size_t nlayers, classes, param_count;
    struct twin_layer layers[TWIN_MAX_LAYERS];
};

/* Samples are images (C,H,W). */
static inline struct twin twin_of(const char *list, size_t C, size_t H, size_t W)
{
    struct twin twin = {0};
    size_t width = C * H * W;
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 2 : NULL) {
        struct twin_layer *layer = &twin.layers[twin.nlayers++];
        *layer = (struct twin_layer){.kind = *at, .in = width, .out = width};
        layer->offset = twin.param_count;
        layer->conv = conv_twin_of(at, C, H, W);
        if (sscanf(at, "dense %zu", &layer->out) == 1)
            twin.param_count += layer->out * layer->in + layer->out;
        if (layer->conv.kind) {
            layer->kind = layer->conv.kind;
            C = layer->conv.O;
            H = layer->conv.OH;
            W = layer->conv.OW;
            layer->out = C * H * W;
            twin.param_count += conv_twin_params(&layer->conv);
        }
        width = layer->out;
    }
    twin.classes = width;
    return twin;
}

typedef double twin_values[TWIN_MAX_LAYERS + 1][TWIN_MAX_WIDTH];

/* v[0] is the sample, v[i + 1] the output of layer i. */
static inline void twin_forward(const struct twin *twin, const double *params, twin_values v)
{
    for (size_t i = 0; i < twin->nlayers; i++) {
        const struct twin_layer *layer = &twin->layers[i];
        const double *weight = params + layer->offset, *bias = weight + layer->out * layer->in;
        if (layer->conv.kind)
            conv_twin_forward(&layer->conv, weight, v[i], v[i + 1]);
        for (size_t o = 0; o < layer->out && !layer->conv.kind; o++) {
            double y = v[i][o];
            if (layer->kind == 'r')
                y = fmax(y, 0);
            if (layer->kind == 'd') {
                y = bias[o];
                for (size_t k = 0; k < layer->in; k++)
                    y += weight[o * layer->in + k] * v[i][k];
            }
            v[i + 1][o] = y;
        }
    }
}

/* How near the sample's numbers come to where relu or maxpool bends: closer than rounding, and
 * float and double would rightly disagree. Exact zeros are zero in both. */
static inline double twin_nearest_bend(const struct twin *twin, const double *params,
                                       const float *sample)
{
    static twin_values v;
    double nearest = INFINITY;
    for (size_t k = 0; k < twin->layers[0].in; k++)
        v[0][k] = (double)sample[k];
    twin_forward(twin, params, v);
    for (size_t i = 0; i < twin->nlayers; i++) {
        for (size_t o = 0; twin->layers[i].kind == 'r' && o < twin->layers[i].in; o++)
            if (v[i][o] != 0)
                nearest = fmin(nearest, fabs(v[i][o]));
        struct conv_nearest gaps = {v[i], v[i + 1], nearest};
        if (twin->layers[i].kind == 'm')
            conv_twin_each(&twin->layers[i].conv, conv_twin_near, &gaps);
        nearest = gaps.nearest;
    }
    return nearest;
}

/* d (width of the output) in: gradient of the logits; grads += */
static inline void twin_backward(const struct twin *twin, const double *params, twin_values v,
                                 double *d, double *grads)
{
    for (size_t i = twin->nlayers; i-- > 0;) {
        const struct twin_layer *layer = &twin->layers[i];
        const double *weight = params + layer->offset;
        double dx[TWIN_MAX_WIDTH] = {0};
        const struct conv_arrays arrays = {.params = weight,
                                           .x = v[i],
                                           .y = v[i + 1],
                                           .dy = d,
                                           .dx = dx,
                                           .grads = grads + layer->offset};
        if (layer->conv.kind)
            conv_twin_backward(&layer->conv, &arrays);
        for (size_t o = 0; o < layer->out && !layer->conv.kind; o++) {
            if (layer->kind == 'f')
                dx[o] = d[o];
            if (layer->kind == 'r')
                dx[o] = v[i][o] > 0 ? d[o] : 0;
            for (size_t k = 0; layer->kind == 'd' && k < layer->in; k++) {
                dx[k] += d[o] * weight[o * layer->in + k];
                grads[layer->offset + o * layer->in + k] += d[o] * v[i][k];
            }
            if (layer->kind == 'd')
                grads[layer->offset + layer->out * layer->in + o] += d[o];
        }
        memcpy(d, dx, sizeof dx);
    }
}

/* Sum of the B losses; grads (param_count) is overwritten, or NULL.
 *   x (B,features)   y (B) */
static inline double twin_gradient(const struct twin *twin, const double *params, const float *x,
                                   const uint32_t *y, size_t B, double *grads)
{
    static twin_values v;
    const size_t features = twin->layers[0].in, C = twin->classes;
    double loss = 0, d[TWIN_MAX_WIDTH];
    assert_true(features <= TWIN_MAX_WIDTH && C <= TWIN_MAX_WIDTH);
    if (grads)
        memset(grads, 0, twin->param_count * sizeof *grads);
    for (size_t b = 0; b < B; b++) {
        double sum = 0;
        for (size_t k = 0; k < features; k++)
            v[0][k] = (double)x[b * features + k];
        twin_forward(twin, params, v);
        const double *logits = v[twin->nlayers];
        for (size_t c = 0; c < C; c++)
            sum += exp(logits[c]);
        for (size_t c = 0; c < C; c++)
            d[c] = exp(logits[c]) / sum - (c == y[b]);
        loss += log(sum) - logits[y[b]];
        if (grads)
            twin_backward(twin, params, v, d, grads);
    }
    return loss;
}

#endif
