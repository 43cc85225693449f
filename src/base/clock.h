/* clock.h - monotonic time, and processor time, in nanoseconds.
 *
 * A run on several machines has one clock, machine 0's: each of the others adds the difference to
 * its own, which it measures before the run begins (hr_clock_set_offset). A run on one machine has
 * a clock that stands still while nobody of it runs: Ctrl-Z, kill -STOP, docker pause
 * (shm/stopped.c).
 */
#ifndef HR_BASE_CLOCK_H
#define HR_BASE_CLOCK_H

#include <stdint.h>
#include <sys/resource.h>
#include <time.h>

#define HR_NS_PER_SECOND 1000000000LL

/* What is added to this machine's clock; 0 but for machines beside machine 0. Constant while there
 * are other threads that look at the time. */
extern int64_t hr_clock_offset_ns;

/* The time of such a clock, less what it stood still; NULL: it is the machine's. */
extern int64_t (*hr_clock_of_run)(clockid_t clock);

/* From now on hr_clock_ns is this machine's clock and so much. Processes forked later inherit it.
 */
static inline void hr_clock_set_offset(int64_t ns)
{
    hr_clock_offset_ns = ns;
}

static inline int64_t hr_clock_read(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * HR_NS_PER_SECOND + t.tv_nsec;
}

/* Nanoseconds of CLOCK_MONOTONIC, this machine's own: for the kernel, and to measure offsets. */
static inline int64_t hr_clock_own_ns(void)
{
    return hr_clock_read(CLOCK_MONOTONIC);
}

/* Nanoseconds of the run's clock; comparable between the processes of one machine, and, as far as
 * offsets could be measured, between the machines of one run. */
static inline int64_t hr_clock_ns(void)
{
    return (hr_clock_of_run ? hr_clock_of_run(CLOCK_MONOTONIC) : hr_clock_own_ns()) +
           hr_clock_offset_ns;
}

/* The same clock as of the last tick of the kernel, some milliseconds ago; four times as cheap. */
static inline int64_t hr_clock_coarse_ns(void)
{
    return (hr_clock_of_run ? hr_clock_of_run : hr_clock_read)(CLOCK_MONOTONIC_COARSE) +
           hr_clock_offset_ns;
}

/* Processor time of the calling thread; waiting for a processor does not count. */
static inline int64_t hr_clock_thread_ns(void)
{
    return hr_clock_read(CLOCK_THREAD_CPUTIME_ID);
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

/* How long something was waited for, of which --timeout makes a limit. Looks come every 50 ms. One
 * that comes a quarter of the limit later was made by who did not run, nor heard the others: then
 * the wait begins anew. On a machine where that is so time and again it does three times; from then
 * on such a look counts as one that was just not too late. */
struct hr_patience {
    int64_t limit_ns; /* 0: none */
    int64_t looked_ns, waited_ns;
    int anew;
};

enum { HR_PATIENCE_LOOK_NS = 50 * 1000 * 1000, HR_PATIENCE_ANEW = 3 };

/* For how long it has lasted now. Is that limit_ns, it ends. */
static inline int64_t hr_patience_look(struct hr_patience *patience, int64_t now_ns)
{
    const int64_t most = HR_PATIENCE_LOOK_NS + patience->limit_ns / 4;
    const int64_t passed = now_ns - patience->looked_ns;
    patience->looked_ns = now_ns;
    if (!patience->limit_ns || passed <= most)
        return patience->waited_ns += passed;
    return patience->waited_ns =
               patience->anew++ < HR_PATIENCE_ANEW ? 0 : patience->waited_ns + most;
}

static inline double hr_seconds(int64_t ns)
{
    return (double)ns / (double)HR_NS_PER_SECOND;
}

#endif
