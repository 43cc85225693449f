/* The tile, compiled once for each instruction set (see base/isa.h): 6 rows of two vectors make
 * twelve accumulators, enough to keep two multiply-add units busy, and leave registers for a row
 * of b and a value of a. The only file in which the copies differ in their bits: see micro.h. */
#include "nn/micro_table.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

#if defined __AVX512F__
enum { LANES = 16 };
#elif defined __AVX2__
enum { LANES = 8 };
#else
enum { LANES = 4 };
#endif
enum { ROWS = HR_MICRO_ROWS, COLUMNS = 2 * LANES };

typedef float vec __attribute__((vector_size(4 * LANES)));
typedef int32_t bits __attribute__((vector_size(4 * LANES)));
typedef float loose_vec __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

static inline vec load(const float *from)
{
    return *(const loose_vec *)from;
}

static inline void store(float *to, vec value)
{
    *(loose_vec *)to = value;
}

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

/* The sums over k; `offset` is micro->offset or, as a constant, NULL. */
static inline __attribute__((always_inline)) struct sums multiply(const struct hr_micro *micro,
                                                                  const uint32_t *offset)
{
    const float *const *a = micro->a;
    const float *a0 = a[0], *a1 = a[1], *a2 = a[2], *a3 = a[3], *a4 = a[4], *a5 = a[5];
    const float *b = micro->b;
    const size_t K = micro->K, step = micro->a_step, b_stride = micro->b_stride;
    struct sums sum = {0};
    for (size_t k = 0, at = 0; k < K; k++, at += step, b += b_stride) {
        const size_t o = offset ? offset[k] : at;
        const vec left = load(b), right = load(b + LANES);
#define ROW(i)                                                                                     \
    sum.left[i] = multiply_add(a##i[o], left, sum.left[i]);                                        \
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

/* One whole row of the tile: sums in, what micro asks for out. */
static inline void finish(const struct hr_micro *micro, vec left, vec right, float *c)
{
    if (micro->bias) {
        left += load(micro->bias);
        right += load(micro->bias + LANES);
    }
    if (micro->relu) {
        left = relu_of(left);
        right = relu_of(right);
    }
    if (micro->add) {
        left = load(c) + left;
        right = load(c + LANES) + right;
    }
    store(c, left);
    store(c + LANES, right);
}

/* A tile at the lower or right edge of c: whole rows go to a buffer, and as much as there is room
 * for on to c. */
static void finish_edge(const struct hr_micro *micro, const struct sums *sum)
{
    float row[COLUMNS] = {0}, bias[COLUMNS] = {0};
    struct hr_micro whole = *micro;
    if (micro->bias) {
        for (size_t j = 0; j < micro->columns; j++)
            bias[j] = micro->bias[j];
        whole.bias = bias;
    }
    for (size_t i = 0; i < micro->rows; i++) {
        float *c = micro->c + i * micro->c_stride;
        for (size_t j = 0; micro->add && j < micro->columns; j++)
            row[j] = c[j];
        finish(&whole, sum->left[i], sum->right[i], row);
        for (size_t j = 0; j < micro->columns; j++)
            c[j] = row[j];
    }
}

static void tile(const struct hr_micro *micro)
{
    const struct sums sum = micro->offset ? multiply(micro, micro->offset) : multiply(micro, NULL);
    if (micro->columns < COLUMNS || micro->rows < ROWS) {
        finish_edge(micro, &sum);
        return;
    }
#pragma GCC unroll 6
    for (size_t i = 0; i < ROWS; i++)
        finish(micro, sum.left[i], sum.right[i], micro->c + i * micro->c_stride);
}

const struct hr_micro_table HR_ISA_NAME(hr_micro_table) = {COLUMNS, tile};
