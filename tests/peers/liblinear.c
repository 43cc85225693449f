/* The sparse engine beside LIBLINEAR (Debian: liblinear-dev), and two workers on shared weights
 * beside two trainers of their own (H4), in turns, on one data set that is read once.
 *
 *   liblinear FILE.libsvm [ROUNDS]
 *
 *   passes/s    logistic regression, C 1: epochs of ours (--solver dual, one worker), iterations of
 *               train() with -s 7. Both leave rows alone whose gradient is small, by the same rule.
 *               From the end of the first pass on: preparations do not count
 *   equal time  the objective that train() has reached when it ends at -e 0.1, 0.01, 0.001, and
 *               the one that ours has by then
 *   H4          samples/s of two workers over the sum of two trainers' at the same time
 *
 * Passes and objectives are timed by the processor time of the thread that computes, ours and
 * theirs, so that a machine that others use can tell; each figure is the median of all rounds. H4
 * is about what happens at the same time, so it is real time: the 10th percentile of each epoch's
 * over all rounds, and the median beside it. Where the two differ the machine was not idle.
 */
#include <linear.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hogring/sparse.h"

enum { MOST_ROUNDS = 200, EPOCHS = 30 };

static int iterations; /* that train() said it made */

static void listen(const char *text)
{
    const char *at = strstr(text, "#iter = ");
    if (at)
        iterations = atoi(at + 8);
}

static double processor_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int rising(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double quantile(double *times, size_t n, double q)
{
    qsort(times, n, sizeof *times, rising);
    return times[(size_t)(q * (double)(n - 1) + 0.5)];
}

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "liblinear: %s: %s\n", what, hr_error_message());
    exit(1);
}

/* The library's clock, linked statically, comes by here: a worker may be shown its own processor
 * time instead, of what it does between two looks. */
static bool by_processor_time;

int clock_gettime(clockid_t clock, struct timespec *now)
{
    static _Thread_local pid_t thread;
    thread = thread ? thread : (pid_t)syscall(SYS_gettid);
    if (clock == CLOCK_MONOTONIC && by_processor_time && thread != getpid())
        clock = CLOCK_THREAD_CPUTIME_ID;
    return (int)syscall(SYS_clock_gettime, clock, now);
}

/* --- LIBLINEAR --- */

static struct problem problem_of(const struct hr_dataset *data)
{
    const struct hr_split *s = &data->train;
    struct problem p = {.l = (int)s->count, .n = (int)hr_shape_elems(data->shape), .bias = -1};
    struct feature_node *nodes = malloc((s->rows[s->count] + s->count) * sizeof *nodes);
    p.y = malloc(s->count * sizeof *p.y);
    p.x = malloc(s->count * sizeof *p.x);
    if (!nodes || !p.y || !p.x)
        exit(1);
    for (size_t i = 0; i < s->count; i++) {
        p.x[i] = nodes;
        p.y[i] = s->labels[i] ? 1 : -1;
        for (uint64_t k = s->rows[i]; k < s->rows[i + 1]; k++)
            *nodes++ = (struct feature_node){(int)s->columns[k] + 1, (double)s->values[k]};
        *nodes++ = (struct feature_node){-1, 0};
    }
    return p;
}

static double objective(const struct problem *p, const struct model *m)
{
    double loss = 0, squares = 0;
    for (int i = 0; i < p->l; i++) {
        double margin = 0;
        for (const struct feature_node *x = p->x[i]; x->index > 0; x++)
            margin += x->value * m->w[x->index - 1];
        margin *= p->y[i] * m->label[0];
        loss += margin > 0 ? log1p(exp(-margin)) : log1p(exp(margin)) - margin;
    }
    for (int f = 0; f < p->n; f++)
        squares += m->w[f] * m->w[f];
    return loss + squares / 2;
}

/* Processor seconds of one train(). */
static double theirs(const struct problem *p, double eps, double *reached)
{
    const struct parameter parameter = {.solver_type = L2R_LR_DUAL, .eps = eps, .C = 1};
    const double began = processor_seconds();
    struct model *m = train(p, &parameter);
    const double took = processor_seconds() - began;
    if (reached)
        *reached = objective(p, m);
    free_and_destroy_model(&m);
    return took;
}

/* --- ours --- */

static struct hr_run_result ours(const struct hr_dataset *data, const char *solver, size_t workers)
{
    struct hr_train_options options;
    struct hr_run_result result;
    hr_sparse_defaults(&options);
    snprintf(options.solver, sizeof options.solver, "%s", solver);
    options.workers = workers;
    options.epochs = EPOCHS;
    if (hr_sparse_train(&options, data, NULL, &result) != HR_OK)
        die("training");
    return result;
}

/* times[e][round] of each epoch. */
static void note(double (*times)[MOST_ROUNDS], size_t round, const struct hr_curve_point *curve)
{
    for (size_t e = 0; e < EPOCHS; e++)
        times[e][round] = curve[e].seconds - (e ? curve[e - 1].seconds : 0);
}

static double sum_of_quantiles(double (*times)[MOST_ROUNDS], size_t epochs, size_t rounds, double q)
{
    double sum = 0;
    for (size_t e = 0; e < epochs; e++)
        sum += quantile(times[e], rounds, q);
    return sum;
}

/* --- the parts --- */

/* Ours and theirs in turns; theirs from the same random numbers in each round. */
static void compare_passes(const struct hr_dataset *data, const struct problem *p, size_t rounds)
{
    static const double eps[] = {1e9, 0.1, 0.01, 0.001};
    static double mine[EPOCHS][MOST_ROUNDS], other[4][MOST_ROUNDS];
    double reached[4], curve[EPOCHS], upto[EPOCHS];
    int passes[4];
    by_processor_time = true;
    for (size_t r = 0; r < rounds; r++) {
        struct hr_run_result result = ours(data, "dual", 1);
        note(mine, r, result.curve);
        for (size_t e = 0; e < EPOCHS; e++)
            curve[e] = result.curve[e].train_loss;
        hr_run_result_free(&result);
        for (size_t k = 0; k < 4; k++) {
            srand(1);
            other[k][r] = theirs(p, eps[k], r ? NULL : &reached[k]);
            passes[k] = iterations;
        }
    }
    by_processor_time = false;
    for (size_t e = 0; e < EPOCHS; e++)
        upto[e] = sum_of_quantiles(mine, e + 1, rounds, 0.5);
    const double start = quantile(other[0], rounds, 0.5);
    for (size_t k = 1; k < 4; k++) {
        const size_t n = (size_t)passes[k] < EPOCHS ? (size_t)passes[k] : EPOCHS;
        const double all = quantile(other[k], rounds, 0.5);
        /* From the end of the first pass on, on both sides. */
        const double their = (double)(passes[k] - 1) / (all - start);
        const double our = (double)(n - 1) / (upto[n - 1] - upto[0]);
        size_t e = 0;
        while (e + 1 < EPOCHS && upto[e + 1] <= all)
            e++;
        printf("-e %-6g %3d passes: ours %6.0f/s, train() %6.0f/s, ratio %.2f\n", eps[k], passes[k],
               our, their, our / their);
        printf("          in train()'s %.1f ms: ours %.6g in %zu passes, train() %.6g: %+.4f %%\n",
               1e3 * all, curve[e], e + 1, reached[k], 100 * (curve[e] / reached[k] - 1));
    }
    printf("first pass: ours %.1f ms; train()'s with its preparations %.1f ms\n", 1e3 * upto[0],
           1e3 * start);
}

/* Two processes at the same time, each one worker; their epochs' times go to shared memory. */
static void two_alone(const struct hr_dataset *data, const char *solver, size_t round,
                      double (*times)[EPOCHS][MOST_ROUNDS])
{
    pid_t pids[2];
    for (int i = 0; i < 2; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            struct hr_run_result result = ours(data, solver, 1);
            note(times[i], round, result.curve);
            _exit(0);
        }
    }
    for (int i = 0; i < 2; i++)
        waitpid(pids[i], NULL, 0);
}

static void compare_sharing(const struct hr_dataset *data, const char *solver, size_t rounds)
{
    static double shared[EPOCHS][MOST_ROUNDS];
    const size_t bytes = 2 * sizeof(double[EPOCHS][MOST_ROUNDS]);
    double(*alone)[EPOCHS][MOST_ROUNDS] =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const double samples = EPOCHS * (double)data->train.count;
    if (alone == MAP_FAILED)
        exit(1);
    for (size_t r = 0; r < rounds; r++) {
        struct hr_run_result result = ours(data, solver, 2);
        note(shared, r, result.curve);
        hr_run_result_free(&result);
        two_alone(data, solver, r, alone);
    }
    double rate[2], pair[2];
    for (int i = 0; i < 2; i++) {
        const double q = i ? 0.5 : 0.1;
        rate[i] = samples / sum_of_quantiles(shared, EPOCHS, rounds, q);
        pair[i] = samples / sum_of_quantiles(alone[0], EPOCHS, rounds, q) +
                  samples / sum_of_quantiles(alone[1], EPOCHS, rounds, q);
    }
    printf("H4 %-5s two workers %.0fk samples/s, two trainers %.0fk: %.2f (medians %.2f)\n", solver,
           1e-3 * rate[0], 1e-3 * pair[0], rate[0] / pair[0], rate[1] / pair[1]);
    munmap(alone, bytes);
}

int main(int argc, char **argv)
{
    const size_t rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 15;
    struct hr_dataset data;
    if (argc < 2 || rounds < 1 || rounds > MOST_ROUNDS) {
        fprintf(stderr, "usage: liblinear FILE.libsvm [ROUNDS]\n");
        return 2;
    }
    set_print_string_function(listen);
    if (hr_dataset_open(argv[1], &data) != HR_OK)
        die(argv[1]);
    struct problem p = problem_of(&data);
    printf("%zu rows, %d features, %.4f %% stored\n", data.train.count, p.n,
           100 * (double)data.train.rows[data.train.count] / (double)p.l / p.n);
    compare_sharing(&data, "sgd", rounds);
    compare_sharing(&data, "dual", rounds);
    compare_passes(&data, &p, rounds);
    hr_dataset_close(&data);
    return 0;
}
