/* Convolutions of bfloat16 values, bit by bit, against sums written down as patches_bf16.h and
 * patches_amx.h promise them: one element at a time, padding and all. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "base/size.h"
#include "kernels/bf16.h"
#include "nn/layer.h"
#include "nn/window.h"
#include "support/amx_twin.h"
#include "support/check.h"
#include "unit/nn/conv_twin.h"

enum { MAX = 1 << 15, MAX_B = 5 };

static float x[MAX], y[MAX], dy[MAX], dx[MAX], params[MAX], grads[MAX], want[MAX], other[MAX];
static struct hr_layer layers[3];
static struct conv_twin t;
static size_t B, threads, nlayers;
static bool as_amx; /* the order of sums */
static bool tiny;   /* numbers are zeros of either sign, or have products near the least one */

/* Mostly full floats, some that are bfloat16 values, and some so large that sums in another order
 * are others, rounded too. */
static void fill(float *to, size_t count, uint32_t sequence)
{
    assert_true(count <= MAX);
    for (size_t i = 0; i < count; i++) {
        const uint32_t r = hr_random_block(check_seed(), HR_STREAM_TEST, i, sequence).v[0];
        const float value = hr_random_unit(r) - 0.5f;
        to[i] = r % 9 == 1 ? copysignf(0x1p12f, value) : r % 5 == 0 ? hr_bf16_round(value) : value;
        if (tiny)
            to[i] = copysignf(r % 3 ? 0 : ldexpf(1, -58 - (int)(r / 64 % 8)), value);
    }
}

static void parse_layer(const char *text, const struct hr_dims *in, struct hr_layer *out)
{
    struct hr_model_text cut;
    CHECK_OK(hr_model_text_parse(text, 10, &cut));
    CHECK_OK(hr_layer_parse(&cut.layers[0], false, out));
    hr_model_text_fini(&cut);
    out->in = *in;
    out->precision = HR_PRECISION_BF16;
    CHECK_OK(out->type->fit(out));
}

static struct hr_pass pass_of(void *saved, void *scratch)
{
    return (struct hr_pass){.B = B,
                            .params = params,
                            .grads = grads,
                            .x = x,
                            .y = y,
                            .dy = dy,
                            .dx = dx,
                            .saved = saved,
                            .scratch = scratch,
                            .threads = threads};
}

static void run(bool backward)
{
    const struct hr_layer *layer = layers;
    const size_t bytes = hr_round_up(layer->type->scratch_bytes(layer, B, threads), 64) + 64;
    static unsigned char saved[MAX];
    void *scratch = aligned_alloc(64, bytes);
    assert_non_null(scratch);
    memset(scratch, 0x7f, bytes);
    const struct hr_pass pass = pass_of(layer->absorbs ? saved : NULL, scratch);
    (backward ? layer->type->backward : layer->type->forward)(layer, &pass);
    free(scratch);
}

/* --- the sums --- */

/* A sum that pairs are added to: one by one, or, as AMX does, so many at a time. */
struct sum {
    size_t pairs, count; /* of a chunk */
    uint32_t a[AMX_PAIRS], b[AMX_PAIRS];
    float value;
};

/* A run of terms is cut into chunks as large as can be. */
static struct sum sum_of(size_t run)
{
    struct sum sum = {.pairs = run < AMX_PAIRS ? run : AMX_PAIRS};
    while (run % sum.pairs)
        sum.pairs--;
    return sum;
}

static void add_pair(struct sum *sum, uint32_t a, uint32_t b)
{
    if (!as_amx) {
        sum->value = hr_bf16_dot(a, b, sum->value);
        return;
    }
    sum->a[sum->count] = a;
    sum->b[sum->count] = b;
    if (++sum->count < sum->pairs)
        return;
    sum->value = amx_chunk(sum->a, sum->b, sum->pairs, sum->value);
    sum->count = 0;
}

/* Taps of a row of the filter stand side by side, where nothing is between them. */
static size_t run_of(size_t taps, size_t channels)
{
    return (t.groups == 1 && t.dilation == 1 ? taps : 1) * ((channels + 1) / 2);
}

static size_t image_at(size_t b, size_t h, size_t w, size_t c, size_t H, size_t W, size_t C)
{
    return ((b * H + h) * W + w) * C + c;
}

/* x[b][oy * stride + ...][...][c] under the filter, 0 outside and behind the last image. */
static float x_at(size_t b, size_t oy, size_t ox, size_t ky, size_t kx, size_t c)
{
    const size_t h = oy * t.stride + ky * t.dilation, w = ox * t.stride + kx * t.dilation;
    if (b >= B || h < t.pad || w < t.pad || h - t.pad >= t.H || w - t.pad >= t.W)
        return 0;
    return x[image_at(b, h - t.pad, w - t.pad, c, t.H, t.W, t.C)];
}

static float weight_at(size_t o, size_t c, size_t ky, size_t kx)
{
    return params[((o * (t.C / t.groups) + c) * t.KH + ky) * t.KW + kx];
}

static float forward_sum(size_t b, size_t oy, size_t ox, size_t o)
{
    const size_t Cg = t.C / t.groups, first = o / (t.O / t.groups) * Cg;
    struct sum sum = sum_of(run_of(t.KW, Cg));
    for (size_t ky = 0; ky < t.KH; ky++)
        for (size_t kx = 0; kx < t.KW; kx++)
            for (size_t c = 0; c < Cg; c += 2) {
                const bool two = c + 1 < Cg;
                const float odd = two ? x_at(b, oy, ox, ky, kx, first + c + 1) : 0;
                add_pair(
                    &sum, hr_bf16_pair(x_at(b, oy, ox, ky, kx, first + c), odd),
                    hr_bf16_pair(weight_at(o, c, ky, kx), two ? weight_at(o, c + 1, ky, kx) : 0));
            }
    return sum.value;
}

static float dy_at(size_t b, size_t oy, size_t ox, size_t o)
{
    return b < B ? dy[image_at(b, oy, ox, o, t.OH, t.OW, t.O)] : 0;
}

/* dy where tap (ky, kx) has put the pixel of padded place (up, left); 0 outside. */
static float reached(size_t b, size_t up, size_t left, size_t ky, size_t kx, size_t o)
{
    const size_t down = ky * t.dilation, right = kx * t.dilation;
    const bool out = up < down || left < right || (up - down) / t.stride >= t.OH ||
                     (left - right) / t.stride >= t.OW;
    return out ? 0 : dy_at(b, (up - down) / t.stride, (left - right) / t.stride, o);
}

/* Over outputs of the group by pairs. */
static void add_outputs(struct sum *sum, size_t b, size_t up, size_t left, size_t c, size_t place)
{
    const size_t Cg = t.C / t.groups, Og = t.O / t.groups, g = c / Cg, end = (g + 1) * Og;
    const size_t ky = place / t.KW, kx = place % t.KW;
    if ((up + t.dilation * t.stride * t.KH - ky * t.dilation) % t.stride ||
        (left + t.dilation * t.stride * t.KW - kx * t.dilation) % t.stride)
        return;
    for (size_t o = g * Og; o < end; o += 2) {
        const bool two = o + 1 < end;
        add_pair(
            sum,
            hr_bf16_pair(reached(b, up, left, ky, kx, o),
                         two ? reached(b, up, left, ky, kx, o + 1) : 0),
            hr_bf16_pair(weight_at(o, c % Cg, ky, kx), two ? weight_at(o + 1, c % Cg, ky, kx) : 0));
    }
}

/* Over taps that touch the pixel, in their order, or, as AMX does, the last first. */
static float data_sum(size_t b, size_t h, size_t w, size_t c)
{
    const size_t up = h + t.pad, left = w + t.pad, places = t.KH * t.KW;
    size_t touching = 0;
    for (size_t kx = 0; kx < t.KW; kx++)
        touching += kx * t.dilation % t.stride == left % t.stride;
    struct sum sum = sum_of(run_of(touching ? touching : 1, t.O / t.groups));
    for (size_t i = 0; i < places; i++)
        add_outputs(&sum, b, up, left, c, as_amx ? places - 1 - i : i);
    return sum.value;
}

static float weight_sum(size_t o, size_t c, size_t ky, size_t kx)
{
    const size_t first = o / (t.O / t.groups) * (t.C / t.groups);
    struct sum sum = sum_of(t.OW);
    for (size_t b = 0; b < B; b += 2)
        for (size_t oy = 0; oy < t.OH; oy++)
            for (size_t ox = 0; ox < t.OW; ox++)
                add_pair(&sum,
                         hr_bf16_pair(x_at(b, oy, ox, ky, kx, first + c),
                                      x_at(b + 1, oy, ox, ky, kx, first + c)),
                         hr_bf16_pair(dy_at(b, oy, ox, o), dy_at(b + 1, oy, ox, o)));
    return sum.value;
}

/* --- layers --- */

static void begin(const char *text, size_t C, size_t H, size_t W)
{
    const struct hr_dims in = {.ndim = 3, .size = {C, H, W}};
    t = conv_twin_of(text, C, H, W);
    parse_layer(text, &in, layers);
    nlayers = 1;
    fill(x, B * C * H * W, 1);
    fill(dy, B * t.O * t.OH * t.OW, 2);
    fill(params, t.O * (t.C / t.groups * t.KH * t.KW + 1), 3);
    memset(y, 0x7f, sizeof y);
    memset(dx, 0x7f, sizeof dx);
    memset(grads, 0x7f, sizeof grads);
}

static void check_forward(bool relu)
{
    const float *bias = params + t.O * (t.C / t.groups) * t.KH * t.KW;
    layers[0].relu_follows = relu;
    run(false);
    for (size_t i = 0; i < B * t.OH * t.OW * t.O; i++) {
        const size_t o = i % t.O, ox = i / t.O % t.OW, oy = i / t.O / t.OW % t.OH;
        const float sum = hr_bf16_round(forward_sum(i / t.O / t.OW / t.OH, oy, ox, o) + bias[o]);
        want[i] = relu && sum < 0 ? 0 : sum;
    }
    CHECK_SAME_FLOATS(y, want, B * t.OH * t.OW * t.O);
}

static void check_backward(void)
{
    const size_t Cg = t.C / t.groups, taps = Cg * t.KH * t.KW;
    run(true);
    for (size_t i = 0; i < B * t.H * t.W * t.C; i++)
        want[i] = hr_bf16_round(
            data_sum(i / t.C / t.W / t.H, i / t.C / t.W % t.H, i / t.C % t.W, i % t.C));
    CHECK_SAME_FLOATS(dx, want, B * t.H * t.W * t.C);
    for (size_t i = 0; i < t.O * taps; i++)
        want[i] = weight_sum(i / taps, i / (t.KH * t.KW) % Cg, i / t.KW % t.KH, i % t.KW);
    CHECK_SAME_FLOATS(grads, want, t.O * taps);
    for (size_t o = 0; o < t.O; o++) {
        want[o] = 0;
        for (size_t p = 0; p < B * t.OH * t.OW; p++)
            want[o] += dy[p * t.O + o];
    }
    CHECK_SAME_FLOATS(grads + t.O * taps, want, t.O);
}

static void check_layer(const char *text, size_t C, size_t H, size_t W, bool relu)
{
    begin(text, C, H, W);
    for (size_t i = 0; i < B * t.O * t.OH * t.OW; i++) /* a gradient is such a value */
        dy[i] = hr_bf16_round(dy[i]);
    check_forward(relu);
    check_backward();
}

static void every_shape_gives_its_sums(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t C, H, W;
    } cases[] = {
        {"conv 1 1x1", 1, 1, 1},
        {"conv 6 5x5 pad 2", 1, 9, 8},
        {"conv 32 3x3 pad 1", 3, 8, 8},
        {"conv 16 3x3 pad 1", 16, 7, 5},
        {"conv 16 3x3 pad 1", 16, 8, 8},
        {"conv 12 3x2 stride 2 pad 1", 8, 9, 15},
        {"conv 33 3x3 pad 1", 4, 5, 6},
        {"conv 65 1x1", 7, 4, 4},
        {"conv 5 3x3 stride 2 pad 1", 6, 9, 9},
        {"conv 8 1x1 stride 2", 5, 8, 8},
        {"conv 7 3x2 stride 3 pad 2 dilation 2", 3, 11, 10},
        {"conv 6 3x3 pad 1 groups 3", 9, 6, 6},
        {"conv 8 3x3 pad 1 groups 8", 8, 6, 6},
        {"conv 12 2x2 groups 2 stride 2", 4, 6, 6},
        {"conv 20 3x3 pad 1", 20, 3, 33},
        {"conv 40 1x1", 34, 2, 17},
        {"conv 18 3x3 groups 2", 40, 5, 4},
        {"conv 5 3x3 stride 2 pad 1", 4, 3, 1},
        {"conv 20 5x5 stride 4 pad 2", 16, 1, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (B = 1; B <= MAX_B; B++) {
            threads = 1 + B % 3;
            check_layer(cases[i].text, cases[i].C, cases[i].H, cases[i].W, B % 2);
        }
}

static void random_shapes_do_too(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < check_count(150, 3000); i++) {
        const uint32_t *r = hr_random_block(check_seed(), HR_STREAM_TEST, i, 5).v;
        const size_t groups = 1 + r[0] % 3, C = groups * (1 + r[0] / 3 % 5);
        const size_t O = groups * (1 + r[0] / 15 % 20), KH = 1 + r[1] % 4, KW = 1 + r[1] / 4 % 4;
        const size_t stride = 1 + r[1] / 16 % 3, dilation = 1 + r[1] / 48 % 2;
        const size_t pad = r[2] % 3, H = 8 + r[2] / 3 % 5, W = 8 + r[2] / 15 % 6;
        char text[100];
        snprintf(text, sizeof text, "conv %zu %zux%zu stride %zu pad %zu dilation %zu groups %zu",
                 O, KH, KW, stride, pad, dilation, groups);
        B = 1 + r[3] % MAX_B;
        threads = 1 + r[3] / 8 % 3;
        tiny = r[3] & 128;
        check_layer(text, C, H, W, r[3] & 64);
    }
    tiny = false;
}

/* --- with the pool's work --- */

/* The layers one by one. */
static void apart(const char *pool_text)
{
    struct hr_layer pool;
    static float pooled_dy[MAX];
    static unsigned char places[MAX];
    const size_t in = hr_dims_elems(&layers[0].out);
    memcpy(pooled_dy, dy, sizeof dy);
    run(false); /* relu follows */
    parse_layer(pool_text, &layers[0].out, &pool);
    const size_t out = B * hr_dims_elems(&pool.out);
    struct hr_pass pass = {.B = B, .x = y, .y = want, .saved = places, .threads = 1};
    pool.type->forward(&pool, &pass);
    pass.dy = pooled_dy;
    pass.dx = dy;
    pool.type->backward(&pool, &pass);
    for (size_t i = 0; i < B * in; i++)
        dy[i] = y[i] > 0 ? hr_bf16_round(dy[i]) : 0;
    run(true);
    memcpy(other, grads, sizeof grads);
    memcpy(dy, pooled_dy, sizeof dy);
    memcpy(pooled_dy, dx, sizeof dx);
    layers[0].absorbs = 2;
    layers[1] = (struct hr_layer){.type = &hr_layer_relu, .in = layers[0].out};
    layers[1].out = layers[0].out;
    layers[2] = pool;
    run(false);
    CHECK_SAME_FLOATS(y, want, out);
    run(true);
    CHECK_SAME_FLOATS(dx, pooled_dy, B * hr_dims_elems(&layers[0].in));
    CHECK_SAME_FLOATS(grads, other, t.O * (t.C / t.groups * t.KH * t.KW + 1));
}

/* Largest of bfloat16 values: so equal ones are more, and which is first must not change. */
static void absorbing_a_pool_changes_no_bit(void **state)
{
    (void)state;
    static const char *const pools[] = {"maxpool 2", "maxpool 3 stride 2 pad 1",
                                        "maxpool 3 stride 1"};
    for (size_t i = 0; i < 3; i++)
        for (B = 1; B <= MAX_B; B++) {
            threads = 1 + B % 2;
            begin("conv 9 3x3 pad 1", 3, 8, 8);
            for (size_t k = 0; k < MAX; k++)
                dy[k] = hr_bf16_round(dy[k]);
            layers[0].relu_follows = true;
            apart(pools[i]);
        }
}

static int in_pairs(void **state)
{
    (void)state;
    as_amx = false;
    hr_isa_sum_as_amx(as_amx);
    return 0;
}

static int in_chunks(void **state)
{
    (void)state;
    as_amx = !hr_kernels_are_reference();
    hr_isa_sum_as_amx(as_amx);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shape_gives_its_sums),
        cmocka_unit_test(random_shapes_do_too),
        cmocka_unit_test(absorbing_a_pool_changes_no_bit),
    };
    print_message("%s\n", hr_bf16_name());
    return cmocka_run_group_tests_name("AMX's order", tests, in_chunks, NULL) +
           cmocka_run_group_tests_name("pairs", tests, in_pairs, NULL);
}
