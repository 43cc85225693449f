/* 3x3 convolutions by Winograd's algorithm: on whole numbers, whose sums are exact, against the
 * twin of all convolutions; on others bit by bit against a twin of their own. */
#include <stdlib.h>
#include <string.h>

#include "base/isa.h"
#include "kernels/select.h"
#include "nn/conv_layout.h"
#include "support/check.h"
#include "unit/nn/layer_chain.h"
#include "unit/nn/winograd_twin.h"

struct sweep {
    const char *text;
    size_t C, H, W;
};

static const struct sweep sweeps[] = {
    {"conv 32 3x3 pad 1", 32, 6, 6},   {"conv 33 3x3 pad 1", 47, 8, 6},
    {"conv 64 3x3 pad 1", 64, 7, 7},   {"conv 80 3x3", 72, 9, 10},
    {"conv 72 3x3 pad 2", 90, 6, 7},   {"conv 100 3x3 pad 1", 100, 2, 2},
    {"conv 31 3x3 pad 1", 40, 10, 16},
};
enum { NSWEEPS = sizeof sweeps / sizeof *sweeps };

static struct hr_dims dims_of(const struct sweep *sweep)
{
    return (struct hr_dims){.ndim = 3, .size = {sweep->C, sweep->H, sweep->W}};
}

static bool is_winograd(const char *text, const struct hr_dims *in)
{
    struct hr_layer layer;
    parse_layer(text, in, &layer);
    return hr_conv_of(&layer).winograd;
}

/* The levels of vector kernels that multiply so, from the machine's own down; false: no more. */
static bool lower(size_t count)
{
    if (count == 1 && hr_isa() > HR_ISA_V3)
        hr_isa_lower(HR_ISA_V3);
    else if (count > 0)
        return false;
    return hr_kernels_use_winograd();
}

/* --- the rule --- */

static void the_rule_is_of_shape_and_kernels_alone(void **state)
{
    (void)state;
    const struct hr_dims many = {.ndim = 3, .size = {64, 8, 8}};
    const struct hr_dims few = {.ndim = 3, .size = {16, 32, 32}};
    static const char *const not [] = {"conv 64 3x3 stride 2 pad 1", "conv 64 3x3 dilation 2 pad 2",
                                       "conv 64 3x3 groups 2 pad 1", "conv 64 5x5 pad 2",
                                       "conv 64 3x3 pad 3",          "conv 4 3x3 pad 1"};
    for (size_t i = 0; i < NSWEEPS; i++) {
        const struct hr_dims in = dims_of(&sweeps[i]);
        assert_int_equal(is_winograd(sweeps[i].text, &in), hr_kernels_use_winograd());
    }
    for (size_t i = 0; i < sizeof not / sizeof *not ; i++)
        assert_false(is_winograd(not [i], &many));
    assert_false(is_winograd("conv 16 3x3 pad 1", &few));
    if (!hr_kernels_use_winograd())
        return;
    struct hr_layer layer;
    parse_layer("conv 64 3x3 pad 1", &many, &layer);
    layer.cut = HR_CUT_COLUMNS;
    assert_false(hr_conv_of(&layer).winograd);
    layer.cut = HR_CUT_NOT;
    layer.precision = HR_PRECISION_BF16;
    assert_false(hr_conv_of(&layer).winograd);
    CHECK_OK(hr_kernels_select_named("direct", false));
    assert_false(is_winograd("conv 64 3x3 pad 1", &many));
    CHECK_OK(hr_kernels_select_named("openblas", false));
    assert_false(is_winograd("conv 64 3x3 pad 1", &many));
    CHECK_OK(hr_kernels_select_named("fast", false));
    hr_isa_lower(HR_ISA_PLAIN);
    assert_false(is_winograd("conv 64 3x3 pad 1", &many));
    hr_isa_restore();
}

/* --- against the twins --- */

static void check_layer(const struct sweep *sweep, size_t B, size_t threads)
{
    struct chain chain;
    const char *const texts[] = {sweep->text, NULL};
    const struct hr_dims in = dims_of(sweep);
    const struct conv_twin twin = conv_twin_of(sweep->text, sweep->C, sweep->H, sweep->W);
    chain_init(&chain, texts, &in, &(struct how){.threads = threads});
    fill(&chain, whole_number);
    chain_run(&chain, B, true);
    check_against_twin(&chain, &twin, B);
    chain_fini(&chain);
}

static void layers_agree_with_the_twin_of_all_convolutions(void **state)
{
    (void)state;
    static const size_t batches[] = {0, 1, 3};
    for (size_t level = 0; lower(level); level++)
        for (size_t s = 0; s < NSWEEPS; s++)
            check_layer(&sweeps[s], batches[(s + level) % 3], 1 + s % 3);
    hr_isa_restore();
}

static void check_bits(const struct sweep *sweep)
{
    struct chain chain;
    const char *const texts[] = {sweep->text, NULL};
    const struct hr_dims in = dims_of(sweep);
    const struct conv_twin t = conv_twin_of(sweep->text, sweep->C, sweep->H, sweep->W);
    const struct winograd_shape shape = {MAX_B, t.C, t.H, t.W, t.O, t.OH, t.OW, t.pad};
    const size_t weights = t.O * t.C * 9;
    const size_t elems = MAX_B * (hr_dims_elems(&in) + t.O * t.OH * t.OW) + weights;
    float *want = zeros(elems * sizeof *want);
    chain_init(&chain, texts, &in, &(struct how){.threads = 2});
    fill(&chain, real_number);
    chain_run(&chain, MAX_B, true);
    winograd_twin_forward(&shape, chain.y[0], chain.params, chain.params + weights, want);
    CHECK_SAME_FLOATS(chain.y[1], want, MAX_B * t.O * t.OH * t.OW);
    winograd_twin_dx(&shape, chain.d[1], chain.params, want);
    CHECK_SAME_FLOATS(chain.d[0], want, MAX_B * hr_dims_elems(&in));
    winograd_twin_weights(&shape, chain.y[0], chain.d[1], want);
    CHECK_SAME_FLOATS(chain.grads, want, weights);
    free(want);
    chain_fini(&chain);
}

static void bits_are_those_of_their_own_twin(void **state)
{
    (void)state;
    static const struct sweep large = {"conv 32 3x3 pad 1", 32, 26,
                                       21}; /* several blocks of tiles */
    for (size_t level = 0; lower(level); level++) {
        check_bits(&large);
        for (size_t s = level; s < NSWEEPS; s += 2)
            check_bits(&sweeps[s]);
    }
    hr_isa_restore();
}

/* --- bits --- */

static void neither_threads_nor_a_pool_change_a_bit(void **state)
{
    (void)state;
    static const char *const texts[] = {"conv 48 3x3 pad 1", "relu", "maxpool 2", NULL};
    const struct hr_dims in = {.ndim = 3, .size = {50, 9, 13}};
    struct chain apart, other;
    if (!hr_kernels_use_winograd())
        SKIP("these kernels do not use Winograd's algorithm");
    assert_true(is_winograd(texts[0], &in));
    chain_init(&apart, texts, &in, &(struct how){.threads = 1});
    fill(&apart, real_number);
    chain_run(&apart, MAX_B, true);
    for (size_t threads = 1; threads <= 5; threads++) {
        const struct how how = {.threads = threads, .relu_follows = true, .absorbs = 2};
        chain_init(&other, texts, &in, &how);
        fill(&other, real_number);
        chain_run(&other, MAX_B, true);
        check_same_results(&apart, &other, MAX_B);
        chain_fini(&other);
    }
    chain_fini(&apart);
}

/* One image of a batch, and the batch: what a sample gives does not depend on the others. */
static void a_sample_alone_has_the_same_bits(void **state)
{
    (void)state;
    static const char *const texts[] = {"conv 64 3x3 pad 1", NULL};
    const struct hr_dims in = {.ndim = 3, .size = {64, 7, 6}};
    struct chain all, alone;
    chain_init(&all, texts, &in, &(struct how){.threads = 1});
    chain_init(&alone, texts, &in, &(struct how){.threads = 1});
    fill(&all, real_number);
    fill(&alone, real_number);
    chain_run(&all, MAX_B, true);
    const size_t elems = hr_dims_elems(&in);
    memcpy(alone.y[0], all.y[0] + 2 * elems, elems * sizeof(float));
    memcpy(alone.d[1], all.d[1] + 2 * elems, elems * sizeof(float));
    chain_run(&alone, 1, true);
    CHECK_SAME_FLOATS(alone.y[1], all.y[1] + 2 * elems, elems);
    CHECK_SAME_FLOATS(alone.d[0], all.d[0] + 2 * elems, elems);
    free(alone.d[0]);
    alone.d[0] = NULL; /* nobody asks for it */
    float *want = zeros(param_count(alone.layers) * sizeof *want);
    memcpy(want, alone.grads, param_count(alone.layers) * sizeof *want);
    chain_run(&alone, 1, true);
    CHECK_SAME_FLOATS(alone.grads, want, param_count(alone.layers));
    free(want);
    chain_fini(&all);
    chain_fini(&alone);
}

/* --- numbers --- */

static void an_infinity_is_in_the_outputs_that_read_it_alone(void **state)
{
    (void)state;
    enum { C = 32, SIDE = 8, AT_Y = 3, AT_X = 4 };
    static const char *const texts[] = {"conv 32 3x3 pad 1", NULL};
    const struct hr_dims in = {.ndim = 3, .size = {C, SIDE, SIDE}};
    struct chain chain;
    if (!hr_kernels_use_winograd())
        SKIP("these kernels do not use Winograd's algorithm");
    chain_init(&chain, texts, &in, &(struct how){.threads = 1});
    fill(&chain, real_number);
    chain_run(&chain, 1, false);
    float clean[SIDE * SIDE * C];
    memcpy(clean, chain.y[1], sizeof clean);
    chain.y[0][(AT_Y * SIDE + AT_X) * C + 5] = INFINITY;
    chain_run(&chain, 1, false);
    for (size_t p = 0; p < SIDE * SIDE; p++) {
        const size_t y = p / SIDE, x = p % SIDE;
        const bool reads = y + 1 >= AT_Y && y <= AT_Y + 1 && x + 1 >= AT_X && x <= AT_X + 1;
        for (size_t o = 0; o < C; o++)
            assert_int_equal(isfinite(chain.y[1][p * C + o]), !reads);
        if (!reads)
            CHECK_SAME_FLOATS(chain.y[1] + p * C, clean + p * C, C);
    }
    chain_fini(&chain);
}

/* The largest error of y, dx and dweight beside their largest number. */
static void errors(const struct sweep *sweep, double error[3])
{
    static double x[MAX_ELEMS], dy[MAX_ELEMS], want[3][MAX_ELEMS * 9], got[MAX_ELEMS];
    const struct conv_twin twin = conv_twin_of(sweep->text, sweep->C, sweep->H, sweep->W);
    const char *const texts[] = {sweep->text, NULL};
    const struct hr_dims in = dims_of(sweep);
    const size_t nparams = conv_twin_params(&twin), weights = nparams - twin.O;
    double *params = zeros(nparams * sizeof *params);
    struct chain chain;
    chain_init(&chain, texts, &in, &(struct how){.threads = 1});
    fill(&chain, real_number);
    chain_run(&chain, 1, true);
    for (size_t i = 0; i < nparams; i++)
        params[i] = (double)chain.params[i];
    to_planes(&in, chain.y[0], x);
    to_planes(&chain.out, chain.d[1], dy);
    memset(want, 0, sizeof want);
    conv_twin_forward(&twin, params, x, want[0]);
    const struct conv_arrays arrays = {
        .params = params, .x = x, .y = NULL, .dy = dy, .dx = want[1], .grads = want[2]};
    conv_twin_backward(&twin, &arrays);
    for (size_t what = 0; what < 3; what++) {
        const size_t elems = what == 2 ? weights : hr_dims_elems(what ? &in : &chain.out);
        double most = 0, worst = 0;
        if (what < 2)
            to_planes(what ? &in : &chain.out, what ? chain.d[0] : chain.y[1], got);
        for (size_t i = 0; i < elems; i++) {
            const double found = what < 2 ? got[i] : (double)chain.grads[i];
            worst = fmax(worst, fabs(found - want[what][i]));
            most = fmax(most, fabs(want[what][i]));
        }
        error[what] = worst / most;
    }
    free(params);
    chain_fini(&chain);
}

/* Measured: 2 to 4e-7, and no more than of direct sums. */
static void errors_are_small_beside_the_largest_number(void **state)
{
    (void)state;
    static const struct sweep sweep = {"conv 64 3x3 pad 1", 64, 8, 8};
    double error[3];
    if (!hr_kernels_use_winograd())
        SKIP("these kernels do not use Winograd's algorithm");
    errors(&sweep, error);
    for (size_t what = 0; what < 3; what++)
        CHECK_NEAR(error[what], 0, 0, 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rule_is_of_shape_and_kernels_alone),
        cmocka_unit_test(layers_agree_with_the_twin_of_all_convolutions),
        cmocka_unit_test(bits_are_those_of_their_own_twin),
        cmocka_unit_test(neither_threads_nor_a_pool_change_a_bit),
        cmocka_unit_test(a_sample_alone_has_the_same_bits),
        cmocka_unit_test(an_infinity_is_in_the_outputs_that_read_it_alone),
        cmocka_unit_test(errors_are_small_beside_the_largest_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
