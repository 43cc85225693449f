/* A model cut into shards: against the whole, against a naive twin, and by several ranks, which
 * change no bit. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/select.h"
#include "nn/part.h"
#include "support/check.h"
#include "support/floats.h"

enum { B = 9, CLASSES = 10, MOST_RANKS = 4, TEXT = 60 };

struct net {
    const char *list;
    struct hr_shape input;
};

static const struct net nets[] = {
    {"mlp", {1, 8, 8}},
    {"flatten, dense 64, batchnorm, relu, dropout 0.5, dense 48, dropout 0.3, tanh, dense 40, "
     "gelu, "
     "dense 10",
     {2, 3, 3}},
    {"flatten, dense 40, residual (dense 40, relu, dense 40), sigmoid, residual (dense 40) "
     "shortcut "
     "(tanh), dense 33, dense 10",
     {1, 4, 6}},
    {"conv 16 3x3 pad 1, batchnorm, relu, dropout 0.2, residual (conv 16 1x1), maxpool 2, gelu, "
     "flatten, relu, dense 32, sigmoid, dense 10",
     {2, 6, 6}},
    {"conv 16 3x3, maxpool 2, conv 24 3x3 stride 2 pad 1, relu, avgpool 2, conv 16 1x1 groups 2, "
     "globalavgpool, flatten, dense 32, tanh, dense 10",
     {1, 14, 14}},
    {"cnn", {1, 8, 8}},
    {"resnet8", {3, 8, 8}},
    {"embedding 24, position, dropout 0.2, residual (layernorm, attention 6, dropout 0.1), "
     "residual (layernorm, dense 40, gelu, dropout 0.3, dense 24), layernorm, tied",
     {1, 1, 5}},
    {"embedding 12, attention 3, dropout 0.5, residual (attention 2), dense 32, dropout 0.3, tanh, "
     "dense 10",
     {1, 1, 7}},
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

struct rig {
    struct hr_model *whole;
    size_t nparams, features;
    float *params, *x, *grads;
    uint32_t labels[B], samples[B];
    struct hr_tokens text;
    /* a split one's */
    struct hr_model *part;
    size_t ranks;
    bool halves;
    void *memory;
    pthread_barrier_t barrier;
    struct hr_batch_result result;
    uint64_t moved[MOST_RANKS];
};

static void open_rig(struct rig *rig, const struct net *net)
{
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
    rig->nparams = hr_model_param_count(rig->whole);
    rig->params = floats(rig->nparams);
    rig->grads = floats(rig->nparams);
    rig->x = floats(B * rig->features);
    hr_model_init(rig->whole, 3, rig->params);
    for (size_t i = 0; i < B * rig->features; i++)
        rig->x[i] = draw(i, 1);
    for (uint32_t b = 0; b < B; b++) {
        rig->labels[b] = 3 * b % CLASSES;
        rig->samples[b] = 100 + b;
        for (size_t t = 0; t < rig->text.context; t++)
            rig->x[b * rig->features + t] = (float)ids[rig->labels[b] + t];
    }
}

static void close_rig(struct rig *rig)
{
    hr_model_destroy(rig->whole);
    free(rig->params);
    free(rig->grads);
    free(rig->x);
}

static void fill(const struct rig *rig, struct hr_workspace *workspace)
{
    memcpy(hr_workspace_input(workspace), rig->x, B * rig->features * sizeof *rig->x);
    memcpy(hr_workspace_labels(workspace), rig->labels, sizeof rig->labels);
}

static void compute_whole(struct rig *rig, float *logits)
{
    const struct hr_workspace_options options = {.seed = 7};
    struct hr_workspace *workspace;
    CHECK_OK(hr_workspace_create(rig->whole, B, &options, &workspace));
    fill(rig, workspace);
    hr_workspace_draw(workspace, 2, rig->samples);
    rig->result = hr_model_gradient(rig->whole, workspace, rig->params, B, rig->grads);
    memcpy(logits, hr_workspace_outputs(workspace), B * CLASSES * sizeof *logits);
    hr_workspace_destroy(workspace);
}

/* --- ranks --- */

static bool barrier(void *arg, bool sums)
{
    struct rig *rig = arg;
    (void)sums;
    pthread_barrier_wait(&rig->barrier);
    return true;
}

struct slot {
    struct rig *rig;
    size_t rank;
    pthread_t thread;
};

static struct hr_batch_result backward(struct rig *rig, struct hr_workspace *workspace)
{
    const struct hr_part_gradients at = {.grads = rig->grads};
    if (!rig->halves)
        return hr_part_backward(rig->part, workspace, rig->params, &at, B);
    const struct hr_batch_result result =
        hr_part_backward_data(rig->part, workspace, rig->params, &at, B);
    barrier(rig, false);
    hr_part_backward_weights(rig->part, workspace, rig->params, rig->grads, B);
    return result;
}

static void *rank_main(void *arg)
{
    const struct slot *slot = arg;
    struct rig *rig = slot->rig;
    const struct hr_workspace_options options = {.seed = 7,
                                                 .team = {slot->rank, rig->ranks, barrier, rig}};
    struct hr_workspace *workspace;
    CHECK_OK(hr_workspace_create(rig->part, B, &options, &workspace));
    if (rig->ranks > 1)
        hr_workspace_share(workspace, rig->memory);
    if (slot->rank == 0)
        fill(rig, workspace);
    barrier(rig, false);
    hr_workspace_draw(workspace, 2, rig->samples);
    hr_part_forward(rig->part, workspace, rig->params, B);
    barrier(rig, false);
    const struct hr_batch_result result = backward(rig, workspace);
    rig->moved[slot->rank] = hr_workspace_moved(workspace);
    if (slot->rank == 0)
        rig->result = result;
    hr_workspace_destroy(workspace);
    return NULL;
}

static void compute_split(struct rig *rig, size_t shards, size_t ranks, bool halves)
{
    struct slot slots[MOST_RANKS];
    struct hr_model_split split;
    CHECK_OK(hr_split_plan(rig->whole, shards, &split));
    CHECK_OK(hr_model_part(rig->whole, 0, hr_model_layer_count(rig->whole),
                           (struct hr_part_manner){.in_halves = halves}, &rig->part));
    CHECK_OK(hr_part_split(rig->part, &split));
    rig->ranks = ranks;
    rig->halves = halves;
    memset(rig->grads, 0xff, rig->nparams * sizeof *rig->grads);
    const struct hr_workspace_options options = {.team = {.ranks = ranks}};
    const size_t bytes = hr_workspace_shared_bytes(rig->part, B, &options);
    assert_int_equal(bytes == 0, ranks == 1);
    rig->memory = aligned_alloc(64, bytes ? bytes : 64);
    assert_non_null(rig->memory);
    pthread_barrier_init(&rig->barrier, NULL, (unsigned)ranks);
    for (size_t t = 0; t < ranks; t++) {
        slots[t] = (struct slot){.rig = rig, .rank = t};
        assert_int_equal(pthread_create(&slots[t].thread, NULL, rank_main, &slots[t]), 0);
    }
    for (size_t t = 0; t < ranks; t++)
        pthread_join(slots[t].thread, NULL);
    pthread_barrier_destroy(&rig->barrier);
    free(rig->memory);
    hr_model_destroy(rig->part);
}

static void ranks_change_no_bit(void **state)
{
    (void)state;
    for (size_t n = 0; n < NNETS; n++)
        for (size_t shards = 2; shards <= 4; shards++) {
            struct rig rig;
            open_rig(&rig, &nets[n]);
            compute_split(&rig, shards, 1, false);
            const struct hr_batch_result want = rig.result;
            float *wanted = floats(rig.nparams);
            memcpy(wanted, rig.grads, rig.nparams * sizeof *wanted);
            for (size_t i = 0; i < 2 * shards; i++) {
                const size_t ranks = 1 + i / 2;
                compute_split(&rig, shards, ranks, i % 2);
                assert_memory_equal(&rig.result.loss_sum, &want.loss_sum, sizeof want.loss_sum);
                assert_int_equal(rig.result.correct, want.correct);
                CHECK_SAME_FLOATS(rig.grads, wanted, rig.nparams);
                assert_int_equal(rig.moved[0] > 0, ranks > 1);
            }
            free(wanted);
            close_rig(&rig);
        }
}

/* --- the whole --- */

static void shards_are_the_whole_to_rounding(void **state)
{
    (void)state;
    float logits[B * CLASSES];
    for (size_t n = 0; n < NNETS; n++)
        for (size_t shards = 1; shards <= 4; shards++) {
            struct rig rig;
            open_rig(&rig, &nets[n]);
            compute_whole(&rig, logits);
            const struct hr_batch_result want = rig.result;
            float *wanted = floats(rig.nparams), most = 0;
            memcpy(wanted, rig.grads, rig.nparams * sizeof *wanted);
            for (size_t i = 0; i < rig.nparams; i++)
                most = fabsf(wanted[i]) > most ? fabsf(wanted[i]) : most;
            compute_split(&rig, shards, 1, false);
            CHECK_NEAR(rig.result.loss_sum, want.loss_sum, 1e-5, 0);
            if (shards == 1)
                CHECK_SAME_FLOATS(rig.grads, wanted, rig.nparams);
            for (size_t i = 0; i < rig.nparams; i++)
                CHECK_NEAR(rig.grads[i], wanted[i], 0, 2e-5f * most);
            free(wanted);
            close_rig(&rig);
        }
}

/* --- a naive twin --- */

enum { I = 40, H = 24, S = 3 };

/* T(3) of three shards' sums of products. */
static float sum_of(const float *a, size_t a_step, const float *b, size_t b_step, size_t n)
{
    volatile float sums[S] = {0};
    for (size_t s = 0; s < S; s++) {
        const struct hr_channels range = hr_split_range(n, S, s);
        for (size_t k = range.begin; k < range.end; k++) {
            const volatile float product = a[k * a_step] * b[k * b_step];
            sums[s] = sums[s] + product;
        }
    }
    const volatile float two = sums[0] + sums[1];
    return two + sums[2];
}

/* "dense 24, dense 10": by columns, whose forward is the whole's, then by rows, whose sums are the
 * shards'. */
static void sums_over_shards_are_those_of_a_naive_twin(void **state)
{
    (void)state;
    const struct net net = {"flatten, dense 24, dense 10", {1, 1, I}};
    struct rig rig;
    struct hr_workspace *workspace;
    struct hr_model_split split;
    const enum hr_status reference = hr_kernels_select(HR_KERNELS_REFERENCE);
    CHECK_OK(reference);
    open_rig(&rig, &net);
    CHECK_OK(hr_split_plan(rig.whole, S, &split));
    assert_int_equal(split.cut[1], HR_CUT_COLUMNS);
    assert_int_equal(split.cut[2], HR_CUT_ROWS);
    CHECK_OK(hr_model_part(rig.whole, 0, 3, (struct hr_part_manner){0}, &rig.part));
    CHECK_OK(hr_part_split(rig.part, &split));
    CHECK_OK(hr_workspace_create(rig.part, B, NULL, &workspace));
    fill(&rig, workspace);
    hr_part_forward(rig.part, workspace, rig.params, B);
    const float *w1 = rig.params, *b1 = w1 + H * I, *w2 = b1 + H, *b2 = w2 + CLASSES * H;
    for (size_t b = 0; b < B; b++) {
        float hidden[H], want[CLASSES];
        for (size_t h = 0; h < H; h++) {
            volatile float sum = 0;
            for (size_t i = 0; i < I; i++) {
                const volatile float product = rig.x[b * I + i] * w1[h * I + i];
                sum = sum + product;
            }
            hidden[h] = sum + b1[h];
        }
        for (size_t c = 0; c < CLASSES; c++)
            want[c] = sum_of(hidden, 1, w2 + c * H, 1, H) + b2[c];
        CHECK_SAME_FLOATS(hr_workspace_outputs(workspace) + b * CLASSES, want, CLASSES);
    }
    hr_workspace_destroy(workspace);
    hr_model_destroy(rig.part);
    close_rig(&rig);
    const enum hr_status fast = hr_kernels_select_named("fast", false);
    CHECK_OK(fast);
}

/* By columns alone: no sum of the forward pass is cut, and own kernels give the whole's bits. */
static void columns_have_the_forward_bits_of_the_whole(void **state)
{
    (void)state;
    const struct net net = {"flatten, dense 40, gelu", {1, 2, 4}};
    float want[B * 40];
    struct hr_model *model, *part;
    struct hr_workspace *workspace;
    struct hr_model_split split;
    CHECK_OK(hr_model_create(net.list, net.input, 40, &model));
    float *params = floats(hr_model_param_count(model));
    hr_model_init(model, 5, params);
    for (size_t shards = 1; shards <= 5; shards++) {
        CHECK_OK(hr_split_plan(model, shards, &split));
        assert_int_equal(split.cut[1], shards > 1 ? HR_CUT_COLUMNS : HR_CUT_NOT);
        CHECK_OK(hr_model_part(model, 0, 3, (struct hr_part_manner){0}, &part));
        CHECK_OK(hr_part_split(part, &split));
        CHECK_OK(hr_workspace_create(part, B, NULL, &workspace));
        for (size_t i = 0; i < B * 8; i++)
            hr_workspace_input(workspace)[i] = draw(i, 2);
        hr_part_forward(part, workspace, params, B);
        if (shards == 1)
            memcpy(want, hr_workspace_outputs(workspace), sizeof want);
        CHECK_SAME_FLOATS(hr_workspace_outputs(workspace), want, B * 40);
        hr_workspace_destroy(workspace);
        hr_model_destroy(part);
    }
    free(params);
    hr_model_destroy(model);
}

/* --- plans --- */

static void check_plan(const char *list, const char *want)
{
    struct hr_model *model;
    struct hr_model_split split;
    char got[64] = "";
    CHECK_OK(hr_model_create(list, (struct hr_shape){1, 8, 8}, 10, &model));
    CHECK_OK(hr_split_plan(model, 2, &split));
    for (size_t i = 0; i < hr_model_layer_count(model); i++)
        strncat(got, &"-crb"[split.cut[i]], 1);
    assert_string_equal(got, want);
    hr_model_destroy(model);
}

static void columns_feed_rows(void **state)
{
    (void)state;
    check_plan("mlp", "bcbrbr");
    check_plan("softmax", "br");
    check_plan("flatten, dense 32, relu, dense 32, relu, dense 32, dense 10", "bcbrbcr");
    check_plan("cnn", "cbbcbb-cbr");
    check_plan("conv 32 3x3, relu, conv 32 3x3 groups 2, maxpool 2, flatten, dense 10", "cb-b-r");
    check_plan("flatten, dense 80, residual (dense 80), dense 10", "bcrbr");
}

/* Attention by heads, and what its width is too odd for whole. */
static void a_language_model_is_cut_as_megatrons(void **state)
{
    (void)state;
    static const char *const want[] = {"--b-hbb-cbbrb--", "-h-hbcbbr"};
    for (size_t n = 0; n < 2; n++) {
        struct rig rig;
        struct hr_model_split split;
        char got[64] = "";
        open_rig(&rig, &nets[NNETS - 2 + n]);
        CHECK_OK(hr_split_plan(rig.whole, 2, &split));
        for (size_t i = 0; i < hr_model_layer_count(rig.whole); i++)
            strncat(got, &"-crbh"[split.cut[i]], 1);
        assert_string_equal(got, want[n]);
        close_rig(&rig);
    }
}

static void channels_are_cut_in_eights(void **state)
{
    (void)state;
    for (size_t channels = 1; channels < 100; channels++)
        for (size_t shards = 1; shards < 9; shards++) {
            size_t at = 0;
            for (size_t s = 0; s < shards; s++) {
                const struct hr_channels range = hr_split_range(channels, shards, s);
                assert_int_equal(range.begin, at);
                assert_true(range.begin % 8 == 0 || range.begin == channels);
                at = range.end;
            }
            assert_int_equal(at, channels);
        }
}

static void too_many_shards_are_refused(void **state)
{
    (void)state;
    struct hr_model *model;
    struct hr_model_split split;
    CHECK_OK(hr_model_create("mlp", (struct hr_shape){1, 8, 8}, 10, &model));
    CHECK_OK(hr_split_plan(model, 32, &split));
    CHECK_FAILS(hr_split_plan(model, 33, &split), HR_E_USAGE);
    CHECK_MESSAGE("at most 32 shards; expected 1 to 32");
    hr_model_destroy(model);
}

int main(void)
{
    for (size_t i = 0; i < TEXT; i++)
        ids[i] = (uint8_t)(i * i % 11 % CLASSES);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_change_no_bit),
        cmocka_unit_test(shards_are_the_whole_to_rounding),
        cmocka_unit_test(sums_over_shards_are_those_of_a_naive_twin),
        cmocka_unit_test(columns_have_the_forward_bits_of_the_whole),
        cmocka_unit_test(columns_feed_rows),
        cmocka_unit_test(a_language_model_is_cut_as_megatrons),
        cmocka_unit_test(channels_are_cut_in_eights),
        cmocka_unit_test(too_many_shards_are_refused),
    };
    const struct CMUnitTest again[] = {tests[0], tests[3]};
    return cmocka_run_group_tests(tests, NULL, NULL) +
           cmocka_run_group_tests(again, of_bfloat16_values, NULL);
}
