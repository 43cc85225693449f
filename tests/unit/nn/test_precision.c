/* Models of bfloat16 values: what layers write and read are such values; gradients are those of
 * float32 to what rounding explains; the same bits for any threads and on every instruction set. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fpenv.h"
#include "base/isa.h"
#include "base/philox.h"
#include "kernels/bf16.h"
#include "nn/layer.h"
#include "support/check.h"

enum { B = 9 };

struct net {
    const char *list;
    struct hr_shape input;
    /* Relative error of the gradient, in roundings of 2^-9. At a bend of relu or between two of a
     * pool's a rounding changes who passes the gradient on: one of 500 is 1 / sqrt(500) of it. */
    double most;
};

static const struct net nets[] = {
    {"softmax", {1, 8, 8}, 2},
    {"mlp", {1, 8, 8}, 150},
    {"cnn", {1, 8, 8}, 150},
    {"lenet", {1, 16, 16}, 150},
    {"vgg-small", {3, 8, 8}, 250},
    {"resnet8", {3, 8, 8}, 250},
    {"flatten, dense 9, batchnorm, relu, dropout 0.5, dense 8, dropout 0.3, tanh, dense 10",
     {2, 3, 3},
     12},
    {"conv 4 3x3, sigmoid, batchnorm, conv 3 3x3, batchnorm, flatten, relu, flatten, gelu, dense "
     "10",
     {2, 6, 6},
     80},
    {"conv 4 3x3 groups 2 stride 2 pad 1, maxpool 2, batchnorm, avgpool 2, residual (conv 4 1x1) "
     "shortcut (conv 4 1x1, batchnorm), relu, globalavgpool, flatten, dense 10",
     {2, 9, 9},
     15},
    {"dropout 0.3, batchnorm, flatten, dense 5, residual (dense 5), tanh, residual (relu) shortcut "
     "(tanh), dense 10",
     {1, 1, 4},
     12},
    {"flatten, dense 40, gelu, dense 33, sigmoid, dense 10", {1, 4, 6}, 4},
    {"conv 5 3x3 pad 1, maxpool 3 stride 1, relu, maxpool 2, flatten, residual (dense 80), dense "
     "10",
     {3, 10, 10},
     6},
    {"conv 4 3x3 pad 1, batchnorm, maxpool 3 stride 2 pad 1, sigmoid, maxpool 2, flatten, dense 10",
     {2, 9, 9},
     30},
};
enum { NNETS = sizeof nets / sizeof *nets };

struct rig {
    struct hr_model *model;
    struct hr_workspace *workspace;
    size_t nparams;
    float *params, *grads;
    struct hr_batch_result result;
    size_t watched;
};

/* --- what layers meet --- */

static void check_values(const char *what, const struct hr_layer *layer, const float *x,
                         size_t count)
{
    for (size_t i = 0; x && i < count; i++)
        if (hr_bf16_bits(x[i]) != hr_bf16_round_bits(hr_bf16_bits(x[i]))) {
            print_error("layer %zu %s, %s: %a is no bfloat16 value\n", layer->index,
                        layer->type->name, what, (double)x[i]);
            fail();
        }
}

/* The input, or what flattens give of it: numbers as they came. */
static bool is_input(const struct hr_model *model, size_t from)
{
    struct hr_sources sources;
    return from == HR_FROM_INPUT ||
           (hr_model_layer_at(model, from, &sources)->type == &hr_layer_flatten &&
            is_input(model, sources.from[0]));
}

static void watch(void *arg, const struct hr_layer *layer, const struct hr_pass *pass,
                  bool backward)
{
    struct rig *rig = arg;
    struct hr_sources sources;
    hr_model_layer_at(rig->model, layer->index, &sources);
    rig->watched++;
    if (!is_input(rig->model, sources.from[0]) && !backward)
        check_values("x", layer, pass->x, pass->B * hr_dims_elems(&layer->in));
    if (sources.count > 1 && !is_input(rig->model, sources.from[1]) && !backward)
        check_values("x2", layer, pass->x2, pass->B * hr_dims_elems(&layer->in2));
    if (backward)
        check_values("dy", layer, pass->dy, pass->B * hr_dims_elems(&layer[layer->absorbs].out));
    (backward ? layer->type->backward : layer->type->forward)(layer, pass);
}

/* --- one gradient --- */

static void open_rig(struct rig *rig, const struct net *net, enum hr_precision precision,
                     size_t threads, bool watched)
{
    *rig = (struct rig){0};
    const struct hr_model_options model = {
        .description = net->list, .input = net->input, .classes = 10, .precision = precision};
    CHECK_OK(hr_model_build(&model, &rig->model));
    const struct hr_workspace_options options = {
        .threads = threads, .seed = 3, .watch = watched ? watch : NULL, .arg = rig};
    CHECK_OK(hr_workspace_create(rig->model, B, &options, &rig->workspace));
    rig->nparams = hr_model_param_count(rig->model);
    rig->params = calloc(rig->nparams, sizeof *rig->params);
    rig->grads = calloc(rig->nparams, sizeof *rig->grads);
    assert_true(rig->params && rig->grads);
    hr_model_init(rig->model, check_seed(), rig->params);
    float *x = hr_workspace_input(rig->workspace);
    for (size_t i = 0; i < B * hr_shape_elems(net->input); i++)
        x[i] = hr_random_unit(hr_random_block(check_seed(), HR_STREAM_TEST, i, 1).v[0]) - 0.4f;
    for (size_t b = 0; b < B; b++)
        hr_workspace_labels(rig->workspace)[b] = (uint32_t)(b * 7 % 10);
    rig->result = hr_model_gradient(rig->model, rig->workspace, rig->params, B, rig->grads);
}

static void close_rig(struct rig *rig)
{
    hr_workspace_destroy(rig->workspace);
    hr_model_destroy(rig->model);
    free(rig->params);
    free(rig->grads);
}

static int set_up(void **state)
{
    (void)state;
    hr_fp_flush_denormals(); /* as every thread that computes */
    return 0;
}

static void layers_write_and_read_bfloat16_values(void **state)
{
    (void)state;
    for (size_t n = 0; n < NNETS; n++) {
        struct rig rig;
        open_rig(&rig, &nets[n], HR_PRECISION_BF16, 1, true);
        assert_true(rig.watched >= 2);
        assert_int_equal(hr_model_precision(rig.model), HR_PRECISION_BF16);
        check_values("outputs", hr_model_layer_at(rig.model, 0, &(struct hr_sources){0}),
                     hr_workspace_outputs(rig.workspace), B * 10);
        check_values("their gradient", hr_model_layer_at(rig.model, 0, &(struct hr_sources){0}),
                     hr_workspace_output_grads(rig.workspace), B * 10);
        close_rig(&rig);
    }
}

static double relative_error(const float *got, const float *want, size_t count)
{
    double error = 0, norm = 0;
    for (size_t i = 0; i < count; i++) {
        error += ((double)got[i] - (double)want[i]) * ((double)got[i] - (double)want[i]);
        norm += (double)want[i] * (double)want[i];
    }
    return sqrt(error / norm);
}

static void gradients_are_those_of_float32_to_rounding(void **state)
{
    (void)state;
    for (size_t n = 0; n < NNETS; n++) {
        struct rig half, full;
        open_rig(&half, &nets[n], HR_PRECISION_BF16, 1, false);
        open_rig(&full, &nets[n], HR_PRECISION_FLOAT32, 1, false);
        const double error = 0x1p9 * relative_error(half.grads, full.grads, half.nparams);
        print_message("%.60s: gradient %.2f roundings, loss %.2g\n", nets[n].list, error,
                      half.result.loss_sum / full.result.loss_sum - 1);
        assert_true(error > 0.05 && error < nets[n].most);
        CHECK_NEAR(half.result.loss_sum, full.result.loss_sum, 0.02, 0);
        close_rig(&half);
        close_rig(&full);
    }
}

static void threads_change_no_bit(void **state)
{
    (void)state;
    for (size_t n = 0; n < NNETS; n++) {
        struct rig alone, shared;
        open_rig(&alone, &nets[n], HR_PRECISION_BF16, 1, false);
        open_rig(&shared, &nets[n], HR_PRECISION_BF16, 3, false);
        CHECK_SAME_FLOATS(shared.grads, alone.grads, alone.nparams);
        assert_true(shared.result.loss_sum == alone.result.loss_sum);
        close_rig(&alone);
        close_rig(&shared);
    }
}

static void names_are_read_back(void **state)
{
    (void)state;
    enum hr_precision precision;
    for (int p = HR_PRECISION_FLOAT32; p <= HR_PRECISION_BF16; p++) {
        CHECK_OK(hr_precision_parse(hr_precision_name((enum hr_precision)p), &precision));
        assert_int_equal(precision, p);
    }
    CHECK_FAILS(hr_precision_parse("half", &precision), HR_E_USAGE);
    CHECK_MESSAGE("expected float32 or bf16");
}

/* Levels are lowered one by one, so this is the last test. */
static void every_instruction_set_gives_the_same_bits(void **state)
{
    (void)state;
    struct rig best[NNETS];
    for (size_t n = 0; n < NNETS; n++)
        open_rig(&best[n], &nets[n], HR_PRECISION_BF16, 1, false);
    for (int level = (int)hr_isa(); level >= HR_ISA_PLAIN; level--) {
        hr_isa_lower((enum hr_isa)level);
        for (size_t n = 0; n < NNETS; n++) {
            struct rig rig;
            open_rig(&rig, &nets[n], HR_PRECISION_BF16, 1, false);
            CHECK_SAME_FLOATS(rig.grads, best[n].grads, rig.nparams);
            close_rig(&rig);
        }
    }
    for (size_t n = 0; n < NNETS; n++)
        close_rig(&best[n]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_write_and_read_bfloat16_values),
        cmocka_unit_test(gradients_are_those_of_float32_to_rounding),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(names_are_read_back),
        cmocka_unit_test(every_instruction_set_gives_the_same_bits),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
