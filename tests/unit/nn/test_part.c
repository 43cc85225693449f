/* Parts of a model one after another against the whole: the same loss, the same gradients, bit for
 * bit, wherever it may be cut; and where it may not. */
#include <stdlib.h>
#include <string.h>

#include "nn/part.h"
#include "support/check.h"
#include "support/floats.h"

enum { B = 5, BATCHES = 3, MOST = 64, TEXT = 90, CLASSES = 10 };

struct net {
    const char *list;
    struct hr_shape input;
};

static const struct net nets[] = {
    {"mlp", {1, 8, 8}},
    {"cnn", {1, 8, 8}},
    {"lenet", {1, 16, 16}},
    {"vgg-small", {3, 8, 8}},
    {"resnet8", {3, 8, 8}},
    {"flatten, dense 9, batchnorm, relu, dropout 0.5, dense 8, dropout 0.3, tanh, dropout 0.2, "
     "dense 10",
     {2, 3, 3}},
    {"conv 4 3x3, sigmoid, batchnorm, conv 3 3x3, batchnorm, flatten, relu, flatten, gelu, dense "
     "10",
     {2, 6, 6}},
    {"conv 4 3x3 groups 2 stride 2 pad 1, maxpool 2, batchnorm, avgpool 2, residual (conv 4 1x1) "
     "shortcut (conv 4 1x1, batchnorm), relu, globalavgpool, flatten, dense 10",
     {2, 9, 9}},
    {"dropout 0.3, batchnorm, flatten, dense 5, residual (dense 5), tanh, residual (relu) shortcut "
     "(tanh), "
     "dense 10",
     {1, 1, 4}},
    {"embedding 6, dropout 0.2, position, residual (layernorm, attention 3), residual (layernorm, "
     "dense 9, gelu, dense 6), layernorm, tied",
     {1, 1, 7}},
    {"embedding 5, tied, gelu, dense 10", {1, 1, 3}},
};
enum { NNETS = sizeof nets / sizeof *nets };

static enum hr_precision precision;
static uint8_t ids[TEXT];

static int of_bfloat16_values(void **state)
{
    (void)state;
    precision = HR_PRECISION_BF16;
    return 0;
}

/* Everything of one network: the whole, and its parts. */
struct rig {
    struct hr_model *whole, *part[MOST];
    struct hr_workspace *workspace, *of[MOST];
    size_t parts, nparams, features;
    float *params, *x, *want, *grads;
    struct hr_part_manner manner;
    float *y[MOST][BATCHES], *dy[MOST][BATCHES]; /* behind each part */
    struct hr_tokens text;
    struct hr_tied tied; /* of two parts */
    float *share;
    uint32_t labels[BATCHES][B], samples[BATCHES][B];
};

static void open_rig(struct rig *rig, const struct net *net)
{
    const struct hr_workspace_options manner = {.seed = 7};
    memset(rig, 0, sizeof *rig);
    rig->features = net->input.channels * net->input.height * net->input.width;
    if (hr_model_text_reads_tokens(net->list))
        rig->text =
            (struct hr_tokens){.context = rig->features, .count = TEXT, .width = 1, .ids = ids};
    const struct hr_model_options options = {.description = net->list,
                                             .input = net->input,
                                             .classes = CLASSES,
                                             .text = &rig->text,
                                             .precision = precision};
    CHECK_OK(hr_model_build(&options, &rig->whole));
    CHECK_OK(hr_workspace_create(rig->whole, B, &manner, &rig->workspace));
    rig->nparams = hr_model_param_count(rig->whole);
    rig->params = floats(rig->nparams);
    rig->grads = floats(rig->nparams);
    rig->want = floats(rig->nparams);
    rig->x = floats(BATCHES * B * rig->features);
    hr_model_init(rig->whole, 3, rig->params);
    for (size_t i = 0; i < BATCHES * B * rig->features; i++)
        rig->x[i] = draw(i, 1);
    for (size_t b = 0; b < BATCHES; b++)
        for (uint32_t i = 0; i < B; i++) {
            rig->labels[b][i] = (uint32_t)(7 * b + 3 * i) % CLASSES;
            rig->samples[b][i] = (uint32_t)(100 * b + i);
            for (size_t t = 0; t < rig->text.context; t++)
                rig->x[(b * B + i) * rig->features + t] = (float)ids[rig->labels[b][i] + t];
        }
}

/* Parts between these places. */
static void cut(struct rig *rig, const size_t *at, size_t parts, struct hr_part_manner manner)
{
    const struct hr_workspace_options options = {.seed = 7, .batches = BATCHES};
    const struct hr_tied tied = hr_model_tied(rig->whole);
    rig->parts = parts;
    rig->manner = manner;
    rig->tied = tied.tied < at[1] ? (struct hr_tied){0} : tied;
    rig->share = floats(tied.count);
    for (size_t p = 0; p < parts; p++) {
        CHECK_OK(hr_model_part(rig->whole, at[p], at[p + 1], manner, &rig->part[p]));
        CHECK_OK(hr_workspace_create(rig->part[p], B, &options, &rig->of[p]));
        for (size_t b = 0; b < BATCHES; b++) {
            rig->y[p][b] = floats(B * hr_model_outputs(rig->part[p]));
            rig->dy[p][b] = floats(B * hr_model_outputs(rig->part[p]));
        }
    }
}

static void join(struct rig *rig)
{
    free(rig->share);
    for (size_t p = 0; p < rig->parts; p++) {
        hr_workspace_destroy(rig->of[p]);
        hr_model_destroy(rig->part[p]);
        for (size_t b = 0; b < BATCHES; b++) {
            free(rig->y[p][b]);
            free(rig->dy[p][b]);
        }
    }
}

static void close_rig(struct rig *rig)
{
    hr_workspace_destroy(rig->workspace);
    hr_model_destroy(rig->whole);
    free(rig->params);
    free(rig->grads);
    free(rig->want);
    free(rig->x);
}

static void take_turn(struct rig *rig, size_t p, size_t b)
{
    hr_workspace_turn(rig->of[p], b);
    if (rig->tied.count)
        hr_workspace_lend_table(rig->of[p], rig->params + rig->tied.begin, rig->share);
}

static void forward(struct rig *rig, size_t p, size_t b)
{
    struct hr_workspace *workspace = rig->of[p];
    take_turn(rig, p, b);
    if (p == 0)
        memcpy(hr_workspace_input(workspace), rig->x + b * B * rig->features,
               B * rig->features * sizeof *rig->x);
    else
        hr_workspace_lend(workspace, rig->y[p - 1][b], rig->labels[b]);
    if (p + 1 < rig->parts)
        hr_workspace_lend_output(workspace, rig->y[p][b]);
    hr_workspace_draw(workspace, 2, rig->samples[b]);
    hr_part_forward(rig->part[p], workspace, rig->params + hr_part_param_begin(rig->part[p]), B);
}

/* Where forward is computed again, the output of the first time is the next part's alone, which has
 * no more use for it where its backward is over. */
static void turn(struct rig *rig, size_t p, size_t b)
{
    take_turn(rig, p, b);
    const bool again = hr_part_forward_again(rig->part[p], rig->of[p],
                                             rig->params + hr_part_param_begin(rig->part[p]), B);
    if (again && !rig->manner.in_halves)
        memset(rig->y[p][b], 0xff, B * hr_model_outputs(rig->part[p]) * sizeof *rig->y[p][b]);
}

static struct hr_batch_result backward(struct rig *rig, size_t p, size_t b)
{
    const size_t begin = hr_part_param_begin(rig->part[p]);
    const struct hr_part_gradients at = {rig->dy[p][b], p ? rig->dy[p - 1][b] : NULL,
                                         rig->grads + begin};
    turn(rig, p, b);
    return (rig->manner.in_halves ? hr_part_backward_data : hr_part_backward)(
        rig->part[p], rig->of[p], rig->params + begin, &at, B);
}

static void backward_weights(struct rig *rig, size_t p, size_t b)
{
    const size_t begin = hr_part_param_begin(rig->part[p]);
    turn(rig, p, b);
    hr_part_backward_weights(rig->part[p], rig->of[p], rig->params + begin, rig->grads + begin, B);
}

static struct hr_batch_result whole(struct rig *rig, size_t b)
{
    memcpy(hr_workspace_input(rig->workspace), rig->x + b * B * rig->features,
           B * rig->features * sizeof *rig->x);
    memcpy(hr_workspace_labels(rig->workspace), rig->labels[b], sizeof rig->labels[b]);
    hr_workspace_draw(rig->workspace, 2, rig->samples[b]);
    return hr_model_gradient(rig->whole, rig->workspace, rig->params, B, rig->want);
}

/* From the last part to the first. */
static struct hr_batch_result backward_all(struct rig *rig, size_t b)
{
    struct hr_batch_result sum = {0};
    memset(rig->grads, 0xff, rig->nparams * sizeof *rig->grads);
    for (size_t p = rig->parts; p-- > 0;) {
        const struct hr_batch_result of_part = backward(rig, p, b);
        sum.loss_sum += of_part.loss_sum;
        sum.correct += of_part.correct;
    }
    return sum;
}

/* All batches forward, then all backward, in halves first all for the data: what is kept of one is
 * not the others'. */
static void check_parts(struct rig *rig)
{
    struct hr_batch_result got[BATCHES];
    for (size_t b = 0; b < BATCHES; b++)
        for (size_t p = 0; p < rig->parts; p++)
            forward(rig, p, b);
    for (size_t b = 0; rig->manner.in_halves && b < BATCHES; b++)
        got[b] = backward_all(rig, b);
    for (size_t b = 0; b < BATCHES; b++) {
        const struct hr_batch_result want = whole(rig, b);
        if (!rig->manner.in_halves)
            got[b] = backward_all(rig, b);
        else
            for (size_t p = 0; p < rig->parts; p++)
                backward_weights(rig, p, b);
        assert_memory_equal(&got[b].loss_sum, &want.loss_sum, sizeof want.loss_sum);
        assert_int_equal(got[b].correct, want.correct);
        CHECK_SAME_FLOATS(rig->grads, rig->want, rig->nparams);
    }
}

static void check_cuts(struct hr_part_manner manner)
{
    struct rig rig;
    for (size_t n = 0; n < NNETS; n++) {
        size_t places[MOST + 1] = {0}, count = 1;
        open_rig(&rig, &nets[n]);
        const size_t layers = hr_model_layer_count(rig.whole);
        for (size_t at = 1; at < layers; at++) {
            const size_t two[] = {0, at, layers};
            if (hr_model_may_cut(rig.whole, at) != HR_OK)
                continue;
            places[count++] = at;
            cut(&rig, two, 2, manner);
            check_parts(&rig);
            join(&rig);
        }
        assert_true(count > 2);
        places[count] = layers;
        cut(&rig, places, count, manner); /* everywhere */
        check_parts(&rig);
        join(&rig);
        close_rig(&rig);
    }
}

static void parts_one_after_another_are_the_whole_wherever_it_is_cut(void **state)
{
    (void)state;
    check_cuts((struct hr_part_manner){0});
}

static void halves_of_backward_are_the_whole_of_it(void **state)
{
    (void)state;
    check_cuts((struct hr_part_manner){.in_halves = true});
}

static void activations_may_be_computed_again(void **state)
{
    (void)state;
    check_cuts((struct hr_part_manner){.recomputes = true});
    check_cuts((struct hr_part_manner){.in_halves = true, .recomputes = true});
}

static void slices_of_parameters_lie_end_to_end(void **state)
{
    (void)state;
    struct rig rig;
    const size_t at[] = {0, 3, 5, 6};
    open_rig(&rig, &nets[0]);
    cut(&rig, at, 3, (struct hr_part_manner){0});
    assert_int_equal(hr_part_param_begin(rig.part[0]), 0);
    assert_int_equal(hr_part_param_begin(rig.part[1]), hr_model_param_count(rig.part[0]));
    assert_int_equal(hr_part_param_begin(rig.part[2]) + hr_model_param_count(rig.part[2]),
                     rig.nparams);
    assert_string_equal(hr_model_tensor(rig.part[2], 0)->name, "5.weight");
    assert_int_equal(hr_part_inputs(rig.part[1]), 256);
    join(&rig);
    close_rig(&rig);
}

static void check_refused(const char *list, size_t at, const char *why)
{
    struct hr_model *model;
    CHECK_OK(hr_model_create(list, (struct hr_shape){1, 8, 8}, 10, &model));
    CHECK_FAILS(hr_model_may_cut(model, at), HR_E_USAGE);
    CHECK_MESSAGE(why);
    hr_model_destroy(model);
}

static void places_that_cannot_be_cut_are_refused(void **state)
{
    (void)state;
    check_refused("mlp", 0, "a part has a layer at least");
    check_refused("mlp", 6, "a part has a layer at least");
    check_refused("mlp", 1, "nothing before it has parameters");
    check_refused("mlp", 2, "layer 2 \"relu\": the layer before it does its work");
    check_refused("cnn", 2, "layer 2 \"maxpool 2\": the layer before it does its work");
    check_refused("resnet8", 4, "a residual block stays whole");
}

int main(void)
{
    for (size_t i = 0; i < TEXT; i++)
        ids[i] = (uint8_t)(i * i % 11 % CLASSES);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_one_after_another_are_the_whole_wherever_it_is_cut),
        cmocka_unit_test(halves_of_backward_are_the_whole_of_it),
        cmocka_unit_test(activations_may_be_computed_again),
        cmocka_unit_test(slices_of_parameters_lie_end_to_end),
        cmocka_unit_test(places_that_cannot_be_cut_are_refused),
    };
    const struct CMUnitTest again[] = {tests[0], tests[1], tests[2]};
    return cmocka_run_group_tests(tests, NULL, NULL) +
           cmocka_run_group_tests(again, of_bfloat16_values, NULL);
}
