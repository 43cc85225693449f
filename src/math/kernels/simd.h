/* simd.h - vectors of the instruction set that a *.isa.c file is compiled for, whole and in part.
 *
 * Threads: pure functions on the caller's memory.      Test: those of the kernels made of it
 */
#ifndef HR_KERNELS_SIMD_H
#define HR_KERNELS_SIMD_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif
#ifdef HR_NEON
#include <arm_neon.h>
#endif

#if defined __AVX512F__
enum { LANES = 16 };
#elif defined __AVX2__
enum { LANES = 8 };
#else
enum { LANES = 4 };
#endif

/* Does the set have 32 registers, and not 16 (or, plain, who knows how many)? */
#if defined __AVX512F__ || defined HR_NEON
#define MANY_REGISTERS 1
#else
#define MANY_REGISTERS 0
#endif

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

static inline vec spread(float a)
{
#if defined __AVX512F__
    return _mm512_set1_ps(a);
#elif defined __AVX2__
    return _mm256_set1_ps(a);
#else
#ifdef HR_NEON
    __asm__("" : "+w"(a)); /* fmla spreads it; ld1r would take a vector unit besides */
#endif
    return (vec){a, a, a, a};
#endif
}

/* c + a * b, in one rounding but for plain. */
static inline vec multiply_add(vec a, vec b, vec c)
{
#if defined __AVX512F__
    return _mm512_fmadd_ps(a, b, c);
#elif defined __FMA__
    return _mm256_fmadd_ps(a, b, c);
#elif defined HR_NEON
    return vfmaq_f32(c, a, b);
#else
    return c + a * b;
#endif
}

/* All ones in the first `count` lanes. */
#if defined __AVX2__ && !defined __AVX512F__
static inline __m256i first_lanes(size_t count)
{
    static const int32_t ones[2 * LANES] = {-1, -1, -1, -1, -1, -1, -1, -1};
    return _mm256_loadu_si256((const __m256i *)(const void *)(ones + LANES - count));
}
#endif

/* The first `count` lanes, 0 to LANES, the others zero; nothing behind them is touched. */
static inline vec load_part(const float *from, size_t count)
{
    if (count >= LANES)
        return load(from);
#if defined __AVX512F__
    return _mm512_maskz_loadu_ps((__mmask16)((1u << count) - 1), from);
#elif defined __AVX2__
    return _mm256_maskload_ps(from, first_lanes(count));
#else
    if (count <= 1)
        return (vec){count ? from[0] : 0};
    return (vec){from[0], from[1], count > 2 ? from[2] : 0};
#endif
}

static inline void store_part(float *to, vec value, size_t count)
{
    if (count >= LANES) {
        store(to, value);
        return;
    }
#if defined __AVX512F__
    _mm512_mask_storeu_ps(to, (__mmask16)((1u << count) - 1), value);
#elif defined __AVX2__
    _mm256_maskstore_ps(to, first_lanes(count), value);
#else
    memcpy(to, &value, count * sizeof *to);
#endif
}

/* Whole numbers from 0 to 255, a byte each in memory; the first `count` lanes, as above. Written as
 * intrinsics, because compilers convert one number at a time. */
static inline bits load_bytes(const uint8_t *from, size_t count)
{
#if defined __AVX512F__
    const __mmask16 some = count < LANES ? (__mmask16)((1u << count) - 1) : 0xffff;
    return (bits)_mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(some, from));
#else
    uint8_t whole[LANES] = {0};
    if (count < LANES)
        from = memcpy(whole, from, count);
#if defined __AVX2__
    return (bits)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)from));
#else
    bits value;
    for (size_t i = 0; i < LANES; i++)
        value[i] = from[i];
    return value;
#endif
#endif
}

static inline void store_bytes(uint8_t *to, bits value, size_t count)
{
#if defined __AVX512F__
    const __mmask16 some = count < LANES ? (__mmask16)((1u << count) - 1) : 0xffff;
    _mm_mask_storeu_epi8(to, some, _mm512_cvtepi32_epi8((__m512i)value));
#else
    uint8_t whole[LANES], *at = count < LANES ? whole : to;
#if defined __AVX2__
    const __m128i low = _mm256_castsi256_si128((__m256i)value);
    const __m128i words = _mm_packs_epi32(low, _mm256_extracti128_si256((__m256i)value, 1));
    _mm_storel_epi64((__m128i *)(void *)at, _mm_packus_epi16(words, words));
#else
    for (size_t i = 0; i < LANES; i++)
        at[i] = (uint8_t)value[i];
#endif
    if (count < LANES)
        memcpy(to, whole, count);
#endif
}

#endif
