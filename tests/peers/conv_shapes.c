/* conv_shapes.c - how fast convolutions run: GFLOP/s of each pass of each shape, and of the whole
 * gradient of the built-in models, as a share of what OpenBLAS's sgemm of 1024^3 reaches in the same
 * rounds. One thread, processor time, so that others on the machine disturb less.
 *
 *     make && cc -O2 -D_GNU_SOURCE -Isrc -Iinclude $(pkg-config --cflags openblas) tests/peers/conv_shapes.c build/libhogring.a -fopenmp \
 *       $(pkg-config --libs openblas zlib jansson libxxhash inih) -lm -o build/conv_shapes
 *     build/conv_shapes [rounds [batch]]
 *
 * conv_shapes.py beside it runs PyTorch's on the same shapes, and prints both.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cblas.h>

#include "nn/model.h"
#include "products/ready.h"
#include "nn/layer.h"
#include "tiles/micro.h"

enum { N = 1024, MAX_ROUNDS = 101 };

static const struct shape {
    const char *model, *text;
    size_t C, H, W;
    const char *pool; /* behind it and a relu, or NULL */
} shapes[] = {
    {"cnn", "conv 32 3x3 pad 1", 1, 28, 28, "maxpool 2"},
    {"cnn", "conv 64 3x3 pad 1", 32, 14, 14, "maxpool 2"},
    {"lenet", "conv 6 5x5 pad 2", 1, 28, 28, "maxpool 2"},
    {"lenet", "conv 16 5x5", 6, 14, 14, "maxpool 2"},
    {"plain", "conv 32 3x3 pad 1", 1, 28, 28, NULL},
    {"plain", "conv 64 3x3 pad 1", 32, 14, 14, NULL},
    {"vgg", "conv 32 3x3 pad 1", 3, 32, 32, NULL},
    {"vgg", "conv 32 3x3 pad 1", 32, 32, 32, NULL},
    {"vgg", "conv 64 3x3 pad 1", 64, 16, 16, NULL},
    {"vgg", "conv 128 3x3 pad 1", 128, 8, 8, NULL},
    {"resnet", "conv 32 3x3 stride 2 pad 1", 16, 32, 32, NULL},
    {"resnet", "conv 64 1x1 stride 2", 32, 16, 16, NULL},
};
enum { NSHAPES = sizeof shapes / sizeof *shapes };

struct bench {
    struct hr_layer layers[3];
    struct hr_pass pass;
    double flops;
    double seconds[3][MAX_ROUNDS]; /* forward, data, weights */
};

static void *floats(size_t count, size_t size)
{
    float *at = aligned_alloc(64, (count * size + 127) / 64 * 64);
    memset(at, 0, (count * size + 127) / 64 * 64);
    for (size_t i = 0; size == sizeof *at && i < count; i++)
        at[i] = (float)((i * 2654435761u >> 16) % 1000) / 1000 - 0.5f;
    return at;
}

static void add_layer(struct bench *bench, size_t i, const char *text, struct hr_dims in)
{
    struct hr_model_text cut;
    if (hr_model_text_parse(text, 10, &cut) ||
        hr_layer_parse(&cut.layers[0], false, &bench->layers[i]))
        exit(1);
    bench->layers[i].in = in;
    if (bench->layers[i].type->fit(&bench->layers[i]))
        exit(1);
    hr_model_text_fini(&cut);
}

static void bench_init(struct bench *bench, const struct shape *shape, size_t B)
{
    struct hr_layer *layer = &bench->layers[0];
    add_layer(bench, 0, shape->text, (struct hr_dims){3, {shape->C, shape->H, shape->W}});
    if (shape->pool) {
        add_layer(bench, 1, "relu", layer->out);
        add_layer(bench, 2, shape->pool, layer->out);
        layer->relu_follows = true;
        layer->absorbs = 2;
    }
    const size_t params = layer->size[5] * (layer->fan_in + 1);
    const size_t in = hr_dims_elems(&layer->in), out = hr_dims_elems(&layer[layer->absorbs].out);
    bench->flops = 2 * layer->madds * (double)B;
    bench->pass = (struct hr_pass){.B = B,
                                   .params = floats(params, 4),
                                   .grads = floats(params, 4),
                                   .x = floats(B * in, 4),
                                   .y = floats(B * out, 4),
                                   .dy = floats(B * out, 4),
                                   .dx = floats(B * in, 4),
                                   .saved = floats(layer->type->saved_bytes(layer, B), 1),
                                   .scratch = floats(layer->type->scratch_bytes(layer, B, 1), 1),
                                   .threads = 1};
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Backward-data is what backward with dx takes more than without. */
static void bench_round(struct bench *bench, int round)
{
    const struct hr_layer *layer = &bench->layers[0];
    struct hr_pass without = bench->pass;
    without.dx = NULL;
    const double t0 = now();
    layer->type->forward(layer, &bench->pass);
    const double t1 = now();
    layer->type->backward(layer, &without);
    const double t2 = now();
    layer->type->backward(layer, &bench->pass);
    const double t3 = now();
    bench->seconds[0][round] = t1 - t0;
    bench->seconds[1][round] = (t3 - t2) - (t2 - t1);
    bench->seconds[2][round] = t2 - t1;
}

/* The gradient of a whole model. */
struct whole {
    const char *name;
    struct hr_model *model;
    struct hr_workspace *workspace;
    float *params, *grads;
    double seconds[MAX_ROUNDS];
};

static void whole_init(struct whole *whole, const char *name, size_t B)
{
    whole->name = name;
    if (hr_model_create(name, (struct hr_shape){1, 28, 28}, 10, &whole->model) ||
        hr_workspace_create(whole->model, B, NULL, &whole->workspace))
        exit(1);
    whole->params = floats(hr_model_param_count(whole->model), 4);
    whole->grads = floats(hr_model_param_count(whole->model), 4);
    hr_model_init(whole->model, 1, whole->params);
}

static void whole_round(struct whole *whole, size_t B, int round)
{
    float *x = hr_workspace_input(whole->workspace);
    for (size_t i = 0; i < B * 784; i++)
        x[i] = (float)(i * 2654435761u >> 16 & 255) / 255;
    const double t0 = now();
    hr_model_gradient(whole->model, whole->workspace, whole->params, B, whole->grads);
    whole->seconds[round] = now() - t0;
}

static double gemm_seconds(const float *a, const float *b, float *c)
{
    const double t0 = now();
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, N, N, N, 1, a, N, b, N, 0, c, N);
    return now() - t0;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, compare);
    return x[n / 2];
}

int main(int argc, char **argv)
{
    static struct bench benches[NSHAPES];
    static double gemm[MAX_ROUNDS];
    static struct whole wholes[3];
    static const char *const models[] = {"cnn", "lenet", "mlp"};
    const int rounds = argc > 1 ? atoi(argv[1]) : 7;
    const size_t B = argc > 2 ? (size_t)atoi(argv[2]) : 64;
    float *a = floats(N * N, 4), *b = floats(N * N, 4), *c = floats(N * N, 4);
    if (rounds < 1 || rounds > MAX_ROUNDS || hr_kernels_init_process(1) != HR_OK)
        return 1;
    for (size_t s = 0; s < NSHAPES; s++)
        bench_init(&benches[s], &shapes[s], B);
    for (size_t m = 0; m < 3; m++)
        whole_init(&wholes[m], models[m], B);
    for (int round = -1; round < rounds; round++) { /* the first is not counted */
        gemm[round < 0 ? 0 : round] = gemm_seconds(a, b, c);
        for (size_t s = 0; s < NSHAPES; s++)
            bench_round(&benches[s], round < 0 ? 0 : round);
        for (size_t m = 0; m < 3; m++)
            whole_round(&wholes[m], B, round < 0 ? 0 : round);
    }
    const double roof = 2.0 * N * N * N / median(gemm, rounds) * 1e-9;
    printf("sgemm 1024^3 %.1f GFLOP/s; batch %zu; GFLOP/s (share) of forward, backward-data, "
           "backward-weights; ms of each\n",
           roof, B);
    for (size_t s = 0; s < NSHAPES; s++) {
        char name[96];
        snprintf(name, sizeof name, "%s%s%s", shapes[s].text, shapes[s].pool ? ", relu, " : "",
                 shapes[s].pool ? shapes[s].pool : "");
        printf("%-7s (%zu,%zu,%zu) %-38s", shapes[s].model, shapes[s].C, shapes[s].H, shapes[s].W,
               name);
        double ms[3];
        for (int p = 0; p < 3; p++) {
            ms[p] = median(benches[s].seconds[p], rounds) * 1e3;
            const double rate = benches[s].flops / ms[p] * 1e-6;
            printf(" %6.1f (%.2f)", rate, rate / roof);
        }
        printf("  %7.3f %7.3f %7.3f\n", ms[0], ms[1], ms[2]);
    }
    for (size_t m = 0; m < 3; m++) {
        const double s = median(wholes[m].seconds, rounds);
        const double rate = 2 * hr_model_madds(wholes[m].model) * (double)B / s * 1e-9;
        printf("%-7s gradient: %8.3f ms, %8.0f samples/s, %6.1f GFLOP/s (%.3f)\n", wholes[m].name,
               s * 1e3, (double)B / s, rate, rate / roof);
    }
    return 0;
}
