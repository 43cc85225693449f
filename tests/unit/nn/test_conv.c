/* Convolutions and pools, layer by layer, against their twin (conv_twin.h): whole numbers, so that
 * sums are exact in any order and equality is too. */
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "unit/nn/conv_twin.h"
#include "kernels/select.h"
#include "nn/layer.h"
#include "nn/planes.h"
#include "support/check.h"

enum { MAX_B = 3, MAX_ELEMS = 8192, MAX_LAYERS = 3 };

/* Layers one behind the other on one batch, with memory of their own. */
struct chain {
    size_t nlayers, B, threads;
    struct hr_layer layers[MAX_LAYERS];
    struct hr_dims in, out;
    float *params, *grads;    /* of the first layer, the only one that has some */
    float *y[MAX_LAYERS + 1]; /* y[0]: the input */
    float *d[MAX_LAYERS + 1]; /* their gradients */
    void *saved[MAX_LAYERS];
    void *scratch;
};

static void *zeros(size_t bytes)
{
    void *at = calloc(1, bytes + 64);
    assert_non_null(at);
    return at;
}

static size_t param_count(const struct hr_layer *layer)
{
    size_t sum = 0;
    for (size_t t = 0; t < layer->ntensors; t++) {
        size_t count = 1;
        for (size_t d = 0; d < layer->tensors[t].ndim; d++)
            count *= layer->tensors[t].shape[d];
        sum += count;
    }
    return sum;
}

static void parse_layer(const char *text, const struct hr_dims *in, struct hr_layer *out)
{
    struct hr_model_text cut;
    CHECK_OK(hr_model_text_parse(text, 10, &cut));
    CHECK_OK(hr_layer_parse(&cut.layers[0], false, out));
    hr_model_text_fini(&cut);
    out->in = *in;
    CHECK_OK(out->type->fit(out));
}

/* Whether a layer does the work of those behind it, and with how many threads. */
struct how {
    size_t threads;
    bool relu_follows;
    size_t absorbs;
};

static void take_memory(struct chain *chain)
{
    size_t scratch = 0;
    chain->y[0] = zeros(MAX_B * hr_dims_elems(&chain->in) * sizeof(float));
    chain->d[0] = zeros(MAX_B * hr_dims_elems(&chain->in) * sizeof(float));
    for (size_t i = 0; i < chain->nlayers; i++) {
        const struct hr_layer *layer = &chain->layers[i];
        const struct hr_layer_type *type = layer->type;
        const size_t bytes = MAX_B * hr_dims_elems(&layer->out) * sizeof(float);
        chain->y[i + 1] = zeros(bytes);
        chain->d[i + 1] = zeros(bytes);
        chain->saved[i] = zeros(type->saved_bytes ? type->saved_bytes(layer, MAX_B) : 0);
        const size_t need =
            type->scratch_bytes ? type->scratch_bytes(layer, MAX_B, chain->threads) : 0;
        scratch = need > scratch ? need : scratch;
    }
    chain->scratch = zeros(scratch);
    memset(chain->scratch, 0x7f, scratch); /* nobody may rely on what is there */
    chain->params = zeros(param_count(&chain->layers[0]) * sizeof(float));
    chain->grads = zeros(param_count(&chain->layers[0]) * sizeof(float));
    memset(chain->grads, 0xff, param_count(&chain->layers[0]) * sizeof(float));
}

static void chain_init(struct chain *chain, const char *const *texts, const struct hr_dims *in,
                       const struct how *how)
{
    *chain = (struct chain){.in = *in, .threads = how->threads};
    const struct hr_dims *dims = in;
    for (; texts[chain->nlayers]; dims = &chain->layers[chain->nlayers++].out)
        parse_layer(texts[chain->nlayers], dims, &chain->layers[chain->nlayers]);
    chain->out = *dims;
    chain->layers[0].relu_follows = how->relu_follows;
    chain->layers[0].absorbs = how->absorbs;
    take_memory(chain);
}

static void chain_fini(struct chain *chain)
{
    for (size_t i = 0; i <= chain->nlayers; i++) {
        free(chain->y[i]);
        free(chain->d[i]);
        if (i < chain->nlayers)
            free(chain->saved[i]);
    }
    free(chain->scratch);
    free(chain->params);
    free(chain->grads);
}

/* Forward, and backward from d[nlayers]. */
static void chain_run(struct chain *chain, size_t B, bool training)
{
    struct hr_pass passes[MAX_LAYERS];
    const size_t step = chain->layers[0].absorbs + 1;
    for (size_t i = 0; i < chain->nlayers; i += step) {
        passes[i] = (struct hr_pass){.B = B,
                                     .params = chain->params,
                                     .grads = chain->grads,
                                     .x = chain->y[i],
                                     .y = chain->y[i + step],
                                     .dy = chain->d[i + step],
                                     .dx = chain->d[i],
                                     .saved = training ? chain->saved[i] : NULL,
                                     .scratch = chain->scratch,
                                     .threads = chain->threads};
        chain->layers[i].type->forward(&chain->layers[i], &passes[i]);
    }
    for (size_t i = chain->nlayers; training && i > 0; i -= step)
        chain->layers[i - step].type->backward(&chain->layers[i - step], &passes[i - step]);
}

static float whole_number(size_t i, uint32_t what)
{
    return (float)(hr_random_block(check_seed(), HR_STREAM_TEST, i, what).v[0] % 9) - 4;
}

static float real_number(size_t i, uint32_t what)
{
    return hr_random_unit(hr_random_block(check_seed(), HR_STREAM_TEST, i, what).v[0]) - 0.5f;
}

static void fill(struct chain *chain, float (*number)(size_t i, uint32_t what))
{
    for (size_t i = 0; i < MAX_B * hr_dims_elems(&chain->in); i++)
        chain->y[0][i] = number(i, 0);
    for (size_t i = 0; i < param_count(&chain->layers[0]); i++)
        chain->params[i] = number(i, 1);
    for (size_t i = 0; i < MAX_B * hr_dims_elems(&chain->out); i++)
        chain->d[chain->nlayers][i] = number(i, 2);
}

/* --- against the twin --- */

static void to_planes(const struct hr_dims *dims, const float *from, double *to)
{
    float planes[MAX_ELEMS];
    const size_t elems = hr_dims_elems(dims);
    assert_true(elems <= MAX_ELEMS);
    hr_pixels_to_planes(1, dims->size[0], elems / dims->size[0], from, planes);
    for (size_t i = 0; i < elems; i++)
        to[i] = (double)planes[i];
}

/* `want` in PyTorch's order and double, against an image of ours. Only means are rounded. */
static void check_image(const struct hr_dims *dims, const double *want, const float *got,
                        double bound)
{
    double planes[MAX_ELEMS];
    to_planes(dims, got, planes);
    for (size_t i = 0; i < hr_dims_elems(dims); i++)
        CHECK_NEAR(planes[i], want[i], 0, bound);
}

static void check_against_twin(struct chain *chain, const struct conv_twin *twin, size_t B)
{
    static double x[MAX_ELEMS], y[MAX_ELEMS], dx[MAX_ELEMS], dy[MAX_ELEMS];
    const size_t nparams = param_count(&chain->layers[0]);
    const double bound = twin->kind == 'a' ? 2e-6 : 0;
    double *params = zeros(nparams * sizeof *params), *grads = zeros(nparams * sizeof *grads);
    assert_int_equal(nparams, conv_twin_params(twin));
    for (size_t i = 0; i < nparams; i++)
        params[i] = (double)chain->params[i];
    for (size_t b = 0; b < B; b++) {
        const size_t in = hr_dims_elems(&chain->in), out = hr_dims_elems(&chain->out);
        to_planes(&chain->in, chain->y[0] + b * in, x);
        to_planes(&chain->out, chain->d[1] + b * out, dy);
        conv_twin_forward(twin, params, x, y);
        check_image(&chain->out, y, chain->y[1] + b * out, bound);
        memset(dx, 0, sizeof dx);
        conv_twin_backward(
            twin, &(struct conv_arrays){
                      .params = params, .x = x, .y = y, .dy = dy, .dx = dx, .grads = grads});
        check_image(&chain->in, dx, chain->d[0] + b * in, bound);
    }
    for (size_t i = 0; i < nparams; i++)
        CHECK_NEAR((double)chain->grads[i], grads[i], 0, 0);
    free(params);
    free(grads);
}

struct sweep {
    const char *text;
    size_t C, H, W;
};

static const struct sweep sweeps[] = {
    {"conv 1 1x1", 1, 1, 1},
    {"conv 3 1x1", 2, 5, 7},
    {"conv 16 1x1 stride 2", 5, 6, 7},
    {"conv 17 3x3 pad 1", 3, 7, 5},
    {"conv 32 3x3 pad 1", 8, 6, 6},
    {"conv 5 3x3", 1, 9, 8},
    {"conv 6 5x5 pad 2", 1, 11, 13},
    {"conv 4 5x5", 3, 5, 5},
    {"conv 7 2x3", 2, 4, 6},
    {"conv 8 3x2 pad 1 stride 2", 3, 7, 8},
    {"conv 3 3x3 stride 3 pad 2", 4, 10, 11},
    {"conv 3 3x3 pad 1", 2, 24, 25},
    {"conv 5 3x3 stride 2 pad 1", 4, 8, 8},
    {"conv 2 1x1 stride 3 pad 1", 2, 5, 4},
    {"conv 3 2x2 stride 3", 2, 8, 7},
    {"conv 4 3x3 pad 3", 2, 3, 4},
    {"conv 4 3x3 dilation 2 pad 2", 3, 7, 6},
    {"conv 4 3x3 dilation 2 stride 2 pad 1", 2, 9, 8},
    {"conv 3 2x3 dilation 3 stride 2", 2, 8, 11},
    {"conv 6 3x3 pad 1 groups 2", 4, 5, 6},
    {"conv 32 3x3 stride 2 pad 1 groups 2", 6, 5, 6},
    {"conv 7 3x3 pad 1 groups 7", 7, 5, 4},
    {"conv 10 3x3 stride 2 groups 5", 5, 7, 7},
    {"conv 16 3x3 pad 1", 16, 6, 18},
    {"conv 6 5x5 pad 2", 3, 12, 20},
    {"conv 8 3x3 stride 2 pad 1", 6, 11, 23},
    {"maxpool 1", 3, 4, 5},
    {"maxpool 2", 5, 6, 8},
    {"maxpool 2", 33, 7, 5},
    {"maxpool 3 stride 2", 4, 8, 9},
    {"maxpool 3 stride 2 pad 1", 4, 8, 7},
    {"maxpool 3 stride 1 pad 1", 1, 5, 5},
    {"maxpool 2 stride 3", 2, 8, 8},
    {"maxpool 2x3 stride 2 pad 1", 3, 6, 7},
    {"avgpool 2", 5, 6, 8},
    {"avgpool 3", 2, 8, 7},
    {"avgpool 3 stride 2 pad 1", 17, 8, 7},
    {"avgpool 2 stride 3", 2, 7, 7},
    {"avgpool 4x1 stride 1", 3, 5, 6},
    {"globalavgpool", 19, 4, 5},
    {"globalavgpool", 2, 1, 1},
};
enum { NSWEEPS = sizeof sweeps / sizeof *sweeps };

static void check_layer(const struct sweep *sweep, size_t B, size_t threads)
{
    struct chain chain;
    const struct how how = {.threads = threads};
    const char *const texts[] = {sweep->text, NULL};
    const struct hr_dims in = {.ndim = 3, .size = {sweep->C, sweep->H, sweep->W}};
    const struct conv_twin twin = conv_twin_of(sweep->text, sweep->C, sweep->H, sweep->W);
    chain_init(&chain, texts, &in, &how);
    assert_int_equal(chain.out.size[0], twin.O);
    assert_int_equal(chain.out.size[1], twin.OH);
    assert_int_equal(chain.out.size[2], twin.OW);
    fill(&chain, whole_number);
    chain_run(&chain, B, true);
    check_against_twin(&chain, &twin, B);
    chain_fini(&chain);
}

static void layers_agree_with_their_twin_for_every_shape(void **state)
{
    (void)state;
    static const size_t batches[] = {0, 1, 3};
    for (size_t s = 0; s < NSWEEPS; s++)
        for (size_t b = 0; b < 3; b++)
            check_layer(&sweeps[s], batches[b], 1 + (s + b) % 3);
}

static void reference_kernels_agree_too(void **state)
{
    (void)state;
    CHECK_OK(hr_kernels_select(HR_KERNELS_REFERENCE));
    for (size_t s = 0; s < NSWEEPS; s++)
        check_layer(&sweeps[s], 2, 1);
#ifndef HR_NO_BLAS
    CHECK_OK(hr_kernels_select(HR_KERNELS_FAST));
#endif
}

/* --- bits --- */

static void check_same_results(const struct chain *a, const struct chain *b, size_t B)
{
    CHECK_SAME_FLOATS(a->y[a->nlayers], b->y[b->nlayers], B * hr_dims_elems(&a->out));
    CHECK_SAME_FLOATS(a->d[0], b->d[0], B * hr_dims_elems(&a->in));
    CHECK_SAME_FLOATS(a->grads, b->grads, param_count(&a->layers[0]));
}

static void threads_change_no_bit(void **state)
{
    (void)state;
    for (size_t s = 0; s < NSWEEPS; s++) {
        struct chain alone, team;
        const char *const texts[] = {sweeps[s].text, NULL};
        const struct hr_dims in = {.ndim = 3, .size = {sweeps[s].C, sweeps[s].H, sweeps[s].W}};
        chain_init(&alone, texts, &in, &(struct how){.threads = 1});
        fill(&alone, real_number);
        chain_run(&alone, MAX_B, true);
        for (size_t threads = 2; threads <= 3; threads++) {
            chain_init(&team, texts, &in, &(struct how){.threads = threads});
            fill(&team, real_number);
            chain_run(&team, MAX_B, true);
            check_same_results(&alone, &team, MAX_B);
            chain_fini(&team);
        }
        chain_fini(&alone);
    }
}

/* Pools behind a convolution, alone and behind a relu. */
static void check_fused(const char *const *texts, const struct hr_dims *in)
{
    struct chain apart, fused, evaluated;
    const bool relu = texts[2] != NULL;
    const struct how one = {.threads = 2, .relu_follows = relu, .absorbs = relu ? 2 : 1};
    chain_init(&apart, texts, in, &(struct how){.threads = 1});
    chain_init(&fused, texts, in, &one);
    chain_init(&evaluated, texts, in, &one);
    fill(&apart, real_number);
    fill(&fused, real_number);
    fill(&evaluated, real_number);
    chain_run(&apart, MAX_B, true);
    chain_run(&fused, MAX_B, true);
    chain_run(&evaluated, MAX_B, false);
    check_same_results(&apart, &fused, MAX_B);
    CHECK_SAME_FLOATS(evaluated.y[evaluated.nlayers], fused.y[fused.nlayers],
                      MAX_B * hr_dims_elems(&fused.out));
    chain_fini(&apart);
    chain_fini(&fused);
    chain_fini(&evaluated);
}

static void a_pool_done_by_the_convolution_gives_the_same_bits(void **state)
{
    (void)state;
    static const char *const convs[] = {"conv 5 3x3 pad 1", "conv 16 3x3 stride 2", "conv 4 1x1",
                                        "conv 6 3x3 groups 2 pad 2"};
    static const char *const pools[] = {"maxpool 2", "maxpool 3 stride 2 pad 1",
                                        "maxpool 2 stride 3"};
    const struct hr_dims in = {.ndim = 3, .size = {4, 13, 12}};
    for (size_t i = 0; i < 12; i++) {
        check_fused((const char *const[]){convs[i / 3], "relu", pools[i % 3], NULL}, &in);
        check_fused((const char *const[]){convs[i / 3], pools[i % 3], NULL}, &in);
    }
}

static void a_convolution_that_is_not_asked_for_dx_gives_the_same_weights_gradient(void **state)
{
    (void)state;
    struct chain chain;
    const char *const texts[] = {"conv 5 3x3", NULL};
    const struct hr_dims in = {.ndim = 3, .size = {2, 6, 6}};
    chain_init(&chain, texts, &in, &(struct how){.threads = 1});
    fill(&chain, whole_number);
    free(chain.d[0]);
    chain.d[0] = NULL;
    chain_run(&chain, MAX_B, true);
    chain.d[0] = zeros(MAX_B * hr_dims_elems(&in) * sizeof(float));
    float want[95];
    memcpy(want, chain.grads, sizeof want);
    chain_run(&chain, MAX_B, true);
    CHECK_SAME_FLOATS(chain.grads, want, 95);
    chain_fini(&chain);
}

static void pools_pass_on_what_is_no_number(void **state)
{
    (void)state;
    struct chain chain;
    const char *const texts[] = {"maxpool 2", NULL};
    const struct hr_dims in = {.ndim = 3, .size = {1, 2, 4}};
    chain_init(&chain, texts, &in, &(struct how){.threads = 1});
    const float x[] = {1, NAN, 3, 4, 5, 6, 7, NAN};
    memcpy(chain.y[0], x, sizeof x);
    chain.d[1][0] = 10;
    chain.d[1][1] = 20;
    chain_run(&chain, 1, true);
    assert_true(isnan(chain.y[1][0]) && isnan(chain.y[1][1]));
    assert_true(chain.d[0][1] == 10 && chain.d[0][7] == 20 && chain.d[0][5] == 0);
    chain_fini(&chain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_agree_with_their_twin_for_every_shape),
        cmocka_unit_test(reference_kernels_agree_too),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(a_pool_done_by_the_convolution_gives_the_same_bits),
        cmocka_unit_test(a_convolution_that_is_not_asked_for_dx_gives_the_same_weights_gradient),
        cmocka_unit_test(pools_pass_on_what_is_no_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
