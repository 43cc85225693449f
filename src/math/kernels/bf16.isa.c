/* Loops that round, compiled once for each instruction set (see base/isa.h), and once more with
 * AVX512_BF16. */
#include "kernels/bf16.h"

#include "base/size.h"
#include "kernels/bf16_steps.h"

/* --- fetched before it is read --- */

/* FAR: floats ahead in what is read from its first to its last. */
enum { LINE = 16, FAR = 512 };

/* Any address will do. */
static inline void fetch_row(size_t columns, const float *x)
{
    for (size_t j = 0; j < columns; j += LINE)
        __builtin_prefetch(x + j);
}

/* --- rounding --- */

static void round_floats(size_t count, const float *x, float *y)
{
    const size_t whole = count - count % LANES;
    for (size_t i = 0; i < whole; i += LANES)
        store(y + i, hr_bf16_rounded(load(x + i)));
    if (whole < count)
        store_part(y + whole, hr_bf16_rounded(load_part(x + whole, count - whole)), count - whole);
}

#ifdef __AVX512F__
/* --- sixteen lanes --- */

#ifdef __AVX512BF16__
/* Pairs of x's 16 floats and y's, the halves side by side. */
static inline __m512i halves(__m512 low, __m512 high)
{
    return (__m512i)_mm512_cvtne2ps_pbh(high, low);
}

/* The order of words that makes pairs of both halves. */
static inline __m512i in_turns(void)
{
    const __m512i even = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    return _mm512_or_si512(even,
                           _mm512_slli_epi32(_mm512_add_epi32(even, _mm512_set1_epi32(16)), 16));
}

static inline __m512i pairs_of(__m512 even, __m512 odd)
{
    return _mm512_permutexvar_epi16(in_turns(), halves(even, odd));
}
#else
static inline __m512i pairs_of(__m512 even, __m512 odd)
{
    const __m512i low = _mm512_castps_si512(hr_bf16_rounded(even));
    return _mm512_or_si512(_mm512_srli_epi32(low, 16), _mm512_castps_si512(hr_bf16_rounded(odd)));
}

static inline __m512i halves(__m512 low, __m512 high)
{
    const __m512i x = _mm512_srli_epi32(_mm512_castps_si512(hr_bf16_rounded(low)), 16);
    const __m512i y = _mm512_srli_epi32(_mm512_castps_si512(hr_bf16_rounded(high)), 16);
    return _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi32_epi16(x)),
                              _mm512_cvtepi32_epi16(y), 1);
}
#endif

static inline __mmask16 first(size_t count)
{
    return (__mmask16)(count >= LANES ? 0xffff : (1u << count) - 1);
}

static inline __m512 load_first(const float *x, size_t count)
{
    return _mm512_maskz_loadu_ps(first(count), x);
}

static void pack(size_t count, const float *x, uint32_t *pairs)
{
    size_t i = 0;
    for (; i + 2 * LANES <= count; i += 2 * LANES) {
        fetch_row(2 * LANES, x + i + FAR);
        _mm512_storeu_si512(pairs + i / 2, halves(load(x + i), load(x + i + LANES)));
    }
    if (i < count) {
        const size_t left = count - i, low = hr_min_size(left, LANES);
        const __m512 end = load_first(x + i + low, left - low);
        _mm512_mask_storeu_epi32(pairs + i / 2, first((left + 1) / 2),
                                 halves(load_first(x + i, low), end));
    }
}

/* One row of pairs of two rows, or, of one row, with zeros: whole vectors, the last of x, zeros. */
static inline void pack_row(size_t columns, const float *even, const float *odd, size_t width,
                            uint32_t *to)
{
    size_t j = 0;
    for (; odd && j + LANES <= columns; j += LANES)
        _mm512_storeu_si512(to + j, pairs_of(load(even + j), load(odd + j)));
    for (; j < columns; j += LANES) {
        const __m512 high = odd ? load_first(odd + j, columns - j) : _mm512_setzero_ps();
        _mm512_mask_storeu_epi32(to + j, first(width - j),
                                 pairs_of(load_first(even + j, columns - j), high));
    }
    for (; j < width; j += LANES)
        _mm512_mask_storeu_epi32(to + j, first(width - j), _mm512_setzero_si512());
}

static void pack_two(size_t rows, size_t columns, const float *even, const float *odd,
                     size_t stride, size_t width, uint32_t *pairs)
{
    for (size_t r = 0; r < rows; r++, pairs += width) {
        fetch_row(columns, even + r * stride + FAR);
        if (odd)
            fetch_row(columns, odd + r * stride + FAR);
        pack_row(columns, even + r * stride, odd ? odd + r * stride : NULL, width, pairs);
    }
}

/* 16 rows of 16 pairs, turned round: row i of the result is what stood in column i. */
static inline void turn(__m512i v[LANES])
{
    __m512i t[LANES];
    for (size_t i = 0; i < LANES; i += 2) {
        t[i] = _mm512_unpacklo_epi32(v[i], v[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi32(v[i], v[i + 1]);
    }
    for (size_t i = 0; i < LANES; i += 4) { /* v[i + c]: column c of four, in each quarter */
        v[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
        v[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
        v[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
        v[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
    }
    for (size_t c = 0; c < 4; c++) { /* quarters of rows 0-7, of 8-15 */
        t[c] = _mm512_shuffle_i32x4(v[c], v[c + 4], 0x88);
        t[c + 4] = _mm512_shuffle_i32x4(v[c], v[c + 4], 0xdd);
        t[c + 8] = _mm512_shuffle_i32x4(v[c + 8], v[c + 12], 0x88);
        t[c + 12] = _mm512_shuffle_i32x4(v[c + 8], v[c + 12], 0xdd);
    }
    for (size_t c = 0; c < 4; c++) {
        v[c] = _mm512_shuffle_i32x4(t[c], t[c + 8], 0x88);
        v[c + 4] = _mm512_shuffle_i32x4(t[c + 4], t[c + 12], 0x88);
        v[c + 8] = _mm512_shuffle_i32x4(t[c], t[c + 8], 0xdd);
        v[c + 12] = _mm512_shuffle_i32x4(t[c + 4], t[c + 12], 0xdd);
    }
}

/* Up to 16 columns of a panel, up to 32 k of each. */
static inline void pack_square(size_t count, size_t columns, const float *x, size_t stride,
                               size_t width, __mmask16 lanes, uint32_t *to)
{
    __m512i v[LANES];
    const size_t low = hr_min_size(count, LANES), high = count - low;
#pragma GCC unroll 16
    for (size_t j = 0; j < LANES; j++, x += stride)
        v[j] = j < columns ? halves(load_first(x, low), load_first(x + low, high))
                           : _mm512_setzero_si512();
    turn(v);
    const size_t rows = (count + 1) / 2;
#pragma GCC unroll 16
    for (size_t p = 0; p < LANES; p++)
        if (p < rows)
            _mm512_mask_storeu_epi32(to + p * width, lanes, v[p]);
}

static void pack_columns(size_t K, size_t columns, const float *x, size_t stride, size_t width,
                         uint32_t *panel)
{
    for (size_t k = 0; k < K; k += 2 * LANES)
        for (size_t j = 0; j < width; j += LANES) {
            const size_t count = hr_min_size(2 * LANES, K - k);
            const size_t n = columns > j ? hr_min_size(columns - j, LANES) : 0;
            uint32_t *to = panel + k / 2 * width + j;
            if (count == 2 * LANES && n == LANES)
                pack_square(2 * LANES, LANES, x + j * stride + k, stride, width, 0xffff, to);
            else
                pack_square(count, n, x + j * stride + k, stride, width, first(width - j), to);
        }
}

/* Up to 16 pairs of up to 16 columns, turned round. */
static inline void turn_square(size_t count, size_t odd_count, size_t columns, const float *even,
                               const float *odd, size_t stride, uint32_t *to, size_t to_row)
{
    __m512i v[LANES];
#pragma GCC unroll 16
    for (size_t p = 0; p < LANES; p++)
        v[p] = p >= count ? _mm512_setzero_si512()
                          : pairs_of(load_first(even + p * stride, columns),
                                     p < odd_count ? load_first(odd + p * stride, columns)
                                                   : _mm512_setzero_ps());
    turn(v);
#pragma GCC unroll 16
    for (size_t j = 0; j < LANES; j++)
        if (j < columns)
            _mm512_mask_storeu_epi32(to + j * to_row, first(count), v[j]);
}

static void pack_turned(size_t count, size_t odd_count, size_t columns, const float *even,
                        const float *odd, size_t stride, uint32_t *to, size_t to_row)
{
    for (size_t p = 0; p < count; p += LANES)
        for (size_t j = 0; j < columns; j += LANES) {
            const size_t n = hr_min_size(count - p, LANES), width = hr_min_size(columns - j, LANES);
            const size_t odds = odd_count > p ? hr_min_size(odd_count - p, LANES) : 0;
            const float *x = even + p * stride + j, *y = odd + p * stride + j;
            uint32_t *at = to + j * to_row + p;
            if (odds == LANES && width == LANES)
                turn_square(LANES, LANES, LANES, x, y, stride, at, to_row);
            else
                turn_square(n, odds, width, x, y, stride, at, to_row);
        }
}

#else
/* --- one value at a time --- */

/* One row of pairs of two rows, or, of one row, with zeros. */
static void pack_row(size_t columns, const float *even, const float *odd, size_t width,
                     uint32_t *to)
{
    for (size_t i = 0; odd && i < columns; i++)
        to[i] = hr_bf16_pair(even[i], odd[i]);
    for (size_t i = 0; !odd && i < columns; i++)
        to[i] = hr_bf16_pair(even[i], 0);
    memset(to + columns, 0, (width - columns) * sizeof *to);
}

static void pack_two(size_t rows, size_t columns, const float *even, const float *odd,
                     size_t stride, size_t width, uint32_t *pairs)
{
    for (size_t r = 0; r < rows; r++, pairs += width) {
        fetch_row(columns, even + r * stride + FAR);
        if (odd)
            fetch_row(columns, odd + r * stride + FAR);
        pack_row(columns, even + r * stride, odd ? odd + r * stride : NULL, width, pairs);
    }
}

static void pack(size_t count, const float *x, uint32_t *pairs)
{
    for (size_t i = 0; i < count / 2; i++)
        pairs[i] = hr_bf16_pair(x[2 * i], x[2 * i + 1]);
    if (count % 2)
        pairs[count / 2] = hr_bf16_pair(x[count - 1], 0);
}

static void pack_columns(size_t K, size_t columns, const float *x, size_t stride, size_t width,
                         uint32_t *panel)
{
    for (size_t k = 0; k < K; k += 2, panel += width)
        for (size_t j = 0; j < width; j++) {
            const float *at = x + j * stride + k;
            panel[j] = j < columns ? hr_bf16_pair(at[0], k + 1 < K ? at[1] : 0) : 0;
        }
}

static void pack_turned(size_t count, size_t odd_count, size_t columns, const float *even,
                        const float *odd, size_t stride, uint32_t *to, size_t to_row)
{
    for (size_t j = 0; j < columns; j++)
        for (size_t p = 0; p < count; p++)
            to[j * to_row + p] =
                hr_bf16_pair(even[p * stride + j], p < odd_count ? odd[p * stride + j] : 0);
}
#endif

/* Row by row, so that whole lines of x are read: rows may be far apart, where hardware does not
 * fetch ahead. */
static void pack_rows(size_t K, size_t columns, const float *x, size_t stride, size_t width,
                      uint32_t *panels)
{
    enum { AHEAD = 16 };
    const size_t panel = (K + 1) / 2 * width;
    for (size_t k = 0; k < K; k += 2, x += 2 * stride, panels += width) {
        const float *odd = k + 1 < K ? x + stride : NULL;
        uint32_t *to = panels;
        if (k + AHEAD + 1 < K) {
            fetch_row(columns, x + AHEAD * stride);
            fetch_row(columns, x + (AHEAD + 1) * stride);
        }
        for (size_t j = 0; j < columns; j += width, to += panel)
            pack_row(hr_min_size(width, columns - j), x + j, odd ? odd + j : NULL, width, to);
    }
}

/* --- as floats, of each pair the odd one first --- */

/* A multiplication flushes what is denormal; the compiler is not to know that it is by one. */
static inline vec for_product(vec x)
{
#ifdef __FMA__
    vec one = spread(1.0f);
    __asm__("" : "+v"(one));
    return hr_bf16_rounded_sum(x * one);
#else
    return hr_bf16_rounded(x);
#endif
}

static inline vec swapped(vec x)
{
    typedef uint64_t both __attribute__((vector_size(4 * LANES)));
    const both rounded = (both)for_product(x);
    return (vec)(rounded << 32 | rounded >> 32);
}

static void swap(size_t K, const float *x, float *y)
{
    const size_t whole = K - K % LANES, rest = K - whole;
    for (size_t k = 0; k < whole; k += LANES)
        store(y + k, swapped(load(x + k)));
    if (rest)
        store_part(y + whole, swapped(load_part(x + whole, rest)), rest + rest % 2);
}

static inline void swap_part(size_t columns, const float *even, const float *odd, float *first,
                             float *second)
{
    const vec last = for_product(load_part(even, columns));
    store_part(first, odd ? for_product(load_part(odd, columns)) : (vec){0}, columns);
    store_part(second, last, columns);
}

/* Narrow rows without gaps are moved as whole vectors while there is room: what is written behind
 * a row is overwritten by the next. */
static void swap_two(size_t rows, size_t columns, const float *even, const float *odd,
                     size_t stride, size_t width, float *y)
{
    const size_t whole = columns - columns % LANES, rest = columns - whole;
    const bool loose = columns == width && columns < LANES && even != y;
    for (size_t r = 0; r < rows; r++, even += stride, y += 2 * width) {
        const size_t behind = (rows - 1 - r) * hr_min_size(stride, 2 * width);
        for (size_t j = 0; j < whole; j += LANES)
            swap_part(LANES, even + j, odd ? odd + j : NULL, y + j, y + width + j);
        if (rest && loose && rest + behind >= LANES)
            swap_part(LANES, even + whole, odd ? odd + whole : NULL, y + whole, y + width + whole);
        else if (rest)
            swap_part(rest, even + whole, odd ? odd + whole : NULL, y + whole, y + width + whole);
        odd = odd ? odd + stride : NULL;
    }
}

const struct hr_bf16 HR_ISA_NAME(hr_bf16) = {.round = round_floats,
                                             .pack = pack,
                                             .pack_two = pack_two,
                                             .pack_rows = pack_rows,
                                             .pack_columns = pack_columns,
                                             .pack_turned = pack_turned,
                                             .swap = swap,
                                             .swap_two = swap_two};
