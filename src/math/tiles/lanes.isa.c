/* Rows in lanes, compiled once for each instruction set (see base/isa.h). Like micro.isa.c, the
 * copies of `tiles` differ in their bits. */
#include "tiles/lanes.h"

#include "base/error.h"
#include "base/size.h"
#include "kernels/bf16_steps.h"
#include "tiles/tile_steps.h"

enum { MOST = HR_LANES_MAX_COLUMNS, EIGHT = 8, MAX_VECTORS = MANY_REGISTERS ? 4 : 3 };

/* --- turning --- */

#if defined __AVX2__
INLINE __m256 load_few(const float *from, size_t count)
{
    return count >= EIGHT
               ? _mm256_loadu_ps(from)
               : _mm256_maskload_ps(from,
                                    _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count),
                                                       _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)));
}

/* By halves: masked stores are slow before AVX-512. */
INLINE void store_few(float *to, __m256 value, size_t count)
{
    __m128 part = _mm256_castps256_ps128(value);
    if (count >= EIGHT) {
        _mm256_storeu_ps(to, value);
        return;
    }
    if (count & 4) {
        _mm_storeu_ps(to, part);
        part = _mm256_extractf128_ps(value, 1);
        to += 4;
    }
    if (count & 2) {
        _mm_storel_pi((__m64 *)(void *)to, part);
        part = _mm_movehl_ps(part, part);
        to += 2;
    }
    if (count & 1)
        _mm_store_ss(to, part);
}

/* row[i][j] = row[j][i] */
INLINE void transpose_eight(__m256 row[EIGHT])
{
    __m256 pairs[EIGHT], fours[EIGHT];
    for (size_t i = 0; i < EIGHT; i += 2) {
        pairs[i] = _mm256_unpacklo_ps(row[i], row[i + 1]);
        pairs[i + 1] = _mm256_unpackhi_ps(row[i], row[i + 1]);
    }
    for (size_t i = 0; i < EIGHT; i += 4)
        for (size_t k = 0; k < 2; k++) {
            fours[i + 2 * k] = _mm256_shuffle_ps(pairs[i + k], pairs[i + 2 + k], 0x44);
            fours[i + 2 * k + 1] = _mm256_shuffle_ps(pairs[i + k], pairs[i + 2 + k], 0xee);
        }
    for (size_t i = 0; i < 4; i++) {
        row[i] = _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x20);
        row[i + 4] = _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x31);
    }
}

/* Up to eight rows and columns. */
INLINE void turn_block(size_t rows, size_t columns, const float *from, size_t stride, float *to,
                       size_t to_stride)
{
    __m256 row[EIGHT];
    for (size_t i = 0; i < EIGHT; i++)
        row[i] = i < rows ? load_few(from + i * stride, columns) : _mm256_setzero_ps();
    transpose_eight(row);
    for (size_t j = 0; j < EIGHT; j++)
        if (j < columns)
            store_few(to + j * to_stride, row[j], rows);
}
#else
INLINE void turn_block(size_t rows, size_t columns, const float *from, size_t stride, float *to,
                       size_t to_stride)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            to[j * to_stride + i] = from[i * stride + j];
}
#endif

static void turn(size_t rows, size_t columns, const float *from, size_t stride, float *to,
                 size_t to_stride)
{
    for (size_t i = 0; i < rows; i += EIGHT)
        for (size_t j = 0; j < columns; j += EIGHT)
            turn_block(hr_min_size(EIGHT, rows - i), hr_min_size(EIGHT, columns - j),
                       from + i * stride + j, stride, to + j * to_stride + i, to_stride);
}

/* --- tiles --- */

/* A vector of rows: the first is row `row` of c. */
struct strip {
    const float *a;
    size_t row, count;
};

/* Chains that go on. */
INLINE void start_strip(const struct hr_narrow *narrow, const struct strip *strip, vec sum[MOST],
                        size_t O)
{
    _Alignas(64) float turned[MOST * LANES] = {0};
    turn(strip->count, narrow->columns, narrow->c + strip->row * narrow->c_stride, narrow->c_stride,
         turned, LANES);
#pragma GCC unroll 8
    for (size_t o = 0; o < O; o++)
        sum[o] = load(turned + o * LANES);
}

INLINE void finish_strip(const struct hr_narrow *narrow, const struct strip *strip,
                         const vec sum[MOST], size_t O)
{
    _Alignas(64) float turned[MOST * LANES];
    float *c = narrow->c + strip->row * narrow->c_stride;
#pragma GCC unroll 8
    for (size_t o = 0; o < O; o++) {
        vec value = sum[o];
        if (narrow->bias && o < narrow->columns)
            value += narrow->bias[o];
        if (narrow->round)
            value = hr_bf16_rounded_sum(value);
        if (narrow->relu)
            value = relu_of(value);
        store(turned + o * LANES, value);
    }
    if (!narrow->add) {
        turn(narrow->columns, strip->count, turned, LANES, c, narrow->c_stride);
        return;
    }
    for (size_t r = 0; r < strip->count; r++, c += narrow->c_stride)
        for (size_t o = 0; o < narrow->columns; o++)
            c[o] = c[o] + turned[o * LANES + r];
}

/* V strips by O columns; `whole`: all strips have all lanes. All three are constants. */
INLINE void multiply(const struct hr_narrow *narrow, const struct strip *strips, size_t V, size_t O,
                     bool whole)
{
    vec sum[MAX_VECTORS][MOST] = {0};
    const float *b = narrow->b, *first = strips[0].a;
    const uint32_t *offset = narrow->offset;
    const size_t K = narrow->K, b_stride = narrow->b_stride;
    if (narrow->go_on) {
#pragma GCC unroll 4
        for (size_t v = 0; v < V; v++)
            start_strip(narrow, &strips[v], sum[v], O);
    }
    for (size_t k = 0; k < K; k++, b += b_stride) {
        vec a[MAX_VECTORS];
#pragma GCC unroll 4
        for (size_t v = 0; v < V; v++) {
            const float *at = first + offset[k] + (strips[v].a - first);
            a[v] = whole ? load(at) : load_part(at, strips[v].count);
        }
#pragma GCC unroll 8
        for (size_t o = 0; o < O; o++)
#pragma GCC unroll 4
            for (size_t v = 0; v < V; v++)
                sum[v][o] = multiply_add(a[v], spread(b[o]), sum[v][o]);
    }
#pragma GCC unroll 4
    for (size_t v = 0; v < V; v++)
        finish_strip(narrow, &strips[v], sum[v], O);
}

INLINE void tile_of(const struct hr_narrow *narrow, const struct strip *strips, size_t V, size_t O)
{
    bool whole = true;
    for (size_t v = 0; v < V; v++)
        whole &= strips[v].count == LANES;
    if (whole)
        multiply(narrow, strips, V, O, true);
    else
        multiply(narrow, strips, V, O, false);
}

/* Up to 24 sums in 32 registers, 12 in 16. */
INLINE void some_strips(const struct hr_narrow *narrow, const struct strip *strips, size_t V,
                        size_t O)
{
    switch (V) {
    case 1:
        tile_of(narrow, strips, 1, O);
        break;
#if MANY_REGISTERS
    case 4:
        if (O <= 6)
            tile_of(narrow, strips, 4, O);
        break;
    case 3:
        tile_of(narrow, strips, 3, O);
        break;
    case 2:
        tile_of(narrow, strips, 2, O);
        break;
#else
    case 3:
        if (O <= 4)
            tile_of(narrow, strips, 3, O);
        break;
    case 2:
        if (O <= 6)
            tile_of(narrow, strips, 2, O);
        break;
#endif
    default:
        HR_ASSERT(V == 0);
    }
}

static void tile(const struct hr_narrow *narrow, const struct strip *strips, size_t V)
{
    switch (hr_lanes_columns(narrow->columns)) {
    case 4:
        some_strips(narrow, strips, V, 4);
        break;
    case 6:
        some_strips(narrow, strips, V, 6);
        break;
    default:
        some_strips(narrow, strips, V, 8);
    }
}

/* Strips of a tile: as many as registers allow, and about as many in each. */
static size_t strips_of_tile(size_t columns, size_t rows, size_t length)
{
    enum { SUMS = MANY_REGISTERS ? 24 : 12 };
    const size_t most = hr_min_size(MAX_VECTORS, SUMS / hr_lanes_columns(columns));
    const size_t strips = (rows + length - 1) / length * ((length + LANES - 1) / LANES);
    const size_t ntiles = (strips + most - 1) / most;
    return ntiles ? (strips + ntiles - 1) / ntiles : most;
}

static void tiles(const struct hr_narrow *narrow, const uint32_t *row, struct hr_line line,
                  size_t from, size_t to)
{
    struct strip strips[MAX_VECTORS];
    const size_t most = strips_of_tile(narrow->columns, to - from, line.length);
    size_t n = 0;
    HR_ASSERT(narrow->columns >= 1 && narrow->columns <= MOST && line.step == 1);
    for (size_t r = from; r < to; r += strips[n - 1].count) {
        if (n == most) {
            tile(narrow, strips, n);
            n = 0;
        }
        const size_t in_line = hr_min_size(line.length - r % line.length, to - r);
        strips[n++] = (struct strip){narrow->a + row[r], r, hr_min_size(LANES, in_line)};
    }
    tile(narrow, strips, n);
}

const struct hr_lanes HR_ISA_NAME(hr_lanes) = {.rows = LANES, .tiles = tiles, .turn = turn};
