/* winograd_twin.h - the naive twin of convolutions by Winograd's algorithm (tiles/winograd.h):
 * one number at a time, in the order that the header states, so that tests may ask for the same
 * bits.
 */
#ifndef HR_TESTS_NN_WINOGRAD_TWIN_H
#define HR_TESTS_NN_WINOGRAD_TWIN_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/* Images (B,H,W,C) and (B,OH,OW,O), with `pad` zeros around the first. */
struct winograd_shape {
    size_t B, C, H, W, O, OH, OW, pad;
};

static inline void winograd_patch(float d[4][4])
{
    for (int pass = 0; pass < 2; pass++) {
        float out[4][4];
        for (int j = 0; j < 4; j++) { /* of columns; turned round, so that rows are next */
            out[j][0] = d[0][j] - d[2][j];
            out[j][1] = d[1][j] + d[2][j];
            out[j][2] = d[2][j] - d[1][j];
            out[j][3] = d[1][j] - d[3][j];
        }
        for (int i = 0; i < 16; i++)
            d[i / 4][i % 4] = out[i / 4][i % 4];
    }
}

static inline void winograd_gradient(float d[2][2], float out[4][4])
{
    float left[4][2];
    for (int j = 0; j < 2; j++) {
        left[0][j] = d[0][j];
        left[1][j] = d[0][j] + d[1][j];
        left[2][j] = d[0][j] - d[1][j];
        left[3][j] = -d[1][j];
    }
    for (int i = 0; i < 4; i++) {
        out[i][0] = left[i][0];
        out[i][1] = left[i][0] + left[i][1];
        out[i][2] = left[i][0] - left[i][1];
        out[i][3] = -left[i][1];
    }
}

static inline void winograd_half_filter(const float g[3], float out[4])
{
    const float outer = g[0] + g[2];
    out[0] = g[0];
    out[1] = (outer + g[1]) * 0.5f;
    out[2] = (outer - g[1]) * 0.5f;
    out[3] = g[2];
}

static inline void winograd_filter(float g[3][3], float out[4][4])
{
    float left[4][3];
    for (int j = 0; j < 3; j++) {
        const float column[3] = {g[0][j], g[1][j], g[2][j]};
        float up[4];
        winograd_half_filter(column, up);
        for (int i = 0; i < 4; i++)
            left[i][j] = up[i];
    }
    for (int i = 0; i < 4; i++)
        winograd_half_filter(left[i], out[i]);
}

static inline void winograd_output(float m[4][4], float y[2][2])
{
    float left[2][4];
    for (int j = 0; j < 4; j++) {
        left[0][j] = m[0][j] + m[1][j] + m[2][j];
        left[1][j] = m[1][j] - m[2][j] - m[3][j];
    }
    for (int i = 0; i < 2; i++) {
        y[i][0] = left[i][0] + left[i][1] + left[i][2];
        y[i][1] = left[i][1] - left[i][2] - left[i][3];
    }
}

static inline void winograd_half_weights(const float u[4], float out[3])
{
    const float inner = (u[1] + u[2]) * 0.5f;
    out[0] = u[0] + inner;
    out[1] = (u[1] - u[2]) * 0.5f;
    out[2] = inner + u[3];
}

static inline void winograd_weights(float u[4][4], float out[3][3])
{
    float left[3][4];
    for (int j = 0; j < 4; j++) {
        const float column[4] = {u[0][j], u[1][j], u[2][j], u[3][j]};
        float up[3];
        winograd_half_weights(column, up);
        for (int i = 0; i < 3; i++)
            left[i][j] = up[i];
    }
    for (int i = 0; i < 3; i++)
        winograd_half_weights(left[i], out[i]);
}

/* Pixel (y, x) of an image (H,W,C), or 0 outside of it. */
static inline float winograd_pixel(const float *image, long H, long W, size_t C, long y, long x,
                                   size_t c)
{
    return y < 0 || x < 0 || y >= H || x >= W ? 0 : image[((size_t)(y * W + x)) * C + c];
}

/* The patch of channel c of tile (i, j) of image b. */
static inline void winograd_patch_at(const struct winograd_shape *s, const float *x, size_t b,
                                     size_t i, size_t j, size_t c, float out[4][4])
{
    for (int k = 0; k < 16; k++)
        out[k / 4][k % 4] = winograd_pixel(x + b * s->H * s->W * s->C, (long)s->H, (long)s->W, s->C,
                                           (long)(2 * i) + k / 4 - (long)s->pad,
                                           (long)(2 * j) + k % 4 - (long)s->pad, c);
    winograd_patch(out);
}

/* y = x * weight (O,C,3,3) + bias (NULL: none). */
static inline void winograd_twin_forward(const struct winograd_shape *s, const float *x,
                                         const float *weight, const float *bias, float *y)
{
    const size_t high = (s->OH + 1) / 2, wide = (s->OW + 1) / 2;
    float(*v)[4][4] = malloc(s->C * sizeof *v), (*u)[4][4] = malloc(s->O * s->C * sizeof *u);
    for (size_t n = 0; n < s->O * s->C; n++) {
        float g[3][3];
        for (int k = 0; k < 9; k++)
            g[k / 3][k % 3] = weight[n * 9 + (size_t)k];
        winograd_filter(g, u[n]);
    }
    for (size_t t = 0; t < s->B * high * wide; t++) {
        const size_t b = t / (high * wide), i = t / wide % high, j = t % wide;
        for (size_t c = 0; c < s->C; c++)
            winograd_patch_at(s, x, b, i, j, c, v[c]);
        for (size_t o = 0; o < s->O; o++) {
            float m[4][4] = {{0}}, out[2][2];
            for (size_t c = 0; c < s->C; c++)
                for (int k = 0; k < 16; k++)
                    m[k / 4][k % 4] =
                        fmaf(v[c][k / 4][k % 4], u[o * s->C + c][k / 4][k % 4], m[k / 4][k % 4]);
            winograd_output(m, out);
            for (size_t k = 0; k < 4; k++)
                if (2 * i + k / 2 < s->OH && 2 * j + k % 2 < s->OW)
                    y[((b * s->OH + 2 * i + k / 2) * s->OW + 2 * j + k % 2) * s->O + o] =
                        bias ? out[k / 2][k % 2] + bias[o] : out[k / 2][k % 2];
        }
    }
    free(v);
    free(u);
}

/* dx: the same of dy, with the filters turned by half a turn, and channels the other way round. */
static inline void winograd_twin_dx(const struct winograd_shape *s, const float *dy,
                                    const float *weight, float *dx)
{
    const struct winograd_shape back = {s->B, s->O, s->OH, s->OW, s->C, s->H, s->W, 2 - s->pad};
    float *turned = malloc(s->C * s->O * 9 * sizeof *turned);
    for (size_t c = 0; c < s->C; c++)
        for (size_t o = 0; o < s->O; o++)
            for (size_t k = 0; k < 9; k++)
                turned[(c * s->O + o) * 9 + k] = weight[(o * s->C + c) * 9 + 8 - k];
    winograd_twin_forward(&back, dy, turned, NULL, dx);
    free(turned);
}

/* dweight (O,C,3,3) */
static inline void winograd_twin_weights(const struct winograd_shape *s, const float *x,
                                         const float *dy, float *dweight)
{
    const size_t high = (s->OH + 1) / 2, wide = (s->OW + 1) / 2, tiles = s->B * high * wide;
    for (size_t n = 0; n < s->O * s->C; n++) {
        float u[4][4] = {{0}}, dw[3][3];
        for (size_t t = 0; t < tiles; t++) {
            const size_t b = t / (high * wide), i = t / wide % high, j = t % wide;
            float v[4][4], d[2][2], a[4][4];
            winograd_patch_at(s, x, b, i, j, n % s->C, v);
            for (int k = 0; k < 4; k++)
                d[k / 2][k % 2] =
                    winograd_pixel(dy + b * s->OH * s->OW * s->O, (long)s->OH, (long)s->OW, s->O,
                                   (long)(2 * i) + k / 2, (long)(2 * j) + k % 2, n / s->C);
            winograd_gradient(d, a);
            for (int k = 0; k < 16; k++)
                u[k / 4][k % 4] = fmaf(v[k / 4][k % 4], a[k / 4][k % 4], u[k / 4][k % 4]);
        }
        winograd_weights(u, dw);
        for (size_t k = 0; k < 9; k++)
            dweight[n * 9 + k] = dw[k / 3][k % 3];
    }
}

#endif
