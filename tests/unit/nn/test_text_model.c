/* Language models against a twin in double precision, whose gradients are differences of its loss;
 * repeats; and how such a model begins. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "nn/layer.h"
#include "products/ready.h"
#include "support/check.h"

enum { T = 5, B = 3, TEXT = 64, MAX_PARAMS = 2000, MAX_ELEMS = T * 24 };

struct net {
    const char *list;
    size_t tokens;
};
static const struct net nets[] = {
    {"embedding 6, position, repeat 2 (residual (layernorm, attention 2), residual (layernorm, "
     "dense 10, gelu, dense 6)), layernorm, tied",
     7},
    {"embedding 4, attention 1, relu, dense 9", 9},
    {"embedding 8, position, layernorm, tied", 5},
    {"embedding 6, residual (attention 3), dense 24, tanh, layernorm, dense 17", 17},
};
enum { NNETS = sizeof nets / sizeof *nets };

struct rig {
    const struct net *net;
    uint8_t ids[TEXT];
    struct hr_tokens text;
    struct hr_model *model;
    struct hr_workspace *workspace;
    size_t nparams;
    float params[MAX_PARAMS], grads[MAX_PARAMS];
    double twin[MAX_PARAMS];
    double y[HR_MODEL_MAX_LAYERS][MAX_ELEMS]; /* of a sample, each layer's (T,width) */
};

static void rig_init(struct rig *rig, const struct net *net, enum hr_precision precision)
{
    rig->net = net;
    for (size_t i = 0; i < TEXT; i++)
        rig->ids[i] =
            (uint8_t)(hr_random_block(check_seed(), HR_STREAM_TEST, i, 0).v[0] % net->tokens);
    rig->text = (struct hr_tokens){.context = T, .count = TEXT, .width = 1, .ids = rig->ids};
    CHECK_OK(hr_model_build(&(struct hr_model_options){.description = net->list,
                                                       .input = {1, 1, T},
                                                       .classes = net->tokens,
                                                       .precision = precision,
                                                       .text = &rig->text},
                            &rig->model));
    CHECK_OK(hr_workspace_create(rig->model, B, NULL, &rig->workspace));
    rig->nparams = hr_model_param_count(rig->model);
    assert_true(rig->nparams <= MAX_PARAMS);
    for (size_t i = 0; i < rig->nparams; i++) {
        const uint32_t word = hr_random_block(check_seed(), HR_STREAM_TEST, i, 1).v[0];
        rig->twin[i] = rig->params[i] = hr_random_unit(word) - 0.4f;
    }
    for (size_t b = 0; b < B; b++) {
        const size_t first = b * 13;
        hr_workspace_labels(rig->workspace)[b] = (uint32_t)first;
        for (size_t t = 0; t < T; t++)
            hr_workspace_input(rig->workspace)[b * T + t] = rig->ids[first + t];
    }
}

static void rig_fini(struct rig *rig)
{
    hr_workspace_destroy(rig->workspace);
    hr_model_destroy(rig->model);
}

/* --- the twin --- */

static void linear(size_t I, size_t O, const double *x, const double *w, const double *bias,
                   double *y)
{
    for (size_t t = 0; t < T; t++)
        for (size_t o = 0; o < O; o++) {
            double sum = bias ? bias[o] : 0;
            for (size_t i = 0; i < I; i++)
                sum += x[t * I + i] * w[o * I + i];
            y[t * O + o] = sum;
        }
}

static void attend(size_t D, size_t H, const double *x, const double *w, double *y)
{
    double q[MAX_ELEMS], k[MAX_ELEMS], v[MAX_ELEMS], o[MAX_ELEMS] = {0};
    const double *bias = w + 3 * D * D, *output = bias + 3 * D;
    const size_t d = D / H;
    linear(D, D, x, w, bias, q);
    linear(D, D, x, w + D * D, bias + D, k);
    linear(D, D, x, w + 2 * D * D, bias + 2 * D, v);
    for (size_t h = 0; h < H; h++)
        for (size_t i = 0; i < T; i++) {
            double p[T], sum = 0;
            for (size_t j = 0; j <= i; j++) {
                double s = 0;
                for (size_t c = h * d; c < (h + 1) * d; c++)
                    s += q[i * D + c] * k[j * D + c];
                sum += p[j] = exp(s / sqrt((double)d));
            }
            for (size_t j = 0; j <= i; j++)
                for (size_t c = h * d; c < (h + 1) * d; c++)
                    o[i * D + c] += p[j] / sum * v[j * D + c];
        }
    linear(D, D, o, output, output + D * D, y);
}

static void normalise(size_t D, const double *x, const double *w, double *y)
{
    for (size_t t = 0; t < T; t++) {
        double mean = 0, var = 0;
        for (size_t c = 0; c < D; c++)
            mean += x[t * D + c] / (double)D;
        for (size_t c = 0; c < D; c++)
            var += (x[t * D + c] - mean) * (x[t * D + c] - mean) / (double)D;
        for (size_t c = 0; c < D; c++)
            y[t * D + c] = (x[t * D + c] - mean) / sqrt(var + 1e-5) * w[c] + w[D + c];
    }
}

static void twin_layer(struct rig *rig, size_t i, const double *ids)
{
    struct hr_sources sources;
    const struct hr_layer *layer = hr_model_layer_at(rig->model, i, &sources);
    const char *name = layer->type->name;
    const double *x = sources.from[0] == HR_FROM_INPUT ? ids : rig->y[sources.from[0]];
    const double *w = rig->twin + layer->param_offset;
    const size_t I = layer->in.size[0], O = layer->out.size[0];
    double *y = rig->y[i];
    for (size_t e = 0; e < T * O; e++)
        if (!strcmp(name, "embedding"))
            y[e] = w[(size_t)ids[e / O] * O + e % O];
        else if (!strcmp(name, "position"))
            y[e] = x[e] + w[e];
        else if (!strcmp(name, "residual"))
            y[e] = x[e] + (sources.from[1] == HR_FROM_INPUT ? ids : rig->y[sources.from[1]])[e];
        else if (!strcmp(name, "gelu"))
            y[e] = x[e] * 0.5 * (1 + erf(x[e] / sqrt(2)));
        else if (!strcmp(name, "tanh"))
            y[e] = tanh(x[e]);
        else if (!strcmp(name, "relu"))
            y[e] = x[e] > 0 ? x[e] : 0;
    if (!strcmp(name, "dense"))
        linear(I, O, x, w, w + O * I, y);
    else if (!strcmp(name, "tied"))
        linear(I, O, x, rig->twin, NULL, y); /* the embedding is the first tensor */
    else if (!strcmp(name, "attention"))
        attend(I, layer->size[0], x, w, y);
    else if (!strcmp(name, "layernorm"))
        normalise(I, x, w, y);
}

static double twin_loss(struct rig *rig)
{
    const size_t n = hr_model_layer_count(rig->model), V = rig->net->tokens;
    double loss = 0;
    for (size_t b = 0; b < B; b++) {
        double ids[T];
        for (size_t t = 0; t < T; t++)
            ids[t] = rig->ids[b * 13 + t];
        for (size_t i = 0; i < n; i++)
            twin_layer(rig, i, ids);
        for (size_t t = 0; t < T; t++) {
            const double *x = rig->y[n - 1] + t * V;
            double sum = 0;
            for (size_t v = 0; v < V; v++)
                sum += exp(x[v]);
            loss += (log(sum) - x[rig->ids[b * 13 + t + 1]]) / T;
        }
    }
    return loss;
}

/* --- cases --- */

static void loss_and_gradients_are_the_twins(void **state)
{
    (void)state;
    const double h = 1e-5;
    struct rig *rig = calloc(1, sizeof *rig);
    for (size_t n = 0; n < NNETS; n++) {
        rig_init(rig, &nets[n], HR_PRECISION_FLOAT32);
        memset(rig->grads, 0xff, sizeof rig->grads);
        const struct hr_batch_result result =
            hr_model_gradient(rig->model, rig->workspace, rig->params, B, rig->grads);
        CHECK_NEAR(result.loss_sum, twin_loss(rig), 1e-5, 1e-5);
        double largest = 0;
        for (size_t i = 0; i < rig->nparams; i++)
            largest = fmax(largest, fabs((double)rig->grads[i]));
        for (size_t i = 0; i < rig->nparams; i++) {
            const double w = rig->twin[i];
            rig->twin[i] = w + h;
            const double above = twin_loss(rig);
            rig->twin[i] = w - h;
            const double slope = (above - twin_loss(rig)) / (2 * h);
            rig->twin[i] = w;
            CHECK_NEAR(rig->grads[i], slope, 0, 1e-5 * largest);
        }
        rig_fini(rig);
    }
    free(rig);
}

/* What a place gives depends on no token behind it. */
static void places_see_nothing_behind_them(void **state)
{
    (void)state;
    struct rig *rig = calloc(1, sizeof *rig);
    rig_init(rig, &nets[0], HR_PRECISION_FLOAT32);
    const size_t V = rig->net->tokens;
    float before[(T - 2) * 7];
    memcpy(before, hr_model_forward(rig->model, rig->workspace, rig->params, 1, false),
           sizeof before);
    float *x = hr_workspace_input(rig->workspace);
    x[T - 2] = x[T - 2] > 0 ? 0 : 1;
    x[T - 1] = x[T - 1] > 0 ? 0 : 1;
    const float *after = hr_model_forward(rig->model, rig->workspace, rig->params, 1, false);
    assert_memory_equal(before, after, sizeof before);
    assert_true(V == 7 && memcmp(before + (T - 3) * V, after + (T - 2) * V, V * sizeof *after));
    rig_fini(rig);
    free(rig);
}

/* A text that grows, one token at a time or several: the bits of all of it at once. */
static void a_text_goes_on_with_the_same_bits(void **state)
{
    (void)state;
    static const size_t ends[][T] = {{1, 2, 3, 4, 5}, {3, 4, 5}, {2, 5}, {5}};
    struct rig *rig = calloc(1, sizeof *rig);
    float whole[MAX_ELEMS];
    for (size_t n = 0; n < 2 * NNETS; n++) {
        rig_init(rig, &nets[n / 2], n % 2 ? HR_PRECISION_BF16 : HR_PRECISION_FLOAT32);
        const size_t V = rig->net->tokens;
        memcpy(whole, hr_model_forward(rig->model, rig->workspace, rig->params, 1, false),
               T * V * sizeof *whole);
        for (size_t k = 0; k < sizeof ends / sizeof *ends; k++)
            for (size_t i = 0, first = 0; first < T; first = ends[k][i++]) {
                const size_t end = ends[k][i];
                const float *next =
                    hr_model_go_on(rig->model, rig->workspace, rig->params, first, end);
                assert_memory_equal(next, whole + (end - 1) * V, V * sizeof *next);
            }
        rig_fini(rig);
    }
    free(rig);
}

/* As GPT-2: weights of deviation 0.02, what ends a residual block less, biases 0, scales 1. */
static void tied_models_begin_as_gpt2(void **state)
{
    (void)state;
    static const uint8_t ids[300];
    const struct hr_tokens text = {.context = 128, .count = 300, .width = 1, .ids = ids};
    struct hr_model *model;
    CHECK_OK(hr_model_build(
        &(struct hr_model_options){
            .description = "gpt-nano", .input = {1, 1, 128}, .classes = 256, .text = &text},
        &model));
    const size_t n = hr_model_param_count(model);
    assert_in_range(n, 90000, 130000);
    float *params = malloc(n * sizeof *params);
    hr_model_init(model, 7, params);
    for (size_t t = 0; t < hr_model_tensor_count(model); t++) {
        const struct hr_tensor_info *info = hr_model_tensor(model, t);
        const bool ends =
            strstr(info->name, "output.weight") || strstr(info->name, "body.3.weight");
        double sum = 0, squares = 0;
        for (size_t i = 0; i < info->count; i++) {
            const double w = (double)params[info->offset + i];
            sum += w;
            squares += w * w;
        }
        const double deviation = sqrt(squares / (double)info->count);
        if (info->ndim == 2)
            CHECK_NEAR(deviation, ends ? 0.01 : 0.02, 0, 1e-3);
        else
            CHECK_NEAR(sum / (double)info->count, strstr(info->name, ".weight") ? 1 : 0, 0, 1e-6);
    }
    free(params);
    hr_model_destroy(model);
}

static void refuses(const char *list, bool text, const char *word)
{
    static const uint8_t ids[40];
    const struct hr_tokens tokens = {.context = T, .count = 40, .width = 1, .ids = ids};
    struct hr_model *model;
    assert_int_equal(hr_model_build(&(struct hr_model_options){.description = list,
                                                               .input = {1, 1, T},
                                                               .classes = 7,
                                                               .text = text ? &tokens : NULL},
                                    &model),
                     HR_E_USAGE);
    if (!strstr(hr_error_message(), word))
        fail_msg("%s: %s", list, hr_error_message());
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    refuses("embedding 8, tied", false, "no text");
    refuses("position, dense 7", true, "sequence");
    refuses("embedding 6, attention 4, tied", true, "divisor");
    refuses("embedding 6, dense 8, tied", true, "width");
    refuses("embedding 6, dense 8", true, "expected 7");
    refuses("embedding 6, flatten, dense 7", true, "(5, 7)");
    refuses("relu, embedding 8, tied", true, "first layer");
    refuses("embedding 8, groupnorm 2, tied", true, "layernorm");
    refuses("embedding 8, batchnorm, tied", true, "layernorm");
    refuses("tied", true, "before it");
    refuses("embedding 7, tied, tied", true, "another layer");
    refuses("embedding 6, repeat 0 (relu), tied", true, "repeat");
    refuses("embedding 6, repeat 3 relu, tied", true, "repeat");
    refuses("embedding 6, repeat 3 (relu, tied", true, "repeat");
    refuses("embedding 6, repeat 256 (repeat 256 (relu)), tied", true, "4095");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loss_and_gradients_are_the_twins),
        cmocka_unit_test(places_see_nothing_behind_them),
        cmocka_unit_test(a_text_goes_on_with_the_same_bits),
        cmocka_unit_test(tied_models_begin_as_gpt2),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    CHECK_OK(hr_kernels_init_process(1));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
