/* The tile, compiled once for each instruction set (see base/isa.h): 6 rows of two vectors make
 * twelve accumulators, enough to keep two multiply-add units busy, and leave registers for a row
 * of b and a value of a. The only file in which the copies differ in their bits: see micro.h. */
#include "nn/micro_table.h"

#include "base/size.h"
#include "nn/simd.h"

enum { ROWS = HR_MICRO_ROWS, COLUMNS = 2 * LANES };

/* c + a * b, in one rounding where the machine has it. */
static inline vec multiply_add(float a, vec b, vec c)
{
#if defined __AVX512F__
    return _mm512_fmadd_ps(_mm512_set1_ps(a), b, c);
#elif defined __FMA__
    return _mm256_fmadd_ps(_mm256_set1_ps(a), b, c);
#else
    return c + a * b;
#endif
}

struct sums {
    vec left[ROWS], right[ROWS];
};

/* The sums over k; `offset` is micro->offset or, as a constant, NULL; `wide` is a constant too:
 * whether there is a right half at all. */
static inline __attribute__((always_inline)) struct sums multiply(const struct hr_micro *micro,
                                                                  const uint32_t *offset, bool wide)
{
    const float *const *a = micro->a;
    const float *a0 = a[0], *a1 = a[1], *a2 = a[2], *a3 = a[3], *a4 = a[4], *a5 = a[5];
    const float *b = micro->b;
    const size_t K = micro->K, step = micro->a_step, b_stride = micro->b_stride;
    struct sums sum = {0};
    for (size_t k = 0, at = 0; k < K; k++, at += step, b += b_stride) {
        const size_t o = offset ? offset[k] : at;
        const vec left = load(b), right = wide ? load(b + LANES) : left;
#define ROW(i)                                                                                     \
    sum.left[i] = multiply_add(a##i[o], left, sum.left[i]);                                        \
    if (wide)                                                                                      \
    sum.right[i] = multiply_add(a##i[o], right, sum.right[i])
        ROW(0);
        ROW(1);
        ROW(2);
        ROW(3);
        ROW(4);
        ROW(5);
#undef ROW
    }
    return sum;
}

/* Zero where x < 0, x (NaN too) elsewhere. */
static inline vec relu_of(vec x)
{
    return (vec)((bits)x & ~(bits)(x < 0.0f));
}

/* Half a row of the tile, columns [j, j + count): sums in, what micro asks for out. */
static inline __attribute__((always_inline)) void finish(const struct hr_micro *micro, vec sum,
                                                         float *c, size_t j, size_t count)
{
    if (micro->bias)
        sum += load_part(micro->bias + j, count);
    if (micro->relu)
        sum = relu_of(sum);
    if (micro->add)
        sum = load_part(c + j, count) + sum;
    store_part(c + j, sum, count);
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

static inline __attribute__((always_inline)) void one_tile(const struct hr_micro *micro,
                                                           const uint32_t *offset)
{
    if (micro->columns <= LANES) {
        const struct sums sum = multiply(micro, offset, false);
        finish_edge(micro, &sum);
        return;
    }
    const struct sums sum = multiply(micro, offset, true);
    if (micro->columns < COLUMNS || micro->rows < ROWS) {
        finish_edge(micro, &sum);
        return;
    }
#pragma GCC unroll 6
    for (size_t i = 0; i < ROWS; i++) {
        float *c = micro->c + i * micro->c_stride;
        finish(micro, sum.left[i], c, 0, LANES);
        finish(micro, sum.right[i], c, LANES, LANES);
    }
}

static void tile(const struct hr_micro *micro)
{
    if (micro->offset)
        one_tile(micro, micro->offset);
    else
        one_tile(micro, NULL);
}

static void tall(const struct hr_micro *micro, const float *a, const uint32_t *row, size_t nrows)
{
    struct hr_micro next = *micro;
    for (size_t first = 0; first < nrows; first += ROWS, next.c += ROWS * next.c_stride) {
        next.rows = hr_min_size(ROWS, nrows - first);
        for (size_t i = 0; i < ROWS; i++)
            next.a[i] = a + row[first + (i < next.rows ? i : 0)];
        one_tile(&next, next.offset);
    }
}

const struct hr_micro_table HR_ISA_NAME(hr_micro_table) = {COLUMNS, tile, tall};
