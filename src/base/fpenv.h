/* fpenv.h - denormals are flushed to zero in every thread that computes.
 *
 * Denormal operands cost over a hundred cycles each on many cores, and training makes them. The
 * mode is a property of the thread, so each rank calls this first; one rank in another mode would
 * give other bits. arm64 flushes what is denormal before it is rounded, x86-64 after: a result
 * within 2^-25 below the least normal float is 0 there and 2^-126 here.
 */
#ifndef HR_BASE_FPENV_H
#define HR_BASE_FPENV_H

#include <stdint.h>

#ifdef __SSE__
#include <xmmintrin.h>
#endif

static inline void hr_fp_flush_denormals(void)
{
#if defined(__SSE__)
    const unsigned flush_to_zero = 1u << 15, denormals_are_zero = 1u << 6;
    _mm_setcsr(_mm_getcsr() | flush_to_zero | denormals_are_zero);
#elif defined(__aarch64__)
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    __asm__ volatile("msr fpcr, %0" : : "r"(fpcr | (1u << 24)));
#endif
}

/* The thread's mode, to be given back to a caller whose thread it is. */
static inline uint64_t hr_fp_mode(void)
{
#if defined(__SSE__)
    return _mm_getcsr();
#elif defined(__aarch64__)
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    return fpcr;
#else
    return 0;
#endif
}

static inline void hr_fp_mode_set(uint64_t mode)
{
#if defined(__SSE__)
    _mm_setcsr((unsigned)mode);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" : : "r"(mode));
#else
    (void)mode;
#endif
}

#endif
