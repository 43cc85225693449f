/* loop.h - the loop of `hogring bench allreduce`, for the peers: what differs between them is only
 * the calls of struct peer.
 *
 * barrier       every rank rewrites its whole buffer; barrier; time one all-reduce; barrier
 * back-to-back  (a size ending in b) the same without the barriers
 *
 * The time of an iteration is that of its slowest rank; what is printed is the median over
 * iterations, with the 10th and 90th percentile.
 *
 * Values are integers, so that the sum is exact in any order. Every eighth result is checked,
 * element by element. One JSON line a size is printed as soon as it is known: when a later size
 * hangs, the earlier ones have been told.
 *
 * A scout (--scout yes) only looks for the best setting of a peer: its warm-up ends early when it
 * has taken four times the budget.
 *
 * Common subset of C11 and C++11.
 */
#ifndef PEERS_LOOP_H
#define PEERS_LOOP_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST_ITERATIONS 2000
#define MOST_SIZES 64

struct peer {
    int rank, nranks;
    void (*barrier)(void);
    void (*prepare)(float *buffer, size_t count); /* before the first call of a size */
    void (*all_reduce)(float *buffer, size_t count);
    void (*maximum)(double *values,
                    int n);             /* rank 0 gets the largest of all ranks, each in place */
    double (*from_first)(double value); /* what rank 0 passed */
};

struct options {
    size_t size[MOST_SIZES];      /* bytes */
    int back_to_back[MOST_SIZES]; /* "64b" in the list */
    int nsizes, warmup, least, scout;
    double budget_s; /* for the timed iterations of one size */
};

static inline double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline float value_of(int rank, int iteration)
{
    return (float)(1 + (rank * 7 + iteration * 3) % 64);
}

static inline void rewrite(float *buffer, size_t count, float value)
{
    for (size_t i = 0; i < count; i++)
        buffer[i] = value;
}

static inline double count_wrong(const struct peer *peer, const float *buffer, size_t count,
                                 int iteration)
{
    float want = 0;
    double wrong = 0;
    for (int r = 0; r < peer->nranks; r++)
        want += value_of(r, iteration);
    for (size_t i = 0; i < count; i++)
        wrong += buffer[i] != want;
    return wrong;
}

/* Seconds of one timed iteration of this rank. */
static inline double iterate(const struct peer *peer, int back_to_back, float *buffer, size_t count,
                             int k, double *wrong)
{
    rewrite(buffer, count, value_of(peer->rank, k));
    if (!back_to_back)
        peer->barrier();
    const double began = now_s();
    peer->all_reduce(buffer, count);
    const double took = now_s() - began;
    if (k % 8 == 0)
        *wrong += count_wrong(peer, buffer, count, k);
    if (!back_to_back)
        peer->barrier();
    return took;
}

static inline int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* As many as hogring's bench takes, or as fit the budget, whichever is less. All ranks agree. */
static inline int iterations_for(const struct peer *peer, const struct options *options,
                                 size_t bytes, double seconds_each)
{
    const double volume = (double)((size_t)512 << 20) / (double)bytes;
    double n = volume > MOST_ITERATIONS ? MOST_ITERATIONS : volume;
    if (n * seconds_each > options->budget_s)
        n = options->budget_s / seconds_each;
    return (int)peer->from_first(n < options->least ? options->least : n);
}

static inline void print_row(const struct peer *peer, int back_to_back, size_t bytes, int n,
                             double *slowest, double wrong)
{
    qsort(slowest, (size_t)n, sizeof *slowest, compare_doubles);
    printf(
        "{\"op\": \"allreduce\", \"bytes\": %zu, \"ranks\": %d, \"loop\": \"%s\", \"iterations\": "
        "%d, \"time_us\": {\"p10\": %.4f, \"p50\": %.4f, \"p90\": %.4f}, \"wrong\": %.0f}\n",
        bytes, peer->nranks, back_to_back ? "back-to-back" : "barrier", n, 1e6 * slowest[n / 10],
        1e6 * slowest[n / 2], 1e6 * slowest[n * 9 / 10], wrong);
    fflush(stdout);
}

/* Returns the seconds of one iteration, of its second half. */
static inline double warm_up(const struct peer *peer, const struct options *options,
                             int back_to_back, float *buffer, size_t count, double *wrong)
{
    const double began = now_s();
    double half = began;
    int k = 0, since = 0;
    for (; k < options->warmup; k++) {
        if (options->scout && k >= 5 && peer->from_first(now_s() - began) > 4 * options->budget_s)
            break;
        if (k == options->warmup / 2)
            half = now_s(), since = k;
        iterate(peer, back_to_back, buffer, count, k, wrong);
    }
    return (now_s() - half) / (k - since);
}

static inline void measure_size(const struct peer *peer, const struct options *options,
                                int back_to_back, float *buffer, size_t bytes)
{
    static double seconds[MOST_ITERATIONS + 1]; /* the last one carries `wrong` */
    const size_t count = bytes / sizeof(float);
    double wrong = 0;
    peer->prepare(buffer, count);
    const double each = warm_up(peer, options, back_to_back, buffer, count, &wrong);
    const int n = iterations_for(peer, options, bytes, each);
    for (int k = 0; k < n; k++)
        seconds[k] = iterate(peer, back_to_back, buffer, count, k, &wrong);
    seconds[n] = wrong;
    peer->maximum(seconds, n + 1);
    if (peer->rank == 0)
        print_row(peer, back_to_back, bytes, n, seconds, seconds[n]);
}

/* Page-aligned, as malloc gives large blocks; touched by the first rewrite. */
static inline void measure_sizes(const struct peer *peer, const struct options *options)
{
    size_t most = 0;
    for (int i = 0; i < options->nsizes; i++)
        most = options->size[i] > most ? options->size[i] : most;
    float *buffer = (float *)aligned_alloc(4096, (most + 4095) / 4096 * 4096);
    if (!buffer)
        abort();
    for (int i = 0; i < options->nsizes; i++)
        measure_size(peer, options, options->back_to_back[i], buffer, options->size[i]);
    free(buffer);
}

/* "--name value" pairs; anything else ends the program. `other` may take what is not known here. */
static inline void parse_options(int argc, char **argv, struct options *options,
                                 int (*other)(const char *name, const char *value))
{
    memset(options, 0, sizeof *options);
    options->warmup = options->least = 20;
    options->budget_s = 0.2;
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *name = argv[i];
        char *value = argv[i + 1];
        if (!strcmp(name, "--sizes")) {
            for (char *at = strtok(value, ","); at && options->nsizes < MOST_SIZES;
                 at = strtok(NULL, ",")) {
                options->back_to_back[options->nsizes] = strchr(at, 'b') != NULL;
                options->size[options->nsizes++] = (size_t)strtoull(at, NULL, 10);
            }
        } else if (!strcmp(name, "--warmup")) {
            options->warmup = atoi(value);
        } else if (!strcmp(name, "--least")) {
            options->least = atoi(value);
        } else if (!strcmp(name, "--seconds")) {
            options->budget_s = atof(value);
        } else if (!strcmp(name, "--scout")) {
            options->scout = !strcmp(value, "yes");
        } else if (!other || !other(name, value)) {
            fprintf(stderr, "%s: %s is not known\n", argv[0], name);
            exit(2);
        }
    }
    if (options->nsizes == 0 || options->warmup < 2 || options->least < 1) {
        fprintf(stderr,
                "%s --sizes BYTES[,BYTES...] [--warmup N] [--least N] [--seconds S] "
                "[--loop barrier|back-to-back]\n",
                argv[0]);
        exit(2);
    }
}

#endif
