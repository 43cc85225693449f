/* clock.h - monotonic time, and processor time, in nanoseconds. */
#ifndef HR_BASE_CLOCK_H
#define HR_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define HR_NS_PER_SECOND 1000000000LL

/* Nanoseconds of CLOCK_MONOTONIC; comparable between the processes of one machine. */
static inline int64_t hr_clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * HR_NS_PER_SECOND + t.tv_nsec;
}

/* The same clock as of the last tick of the kernel, some milliseconds ago; four times as cheap. */
static inline int64_t hr_clock_coarse_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return (int64_t)t.tv_sec * HR_NS_PER_SECOND + t.tv_nsec;
}

/* Processor time of the calling thread; waiting for a processor does not count. */
static inline int64_t hr_clock_thread_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * HR_NS_PER_SECOND + t.tv_nsec;
}

static inline double hr_seconds(int64_t ns)
{
    return (double)ns / (double)HR_NS_PER_SECOND;
}

#endif
