/* conv_twin.h - the naive twin of convolutions and pools: double precision, images in PyTorch's
 * order (C,H,W), one loop nest a formula, backward as the scatter that mirrors forward. Sums of
 * small whole numbers are exact here and in single precision, so tests may ask for equality.
 */
#ifndef HR_TESTS_NN_CONV_TWIN_H
#define HR_TESTS_NN_CONV_TWIN_H

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct conv_twin {
    char kind; /* 'c'onv, 'm'axpool, 'a'vgpool */
    size_t C, H, W, O, OH, OW;
    size_t KH, KW, stride, pad, dilation, groups;
};

static inline size_t conv_twin_steps(const struct conv_twin *t, size_t size, size_t length)
{
    return (size + 2 * t->pad - t->dilation * (length - 1) - 1) / t->stride + 1;
}

static inline size_t conv_twin_option(const char *text, const char *name, size_t otherwise)
{
    char layer[80];
    snprintf(layer, sizeof layer, "%.*s", (int)strcspn(text, ","), text);
    const char *at = strstr(layer, name);
    if (at)
        sscanf(at + strlen(name), "%zu", &otherwise);
    return otherwise;
}

/* The layer at the start of `text`, on images (C,H,W); kind 0 when it is none of these. */
static inline struct conv_twin conv_twin_of(const char *text, size_t C, size_t H, size_t W)
{
    struct conv_twin t = {.C = C, .H = H, .W = W, .O = C, .groups = C};
    if (sscanf(text, "conv %zu %zux%zu", &t.O, &t.KH, &t.KW) == 3) {
        t.kind = 'c';
        t.groups = conv_twin_option(text, "groups", 1);
    } else if (sscanf(text, "maxpool %zu", &t.KH) == 1) {
        t.kind = 'm';
    } else if (sscanf(text, "avgpool %zu", &t.KH) == 1) {
        t.kind = 'a';
    } else if (!strncmp(text, "globalavgpool", 13)) {
        t.kind = 'a';
        t.KH = H;
        t.KW = W;
    } else {
        return t;
    }
    if (t.KW == 0 && sscanf(text, "%*s %*ux%zu", &t.KW) != 1)
        t.KW = t.KH;
    t.stride = conv_twin_option(text, "stride", t.kind == 'c' ? 1 : t.KH);
    t.pad = conv_twin_option(text, "pad", 0);
    t.dilation = conv_twin_option(text, "dilation", 1);
    t.OH = conv_twin_steps(&t, H, t.KH);
    t.OW = conv_twin_steps(&t, W, t.KW);
    return t;
}

static inline size_t conv_twin_params(const struct conv_twin *t)
{
    return t->kind == 'c' ? t->O * (t->C / t->groups) * t->KH * t->KW + t->O : 0;
}

/* One term of one output: y[out] looks at x[in], through weight[w] if it is a convolution. */
struct conv_term {
    size_t out, in, w;
    size_t o;
};

typedef void (*conv_term_fn)(const struct conv_twin *t, const struct conv_term *term, void *arg);

static inline void conv_twin_window(const struct conv_twin *t, struct conv_term term, size_t c,
                                    conv_term_fn fn, void *arg)
{
    const size_t oy = term.out / t->OW % t->OH, ox = term.out % t->OW, Cg = t->C / t->groups;
    for (size_t ky = 0; ky < t->KH; ky++)
        for (size_t kx = 0; kx < t->KW; kx++) {
            const size_t y = oy * t->stride + ky * t->dilation,
                         x = ox * t->stride + kx * t->dilation;
            if (y < t->pad || x < t->pad || y - t->pad >= t->H || x - t->pad >= t->W)
                continue;
            term.in = (c * t->H + y - t->pad) * t->W + x - t->pad;
            term.w = ((term.o * Cg + c % Cg) * t->KH + ky) * t->KW + kx;
            fn(t, &term, arg);
        }
}

static inline void conv_twin_each(const struct conv_twin *t, conv_term_fn fn, void *arg)
{
    const size_t Cg = t->C / t->groups, Og = t->O / t->groups;
    for (size_t out = 0; out < t->O * t->OH * t->OW; out++) {
        const size_t o = out / (t->OH * t->OW), g = o / Og;
        for (size_t c = g * Cg; c < (g + 1) * Cg; c++)
            conv_twin_window(t, (struct conv_term){.out = out, .o = o}, c, fn, arg);
    }
}

struct conv_arrays {
    const double *params, *x, *dy;
    double *y, *dx, *grads;
};

static inline void conv_twin_take(const struct conv_twin *t, const struct conv_term *term,
                                  void *arg)
{
    const struct conv_arrays *a = arg;
    double *y = &a->y[term->out];
    const double x = a->x[term->in];
    if (t->kind == 'm')
        *y = fmax(*y, x);
    else
        *y += t->kind == 'c' ? a->params[term->w] * x : x;
}

/* y (O,OH,OW) of one image x (C,H,W) */
static inline void conv_twin_forward(const struct conv_twin *t, const double *params,
                                     const double *x, double *y)
{
    const size_t nweights = conv_twin_params(t) - (t->kind == 'c' ? t->O : 0);
    struct conv_arrays a = {.params = params, .x = x, .y = y};
    for (size_t out = 0; out < t->O * t->OH * t->OW; out++)
        y[out] = t->kind == 'm'   ? -INFINITY
                 : t->kind == 'c' ? params[nweights + out / (t->OH * t->OW)]
                                  : 0;
    conv_twin_each(t, conv_twin_take, &a);
    for (size_t out = 0; t->kind == 'a' && out < t->O * t->OH * t->OW; out++)
        y[out] /= (double)(t->KH * t->KW);
}

static inline void conv_twin_give(const struct conv_twin *t, const struct conv_term *term,
                                  void *arg)
{
    struct conv_arrays *a = arg;
    const double dy = a->dy[term->out];
    if (t->kind == 'c') {
        a->dx[term->in] += dy * a->params[term->w];
        a->grads[term->w] += dy * a->x[term->in];
    } else if (t->kind == 'a') {
        a->dx[term->in] += dy / (double)(t->KH * t->KW);
    } else if (a->x[term->in] == a->y[term->out]) {
        a->dx[term->in] += dy;
        a->y[term->out] = INFINITY; /* only the first of equals */
    }
}

/* dx (C,H,W) += and grads += ; y is spoiled */
static inline void conv_twin_backward(const struct conv_twin *t, const struct conv_arrays *arrays)
{
    struct conv_arrays a = *arrays;
    const size_t nweights = conv_twin_params(t) - (t->kind == 'c' ? t->O : 0);
    conv_twin_each(t, conv_twin_give, &a);
    for (size_t out = 0; t->kind == 'c' && out < t->O * t->OH * t->OW; out++)
        a.grads[nweights + out / (t->OH * t->OW)] += a.dy[out];
}

/* How near two different numbers of a window are to each other, at the least. */
struct conv_nearest {
    const double *x, *y;
    double nearest;
};

static inline void conv_twin_near(const struct conv_twin *t, const struct conv_term *term,
                                  void *arg)
{
    (void)t;
    struct conv_nearest *n = arg;
    const double gap = n->y[term->out] - n->x[term->in];
    if (gap > 0)
        n->nearest = fmin(n->nearest, gap);
}

#endif
