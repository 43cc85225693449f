/* Forward and backward of whole networks against their twin in double precision (twin.h). */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "products/ready.h"
#include "nn/model.h"
#include "unit/nn/twin.h"
#include "support/check.h"

enum { MAX_B = 64 };

struct net {
    const char *list;
    struct hr_shape input;
    size_t classes;
};

/* Each layer alone in front of the loss or the data, fused and not, and the two built-ins. */
static const struct net nets[] = {
    {"flatten, dense 3", {1, 2, 2}, 3},
    {"flatten, dense 17, relu, dense 10", {2, 3, 5}, 10},
    {"flatten, dense 7, dense 5, dense 2", {1, 1, 11}, 2},
    {"flatten, relu, dense 13, relu, relu, dense 4, relu", {3, 4, 2}, 4},
    {"relu, flatten, dense 1, relu, dense 6", {1, 3, 3}, 6},
    {"conv 3 3x3 pad 1, relu, maxpool 2, flatten, dense 3", {2, 5, 4}, 3},
    {"conv 3 2x2, maxpool 2, relu, conv 2 2x1 stride 2, flatten, dense 2", {1, 8, 7}, 2},
    {"avgpool 2, conv 4 3x3 groups 2 pad 1, relu, globalavgpool, flatten", {2, 6, 6}, 4},
    {"conv 2 3x3 dilation 2 pad 2, avgpool 3 stride 2 pad 1, relu, flatten, dense 3", {1, 4, 5}, 3},
    {"maxpool 3 stride 2 pad 1, conv 5 1x1, relu, relu, maxpool 2, flatten, dense 2", {2, 7, 8}, 2},
    {"conv 6 5x5 pad 2, relu, maxpool 2, conv 16 5x5, relu, maxpool 2, flatten, dense 120, relu, "
     "dense 84, relu, dense 10",
     {1, 28, 28},
     10},
    {"flatten, dense 10", {1, 28, 28}, 10},
    {"flatten, dense 256, relu, dense 128, relu, dense 10", {1, 28, 28}, 10},
};
enum { NNETS = sizeof nets / sizeof *nets, NSMALL = 10 };

/* A model with its memory, a batch in the input, and the twin with the same parameters. */
struct rig {
    struct hr_model *model;
    struct hr_workspace *workspace;
    size_t nparams, features;
    float *params, *grads, *x; /* (nparams) twice, (MAX_B, features) */
    uint32_t y[MAX_B];
    struct twin twin;
    double *twin_params, *twin_grads; /* (nparams) */
};

static void load_batch(struct rig *rig, size_t from, size_t B)
{
    memcpy(hr_workspace_input(rig->workspace), rig->x + from * rig->features,
           B * rig->features * sizeof *rig->x);
    memcpy(hr_workspace_labels(rig->workspace), rig->y + from, B * sizeof *rig->y);
}

static void draw_sample(struct rig *rig, size_t b, uint32_t attempt)
{
    for (size_t k = 0; k < rig->features; k++) {
        const size_t i = b * rig->features + k;
        const struct hr_philox r = hr_random_block(check_seed(), HR_STREAM_TEST, i, attempt);
        rig->x[i] = hr_random_unit(r.v[0]) - 0.4f;
        rig->y[b] = (uint32_t)(r.v[1] % rig->twin.classes);
    }
}

/* Samples that a step of 1e-6, or rounding, does not carry across a bend of relu. */
static void draw_batch(struct rig *rig)
{
    for (size_t b = 0; b < MAX_B; b++) {
        uint32_t attempt = 0;
        do
            draw_sample(rig, b, attempt++);
        while (twin_nearest_bend(&rig->twin, rig->twin_params, rig->x + b * rig->features) < 1e-5);
    }
}

static void rig_init(struct rig *rig, const struct net *net)
{
    CHECK_OK(hr_model_create(net->list, net->input, net->classes, &rig->model));
    CHECK_OK(hr_workspace_create(rig->model, MAX_B, NULL, &rig->workspace));
    rig->nparams = hr_model_param_count(rig->model);
    rig->features = hr_shape_elems(net->input);
    rig->params = malloc(rig->nparams * sizeof *rig->params);
    rig->grads = malloc(rig->nparams * sizeof *rig->grads);
    rig->x = malloc(MAX_B * rig->features * sizeof *rig->x);
    rig->twin = twin_of(net->list, net->input.channels, net->input.height, net->input.width);
    rig->twin_params = malloc(rig->nparams * sizeof *rig->twin_params);
    rig->twin_grads = malloc(rig->nparams * sizeof *rig->twin_grads);
    assert_int_equal(rig->twin.param_count, rig->nparams);
    hr_model_init(rig->model, check_seed(), rig->params);
    for (size_t i = 0; i < rig->nparams; i++)
        rig->twin_params[i] = (double)rig->params[i];
    draw_batch(rig);
}

static void rig_fini(struct rig *rig)
{
    hr_workspace_destroy(rig->workspace);
    hr_model_destroy(rig->model);
    free(rig->params);
    free(rig->grads);
    free(rig->x);
    free(rig->twin_params);
    free(rig->twin_grads);
}

/* NaN first: every gradient has to be written. */
static struct hr_batch_result gradient(struct rig *rig, size_t B)
{
    memset(rig->grads, 0xff, rig->nparams * sizeof *rig->grads);
    return hr_model_gradient(rig->model, rig->workspace, rig->params, B, rig->grads);
}

static double twin_loss_at(struct rig *rig, size_t i, double value)
{
    const double before = rig->twin_params[i];
    rig->twin_params[i] = value;
    const double loss = twin_gradient(&rig->twin, rig->twin_params, rig->x, rig->y, 3, NULL);
    rig->twin_params[i] = before;
    return loss;
}

static void twin_agrees_with_finite_differences(void **state)
{
    (void)state;
    const double h = 1e-6;
    for (size_t n = 0; n < NSMALL; n++) {
        struct rig rig;
        rig_init(&rig, &nets[n]);
        twin_gradient(&rig.twin, rig.twin_params, rig.x, rig.y, 3, rig.twin_grads);
        for (size_t i = 0; i < rig.nparams; i++) {
            const double w = rig.twin_params[i];
            const double slope = (twin_loss_at(&rig, i, w + h) - twin_loss_at(&rig, i, w - h)) / 2;
            CHECK_NEAR(rig.twin_grads[i], slope / h, 1e-7, 1e-7);
        }
        rig_fini(&rig);
    }
}

static double largest_magnitude(const double *x, size_t count)
{
    double largest = 0;
    for (size_t i = 0; i < count; i++)
        largest = fmax(largest, fabs(x[i]));
    return largest;
}

/* Rounding is relative to the tensor's largest gradient, small ones being what is left of large;
 * and p - 1 of each sample's softmax is rounded as p is, however small the difference. */
static void check_grads(const struct rig *rig, size_t B)
{
    for (size_t t = 0; t < hr_model_tensor_count(rig->model); t++) {
        const struct hr_tensor_info *info = hr_model_tensor(rig->model, t);
        const double *want = rig->twin_grads + info->offset;
        const double bound = 4e-6 * largest_magnitude(want, info->count) + 2e-7 * (double)B;
        for (size_t i = 0; i < info->count; i++)
            CHECK_NEAR((double)rig->grads[info->offset + i], want[i], 0, bound);
    }
}

static void gradients_agree_with_the_twin_for_every_batch(void **state)
{
    (void)state;
    static const size_t batches[] = {0, 1, 3, MAX_B};
    for (size_t at = 0; at < NNETS * 4; at++) {
        struct rig rig;
        const size_t B = batches[at % 4];
        rig_init(&rig, &nets[at / 4]);
        load_batch(&rig, 0, B);
        const struct hr_batch_result got = gradient(&rig, B);
        const double loss =
            twin_gradient(&rig.twin, rig.twin_params, rig.x, rig.y, B, rig.twin_grads);
        CHECK_NEAR(got.loss_sum, loss, 1e-6, 0);
        check_grads(&rig, B);
        rig_fini(&rig);
    }
}

static void gradient_of_a_batch_is_the_sum_over_its_samples(void **state)
{
    (void)state;
    for (size_t n = 0; n < NNETS; n++) {
        struct rig rig;
        rig_init(&rig, &nets[n]);
        memset(rig.twin_grads, 0, rig.nparams * sizeof *rig.twin_grads);
        size_t correct = 0;
        for (size_t b = 0; b < MAX_B; b++) {
            load_batch(&rig, b, 1);
            correct += gradient(&rig, 1).correct;
            for (size_t i = 0; i < rig.nparams; i++)
                rig.twin_grads[i] += (double)rig.grads[i];
        }
        load_batch(&rig, 0, MAX_B);
        assert_int_equal(gradient(&rig, MAX_B).correct, correct);
        check_grads(&rig, MAX_B);
        rig_fini(&rig);
    }
}

static void evaluation_gives_the_same_loss_as_training(void **state)
{
    (void)state;
    for (size_t n = 0; n < NNETS; n++) {
        struct rig rig;
        rig_init(&rig, &nets[n]);
        load_batch(&rig, 0, MAX_B);
        const struct hr_batch_result trained = gradient(&rig, MAX_B);
        load_batch(&rig, 0, MAX_B);
        const struct hr_batch_result got =
            hr_model_evaluate(rig.model, rig.workspace, rig.params, MAX_B);
        assert_true(got.loss_sum == trained.loss_sum);
        assert_int_equal(got.correct, trained.correct);
        rig_fini(&rig);
    }
}

static void bits_do_not_depend_on_the_workspace_or_its_past(void **state)
{
    (void)state;
    for (size_t n = 0; n < NNETS; n++) {
        struct rig rig;
        struct hr_workspace *used;
        rig_init(&rig, &nets[n]);
        float *want = malloc(rig.nparams * sizeof *want);
        load_batch(&rig, 0, MAX_B);
        gradient(&rig, MAX_B);
        load_batch(&rig, 5, 3);
        gradient(&rig, 3);
        memcpy(want, rig.grads, rig.nparams * sizeof *want);
        used = rig.workspace;
        CHECK_OK(hr_workspace_create(rig.model, 3, NULL, &rig.workspace));
        load_batch(&rig, 5, 3);
        gradient(&rig, 3);
        CHECK_SAME_FLOATS(rig.grads, want, rig.nparams);
        free(want);
        hr_workspace_destroy(used);
        rig_fini(&rig);
    }
}

static void weights_that_are_no_numbers_show_in_the_loss(void **state)
{
    (void)state;
    for (size_t n = 0; n < NNETS; n++) {
        struct rig rig;
        rig_init(&rig, &nets[n]);
        load_batch(&rig, 0, 3);
        rig.params[0] = NAN;
        const struct hr_batch_result got = gradient(&rig, 3);
        assert_true(isnan(got.loss_sum));
        assert_int_equal(got.correct, 0);
        assert_true(isnan(rig.grads[0]));
        rig_fini(&rig);
    }
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
        cmocka_unit_test(twin_agrees_with_finite_differences),
        cmocka_unit_test(gradients_agree_with_the_twin_for_every_batch),
        cmocka_unit_test(gradient_of_a_batch_is_the_sum_over_its_samples),
        cmocka_unit_test(evaluation_gives_the_same_loss_as_training),
        cmocka_unit_test(bits_do_not_depend_on_the_workspace_or_its_past),
        cmocka_unit_test(weights_that_are_no_numbers_show_in_the_loss),
    };
    return cmocka_run_group_tests(tests, init_kernels, NULL);
}
