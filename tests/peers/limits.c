/* What the machine could do at best: the limits that all-reduce and its kernel are held against.
 *
 *   limits rmw THREADS BYTES,BYTES...    every thread multiplies its own BYTES in place, all at once:
 *          the same traffic as an all-reduce that reads every input once and writes every output
 *          once, without anybody else's lines. The loop, the pinning, the mapping and the layout of
 *          the buffers are those of `hogring bench`. One JSON line a size.
 *   limits sum INPUTS ROUNDS NAME:BYTES,...   the tree sum of N streams (2, or a multiple of 4) into
 *          the same N, beside a copy of the same shape (every stream is loaded, its neighbour
 *          stored, nothing added), one thread; BYTES is what all streams have together. One JSON
 *          line a size: GB/s loaded and stored, one figure of each a round.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/cpus.h"
#include "base/isa.h"
#include "base/size.h"
#include "base/vec.h"
#include "shm/atom.h"
#include "shm/segment.h"
#include "shm/wait.h"

enum { MOST_THREADS = 64, MOST_ITERATIONS = 2000, WARMUP = 20, MOST_ROUNDS = 64 };

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* `n` buffers of `bytes` in one mapping, apart as the bench's arenas are: by whole pages and an odd
 * number of lines, so that equal offsets do not meet in one cache set. */
static void map_buffers(struct hr_segment *segment, float **buffer, size_t n, size_t bytes)
{
    const size_t apart = hr_round_up(bytes, 4096) + 9 * HR_LINE;
    if (hr_segment_create(n * apart, false, segment) != HR_OK) {
        fprintf(stderr, "limits: no memory for %zu x %zu bytes\n", n, bytes);
        exit(1);
    }
    for (size_t i = 0; i < n; i++)
        buffer[i] = (float *)(void *)((unsigned char *)segment->base + i * apart);
}

/* --- rmw --- */

struct crowd {
    size_t nthreads, count, iterations;
    float *buffer[MOST_THREADS]; /* (count) */
    double *seconds;             /* (nthreads, iterations) */
    alignas(HR_LINE) _Atomic size_t arrived;
};

struct one {
    struct crowd *crowd;
    size_t rank;
};

static void meet(struct crowd *crowd, size_t *times)
{
    const size_t want = ++*times * crowd->nthreads;
    atomic_fetch_add(&crowd->arrived, 1);
    while (atomic_load_explicit(&crowd->arrived, memory_order_acquire) < want)
        hr_cpu_relax();
}

static void *rmw_thread(void *arg)
{
    const struct one *one = arg;
    struct crowd *crowd = one->crowd;
    float *mine = crowd->buffer[one->rank];
    size_t times = 0;
    hr_cpus_pin(one->rank);
    for (size_t k = 0; k < WARMUP + crowd->iterations; k++) {
        for (size_t i = 0; i < crowd->count; i++)
            mine[i] = (float)(1 + k % 64);
        meet(crowd, &times);
        const int64_t began = hr_clock_ns();
        hr_vec()->scale(mine, 1.0f + (float)(k % 2), crowd->count);
        const int64_t took = hr_clock_ns() - began;
        if (k >= WARMUP)
            crowd->seconds[one->rank * crowd->iterations + k - WARMUP] = hr_seconds(took);
        meet(crowd, &times);
    }
    return NULL;
}

static void rmw(size_t nthreads, size_t bytes)
{
    struct hr_segment segment;
    struct crowd crowd = {.nthreads = nthreads, .count = bytes / sizeof(float)};
    const size_t volume = ((size_t)512 << 20) / bytes;
    pthread_t thread[MOST_THREADS];
    struct one one[MOST_THREADS];
    crowd.iterations = volume < 20 ? 20 : volume > MOST_ITERATIONS ? MOST_ITERATIONS : volume;
    crowd.seconds = calloc(nthreads * crowd.iterations, sizeof *crowd.seconds);
    map_buffers(&segment, crowd.buffer, nthreads, bytes);
    for (size_t r = 0; r < nthreads; r++) {
        one[r] = (struct one){&crowd, r};
        if (!crowd.seconds || pthread_create(&thread[r], NULL, rmw_thread, &one[r]) != 0)
            exit(1);
    }
    for (size_t r = 0; r < nthreads; r++)
        pthread_join(thread[r], NULL);
    for (size_t k = 0; k < crowd.iterations; k++)
        for (size_t r = 1; r < nthreads; r++)
            if (crowd.seconds[r * crowd.iterations + k] > crowd.seconds[k])
                crowd.seconds[k] = crowd.seconds[r * crowd.iterations + k];
    qsort(crowd.seconds, crowd.iterations, sizeof *crowd.seconds, compare_doubles);
    printf("{\"op\": \"rmw\", \"bytes\": %zu, \"ranks\": %zu, \"time_us\": {\"p10\": %.3f, "
           "\"p50\": %.3f, \"p90\": %.3f}}\n",
           bytes, nthreads, 1e6 * crowd.seconds[crowd.iterations / 10],
           1e6 * crowd.seconds[crowd.iterations / 2],
           1e6 * crowd.seconds[crowd.iterations * 9 / 10]);
    fflush(stdout);
    free(crowd.seconds);
    hr_segment_destroy(&segment);
}

/* --- sum --- */

/* The copy in each instruction set that the kernel exists in. */
#define DEFINE_COPIES(suffix, attributes)                                                          \
    attributes static void copy_two_##suffix(float *a, float *b, size_t count)                     \
    {                                                                                              \
        _Pragma("omp simd") for (size_t i = 0; i < count; i++)                                     \
        {                                                                                          \
            const float x = a[i], y = b[i];                                                        \
            a[i] = y;                                                                              \
            b[i] = x;                                                                              \
        }                                                                                          \
    }                                                                                              \
    attributes static void copy_four_##suffix(float *a, float *b, float *c, float *d,              \
                                              size_t count)                                        \
    {                                                                                              \
        _Pragma("omp simd") for (size_t i = 0; i < count; i++)                                     \
        {                                                                                          \
            const float w = a[i], x = b[i], y = c[i], z = d[i];                                    \
            a[i] = x;                                                                              \
            b[i] = y;                                                                              \
            c[i] = z;                                                                              \
            d[i] = w;                                                                              \
        }                                                                                          \
    }

#ifdef __x86_64__
DEFINE_COPIES(v4, __attribute__((target("avx512f,avx512vl,avx512bw,prefer-vector-width=512"))))
DEFINE_COPIES(v3, __attribute__((target("avx2"))))
#endif
DEFINE_COPIES(plain, )

typedef void copy_two_fn(float *, float *, size_t);
typedef void copy_four_fn(float *, float *, float *, float *, size_t);

static void pick_copies(copy_two_fn **two, copy_four_fn **four)
{
    *two = copy_two_plain, *four = copy_four_plain;
#ifdef __x86_64__
    if (hr_isa() == HR_ISA_V3)
        *two = copy_two_v3, *four = copy_four_v3;
    if (hr_isa() == HR_ISA_V4)
        *two = copy_two_v4, *four = copy_four_v4;
#endif
}

/* Two streams, or any multiple of four, four at a time. */
static void copy_shape(float *const *x, size_t n, size_t count)
{
    static copy_two_fn *two;
    static copy_four_fn *four;
    if (!two)
        pick_copies(&two, &four);
    if (n == 2)
        two(x[0], x[1], count);
    else
        for (size_t j = 0; j + 3 < n; j += 4)
            four(x[j], x[j + 1], x[j + 2], x[j + 3], count);
}

static void sum_shape(float *const *x, size_t n, size_t count)
{
    const float *in[HR_VEC_MAX_INPUTS];
    for (size_t j = 0; j < n; j++)
        in[j] = x[j];
    hr_vec()->tree_sum(x, n, in, n, count);
}

/* GB/s loaded and stored over about 10 ms. The streams hold zeros, whose sum is zero again. */
static double rate(void (*pass)(float *const *, size_t, size_t), float *const *x, size_t n,
                   size_t count)
{
    const int64_t began = hr_clock_ns();
    size_t passes = 0, some = 1 + (1 << 16) / (n * count);
    int64_t took;
    do {
        for (size_t i = 0; i < some; i++)
            pass(x, n, count);
        passes += some;
        took = hr_clock_ns() - began;
    } while (took < HR_NS_PER_SECOND / 100);
    return (double)(2 * n * count * sizeof(float) * passes) / (double)took;
}

static void print_list(const char *name, const double *value, size_t n)
{
    printf(", \"%s\": [", name);
    for (size_t i = 0; i < n; i++)
        printf("%s%.3f", i ? ", " : "", value[i]);
    printf("]");
}

/* `total` bytes over all n streams. Which of the two goes first changes from round to round. */
static void sum_cell(const char *level, size_t total, size_t n, size_t rounds)
{
    struct hr_segment segment;
    float *x[HR_VEC_MAX_INPUTS];
    double sum[MOST_ROUNDS], copy[MOST_ROUNDS];
    const size_t count = total / n / sizeof(float) / 32 * 32;
    map_buffers(&segment, x, n, count * sizeof(float));
    for (size_t j = 0; j < n; j++)
        memset(x[j], 0, count * sizeof(float));
    sum_shape(x, n, count);
    for (size_t round = 0; round < rounds; round++) {
        if (round % 2)
            copy[round] = rate(copy_shape, x, n, count);
        sum[round] = rate(sum_shape, x, n, count);
        if (round % 2 == 0)
            copy[round] = rate(copy_shape, x, n, count);
    }
    printf("{\"op\": \"sum\", \"level\": \"%s\", \"inputs\": %zu, \"bytes\": %zu", level, n, total);
    print_list("sum_gbs", sum, rounds);
    print_list("copy_gbs", copy, rounds);
    printf("}\n");
    fflush(stdout);
    hr_segment_destroy(&segment);
}

/* "L1:16384,L2:262144": a name and all streams' bytes together. */
static void sum_levels(char *levels, size_t n, size_t rounds)
{
    char *rest = NULL;
    for (char *at = strtok_r(levels, ",", &rest); at; at = strtok_r(NULL, ",", &rest)) {
        char *colon = strchr(at, ':');
        if (!colon)
            continue;
        *colon = '\0';
        sum_cell(at, strtoul(colon + 1, NULL, 10), n, rounds);
    }
}

int main(int argc, char **argv)
{
    if (argc == 4 && !strcmp(argv[1], "rmw")) {
        const size_t nthreads = strtoul(argv[2], NULL, 10);
        if (nthreads >= 1 && nthreads <= MOST_THREADS)
            for (char *at = strtok(argv[3], ","); at; at = strtok(NULL, ","))
                rmw(nthreads, strtoul(at, NULL, 10));
        return 0;
    }
    if (argc == 5 && !strcmp(argv[1], "sum")) {
        const size_t n = strtoul(argv[2], NULL, 10);
        const size_t rounds = hr_min_size(strtoul(argv[3], NULL, 10), MOST_ROUNDS);
        hr_cpus_pin(0);
        if ((n == 2 || n % 4 == 0) && n >= 2 && n <= HR_VEC_MAX_INPUTS)
            sum_levels(argv[4], n, rounds);
        return 0;
    }
    fprintf(stderr, "limits rmw THREADS BYTES,... | limits sum INPUTS ROUNDS NAME:BYTES,...\n");
    return 2;
}
