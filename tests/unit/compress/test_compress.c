/* Compressors against naive twins: every half by search, quotients in double, a full sort. And what
 * holds for all of them: nothing is lost, cut packets are equal, edges. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "compress/compress.h"
#include "compress/round.h"
#include "oracle.h"
#include "support/check.h"

enum { N = 3000, MOST_BYTES = 8 * N };

static float x[N], error[N], out[N];
static uint32_t packet[MOST_BYTES / 4];

static struct hr_compress of(const char *text)
{
    struct hr_compress c;
    assert_int_equal(hr_compress_parse(text, &c), HR_OK);
    return c;
}

/* All magnitudes: bits as they come, exponents within `span` of that of 1. */
static void draw(float *to, uint32_t seed, unsigned span)
{
    for (size_t i = 0; i < N; i++) {
        const struct hr_philox block = hr_random_block(seed, HR_STREAM_TEST, i, 0);
        const uint32_t exponent = 127 - span + block.v[1] % (2 * span + 1);
        to[i] = hr_float_of((block.v[0] & 0x807fffff) | exponent << 23);
    }
}

static void send(const struct hr_compress *c, size_t n)
{
    memset(packet, 0, sizeof packet);
    c->how->encode(c, n, x, error, packet);
    c->how->decode(c, n, packet, out);
}

/* --- twins --- */

static double half_value(unsigned half)
{
    const unsigned exponent = half >> 10 & 31, fraction = half & 1023;
    const double size =
        exponent ? ldexp(1024 + fraction, (int)exponent - 25) : ldexp(fraction, -24);
    return half & 0x8000 ? -size : size;
}

/* The nearest of all finite halves; of two the even one. */
static double nearest_half(double v)
{
    unsigned low = 0, high = 0x7bff;
    const double size = fabs(v);
    if (size >= half_value(high))
        return copysign(half_value(high), v);
    while (high - low > 1) {
        const unsigned middle = (low + high) / 2;
        if (half_value(middle) <= size)
            low = middle;
        else
            high = middle;
    }
    const double down = size - half_value(low), up = half_value(high) - size;
    const unsigned which = down < up || (down == up && low % 2 == 0) ? low : high;
    return copysign(half_value(which), v);
}

static double nearest_bf16(double v)
{
    int exponent;
    if (v == 0)
        return v;
    frexp(v, &exponent);
    return ldexp(nearbyint(ldexp(v, 8 - exponent)), exponent - 8);
}

static void test_halves(void **state)
{
    const struct hr_compress fp16 = of("fp16"), bf16 = of("bf16");
    (void)state;
    for (unsigned span = 4; span <= 100; span += 8) {
        draw(x, span, span);
        x[0] = 65504, x[1] = 65519.99f, x[2] = 65520, x[3] = -1e30f;
        x[4] = 0x1p-25f, x[5] = 0x1.8p-24f, x[6] = 0x1.000002p-25f, x[7] = 0x1.ffcp-15f;
        for (unsigned i = 0; i < 0x7c00; i += 13) /* ties */
            x[8 + i / 13] = (float)((half_value(i) + half_value(i + 1 < 0x7c00 ? i + 1 : i)) / 2);
        memset(error, 0, sizeof error);
        send(&fp16, N);
        for (size_t i = 0; i < N; i++)
            assert_true((double)out[i] == nearest_half((double)x[i]));
        memset(error, 0, sizeof error);
        send(&bf16, N);
        for (size_t i = 0; i < N; i++)
            assert_true((double)out[i] == nearest_bf16((double)x[i]));
    }
}

static void test_int8(void **state)
{
    const struct hr_compress c = of("int8");
    (void)state;
    draw(x, 1, 6);
    memset(x + 512, 0, 256 * sizeof *x);
    for (size_t i = 1024; i < 1280; i++) /* ties: scale 1 */
        x[i] = i == 1024 ? 127 : (float)(i % 100) + 0.5f;
    memset(error, 0, sizeof error);
    send(&c, N);
    for (size_t at = 0; at < N; at += HR_COMPRESS_BLOCK) {
        const size_t end = at + HR_COMPRESS_BLOCK < N ? at + HR_COMPRESS_BLOCK : N;
        float most = 0;
        for (size_t i = at; i < end; i++)
            most = fmaxf(most, fabsf(x[i]));
        const float scale = most / 127;
        for (size_t i = at; i < end; i++) {
            const float q = scale > 0 ? (float)nearbyint((double)(x[i] / scale)) : 0;
            assert_true(out[i] == q * scale);
        }
    }
    assert_int_equal(c.how->bytes(&c, N), N + 4 * ((N + 255) / 256));
    x[0] = 0x1.fffffep127f; /* 127 times its 127th part is beyond all floats */
    memset(error, 0, sizeof error);
    send(&c, N);
    assert_true(isfinite(out[0]) && out[0] > 0x1.fffff0p127f && isfinite(error[0]));
}

static int larger(const void *a, const void *b)
{
    const struct hr_compress_pair *p = a, *q = b;
    const uint32_t s = hr_float_size(p->value), t = hr_float_size(q->value);
    return s != t ? (s < t) - (s > t) : (p->index > q->index) - (p->index < q->index);
}

static void check_largest(const struct hr_compress *c, size_t n, size_t k)
{
    static struct hr_compress_pair sorted[N];
    const struct hr_compress_pair *pairs = (const void *)packet;
    for (size_t i = 0; i < n; i++)
        sorted[i] = (struct hr_compress_pair){(uint32_t)i, x[i]};
    qsort(sorted, n, sizeof *sorted, larger);
    memset(error, 0, sizeof error);
    send(c, n);
    assert_int_equal(c->how->bytes(c, n), 8 * k);
    for (size_t i = 0; i < k; i++) {
        assert_true(out[sorted[i].index] == sorted[i].value && error[sorted[i].index] == 0);
        assert_true(i == 0 || pairs[i].index > pairs[i - 1].index);
    }
    for (size_t i = k; i < n; i++)
        assert_true(out[sorted[i].index] == 0 && error[sorted[i].index] == sorted[i].value);
}

static void test_largest(void **state)
{
    static const struct {
        const char *text;
        size_t n, k;
    } cases[] = {{"topk:1%", N, 30},        {"topk:7%", 100, 7},    {"topk:0.01%", N, 1},
                 {"topk:100%", N, N},       {"topk:1%", 1, 1},      {"topk:50%", 5, 3},
                 {"topk:33.3%", 2000, 666}, {"topk:0.56%", 1250, 7}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct hr_compress c = of(cases[i].text);
        draw(x, (uint32_t)i, 20);
        check_largest(&c, cases[i].n, cases[i].k);
        for (size_t j = 0; j < N; j++) /* many that are equal */
            x[j] = (float)((j * 7919) % 5) - 2;
        check_largest(&c, cases[i].n, cases[i].k);
    }
}

/* --- what numpy says (tests/peers/compress_oracle.py) --- */

static void test_oracle(void **state)
{
    enum { ORACLE = sizeof oracle_x / sizeof *oracle_x };
    const struct hr_compress fp16 = of("fp16"), int8 = of("int8"), topk = of("topk:5%");
    const unsigned char *bytes = (const void *)packet;
    (void)state;
    memcpy(x, oracle_x, sizeof oracle_x);
    memset(error, 0, sizeof error);
    send(&fp16, ORACLE);
    assert_memory_equal(packet, oracle_fp16, sizeof oracle_fp16);
    memset(error, 0, sizeof error);
    send(&int8, ORACLE);
    for (size_t i = 0, at = 0; i < ORACLE; i += 256, at += 260) {
        assert_memory_equal(bytes + at, &oracle_scale[i / 256], 4);
        assert_memory_equal(bytes + at + 4, &oracle_int8[i], ORACLE - i < 256 ? ORACLE - i : 256);
    }
    memset(error, 0, sizeof error);
    send(&topk, ORACLE);
    for (size_t i = 0; i < sizeof oracle_largest / sizeof *oracle_largest; i++)
        assert_int_equal(((const struct hr_compress_pair *)(const void *)packet)[i].index,
                         oracle_largest[i]);
}

/* --- what holds for all --- */

static const char *const all[] = {"bf16", "fp16", "int8", "topk:1%", "topk:20%"};
enum { ALL = sizeof all / sizeof *all };

/* The sum of what was sent, and the error, is the sum of what was to be sent. */
static void test_nothing_is_lost(void **state)
{
    enum { STEPS = 200 };
    static double given[N], sent[N], size[N];
    (void)state;
    for (size_t a = 0; a < ALL; a++) {
        const struct hr_compress c = of(all[a]);
        memset(given, 0, sizeof given);
        memset(sent, 0, sizeof sent);
        memset(size, 0, sizeof size);
        memset(error, 0, sizeof error);
        for (uint32_t step = 0; step < STEPS; step++) {
            draw(x, 1000 + step, 3);
            send(&c, N);
            for (size_t i = 0; i < N; i++) {
                given[i] += (double)x[i];
                sent[i] += (double)out[i];
                size[i] += fabs((double)x[i]) + fabs((double)error[i]);
            }
        }
        for (size_t i = 0; i < N; i++) /* two roundings a step, of half a unit in the last place */
            assert_true(fabs(sent[i] + (double)error[i] - given[i]) <= 0x1p-23 * size[i]);
    }
}

/* A vector cut where blocks end has the packets of the whole, end to end. */
static void test_cut(void **state)
{
    static uint32_t parts[MOST_BYTES / 4];
    (void)state;
    for (size_t a = 0; a < ALL; a++) {
        const struct hr_compress c = of(all[a]);
        const size_t cut = 5 * HR_COMPRESS_BLOCK, behind = 5 * c.how->block_bytes;
        if (!c.how->block_bytes)
            continue;
        draw(x, 5, 9);
        memset(error, 0, sizeof error);
        memset(parts, 0, sizeof parts);
        c.how->encode(&c, cut, x, error, parts);
        c.how->encode(&c, N - cut, x + cut, error + cut, parts + behind / 4);
        memset(error, 0, sizeof error);
        send(&c, N);
        assert_memory_equal(packet, parts, sizeof packet);
        assert_int_equal(c.how->bytes(&c, cut), behind);
        assert_int_equal(c.how->bytes(&c, cut) + c.how->bytes(&c, N - cut), c.how->bytes(&c, N));
        memset(packet, 0, sizeof packet);
        c.how->decode(&c, N, packet, out);
        for (size_t i = 0; i < N; i++)
            assert_true(hr_float_bits(out[i]) == 0);
    }
}

static void test_edges(void **state)
{
    (void)state;
    for (size_t a = 0; a < ALL; a++) {
        const struct hr_compress c = of(all[a]);
        memset(x, 0, sizeof x);
        memset(error, 0, sizeof error);
        x[0] = NAN, x[1] = INFINITY, x[2] = -INFINITY, x[300] = 3.4e38f, x[301] = 1e-40f;
        error[302] = 1e-40f;
        send(&c, N);
        assert_true(isnan(out[0]));
        assert_true(c.how->block_bytes == HR_COMPRESS_BLOCK + 4
                        ? isnan(out[2])
                        : out[1] > 3.4e38f && isinf(out[2]));
        assert_true(error[0] == 0 && error[1] == 0 && error[2] == 0);
        assert_true(isfinite(out[300]) && isfinite(error[300]) && out[300] > 6e4f);
        assert_true(out[301] == 0 && error[301] == 0 && out[302] == 0 && error[302] == 0);
    }
}

/* A block of which nothing can be sent keeps all of it, until it has grown. */
static void test_small_block(void **state)
{
    const struct hr_compress c = of("int8");
    (void)state;
    memset(error, 0, sizeof error);
    for (size_t i = 0; i < N; i++)
        x[i] = 0x1p-114f;
    send(&c, N);
    assert_true(out[7] == 0 && error[7] == 0x1p-114f);
    for (int step = 0; step < 3; step++)
        send(&c, N);
    assert_true(out[7] > 0x1.ffp-113f && fabsf(out[7] + error[7] - 0x1p-112f) < 0x1p-130f);
}

static void test_grammar(void **state)
{
    static const char *const bad[] = {
        "gzip",      "bf16:2",     "topk",        "topk:",    "topk:1",     "topk:0%",
        "topk:101%", "topk:-1%",   "topk:nan%",   "powersgd", "powersgd:0", "powersgd:65",
        "bf1",       "powersgd:x", "powersgd:2%", "int8:"};
    struct hr_compress c;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(hr_compress_parse(bad[i], &c), HR_E_USAGE);
        assert_non_null(strstr(hr_error_message(), "bf16, fp16, int8, topk:1%, powersgd:2"));
    }
    assert_null(of("").how);
    assert_int_equal(of("powersgd:3").rank, 3);
    assert_true(hr_compress_is_sparse(&(struct hr_compress){of("topk:2%").how, .percent = 2}));
    assert_null(hr_compressor_at(5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_halves),  cmocka_unit_test(test_int8),
        cmocka_unit_test(test_largest), cmocka_unit_test(test_oracle),
        cmocka_unit_test(test_cut),     cmocka_unit_test(test_nothing_is_lost),
        cmocka_unit_test(test_edges),   cmocka_unit_test(test_small_block),
        cmocka_unit_test(test_grammar),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
