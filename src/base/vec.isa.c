/* The vector kernels, compiled once for each instruction set (see isa.h). */
#include "base/vec.h"

#ifdef __SSE2__
#include <immintrin.h>
#endif
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/size.h"

/* Elements that are summed at a time: one block of partial sums a tree level stays in L1. */
enum { BLOCK = 256, LEVELS = 10 };

_Static_assert(1 << LEVELS >= HR_VEC_MAX_INPUTS, "a block for every level of the tree");

static void add(float *y, const float *x, size_t count)
{
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        y[i] = y[i] + x[i];
}

static void scale(float *y, float a, size_t count)
{
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        y[i] = a * y[i];
}

static void axpy(float *y, float a, const float *x, size_t count)
{
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        y[i] = y[i] + a * x[i];
}

static void exchange(float *x, float *c, float a, size_t count)
{
#pragma omp simd
    for (size_t i = 0; i < count; i++) {
        const float d = a * (x[i] - c[i]);
        x[i] = x[i] - d;
        c[i] = c[i] + d;
    }
}

/* Small numbers of ranks have loops of their own, without a block in between. Each output of an
 * all-reduce is exactly one of the inputs, or overlaps none. */
#define T2(i) (x[0][i] + x[1][i])
#define T3(i) (T2(i) + x[2][i])
#define T4(i) (T2(i) + (x[2][i] + x[3][i]))
#define T8(i) (T4(i) + ((x[4][i] + x[5][i]) + (x[6][i] + x[7][i])))

#define SUM_TO_ONE(n)                                                                              \
    static void sum_##n##_to_one(float *const *outputs, const float *const *inputs, size_t count)  \
    {                                                                                              \
        float *const out = outputs[0];                                                             \
        const float *x[n];                                                                         \
        for (size_t r = 0; r < n; r++)                                                             \
            x[r] = inputs[r];                                                                      \
        _Pragma("omp simd") for (size_t i = 0; i < count; i++) out[i] = T##n(i);                   \
    }

#define SUM_TO_ALL(n)                                                                              \
    static void sum_##n##_to_all(float *const *outputs, const float *const *inputs, size_t count)  \
    {                                                                                              \
        float *out[n];                                                                             \
        const float *x[n];                                                                         \
        for (size_t r = 0; r < n; r++) {                                                           \
            out[r] = outputs[r];                                                                   \
            x[r] = inputs[r];                                                                      \
        }                                                                                          \
        _Pragma("omp simd") for (size_t i = 0; i < count; i++)                                     \
        {                                                                                          \
            const float sum = T##n(i);                                                             \
            for (size_t r = 0; r < n; r++)                                                         \
                out[r][i] = sum;                                                                   \
        }                                                                                          \
    }

SUM_TO_ONE(2)
SUM_TO_ONE(3)
SUM_TO_ONE(4)
SUM_TO_ONE(8)
SUM_TO_ALL(2)
SUM_TO_ALL(3)
SUM_TO_ALL(4)
SUM_TO_ALL(8)

typedef void (*direct_sum_fn)(float *const *out, const float *const *x, size_t count);

static direct_sum_fn direct_sum(size_t nout, size_t n)
{
    static const direct_sum_fn to_one[9] = {
        [2] = sum_2_to_one, [3] = sum_3_to_one, [4] = sum_4_to_one, [8] = sum_8_to_one};
    static const direct_sum_fn to_all[9] = {
        [2] = sum_2_to_all, [3] = sum_3_to_all, [4] = sum_4_to_all, [8] = sum_8_to_all};
    if (n > 8)
        return NULL;
    return nout == 1 ? to_one[n] : nout == n ? to_all[n] : NULL;
}

static void sum_pair(float *sum, const float *x0, const float *x1, size_t count)
{
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        sum[i] = x0[i] + x1[i];
}

/* sum[i] = T(n)(x[0][at + i] ...); scratch has one block for each further level of the tree. */
static void tree_block(float *sum, float (*scratch)[BLOCK], const float *const *x, size_t n,
                       size_t at, size_t count)
{
    if (n == 1) {
        memcpy(sum, x[0] + at, count * sizeof *sum);
    } else if (n == 2) {
        sum_pair(sum, x[0] + at, x[1] + at, count);
    } else {
        size_t left = 1;
        while (left * 2 < n)
            left *= 2;
        tree_block(sum, scratch, x, left, at, count);
        tree_block(scratch[0], scratch + 1, x + left, n - left, at, count);
        add(sum, scratch[0], count);
    }
}

static void tree_sum(float *const *out, size_t nout, const float *const *x, size_t n, size_t count)
{
    HR_ASSERT(n >= 1 && n <= HR_VEC_MAX_INPUTS);
    const direct_sum_fn direct = direct_sum(nout, n);
    if (direct) {
        direct(out, x, count);
        return;
    }
    float sum[BLOCK], scratch[LEVELS][BLOCK];
    for (size_t at = 0; at < count; at += BLOCK) {
        const size_t length = hr_min_size(BLOCK, count - at);
        tree_block(sum, scratch, x, n, at, length);
        for (size_t j = 0; j < nout; j++)
            memcpy(out[j] + at, sum, length * sizeof *sum);
    }
}

/* LANES floats from x to the aligned y, past the caches; and the fence that orders such stores. */
#if defined __AVX512F__
enum { LANES = 16 };
#define PUT_PAST(y, x) _mm512_stream_ps(y, _mm512_loadu_ps(x))
#define FENCE() _mm_sfence()
#elif defined __AVX__
enum { LANES = 8 };
#define PUT_PAST(y, x) _mm256_stream_ps(y, _mm256_loadu_ps(x))
#define FENCE() _mm_sfence()
#elif defined __SSE2__
enum { LANES = 4 };
#define PUT_PAST(y, x) _mm_stream_ps(y, _mm_loadu_ps(x))
#define FENCE() _mm_sfence()
#else
enum { LANES = 1 };
#define PUT_PAST(y, x) (*(y) = *(x))
#define FENCE() (void)0
#endif

static void copy_past(float *const *out, size_t nout, const float *x, size_t count)
{
    for (size_t j = 0; j < nout; j++) {
        float *y = out[j];
        const size_t odd = (uintptr_t)y / sizeof *y % LANES;
        size_t i = hr_min_size(odd ? LANES - odd : 0, count);
        memcpy(y, x, i * sizeof *y);
        for (; i + LANES <= count; i += LANES)
            PUT_PAST(y + i, x + i);
        memcpy(y + i, x + i, (count - i) * sizeof *y);
    }
    FENCE();
}

#if defined __FMA__ || defined __ARM_FEATURE_FMA
#define ADD_ZERO_TIMES(sum, x) __builtin_fmaf(x, 0.0f, sum)
#else
#define ADD_ZERO_TIMES(sum, x) ((sum) + (x)*0.0f)
#endif

/* 0 times a number is 0, and NaN if that is infinite or NaN: the sums stay 0 as long as all are
 * finite. An instruction a vector, and sums enough that none waits for the one before. */
static bool all_finite(const float *x, size_t count)
{
    enum { SUMS = 64 };
    float sum[SUMS] = {0};
    size_t i = 0;
    for (; i + SUMS <= count; i += SUMS)
#pragma omp simd
        for (size_t lane = 0; lane < SUMS; lane++)
            sum[lane] = ADD_ZERO_TIMES(sum[lane], x[i + lane]);
    for (; i < count; i++)
        sum[0] = ADD_ZERO_TIMES(sum[0], x[i]);
    for (size_t half = SUMS / 2; half > 0; half /= 2)
#pragma omp simd
        for (size_t lane = 0; lane < half; lane++)
            sum[lane] += sum[lane + half];
    return sum[0] == 0;
}

const struct hr_vec HR_ISA_NAME(hr_vec) = {
    .tree_sum = tree_sum,
    .add = add,
    .scale = scale,
    .axpy = axpy,
    .exchange = exchange,
    .copy_past = copy_past,
    .all_finite = all_finite,
};
