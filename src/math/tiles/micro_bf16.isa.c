/* The tile of bfloat16 products, compiled once for each instruction set (see base/isa.h), and once
 * more with AVX512_BF16: there 12 rows of two vectors make 24 accumulators; two units with a
 * latency of six cycles want 12 at least. Without it the reference (kernels/bf16.c) does, a value
 * at a time: in plain, and on arm64, where a sum that is denormal before it is rounded is flushed,
 * and not after. Where there are fused multiply-adds on x86-64 products take tiles of floats. */
#include "tiles/micro_bf16.h"

#include "base/error.h"
#include "base/size.h"
#include "kernels/bf16.h"
#include "kernels/simd.h"
#include "kernels/bf16_steps.h"

#define INLINE static inline __attribute__((always_inline))

enum { WIDTH = HR_BF16_COLUMNS, LINE = 16 };
#ifdef __AVX512BF16__
enum { ROWS = HR_BF16_ROWS };
#else
enum { ROWS = 4 };
#endif

/* One vector of 32-bit pairs onto sums. */
#if defined __AVX512BF16__
typedef __m512i pairs, word;

INLINE pairs load_pairs(const uint32_t *from)
{
    return _mm512_loadu_si512(from);
}

INLINE word spread_pair(uint32_t a)
{
    return _mm512_set1_epi32((int)a);
}

INLINE vec dot(word a, pairs b, vec sum)
{
    return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b);
}
#else
typedef const uint32_t *pairs;
typedef uint32_t word;

INLINE pairs load_pairs(const uint32_t *from)
{
    return from;
}

INLINE word spread_pair(uint32_t a)
{
    return a;
}

INLINE vec dot(word a, pairs b, vec sum)
{
    for (size_t i = 0; i < LANES; i++)
        sum[i] = hr_bf16_dot(a, b[i], sum[i]);
    return sum;
}
#endif

/* --- what is asked for at the end --- */

/* Columns [j, j + count) of a row of c. */
INLINE void finish(const struct hr_micro_bf16 *micro, vec sum, float *c, size_t j, size_t count)
{
    if (micro->bias)
        sum += load_part(micro->bias + j, count);
    if (micro->round)
        sum = hr_bf16_rounded(sum);
    if (micro->relu)
        sum = hr_bf16_relu(sum);
    store_part(c + j, sum, count);
}

/* --- the tile --- */

/* Two vectors of columns from j on, or one; of c `rows` and `columns` are wanted. */
struct part {
    size_t rows, j, columns;
};

struct sums {
    vec left[ROWS], right[ROWS];
};

INLINE struct sums begin(const struct hr_micro_bf16 *micro, struct part part, const float *c,
                         size_t rows, bool wide)
{
    const size_t left = hr_min_size(part.columns, LANES), right = part.columns - left;
    struct sums sum = {0};
    for (size_t i = 0; micro->more && i < hr_min_size(rows, part.rows); i++) {
        sum.left[i] = load_part(c + part.j, left);
        if (wide)
            sum.right[i] = load_part(c + part.j + LANES, right);
        c += micro->c_stride;
    }
    return sum;
}

/* A part of whole vectors, all rows. */
INLINE void begin_whole(const struct hr_micro_bf16 *micro, size_t j, const float *c, size_t rows,
                        bool wide, struct sums *sum)
{
#pragma GCC unroll 12
    for (size_t i = 0; i < rows; i++, c += micro->c_stride) {
        sum->left[i] = load(c + j);
        if (wide)
            sum->right[i] = load(c + j + LANES);
    }
}

INLINE void end(const struct hr_micro_bf16 *micro, struct part part, float *c, bool wide,
                const struct sums *sum)
{
    const size_t left = hr_min_size(part.columns, LANES), right = part.columns - left;
    for (size_t i = 0; i < part.rows; i++, c += micro->c_stride) {
        finish(micro, sum->left[i], c, part.j, left);
        if (wide)
            finish(micro, sum->right[i], c, part.j + LANES, right);
    }
}

INLINE void end_whole(const struct hr_micro_bf16 *micro, size_t j, float *c, size_t rows, bool wide,
                      const struct sums *sum)
{
#pragma GCC unroll 12
    for (size_t i = 0; i < rows; i++, c += micro->c_stride) {
        finish(micro, sum->left[i], c, j, LANES);
        if (wide)
            finish(micro, sum->right[i], c, j + LANES, LANES);
    }
}

/* Where values of a stand: in a panel, or at row[i][offset[p]]. */
struct left {
    const uint32_t *panel, *const *row, *offset;
};

/* One pair of `rows` rows. The barrier keeps the compiler from starting the next one early, for
 * which there are no registers. */
INLINE void step(struct sums *sum, const uint32_t *const *a, size_t o, const uint32_t *b,
                 size_t rows, bool wide, bool packed)
{
    const pairs left = load_pairs(b), right = load_pairs(wide ? b + LANES : b);
#pragma GCC unroll 12
    for (size_t i = 0; i < rows; i++) {
        const uint32_t value = packed ? a[0][o + i] : a[i][o];
        const word both = spread_pair(value);
        sum->left[i] = dot(both, left, sum->left[i]);
        if (wide)
            sum->right[i] = dot(both, right, sum->right[i]);
    }
}

/* From what c is, if it is wanted, on. */
INLINE struct sums multiply(const struct hr_micro_bf16 *micro, const struct left *from,
                            struct part part, const float *c, size_t rows, bool wide, bool packed,
                            bool whole)
{
    const uint32_t *a[ROWS], *b = micro->b + part.j, *offset = from->offset;
    const size_t K = micro->K;
    struct sums sum = {0};
    if (micro->more && whole)
        begin_whole(micro, part.j, c, rows, wide, &sum);
    else if (micro->more)
        sum = begin(micro, part, c, rows, wide);
#pragma GCC unroll 12
    for (size_t i = 0; i < rows; i++)
        a[i] = packed ? from->panel : from->row[i];
    size_t p = 0, at = 0;
    for (size_t f = 0; packed && rows == HR_BF16_ROWS && wide && f < HR_BF16_FETCHES; f++) {
        const float *next = micro->fetch[f].from;
        for (size_t i = 0; i < micro->fetch[f].count && p + HR_BF16_FETCHED_PAIRS <= K; i++) {
            __builtin_prefetch(next, 0, 2);
            __builtin_prefetch(next + LINE, 0, 2);
            next += micro->fetch[f].step;
            for (const size_t end = p + HR_BF16_FETCHED_PAIRS; p < end; p++) {
                __asm__ volatile("" : "+r"(at), "+r"(b) : : "memory");
                step(&sum, a, at, b, rows, wide, packed);
                at += HR_BF16_ROWS;
                b += WIDTH;
            }
        }
    }
    for (; p < K; p++, at += HR_BF16_ROWS, b += WIDTH) {
        __asm__ volatile("" : "+r"(at), "+r"(b) : : "memory");
        step(&sum, a, packed ? at : offset[p], b, rows, wide, packed);
    }
    return sum;
}

INLINE void one_part(const struct hr_micro_bf16 *micro, const struct left *from, struct part part,
                     float *c, size_t rows, bool wide, bool packed)
{
    const bool whole = part.rows == rows && part.columns == (wide ? 2 * LANES : LANES);
    const struct sums sum = multiply(micro, from, part, c, rows, wide, packed, whole);
    if (whole)
        end_whole(micro, part.j, c, rows, wide, &sum);
    else
        end(micro, part, c, wide, &sum);
}

INLINE void sized_part(const struct hr_micro_bf16 *micro, const struct left *from, struct part part,
                       float *c, bool wide, bool packed)
{
    if (ROWS > 8 && part.rows > 8)
        one_part(micro, from, part, c, ROWS, wide, packed);
    else if (ROWS > 8 && part.rows > 4)
        one_part(micro, from, part, c, 8, wide, packed);
    else
        one_part(micro, from, part, c, 4, wide, packed);
}

/* All columns of at most ROWS rows. */
INLINE void row_of_parts(const struct hr_micro_bf16 *micro, const struct left *from, size_t rows,
                         float *c, bool packed)
{
    for (size_t j = 0; j < micro->columns; j += 2 * LANES) {
        const struct part part = {rows, j, hr_min_size(micro->columns - j, 2 * LANES)};
        if (part.columns > LANES)
            sized_part(micro, from, part, c, true, packed);
        else
            sized_part(micro, from, part, c, false, packed);
    }
}

static void tile(const struct hr_micro_bf16 *micro, const uint32_t *a, size_t rows)
{
    HR_ASSERT(rows >= 1 && rows <= HR_BF16_ROWS && micro->columns >= 1 && micro->columns <= WIDTH);
    for (size_t i = 0; i < rows; i += ROWS) {
        const struct left from = {.panel = a + i};
        row_of_parts(micro, &from, hr_min_size(rows - i, ROWS), micro->c + i * micro->c_stride,
                     true);
    }
}

/* --- one vector wide: quads of rows, as in narrow.isa.c --- */

#ifdef __AVX512BF16__
enum { QUAD = HR_NARROW_QUAD, QUADS = 6, QUAD_ROWS = QUAD * QUADS };

/* A quad's rows at one pair. The barrier keeps its address one register. */
INLINE void step_quad(const uint32_t *a, size_t step, pairs b, vec sum[QUAD])
{
    __asm__ volatile("" : "+r"(a));
    sum[0] = dot(spread_pair(a[0]), b, sum[0]);
    sum[1] = dot(spread_pair(a[step]), b, sum[1]);
    sum[2] = dot(spread_pair(a[2 * step]), b, sum[2]);
    sum[3] = dot(spread_pair(a[3 * step]), b, sum[3]);
}

/* 24 rows, each four of which stand `step` apart. */
static void quads(const struct hr_micro_bf16 *micro, const uint32_t *a, const uint32_t *offset,
                  const uint32_t *row, size_t step, float *c)
{
    const uint32_t *const first = a + row[0], *b = micro->b;
    const size_t columns = micro->columns, stride = micro->c_stride, K = micro->K;
    vec sum[QUADS][QUAD] = {0};
    ptrdiff_t behind[QUADS];
#pragma GCC unroll 6
    for (size_t q = 0; q < QUADS; q++)
        behind[q] = (ptrdiff_t)row[QUAD * q] - (ptrdiff_t)row[0];
    if (micro->more) {
#pragma GCC unroll 24
        for (size_t i = 0; i < QUAD_ROWS; i++)
            sum[i / QUAD][i % QUAD] = load_part(c + i * stride, columns);
    }
    for (size_t p = 0; p < K; p++, b += WIDTH) {
        const pairs right = load_pairs(b);
        const uint32_t *at = first + offset[p];
        step_quad(at, step, right, sum[0]);
#pragma GCC unroll 6
        for (size_t q = 1; q < QUADS; q++)
            step_quad(at + behind[q], step, right, sum[q]);
    }
#pragma GCC unroll 24
    for (size_t i = 0; i < QUAD_ROWS; i++)
        finish(micro, sum[i / QUAD][i % QUAD], c + i * stride, 0, columns);
}

/* How many of the rows are done so. */
static size_t all_quads(const struct hr_micro_bf16 *micro, const uint32_t *a,
                        const uint32_t *offset, const uint32_t *row, struct hr_line line,
                        size_t nrows)
{
    size_t done = 0;
    if (micro->columns > LANES || line.length == 0 || line.length % QUAD)
        return 0;
    for (; done + QUAD_ROWS <= nrows; done += QUAD_ROWS)
        quads(micro, a, offset, row + done, line.step, micro->c + done * micro->c_stride);
    return done;
}
#else
static size_t all_quads(const struct hr_micro_bf16 *micro, const uint32_t *a,
                        const uint32_t *offset, const uint32_t *row, struct hr_line line,
                        size_t nrows)
{
    (void)micro, (void)a, (void)offset, (void)row, (void)line, (void)nrows;
    return 0;
}
#endif

static void tall(const struct hr_micro_bf16 *micro, const uint32_t *a, const uint32_t *offset,
                 const uint32_t *row, struct hr_line line, size_t nrows)
{
    const uint32_t *rows_of_a[ROWS];
    const struct left from = {.row = rows_of_a, .offset = offset};
    HR_ASSERT(micro->columns >= 1 && micro->columns <= WIDTH);
    for (size_t first = all_quads(micro, a, offset, row, line, nrows); first < nrows;
         first += ROWS) {
        const size_t rows = hr_min_size(ROWS, nrows - first);
        for (size_t i = 0; i < ROWS; i++)
            rows_of_a[i] = a + row[first + (i < rows ? i : 0)];
        row_of_parts(micro, &from, rows, micro->c + first * micro->c_stride, false);
    }
}

const struct hr_tiles_bf16 HR_ISA_NAME(hr_tiles_bf16) = {.tile = tile, .tall = tall};
