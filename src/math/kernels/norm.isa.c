/* The loops of batch normalisation, compiled once for each instruction set (see base/isa.h): down
 * the rows for a few channels at a time, whose sums and coefficients stay in registers. Sums in
 * double are chains of additions, each waiting for the one before: four or more go side by side. */
#include "kernels/norm.h"

#include "base/size.h"
#include "kernels/bf16_steps.h"

#define INLINE static inline __attribute__((always_inline))

/* Rows that are fetched before they are read: channels of a row are some lines only, which hardware
 * does not follow as it would one stream, the less the more is computed from them. */
enum { AHEAD = 16 };

/* coef: center, scale, shift */
INLINE vec normed(vec x, const vec coef[3])
{
    return (x - coef[0]) * coef[1] + coef[2];
}

INLINE vec cleared(vec value, bits where)
{
    return (vec)((bits)value & ~where);
}

/* dy, and 0 where relu let nothing through: y <= 0 (so not where y is no number). */
INLINE vec gated(vec x, const vec gate[3], vec dy)
{
    return cleared(dy, normed(x, gate) <= 0.0f);
}

/* --- sums, in double --- */

enum { HALF = LANES / 2, MOST = 2 }; /* vectors of channels side by side, a half a vector of sums */

typedef double wide __attribute__((vector_size(8 * HALF)));

/* Both halves of a vector. */
struct pair {
    wide half[2];
};

INLINE struct pair widened(vec value)
{
#if defined __AVX512F__
    const __m256 low = _mm512_castps512_ps256(value), high = _mm512_extractf32x8_ps(value, 1);
    return (struct pair){{_mm512_cvtps_pd(low), _mm512_cvtps_pd(high)}};
#elif defined __AVX2__
    const __m128 low = _mm256_castps256_ps128(value), high = _mm256_extractf128_ps(value, 1);
    return (struct pair){{_mm256_cvtps_pd(low), _mm256_cvtps_pd(high)}};
#else
    return (struct pair){
        {{(double)value[0], (double)value[1]}, {(double)value[2], (double)value[3]}}};
#endif
}

/* The same from memory: two loads are cheaper than taking a vector apart. */
INLINE struct pair load_widened(const float *from, size_t count)
{
#if defined __AVX512F__
    if (count >= LANES)
        return (struct pair){{_mm512_cvtps_pd(_mm256_loadu_ps(from)),
                              _mm512_cvtps_pd(_mm256_loadu_ps(from + HALF))}};
#elif defined __AVX2__
    if (count >= LANES)
        return (struct pair){
            {_mm256_cvtps_pd(_mm_loadu_ps(from)), _mm256_cvtps_pd(_mm_loadu_ps(from + HALF))}};
#endif
    return widened(load_part(from, count));
}

/* c + a * b where a * b is exact, so that one rounding or two are the same. With a = 1 it is an
 * addition by the units that multiply, which have less to do here than those that add and convert.
 */
INLINE wide add_exact(wide a, wide b, wide c)
{
#if defined __AVX512F__
    return _mm512_fmadd_pd(a, b, c);
#elif defined __FMA__
    return _mm256_fmadd_pd(a, b, c);
#else
    return c + a * b;
#endif
}

INLINE struct pair load_pair(const double *from, size_t count)
{
    struct pair pair = {{{0}}};
    memcpy(&pair, from, hr_min_size(count, LANES) * sizeof *from);
    return pair;
}

INLINE void store_pair(double *to, struct pair pair, size_t count)
{
    memcpy(to, &pair, hr_min_size(count, LANES) * sizeof *to);
}

/* What some channels of a block are summed from. */
struct input {
    bool back; /* dy is wanted too: a constant */
    size_t row, C;
    const float *x, *dy; /* the first pixel */
    const double *mean;
    const float *gate; /* (3,C), or the constant NULL */
};

/* The same for one vector of channels of a block. */
struct channels {
    const float *x, *dy;
    size_t count; /* of its lanes */
    vec gate[3];
    struct pair mean, sums, products;
};

INLINE struct channels channels_of(const struct input *in, size_t block, size_t c, size_t count)
{
    const size_t at = block * HR_NORM_BLOCK * in->row + c;
    struct channels channels = {.x = in->x + at, .count = count};
    if (in->back) {
        channels.dy = in->dy + at;
        channels.mean = load_pair(in->mean + c, count);
    }
    for (size_t i = 0; in->gate && i < 3; i++)
        channels.gate[i] = load_part(in->gate + i * in->C + c, count);
    return channels;
}

/* Add the row that stands `at` floats behind the first. */
INLINE void add_row(const struct input *in, size_t at, struct channels *channels)
{
    const wide one = (wide){0} + 1.0;
    const float *x = channels->x + at, *dy = in->back ? channels->dy + at : NULL;
    const size_t count = channels->count;
    const struct pair value = load_widened(x, count);
    __builtin_prefetch(x + AHEAD * in->row);
    if (in->back)
        __builtin_prefetch(dy + AHEAD * in->row);
    struct pair d = value;
    if (in->gate)
        d = widened(gated(load_part(x, count), channels->gate, load_part(dy, count)));
    else if (in->back)
        d = load_widened(dy, count);
    for (size_t h = 0; h < 2; h++) {
        wide *sum = &channels->sums.half[h], *product = &channels->products.half[h];
        *sum = add_exact(one, d.half[h], *sum);
        if (in->back)
            *product += d.half[h] * add_exact(one, value.half[h], -channels->mean.half[h]);
        else
            *product = add_exact(d.half[h], d.half[h], *product);
    }
}

/* `vectors` side by side from channel c on, of `blocks` blocks of R rows; `count` channels each.
 * Both numbers are constants. */
INLINE void sum_vectors(const struct input *in, size_t R, size_t c, size_t blocks, size_t vectors,
                        size_t count, double *sums)
{
    struct channels channels[MOST];
    const size_t n = blocks * vectors;
#pragma GCC unroll 2
    for (size_t i = 0; i < n; i++)
        channels[i] = channels_of(in, i / vectors, c + i % vectors * LANES, count);
    for (size_t r = 0, at = 0; r < R; r++, at += in->row)
#pragma GCC unroll 2
        for (size_t i = 0; i < n; i++)
            add_row(in, at, &channels[i]);
#pragma GCC unroll 2
    for (size_t i = 0; i < n; i++) {
        double *to = sums + i / vectors * 2 * in->C + c + i % vectors * LANES;
        store_pair(to, channels[i].sums, count);
        store_pair(to + in->C, channels[i].products, count);
    }
}

/* All channels of one block of R rows, or of two whole ones. */
INLINE void sum_channels(const struct input *in, size_t R, size_t blocks, double *sums)
{
    size_t c = 0;
    for (; in->C - c >= 2 * LANES && blocks == 1; c += 2 * LANES)
        sum_vectors(in, R, c, 1, 2, LANES, sums);
    for (; in->C - c >= LANES; c += LANES)
        sum_vectors(in, R, c, blocks, 1, LANES, sums);
    if (in->C > c)
        sum_vectors(in, R, c, blocks, 1, in->C - c, sums);
}

/* Two blocks at a time where one has too few channels. */
INLINE void sum_rows(struct input in, size_t R, double *sums)
{
    for (size_t left = R, rows; left > 0; left -= rows) {
        const bool two = in.C < 2 * LANES && left >= 2 * HR_NORM_BLOCK;
        rows = two ? 2 * HR_NORM_BLOCK : hr_min_size(HR_NORM_BLOCK, left);
        if (two)
            sum_channels(&in, HR_NORM_BLOCK, 2, sums);
        else
            sum_channels(&in, rows, 1, sums);
        in.x += rows * in.row;
        in.dy = in.back ? in.dy + rows * in.row : NULL;
        sums += (two ? 2 : 1) * 2 * in.C;
    }
}

static void moments(size_t R, size_t C, size_t row, const float *x, double *sums)
{
    sum_rows((struct input){.row = row, .x = x, .C = C}, R, sums);
}

static void gradients(size_t R, size_t C, size_t row, const float *x, const float *dy,
                      const double *mean, const float *gate, double *sums)
{
    struct input in = {true, row, C, x, dy, mean, NULL};
    if (gate) {
        in.gate = gate;
        sum_rows(in, R, sums);
    } else {
        sum_rows(in, R, sums);
    }
}

/* --- pixels, in float --- */

/* One loop over the rows. */
struct rows {
    bool back, gated; /* constants, as are those of the end */
    struct hr_norm_end end;
    size_t R, C, row;
    const float *x, *dy, *coef;
    const float *gate; /* where gated */
    float *out;
};

INLINE void write_pixel(const struct rows *rows, size_t at, size_t count, const vec coef[4],
                        vec gate)
{
    const vec x = load_part(rows->x + at, count);
    vec out;
    __builtin_prefetch(rows->x + at + AHEAD * rows->row);
    if (rows->back) {
        __builtin_prefetch(rows->dy + at + AHEAD * rows->row);
        vec dy = load_part(rows->dy + at, count);
        if (rows->gated)
            dy = gated(x, (const vec[3]){coef[0], coef[1], gate}, dy);
        out = coef[1] * (dy - coef[2] - (x - coef[0]) * coef[3]);
    } else {
        out = normed(x, coef);
        if (rows->end.relu)
            out = cleared(out, out < 0.0f);
    }
    if (rows->end.round)
        out = hr_bf16_rounded(out);
    store_part(rows->out + at, out, count);
}

/* `vectors` side by side, a constant; `count` channels of the last. */
INLINE void write_vectors(const struct rows *rows, size_t c, size_t vectors, size_t count)
{
    const size_t ncoef = rows->back ? 4 : 3;
    vec coef[2][4], gate[2];
    for (size_t v = 0; v < vectors; v++) {
        for (size_t i = 0; i < ncoef; i++)
            coef[v][i] = load_part(rows->coef + i * rows->C + c + v * LANES, count);
        if (rows->gated)
            gate[v] = load_part(rows->gate + 2 * rows->C + c + v * LANES, count);
    }
    for (size_t r = 0, at = c; r < rows->R; r++, at += rows->row)
#pragma GCC unroll 2
        for (size_t v = 0; v < vectors; v++)
            write_pixel(rows, at + v * LANES, count, coef[v], gate[v]);
}

INLINE void write_rows(const struct rows *rows)
{
    size_t c = 0;
    for (; rows->C - c >= 2 * LANES; c += 2 * LANES)
        write_vectors(rows, c, 2, LANES);
    for (; rows->C - c >= LANES; c += LANES)
        write_vectors(rows, c, 1, LANES);
    if (rows->C > c)
        write_vectors(rows, c, 1, rows->C - c);
}

/* Each with constants of its own. */
INLINE void write_rounded_or_not(struct rows rows, struct hr_norm_end end)
{
    if (end.round) {
        rows.end.round = true;
        write_rows(&rows);
    } else {
        rows.end.round = false;
        write_rows(&rows);
    }
}

static void apply(size_t R, size_t C, size_t row, const float *x, const float *coef,
                  struct hr_norm_end end, float *y)
{
    struct rows rows = {.R = R, .C = C, .row = row, .x = x, .coef = coef, .out = y};
    if (end.relu) {
        rows.end.relu = true;
        write_rounded_or_not(rows, end);
    } else {
        rows.end.relu = false;
        write_rounded_or_not(rows, end);
    }
}

static void backward(size_t R, size_t C, size_t row, const float *x, const float *dy,
                     const float *coef, const float *gate, struct hr_norm_end end, float *dx)
{
    struct rows rows = {.back = true,
                        .R = R,
                        .C = C,
                        .row = row,
                        .x = x,
                        .dy = dy,
                        .coef = coef,
                        .gate = gate,
                        .out = dx};
    if (gate) {
        rows.gated = true;
        write_rounded_or_not(rows, end);
    } else {
        rows.gated = false;
        write_rounded_or_not(rows, end);
    }
}

const struct hr_norm HR_ISA_NAME(hr_norm) = {
    .moments = moments,
    .gradients = gradients,
    .apply = apply,
    .backward = backward,
};
