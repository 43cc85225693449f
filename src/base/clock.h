/* clock.h - monotonic time, and processor time, in nanoseconds. */
#ifndef HR_BASE_CLOCK_H
#define HR_BASE_CLOCK_H

#include <stdint.h>
#include <sys/resource.h>
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

/* Processor time of this process, and of those it has started and waited for. */
static inline int64_t hr_clock_cpu_ns(void)
{
    struct rusage mine, theirs;
    int64_t microseconds = 0;
    if (getrusage(RUSAGE_SELF, &mine) != 0 || getrusage(RUSAGE_CHILDREN, &theirs) != 0)
        return 0;
    const struct timeval spent[] = {mine.ru_utime, mine.ru_stime, theirs.ru_utime, theirs.ru_stime};
    for (int i = 0; i < 4; i++)
        microseconds += (int64_t)spent[i].tv_sec * 1000000 + spent[i].tv_usec;
    return 1000 * microseconds;
}

static inline double hr_seconds(int64_t ns)
{
    return (double)ns / (double)HR_NS_PER_SECOND;
}

#endif
