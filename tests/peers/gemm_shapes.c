/* Our products beside OpenBLAS's on one thread, and what share of the machine's multiply-adds each
 * reaches: on the dense layers of the built-in models (P5, P6), or on shapes.
 *
 *   gemm_shapes ROUNDS BATCH,BATCH,...
 *   gemm_shapes ROUNDS MxNxK,MxNxK,...      all three forms of each
 *
 * In every round each product is done by both, first the one and then the other, for about 2 ms of
 * processor time; before each layer or shape, OpenBLAS's 1024^3 and the register tile out of L1.
 * One JSON line a product: GFLOP/s, medians of the rounds, and the ratio of the median times; then
 * one with the least of the ratios and their geometric mean. "core" is OpenBLAS's: mind what
 * OPENBLAS_CORETYPE and OPENBLAS_L2_SIZE say in the environment.
 */
#include <cblas.h>
#undef I /* of <complex.h>, which it brings */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/select.h"
#include "products/gemm.h"
#include "tiles/micro.h"

enum { MOST_ROUNDS = 99, SIDE = 1024, NS_A_ROUND = 2000000 };

struct layer {
    const char *name;
    size_t in, out;
    int first; /* no gradient of its input */
};

static const struct layer layers[] = {
    {"softmax", 784, 10, 1}, {"mlp 1", 784, 256, 1},   {"mlp 2", 256, 128, 0},
    {"mlp 3", 128, 10, 0},   {"lenet 1", 800, 500, 0}, {"lenet 2", 500, 10, 0},
    {"cnn 1", 3136, 128, 0}, {"cnn 2", 128, 10, 0},
};

static const char *const form_names[] = {"nn", "nt", "tn"};

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *x, size_t n)
{
    qsort(x, n, sizeof *x, compare_doubles);
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

/* This thread's time on a processor: what others take of the machine is not counted. */
static double processor_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static float *numbers(size_t count)
{
    float *x = aligned_alloc(64, (count * sizeof *x + 127) / 64 * 64);
    if (!x)
        exit(1);
    for (size_t i = 0; i < count; i++)
        x[i] = (float)(i % 251) / 251 - 0.5f;
    return x;
}

static void ours(const struct hr_gemm *g)
{
    hr_gemm(g);
}

static void theirs(const struct hr_gemm *g)
{
    const int a_turned = g->form == HR_GEMM_TN, b_turned = g->form == HR_GEMM_NT;
    cblas_sgemm(CblasRowMajor, a_turned ? CblasTrans : CblasNoTrans,
                b_turned ? CblasTrans : CblasNoTrans, (int)g->M, (int)g->N, (int)g->K, 1, g->a,
                (int)(a_turned ? g->M : g->K), g->b, (int)(b_turned ? g->K : g->N), 0, g->c,
                (int)g->N);
}

/* The register tile out of L1, GFLOP/s; the best of a few, since others use the machine. */
static double peak(void)
{
    enum { K = 256, TIMES = 200, TRIES = 5, ROWS = HR_MICRO_ROWS };
    static float memory[K * (HR_MICRO_MAX_COLUMNS + ROWS) + ROWS * HR_MICRO_MAX_COLUMNS];
    const size_t columns = hr_tiles()->columns;
    float *const a = memory + K * HR_MICRO_MAX_COLUMNS;
    struct hr_micro tile = {.K = K, .a_step = ROWS, .b = memory, .b_stride = columns};
    double best = 0;
    tile.rows = ROWS;
    tile.columns = tile.c_stride = columns;
    tile.c = a + K * ROWS;
    for (size_t i = 0; i < ROWS; i++)
        tile.a[i] = a + i;
    for (int try = 0; try < TRIES; try++) {
        const double began = processor_ns();
        for (int i = 0; i < TIMES; i++)
            hr_tiles()->tile(&tile);
        best = fmax(best, 2.0 * ROWS * (double)columns * K * TIMES / (processor_ns() - began));
    }
    return best;
}

/* ns a product */
static double run(void (*multiply)(const struct hr_gemm *), const struct hr_gemm *g)
{
    const double madds = (double)g->M * (double)g->N * (double)g->K;
    const size_t times = 1 + (size_t)(NS_A_ROUND * 45.0 / madds);
    const double began = processor_ns();
    for (size_t i = 0; i < times; i++)
        multiply(g);
    return (processor_ns() - began) / (double)times;
}

struct tally {
    size_t rounds, n;
    double least, log_sum;
    double big, fma; /* GFLOP/s of OpenBLAS's 1024^3 and of the tile, as last measured */
};

static void measure_limits(struct tally *tally)
{
    double big[MOST_ROUNDS], fma[MOST_ROUNDS];
    static float *a, *b, *c;
    if (!a)
        a = numbers(SIDE * SIDE), b = numbers(SIDE * SIDE), c = numbers(SIDE * SIDE);
    const struct hr_gemm cube = {.M = SIDE, .N = SIDE, .K = SIDE, .a = a, .b = b, .c = c};
    for (size_t r = 0; r < tally->rounds; r++) {
        big[r] = 2.0 * SIDE * SIDE * SIDE / run(theirs, &cube);
        fma[r] = peak();
    }
    tally->big = median(big, tally->rounds);
    tally->fma = median(fma, tally->rounds);
}

static void measure(struct tally *tally, const char *name, const struct hr_gemm *g)
{
    double own[MOST_ROUNDS], blas[MOST_ROUNDS];
    const double flops = 2.0 * (double)g->M * (double)g->N * (double)g->K;
    ours(g);
    theirs(g);
    for (size_t r = 0; r < tally->rounds; r++) {
        if (r % 2)
            own[r] = run(ours, g);
        blas[r] = run(theirs, g);
        if (r % 2 == 0)
            own[r] = run(ours, g);
    }
    const double own_ns = median(own, tally->rounds), blas_ns = median(blas, tally->rounds);
    const double ratio = blas_ns / own_ns;
    printf(
        "{\"layer\": \"%s\", \"form\": \"%s\", \"M\": %zu, \"N\": %zu, \"K\": %zu, \"ours\": %.1f, "
        "\"openblas\": %.1f, \"core\": \"%s\", \"openblas_1024\": %.1f, \"fma_peak\": %.1f, "
        "\"ratio\": %.3f}\n",
        name, form_names[g->form], g->M, g->N, g->K, flops / own_ns, flops / blas_ns,
        openblas_get_corename(), tally->big, tally->fma, ratio);
    fflush(stdout);
    tally->least = fmin(tally->least, ratio);
    tally->log_sum += log(ratio);
    tally->n++;
}

static void measure_layer(struct tally *tally, const struct layer *layer, size_t B)
{
    const size_t I = layer->in, O = layer->out, widest = I > O ? I : O;
    const size_t bytes = hr_gemm_scratch_bytes(widest > B ? widest : B, 1);
    float *x = numbers(B * I), *w = numbers(O * I), *y = numbers(B * O), *scratch = numbers(bytes);
    struct hr_gemm g = {.form = HR_GEMM_NT, .M = B, .N = O, .K = I, .a = x, .b = w, .c = y};
    g.scratch = scratch;
    g.threads = 1;
    measure_limits(tally);
    measure(tally, layer->name, &g);
    g.form = HR_GEMM_TN, g.M = O, g.N = I, g.K = B, g.a = y, g.b = x, g.c = w;
    measure(tally, layer->name, &g);
    g.form = HR_GEMM_NN, g.M = B, g.K = O, g.b = w, g.c = x;
    if (!layer->first)
        measure(tally, layer->name, &g);
    free(x), free(w), free(y), free(scratch);
}

static void measure_shape(struct tally *tally, const char *text, size_t M, size_t N, size_t K)
{
    static const enum hr_gemm_form forms[] = {HR_GEMM_NN, HR_GEMM_NT, HR_GEMM_TN};
    float *a = numbers(M * K), *b = numbers(K * N), *c = numbers(M * N);
    float *scratch = numbers(hr_gemm_scratch_bytes(K, 1));
    struct hr_gemm g = {.M = M, .N = N, .K = K, .a = a, .b = b, .c = c};
    g.scratch = scratch;
    g.threads = 1;
    measure_limits(tally);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        g.form = forms[i];
        measure(tally, text, &g);
    }
    free(a), free(b), free(c), free(scratch);
}

int main(int argc, char **argv)
{
    struct tally tally = {.least = INFINITY};
    if (argc == 3)
        tally.rounds = strtoul(argv[1], NULL, 10);
    if (tally.rounds < 1 || tally.rounds > MOST_ROUNDS ||
        hr_kernels_select(HR_KERNELS_FAST) != HR_OK) {
        fprintf(stderr, "gemm_shapes ROUNDS BATCH,...|MxNxK,...    at most %d rounds\n",
                MOST_ROUNDS);
        return 2;
    }
    for (char *at = strtok(argv[2], ","); at; at = strtok(NULL, ",")) {
        size_t M, N, K;
        if (sscanf(at, "%zux%zux%zu", &M, &N, &K) == 3 && M && N && K) {
            measure_shape(&tally, at, M, N, K);
            continue;
        }
        const size_t B = strtoul(at, NULL, 10);
        for (size_t i = 0; B && i < sizeof layers / sizeof *layers; i++)
            measure_layer(&tally, &layers[i], B);
    }
    printf("{\"products\": %zu, \"least\": %.3f, \"geomean\": %.3f}\n", tally.n, tally.least,
           exp(tally.log_sum / (double)tally.n));
    return 0;
}
