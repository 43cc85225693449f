/* Networks with batchnorm, dropout, smooth activations and residual blocks against their twin in
 * double and its finite differences (block_twin.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "unit/nn/block_twin.h"
#include "products/ready.h"
#include "nn/model.h"
#include "support/check.h"

enum { MAX_PARAMS = 2048, CLASSES = 3 };

struct net {
    const char *list;
    struct hr_shape input;
    size_t B;
};

static const struct net nets[] = {
    {"batchnorm, flatten, dense 3", {2, 3, 3}, 4},
    {"flatten, dense 5, batchnorm, relu, dense 3", {1, 2, 2}, 5},
    {"flatten, dense 7, batchnorm, dense 3, batchnorm", {1, 1, 3}, 13},
    {"flatten, dense 4, gelu, dense 3", {1, 1, 5}, 2},
    {"tanh, flatten, dense 4, sigmoid, dense 3, tanh, tanh", {3, 1, 2}, 3},
    {"dropout 0.5, flatten, dense 6, relu, dropout 0.25, dense 3", {2, 2, 3}, 3},
    {"flatten, dense 4, tanh, dropout 0.3, dropout 0.5, sigmoid, dense 3", {1, 1, 4}, 5},
    /* Blocks: identity, projection, at the input, at the output, with relus at their edges. */
    {"flatten, dense 5, residual (dense 5), dense 3", {1, 1, 4}, 3},
    {"flatten, residual (dense 4, relu, dense 4), relu, dense 3", {1, 2, 2}, 3},
    {"residual (batchnorm, relu, batchnorm), relu, flatten, dense 3", {2, 2, 1}, 6},
    {"flatten, dense 5, residual (dense 4, batchnorm, relu, dense 3, batchnorm) shortcut (dense 3, "
     "batchnorm)",
     {1, 1, 3},
     7},
    {"flatten, dense 4, relu, residual (relu, dense 4, relu), dense 3", {1, 1, 3}, 3},
    {"flatten, dense 4, residual (tanh) shortcut (sigmoid), dense 3", {1, 1, 3}, 3},
    {"residual (flatten, dense 3) shortcut (flatten, relu, dense 3)", {2, 1, 2}, 3},
    {"residual (flatten, tanh, dense 3) shortcut (relu, flatten, dense 3)", {2, 1, 2}, 3},
    {"residual (relu, flatten, dense 3) shortcut (flatten, dense 3)", {3, 1, 2}, 3},
    {"flatten, residual (relu) shortcut (tanh), dense 3", {2, 1, 2}, 3},
    /* Blocks in blocks: three gradients meet at the input of the outermost. */
    {"flatten, dense 4, residual (residual (residual (dense 4, tanh), dense 4), gelu), dense 3",
     {1, 1, 3},
     3},
    {"flatten, dense 4, residual (dense 3, residual (dense 3) shortcut (dense 3, residual (tanh))) "
     "shortcut (residual (dense 4), dense 3)",
     {1, 1, 3},
     2},
    {"flatten, residual (dropout 0.5, dense 4, dropout 0.5), dense 3", {1, 1, 4}, 4},
};
enum { NNETS = sizeof nets / sizeof *nets };

struct rig {
    const struct net *net;
    struct hr_model *model;
    struct hr_workspace *workspace;
    size_t nparams, features;
    float params[MAX_PARAMS], grads[MAX_PARAMS];
    double twin_params[MAX_PARAMS];
    struct twin_batch images;
    uint32_t labels[64];
    struct block_twin twin;
};

static double loss_of_twin(struct rig *rig)
{
    return twin_loss(&rig->twin, rig->net->list, rig->twin_params, &rig->images, rig->labels);
}

/* A number in [-1, 1). */
static float draw(size_t i, uint32_t attempt)
{
    return 2 * hr_random_unit(hr_random_block(check_seed(), HR_STREAM_TEST, i, attempt).v[0]) - 1;
}

static void draw_batch(struct rig *rig, uint32_t attempt)
{
    rig->images.B = rig->net->B;
    rig->images.C = rig->net->input.channels;
    rig->images.P = rig->net->input.height * rig->net->input.width;
    for (size_t i = 0; i < rig->net->B * rig->features; i++)
        rig->images.v[i] = (double)draw(i, attempt);
    for (size_t b = 0; b < rig->net->B; b++)
        rig->labels[b] = (uint32_t)((b + attempt) % CLASSES);
}

static void rig_init(struct rig *rig, const struct net *net, bool training)
{
    const struct hr_workspace_options options = {.seed = 0x1234567890, .threads = 2};
    memset(rig, 0, sizeof *rig);
    rig->net = net;
    CHECK_OK(hr_model_create(net->list, net->input, CLASSES, &rig->model));
    CHECK_OK(hr_workspace_create(rig->model, net->B, &options, &rig->workspace));
    rig->nparams = hr_model_param_count(rig->model);
    rig->features = hr_shape_elems(net->input);
    assert_true(rig->nparams <= MAX_PARAMS && net->B <= 64);
    for (size_t i = 0; i < rig->nparams; i++) { /* all positive where it is a variance */
        rig->params[i] = draw(i, 99);
        rig->params[i] += rig->params[i] < 0 ? -0.1f : 0.1f;
    }
    for (size_t t = 0; t < hr_model_tensor_count(rig->model); t++) {
        const struct hr_tensor_info *info = hr_model_tensor(rig->model, t);
        for (size_t i = 0; strstr(info->name, "running_var") && i < info->count; i++)
            rig->params[info->offset + i] = 0.5f + fabsf(rig->params[info->offset + i]);
    }
    for (size_t i = 0; i < rig->nparams; i++)
        rig->twin_params[i] = (double)rig->params[i];
    rig->twin = (struct block_twin){.training = training, .seed = options.seed, .epoch = 3};
    uint32_t attempt = 0;
    do {
        draw_batch(rig, attempt++);
        loss_of_twin(rig);
    } while (rig->twin.nearest_bend < 1e-4);
}

static void rig_fini(struct rig *rig)
{
    hr_workspace_destroy(rig->workspace);
    hr_model_destroy(rig->model);
}

static void load(struct rig *rig)
{
    for (size_t i = 0; i < rig->net->B * rig->features; i++)
        hr_workspace_input(rig->workspace)[i] = (float)rig->images.v[i];
    memcpy(hr_workspace_labels(rig->workspace), rig->labels, rig->net->B * sizeof *rig->labels);
    hr_workspace_draw(rig->workspace, rig->twin.epoch, NULL);
    memset(rig->grads, 0xff, sizeof rig->grads);
}

static double slope(struct rig *rig, size_t i)
{
    const double h = 1e-5, before = rig->twin_params[i];
    rig->twin_params[i] = before + h;
    const double above = loss_of_twin(rig);
    rig->twin_params[i] = before - h;
    const double below = loss_of_twin(rig);
    rig->twin_params[i] = before;
    return (above - below) / (2 * h);
}

/* The twin lists statistics batchnorm by batchnorm, mean before variance, as the model does. */
static void check_tensor(struct rig *rig, const struct hr_tensor_info *info, size_t *statistic)
{
    for (size_t i = info->offset; i < info->offset + info->count; i++) {
        double want;
        if (info->role == HR_TENSOR_STATISTIC)
            want = -(double)rig->net->B * rig->twin.statistics[(*statistic)++];
        else
            want = slope(rig, i);
        CHECK_NEAR((double)rig->grads[i], want, 2e-5, 2e-5);
    }
}

static void losses_and_gradients_agree_with_the_twin(void **state)
{
    (void)state;
    for (size_t n = 0; n < NNETS; n++) {
        static struct rig rig;
        size_t statistic = 0;
        rig_init(&rig, &nets[n], true);
        load(&rig);
        const struct hr_batch_result got =
            hr_model_gradient(rig.model, rig.workspace, rig.params, nets[n].B, rig.grads);
        CHECK_NEAR(got.loss_sum, loss_of_twin(&rig), 1e-5, 1e-6);
        for (size_t t = 0; t < hr_model_tensor_count(rig.model); t++)
            check_tensor(&rig, hr_model_tensor(rig.model, t), &statistic);
        rig_fini(&rig);
    }
}

static void evaluation_agrees_with_the_twin(void **state)
{
    (void)state;
    for (size_t n = 0; n < NNETS; n++) {
        static struct rig rig;
        rig_init(&rig, &nets[n], false);
        load(&rig);
        const struct hr_batch_result got =
            hr_model_evaluate(rig.model, rig.workspace, rig.params, nets[n].B);
        CHECK_NEAR(got.loss_sum, loss_of_twin(&rig), 1e-5, 1e-6);
        rig_fini(&rig);
    }
}

static void a_batch_of_nothing_has_gradients_of_zero(void **state)
{
    (void)state;
    for (size_t n = 0; n < NNETS; n++) {
        static struct rig rig;
        static const float zeros[MAX_PARAMS];
        rig_init(&rig, &nets[n], true);
        load(&rig);
        hr_model_gradient(rig.model, rig.workspace, rig.params, 0, rig.grads);
        for (size_t i = 0; i < rig.nparams; i++)
            assert_true(rig.grads[i] == zeros[i]);
        rig_fini(&rig);
    }
}

static void note_range(void *arg, size_t offset, size_t count)
{
    size_t *end = arg;
    assert_int_equal(offset + count, *end);
    assert_true(count > 0);
    *end = offset;
}

static void gradients_are_done_from_the_last_to_the_first_without_gaps(void **state)
{
    (void)state;
    for (size_t n = 0; n < NNETS; n++) {
        static struct rig rig;
        size_t end;
        const struct hr_workspace_options options = {.done = note_range, .arg = &end};
        rig_init(&rig, &nets[n], true);
        hr_workspace_destroy(rig.workspace);
        CHECK_OK(hr_workspace_create(rig.model, nets[n].B, &options, &rig.workspace));
        load(&rig);
        end = rig.nparams;
        hr_model_gradient(rig.model, rig.workspace, rig.params, nets[n].B, rig.grads);
        assert_int_equal(end, 0);
        rig_fini(&rig);
    }
}

static void names_are_those_of_sequentials_in_a_module(void **state)
{
    (void)state;
    static const char *const want[] = {
        "1.body.0.weight",
        "1.body.0.bias",
        "1.body.1.body.0.weight",
        "1.body.1.body.0.bias",
        "1.shortcut.0.weight",
        "1.shortcut.0.bias",
        "1.shortcut.1.weight",
        "1.shortcut.1.bias",
        "1.shortcut.1.running_mean",
        "1.shortcut.1.running_var",
        "3.weight",
        "3.bias",
    };
    struct hr_model *model;
    CHECK_OK(hr_model_create("flatten, residual (dense 5, residual (dense 5)) shortcut (dense 5, "
                             "batchnorm), relu, dense 3",
                             (struct hr_shape){1, 1, 4}, 3, &model));
    assert_int_equal(hr_model_tensor_count(model), sizeof want / sizeof *want);
    for (size_t t = 0; t < sizeof want / sizeof *want; t++)
        assert_string_equal(hr_model_tensor(model, t)->name, want[t]);
    hr_model_destroy(model);
}

static int init_kernels(void **state)
{
    (void)state;
    CHECK_OK(hr_kernels_init_process(1));
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_and_gradients_agree_with_the_twin),
        cmocka_unit_test(evaluation_agrees_with_the_twin),
        cmocka_unit_test(a_batch_of_nothing_has_gradients_of_zero),
        cmocka_unit_test(gradients_are_done_from_the_last_to_the_first_without_gaps),
        cmocka_unit_test(names_are_those_of_sequentials_in_a_module),
    };
    return cmocka_run_group_tests(tests, init_kernels, NULL);
}
