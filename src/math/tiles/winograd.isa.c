/* The transforms of winograd.h, compiled once for each instruction set (see base/isa.h), with
 * channels in lanes. Loops over a tile's elements are unrolled, so that it stays in registers. */
#include "tiles/winograd.h"

#include "base/size.h"
#include "tiles/tile_steps.h"

enum { WIDTH = 2 * LANES };

/* One column or row by each of the matrices. */
INLINE void by_bt(const vec d[4], vec out[4])
{
    out[0] = d[0] - d[2];
    out[1] = d[1] + d[2];
    out[2] = d[2] - d[1];
    out[3] = d[1] - d[3];
}

INLINE void by_at(const vec m[4], vec out[2])
{
    out[0] = m[0] + m[1] + m[2];
    out[1] = m[1] - m[2] - m[3];
}

INLINE void by_a(const vec d[2], vec out[4])
{
    out[0] = d[0];
    out[1] = d[0] + d[1];
    out[2] = d[0] - d[1];
    out[3] = -d[1];
}

INLINE void by_g(const vec g[3], vec out[4])
{
    const vec outer = g[0] + g[2];
    out[0] = g[0];
    out[1] = (outer + g[1]) * 0.5f;
    out[2] = (outer - g[1]) * 0.5f;
    out[3] = g[2];
}

INLINE void by_gt(const vec u[4], vec out[3])
{
    const vec inner = (u[1] + u[2]) * 0.5f;
    out[0] = u[0] + inner;
    out[1] = (u[1] - u[2]) * 0.5f;
    out[2] = inner + u[3];
}

/* --- images --- */

/* Where a tile is; the next one is on its right, or at the beginning of a row. */
struct place {
    size_t i, j, at; /* row and column of tiles; floats before its upper left pixel */
    size_t image;    /* floats before its image */
};

INLINE struct place at_pixel(const struct hr_winograd_tiles *tiles, struct place place)
{
    place.at = place.image + 2 * (place.i * tiles->row + place.j * tiles->step);
    return place;
}

static struct place place_of(const struct hr_winograd_tiles *tiles, size_t number)
{
    const size_t each = tiles->high * tiles->wide, inside = number % each;
    return at_pixel(tiles, (struct place){.i = inside / tiles->wide,
                                          .j = inside % tiles->wide,
                                          .image = number / each * tiles->image});
}

INLINE struct place next(const struct hr_winograd_tiles *tiles, struct place place)
{
    if (++place.j == tiles->wide) {
        place.j = 0;
        place.i++;
    }
    if (place.i == tiles->high) {
        place.i = 0;
        place.image += tiles->image;
    }
    return at_pixel(tiles, place);
}

INLINE void patch(const struct hr_winograd_tiles *tiles, const float *x, float *to, size_t plane,
                  size_t count)
{
    vec left[4][4];
#pragma GCC unroll 4
    for (size_t j = 0; j < 4; j++) {
        vec d[4], out[4];
#pragma GCC unroll 4
        for (size_t i = 0; i < 4; i++)
            d[i] = load_part(x + i * tiles->row + j * tiles->step, count);
        by_bt(d, out);
#pragma GCC unroll 4
        for (size_t i = 0; i < 4; i++)
            left[i][j] = out[i];
    }
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; i++) {
        vec out[4];
        by_bt(left[i], out);
#pragma GCC unroll 4
        for (size_t j = 0; j < 4; j++)
            store_part(to + (4 * i + j) * plane, out[j], count);
    }
}

INLINE void gradient(const struct hr_winograd_tiles *tiles, const float *dy, float *to,
                     size_t plane, size_t count)
{
    vec left[4][2];
#pragma GCC unroll 2
    for (size_t j = 0; j < 2; j++) {
        const vec d[2] = {load_part(dy + j * tiles->step, count),
                          load_part(dy + tiles->row + j * tiles->step, count)};
        vec out[4];
        by_a(d, out);
#pragma GCC unroll 4
        for (size_t i = 0; i < 4; i++)
            left[i][j] = out[i];
    }
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; i++) {
        vec out[4];
        by_a(left[i], out);
#pragma GCC unroll 4
        for (size_t j = 0; j < 4; j++)
            store_part(to + (4 * i + j) * plane, out[j], count);
    }
}

typedef void (*into_planes_fn)(const struct hr_winograd_tiles *tiles, const float *from, float *to,
                               size_t plane, size_t count);

INLINE void into_planes(const struct hr_winograd_tiles *tiles, const float *images,
                        const struct hr_winograd_planes *planes, into_planes_fn one)
{
    struct place place = place_of(tiles, tiles->first);
    const size_t whole = tiles->channels / LANES * LANES, left = tiles->channels - whole;
    for (size_t t = 0; t < tiles->count; t++, place = next(tiles, place)) {
        const float *from = images + place.at;
        float *to = planes->at + t * planes->tile;
        for (size_t c = 0; c < whole; c += LANES)
            one(tiles, from + c, to + c, planes->plane, LANES);
        if (left > 0)
            one(tiles, from + whole, to + whole, planes->plane, left);
    }
}

static void patches(const struct hr_winograd_tiles *tiles, const float *x,
                    const struct hr_winograd_planes *to)
{
    into_planes(tiles, x, to, patch);
}

static void gradients(const struct hr_winograd_tiles *tiles, const float *dy,
                      const struct hr_winograd_planes *to)
{
    into_planes(tiles, dy, to, gradient);
}

/* (2,2) = At m A */
INLINE void output(const float *m, size_t plane, size_t count, vec y[2][2])
{
    vec left[2][4];
#pragma GCC unroll 4
    for (size_t j = 0; j < 4; j++) {
        vec column[4], out[2];
#pragma GCC unroll 4
        for (size_t i = 0; i < 4; i++)
            column[i] = load_part(m + (4 * i + j) * plane, count);
        by_at(column, out);
        left[0][j] = out[0];
        left[1][j] = out[1];
    }
    by_at(left[0], y[0]);
    by_at(left[1], y[1]);
}

/* To the pixels of a tile that are there: high and wide are 1 or 2. */
INLINE void put(const struct hr_winograd_tiles *tiles, vec y[2][2], float *to, size_t high,
                size_t wide, size_t count)
{
#pragma GCC unroll 2
    for (size_t i = 0; i < 2; i++)
#pragma GCC unroll 2
        for (size_t j = 0; j < 2; j++)
            if (i < high && j < wide)
                store_part(to + i * tiles->row + j * tiles->step, y[i][j], count);
}

INLINE void some_outputs(const struct hr_winograd_tiles *tiles, const float *m, size_t plane,
                         const float *bias, bool relu, struct place place, float *to, size_t count)
{
    const vec none = {0}, more = bias ? load_part(bias, count) : none;
    vec y[2][2];
    output(m, plane, count, y);
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; i++) {
        if (bias)
            y[i / 2][i % 2] += more;
        if (relu)
            y[i / 2][i % 2] = relu_of(y[i / 2][i % 2]);
    }
    const size_t high = hr_min_size(2, tiles->height - 2 * place.i);
    const size_t wide = hr_min_size(2, tiles->width - 2 * place.j);
    if (high == 2 && wide == 2)
        put(tiles, y, to, 2, 2, count);
    else
        put(tiles, y, to, high, wide, count);
}

static void outputs(const struct hr_winograd_tiles *tiles, const struct hr_winograd_planes *from,
                    const float *bias, bool relu, float *y)
{
    struct place place = place_of(tiles, tiles->first);
    const size_t whole = tiles->channels / LANES * LANES, left = tiles->channels - whole;
    for (size_t t = 0; t < tiles->count; t++, place = next(tiles, place)) {
        const float *m = from->at + t * from->tile;
        float *to = y + place.at;
        for (size_t c = 0; c < whole; c += LANES)
            some_outputs(tiles, m + c, from->plane, bias ? bias + c : NULL, relu, place, to + c,
                         LANES);
        if (left > 0)
            some_outputs(tiles, m + whole, from->plane, bias ? bias + whole : NULL, relu, place,
                         to + whole, left);
    }
}

/* --- filters --- */

INLINE void filter(const float *g, bool turned, float *to, size_t plane)
{
    vec left[4][3];
#pragma GCC unroll 3
    for (size_t j = 0; j < 3; j++) {
        vec column[3], out[4];
#pragma GCC unroll 3
        for (size_t i = 0; i < 3; i++)
            column[i] = load(g + (turned ? 8 - 3 * i - j : 3 * i + j) * WIDTH);
        by_g(column, out);
#pragma GCC unroll 4
        for (size_t i = 0; i < 4; i++)
            left[i][j] = out[i];
    }
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; i++) {
        vec out[4];
        by_g(left[i], out);
#pragma GCC unroll 4
        for (size_t j = 0; j < 4; j++)
            store(to + (4 * i + j) * plane, out[j]);
    }
}

static void filters(size_t count, bool turned, const float *g, float *to, size_t plane)
{
    for (size_t n = 0; n < count; n++, g += HR_WINOGRAD_FILTER * WIDTH, to += WIDTH)
        for (size_t half = 0; half < WIDTH; half += LANES)
            filter(g + half, turned, to + half, plane);
}

INLINE void weight(const float *u, size_t plane, float *to, size_t channels, size_t count)
{
    vec left[3][4];
#pragma GCC unroll 4
    for (size_t j = 0; j < 4; j++) {
        vec column[4], out[3];
#pragma GCC unroll 4
        for (size_t i = 0; i < 4; i++)
            column[i] = load_part(u + (4 * i + j) * plane, count);
        by_gt(column, out);
#pragma GCC unroll 3
        for (size_t i = 0; i < 3; i++)
            left[i][j] = out[i];
    }
#pragma GCC unroll 3
    for (size_t i = 0; i < 3; i++) {
        vec out[3];
        by_gt(left[i], out);
#pragma GCC unroll 3
        for (size_t j = 0; j < 3; j++)
            store_part(to + (3 * i + j) * channels, out[j], count);
    }
}

static void weights(size_t count, size_t channels, const float *u, size_t plane, float *to)
{
    for (size_t n = 0; n < count; n++, u += channels, to += HR_WINOGRAD_FILTER * channels)
        for (size_t c = 0; c < channels; c += LANES)
            weight(u + c, plane, to + c, channels, hr_min_size(LANES, channels - c));
}

const struct hr_winograd HR_ISA_NAME(hr_winograd) = {.width = WIDTH,
                                                     .patches = patches,
                                                     .gradients = gradients,
                                                     .outputs = outputs,
                                                     .filters = filters,
                                                     .weights = weights};
