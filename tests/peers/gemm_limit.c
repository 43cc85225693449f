/* The limit that training is held against: what OpenBLAS's sgemm of 1024^3 reaches on THREADS
 * threads at once, one product each at a time, pinned, no threads of its own.
 *
 *   gemm_limit THREADS      one JSON line: GFLOP/s of all threads together
 */
#define _GNU_SOURCE
#include <cblas.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SIDE = 1024, PRODUCTS = 20, WARMUP = 3, MOST_THREADS = 64 };

static pthread_barrier_t together;

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static float *matrix(void)
{
    float *m = aligned_alloc(64, SIDE * SIDE * sizeof *m);
    for (size_t i = 0; m && i < SIDE * SIDE; i++)
        m[i] = (float)(i % 17) * 0.1f;
    return m;
}

static void pin(size_t index)
{
    cpu_set_t all, mine;
    size_t seen = 0;
    CPU_ZERO(&mine);
    if (sched_getaffinity(0, sizeof all, &all) != 0)
        return;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &all) && seen++ == index)
            CPU_SET(cpu, &mine);
    if (CPU_COUNT(&mine))
        sched_setaffinity(0, sizeof mine, &mine);
}

struct worker {
    size_t index;
    double seconds;
};

static void *multiply(void *arg)
{
    struct worker *worker = arg;
    float *a = matrix(), *b = matrix(), *c = matrix();
    double began = 0;
    pin(worker->index);
    if (!a || !b || !c)
        exit(1);
    for (int i = 0; i < WARMUP + PRODUCTS; i++) {
        if (i == WARMUP) {
            pthread_barrier_wait(&together);
            began = seconds();
        }
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, SIDE, SIDE, SIDE, 1, a, SIDE, b,
                    SIDE, 0, c, SIDE);
    }
    worker->seconds = seconds() - began;
    free(a), free(b), free(c);
    return NULL;
}

int main(int argc, char **argv)
{
    const size_t n = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
    struct worker workers[MOST_THREADS] = {{0}};
    pthread_t threads[MOST_THREADS];
    double rate = 0;
    if (n < 1 || n > MOST_THREADS)
        return 2;
    openblas_set_num_threads(1);
    pthread_barrier_init(&together, NULL, (unsigned)n);
    for (size_t i = 0; i < n; i++) {
        workers[i].index = i;
        if (pthread_create(&threads[i], NULL, multiply, &workers[i]) != 0)
            return 1;
    }
    for (size_t i = 0; i < n; i++) {
        pthread_join(threads[i], NULL);
        rate += 2.0 * SIDE * SIDE * SIDE * PRODUCTS / workers[i].seconds * 1e-9;
    }
    printf("{\"threads\": %zu, \"gflops\": %.2f}\n", n, rate);
    return 0;
}
