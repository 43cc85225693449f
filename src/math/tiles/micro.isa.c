/* The tile, compiled once for each instruction set (see base/isa.h): 6 rows of two vectors make
 * twelve accumulators, enough to keep two multiply-add units busy, and leave registers for a row
 * of b and a value of a; 4 rows are still enough, and 6s and 4s make up every even number but 2.
 * A tile of at most one vector's columns has no right half.
 * The only file in which the copies differ in their bits: see micro.h. */
#include "tiles/micro.h"

#include "base/error.h"
#include "base/size.h"
#include "kernels/bf16_steps.h"
#include "tiles/tile_steps.h"

enum { ROWS = HR_MICRO_ROWS, FEW = HR_MICRO_FEW_ROWS, COLUMNS = 2 * LANES };

struct sums {
    vec left[ROWS], right[ROWS];
};

/* One k of `rows` rows, whose values stand at a[0][o], a[1][o], ...; b: row k. */
INLINE void step(struct sums *sum, const float *const *a, size_t o, const float *b, size_t rows,
                 bool wide)
{
    const vec left = load(b), right = wide ? load(b + LANES) : left;
#pragma GCC unroll 6
    for (size_t i = 0; i < rows; i++) {
        const vec x = spread(a[i][o]);
        sum->left[i] = multiply_add(x, left, sum->left[i]);
        if (wide)
            sum->right[i] = multiply_add(x, right, sum->right[i]);
    }
}

/* A chain that goes on. */
INLINE void start(const struct hr_micro *micro, struct sums *sum, size_t rows, bool wide)
{
    const size_t left = hr_min_size(micro->columns, LANES), right = micro->columns - left;
    const float *c = micro->c;
#pragma GCC unroll 6
    for (size_t i = 0; i < rows; i++, c += micro->c_stride)
        if (i < micro->rows) {
            sum->left[i] = load_part(c, left);
            if (wide)
                sum->right[i] = load_part(c + LANES, right);
        }
}

/* The sums over k of `rows` rows, 4 or 6. `offset` is micro->offset or the constant NULL; `wide`, a
 * constant too, says whether there is a right half. The barrier keeps the compiler from starting
 * the next k early, for which there are no registers, and from using six pointers instead of one
 * index. Unrolled by 2, 4 or 8 the loop was no faster. */
INLINE struct sums multiply(const struct hr_micro *micro, const uint32_t *offset, size_t rows,
                            bool wide)
{
    const float *a[ROWS];
    const float *b = micro->b;
    const size_t K = micro->K, a_step = micro->a_step, b_stride = micro->b_stride;
    struct sums sum = {0};
    if (micro->go_on)
        start(micro, &sum, rows, wide);
#pragma GCC unroll 6
    for (size_t i = 0; i < rows; i++)
        a[i] = micro->a[i];
    for (size_t k = 0, at = 0; k < K; k++, at += a_step, b += b_stride) {
        __asm__ volatile("" : "+r"(at), "+r"(b) : : "memory");
        step(&sum, a, offset ? offset[k] : at, b, rows, wide);
    }
    return sum;
}

/* Store half a row of the tile, columns [j, j + count), with bias, relu or add as micro asks. */
INLINE void finish(const struct hr_micro *micro, vec sum, float *c, size_t j, size_t count)
{
    if (micro->bias)
        sum += load_part(micro->bias + j, count);
    if (micro->round)
        sum = hr_bf16_rounded_sum(sum);
    if (micro->relu)
        sum = relu_of(sum);
    if (micro->add)
        sum = load_part(c + j, count) + sum;
    store_part(c + j, sum, count);
}

/* A tile of whole vectors, all rows. */
INLINE void finish_whole(const struct hr_micro *micro, const struct sums *sum, size_t rows,
                         bool wide)
{
    float *c = micro->c;
#pragma GCC unroll 6
    for (size_t i = 0; i < rows; i++, c += micro->c_stride) {
        finish(micro, sum->left[i], c, 0, LANES);
        if (wide)
            finish(micro, sum->right[i], c, LANES, LANES);
    }
}

/* The same where micro asks for nothing but the sums. */
INLINE void store_whole(const struct hr_micro *micro, const struct sums *sum, size_t rows,
                        bool wide)
{
    float *c = micro->c;
#pragma GCC unroll 6
    for (size_t i = 0; i < rows; i++, c += micro->c_stride) {
        store(c, sum->left[i]);
        if (wide)
            store(c + LANES, sum->right[i]);
    }
}

/* A tile at the lower or right edge of c. */
static inline void finish_edge(const struct hr_micro *micro, const struct sums *sum)
{
    const size_t left = hr_min_size(micro->columns, LANES), right = micro->columns - left;
    for (size_t i = 0; i < micro->rows; i++) {
        float *c = micro->c + i * micro->c_stride;
        finish(micro, sum->left[i], c, 0, left);
        if (right)
            finish(micro, sum->right[i], c, LANES, right);
    }
}

INLINE void one_tile(const struct hr_micro *micro, const uint32_t *offset, size_t rows, bool wide)
{
    const struct sums sum = multiply(micro, offset, rows, wide);
    if (micro->rows < rows || micro->columns < (wide ? COLUMNS : LANES))
        finish_edge(micro, &sum);
    else if (micro->bias || micro->round || micro->relu || micro->add)
        finish_whole(micro, &sum, rows, wide);
    else
        store_whole(micro, &sum, rows, wide);
}

INLINE void tile_of(const struct hr_micro *micro, const uint32_t *offset)
{
    const bool wide = micro->columns > LANES, few = micro->rows <= FEW;
    if (wide && few)
        one_tile(micro, offset, FEW, true);
    else if (wide)
        one_tile(micro, offset, ROWS, true);
    else if (few)
        one_tile(micro, offset, FEW, false);
    else
        one_tile(micro, offset, ROWS, false);
}

INLINE void any_tile(const struct hr_micro *micro)
{
    if (micro->offset)
        tile_of(micro, micro->offset);
    else
        tile_of(micro, NULL);
}

static void tile(const struct hr_micro *micro)
{
    HR_ASSERT(micro->rows >= 1 && micro->rows <= ROWS && micro->columns >= 1 &&
              micro->columns <= COLUMNS);
    any_tile(micro);
}

static void strip(const struct hr_micro *micro, size_t b_next)
{
    HR_ASSERT(micro->rows >= 1 && micro->rows <= ROWS);
    struct hr_micro one = *micro;
    for (size_t left = micro->columns; left > 0; left -= one.columns) {
        one.columns = hr_min_size(left, COLUMNS);
        any_tile(&one);
        one.b += b_next;
        one.c += COLUMNS;
        one.bias = one.bias ? one.bias + COLUMNS : NULL;
    }
}

static void tall(const struct hr_micro *micro, const float *a, const uint32_t *row, size_t nrows)
{
    HR_ASSERT(micro->offset && micro->columns >= 1 && micro->columns <= COLUMNS);
    struct hr_micro next = *micro;
    for (size_t first = 0; first < nrows; first += ROWS, next.c += ROWS * next.c_stride) {
        next.rows = hr_min_size(ROWS, nrows - first);
        for (size_t i = 0; i < ROWS; i++)
            next.a[i] = a + row[first + (i < next.rows ? i : 0)];
        tile_of(&next, next.offset);
    }
}

const struct hr_tiles HR_ISA_NAME(hr_tiles) = {
    .columns = COLUMNS, .tile = tile, .strip = strip, .tall = tall};
