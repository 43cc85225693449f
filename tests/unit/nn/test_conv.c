/* Convolutions and pools, layer by layer, against their twin (conv_twin.h): whole numbers, so that
 * sums are exact in any order and equality is too. */
#include <stdlib.h>
#include <string.h>

#include "unit/nn/layer_chain.h"
#include "kernels/select.h"
#include "support/check.h"

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
