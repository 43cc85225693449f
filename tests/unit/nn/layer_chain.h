/* layer_chain.h - layers one behind the other with memory of their own, run as a network runs them,
 * and compared with the naive twin of the first (conv_twin.h) or with one another.
 */
#ifndef HR_TESTS_NN_LAYER_CHAIN_H
#define HR_TESTS_NN_LAYER_CHAIN_H

#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "nn/layer.h"
#include "nn/planes.h"
#include "support/check.h"
#include "unit/nn/conv_twin.h"

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

static inline void *zeros(size_t bytes)
{
    void *at = calloc(1, bytes + 64);
    assert_non_null(at);
    return at;
}

static inline size_t param_count(const struct hr_layer *layer)
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

static inline void parse_layer(const char *text, const struct hr_dims *in, struct hr_layer *out)
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

static inline void take_memory(struct chain *chain)
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

static inline void chain_init(struct chain *chain, const char *const *texts,
                              const struct hr_dims *in, const struct how *how)
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

static inline void chain_fini(struct chain *chain)
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
static inline void chain_run(struct chain *chain, size_t B, bool training)
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

static inline float whole_number(size_t i, uint32_t what)
{
    return (float)(hr_random_block(check_seed(), HR_STREAM_TEST, i, what).v[0] % 9) - 4;
}

static inline float real_number(size_t i, uint32_t what)
{
    return hr_random_unit(hr_random_block(check_seed(), HR_STREAM_TEST, i, what).v[0]) - 0.5f;
}

static inline void fill(struct chain *chain, float (*number)(size_t i, uint32_t what))
{
    for (size_t i = 0; i < MAX_B * hr_dims_elems(&chain->in); i++)
        chain->y[0][i] = number(i, 0);
    for (size_t i = 0; i < param_count(&chain->layers[0]); i++)
        chain->params[i] = number(i, 1);
    for (size_t i = 0; i < MAX_B * hr_dims_elems(&chain->out); i++)
        chain->d[chain->nlayers][i] = number(i, 2);
}

/* --- against the twin --- */

static inline void to_planes(const struct hr_dims *dims, const float *from, double *to)
{
    float planes[MAX_ELEMS];
    const size_t elems = hr_dims_elems(dims);
    assert_true(elems <= MAX_ELEMS);
    hr_pixels_to_planes(1, dims->size[0], elems / dims->size[0], from, planes);
    for (size_t i = 0; i < elems; i++)
        to[i] = (double)planes[i];
}

/* `want` in PyTorch's order and double, against an image of ours. Only means are rounded. */
static inline void check_image(const struct hr_dims *dims, const double *want, const float *got,
                               double bound)
{
    double planes[MAX_ELEMS];
    to_planes(dims, got, planes);
    for (size_t i = 0; i < hr_dims_elems(dims); i++)
        CHECK_NEAR(planes[i], want[i], 0, bound);
}

static inline void check_against_twin(struct chain *chain, const struct conv_twin *twin, size_t B)
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

static inline void check_same_results(const struct chain *a, const struct chain *b, size_t B)
{
    CHECK_SAME_FLOATS(a->y[a->nlayers], b->y[b->nlayers], B * hr_dims_elems(&a->out));
    CHECK_SAME_FLOATS(a->d[0], b->d[0], B * hr_dims_elems(&a->in));
    CHECK_SAME_FLOATS(a->grads, b->grads, param_count(&a->layers[0]));
}

#endif
