/* Every type and operator against a naive twin; NaN, wrapping, truncation, the order T(n). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "base/vec.h"
#include "plan/element.h"
#include "support/check.h"

enum { COUNT = 1031, MOST = 17 }; /* more than one block of the kernels, and no multiple */

typedef union {
    float f[COUNT];
    double d[COUNT];
    int32_t i[COUNT];
    int64_t l[COUNT];
    unsigned char bytes[COUNT * 8];
} numbers;

/* --- the twin --- */

#define TWIN_REAL(type, least, most)                                                               \
    static type twin_##type(enum hr_redop redop, type a, type b)                                   \
    {                                                                                              \
        if (redop == HR_SUM || redop == HR_MEAN)                                                   \
            return a + b;                                                                          \
        if (redop == HR_PRODUCT)                                                                   \
            return a * b;                                                                          \
        if (isnan(a) || isnan(b))                                                                  \
            return (type)NAN;                                                                      \
        return redop == HR_MIN ? least(a, b) : most(a, b);                                         \
    }
TWIN_REAL(float, fminf, fmaxf)
TWIN_REAL(double, fmin, fmax)

/* In 128 bits nothing wraps; what is kept are the low ones. */
__extension__ typedef __int128 wide;

static wide twin_whole(enum hr_redop redop, wide a, wide b)
{
    switch (redop) {
    case HR_PRODUCT:
        return a * b;
    case HR_MIN:
        return a < b ? a : b;
    case HR_MAX:
        return a > b ? a : b;
    default:
        return a + b;
    }
}

/* mine[i] = mine[i] op theirs[i] */
static void twin_fold(struct hr_kind kind, numbers *mine, const numbers *theirs, size_t i)
{
    switch (kind.type) {
    case HR_FLOAT32:
        mine->f[i] = twin_float(kind.redop, mine->f[i], theirs->f[i]);
        break;
    case HR_FLOAT64:
        mine->d[i] = twin_double(kind.redop, mine->d[i], theirs->d[i]);
        break;
    case HR_INT32:
        mine->i[i] = (int32_t)(uint32_t)(uint64_t)twin_whole(kind.redop, mine->i[i], theirs->i[i]);
        break;
    default:
        mine->l[i] = (int64_t)(uint64_t)twin_whole(kind.redop, mine->l[i], theirs->l[i]);
    }
}

/* Over ranks [first, first + n): the right operand of the last combination are the ranks from the
 * largest power of two below n on. */
static void twin_tree(struct hr_kind kind, numbers *result, numbers *in, size_t first, size_t n)
{
    numbers right;
    size_t left = 1;
    *result = in[first];
    if (n == 1)
        return;
    while (2 * left < n)
        left *= 2;
    twin_tree(kind, result, in, first, left);
    twin_tree(kind, &right, in, first + left, n - left);
    for (size_t i = 0; i < COUNT; i++)
        twin_fold(kind, result, &right, i);
}

/* --- numbers --- */

/* Reals between 0.5 and 1.5, whose sums round; whole numbers of all sizes. */
static void fill(enum hr_type type, numbers *x, uint32_t which)
{
    for (size_t i = 0; i < COUNT; i++) {
        const struct hr_philox random = hr_random_block(check_seed(), HR_STREAM_TEST, i, which);
        const uint64_t bits = (uint64_t)random.v[0] << 32 | random.v[1];
        if (type == HR_FLOAT32)
            x->f[i] = 0.5f + hr_random_unit(random.v[0]);
        else if (type == HR_FLOAT64)
            x->d[i] = 0.5 + (double)(bits >> 11) * 0x1p-53;
        else if (type == HR_INT32)
            x->i[i] = (int32_t)random.v[0];
        else
            x->l[i] = (int64_t)bits;
    }
}

static void check_same(struct hr_kind kind, const numbers *got, const numbers *want)
{
    const size_t size = hr_type_bytes(kind.type);
    for (size_t i = 0; i < COUNT; i++)
        if (memcmp(got->bytes + i * size, want->bytes + i * size, size) != 0) {
            print_error("%s %s, element %zu, seed %llu\n", hr_type_name(kind.type),
                        hr_redop_name(kind.redop), i, (unsigned long long)check_seed());
            fail();
        }
}

typedef void (*kind_fn)(struct hr_kind kind);

static void each_kind(kind_fn visit)
{
    for (enum hr_type type = 0; type < HR_TYPES; type++)
        for (enum hr_redop redop = 0; redop < HR_REDOPS; redop++)
            visit((struct hr_kind){type, redop});
}

/* --- tests --- */

static void check_fold(struct hr_kind kind)
{
    static numbers mine, theirs, want;
    fill(kind.type, &mine, 1);
    fill(kind.type, &theirs, 2);
    want = mine;
    for (size_t i = 0; i < COUNT; i++)
        twin_fold(kind, &want, &theirs, i);
    hr_element_fold(kind, &mine, &theirs, COUNT);
    check_same(kind, &mine, &want);
}

static void folding_is_what_the_twin_does(void **state)
{
    (void)state;
    each_kind(check_fold);
}

/* The output is one of the inputs, and there is a second one. */
static void check_tree(struct hr_kind kind)
{
    static numbers in[MOST], want, other;
    for (size_t n = 1; n <= MOST; n++) {
        const void *inputs[MOST];
        for (size_t r = 0; r < n; r++) {
            fill(kind.type, &in[r], (uint32_t)r);
            inputs[r] = &in[r];
        }
        twin_tree(kind, &want, in, 0, n);
        void *const outputs[] = {&in[n / 2], &other};
        hr_element_tree(kind, outputs, 2, inputs, n, COUNT);
        check_same(kind, &in[n / 2], &want);
        check_same(kind, &other, &want);
    }
}

static void the_tree_over_ranks_is_T_of_n(void **state)
{
    (void)state;
    each_kind(check_tree);
}

/* The orders are told apart by their last bits: one after another is not T(n). */
static void the_order_shows_in_the_bits(void **state)
{
    (void)state;
    static numbers in[5], tree, row;
    const struct hr_kind sum = {HR_FLOAT64, HR_SUM};
    for (uint32_t r = 0; r < 5; r++)
        fill(HR_FLOAT64, &in[r], r);
    twin_tree(sum, &tree, in, 0, 5);
    row = in[0];
    for (size_t r = 1; r < 5; r++)
        for (size_t i = 0; i < COUNT; i++)
            twin_fold(sum, &row, &in[r], i);
    assert_memory_not_equal(&tree.d, &row.d, sizeof tree.d);
}

static void least_and_greatest_carry_NaN_from_either_side(void **state)
{
    (void)state;
    for (enum hr_redop redop = HR_MIN; redop <= HR_MAX; redop++)
        for (size_t n = 2; n <= MOST; n++)
            for (size_t at = 0; at < n; at++) {
                float f[MOST], *out_f = f;
                double d[MOST], *out_d = d;
                const void *in_f[MOST], *in_d[MOST];
                for (size_t r = 0; r < n; r++) {
                    in_f[r] = &f[r];
                    in_d[r] = &d[r];
                    d[r] = r == at ? (double)NAN : (double)r;
                    f[r] = (float)d[r];
                }
                hr_element_tree((struct hr_kind){HR_FLOAT32, redop}, (void **)&out_f, 1, in_f, n,
                                1);
                hr_element_tree((struct hr_kind){HR_FLOAT64, redop}, (void **)&out_d, 1, in_d, n,
                                1);
                assert_true(isnan(f[0]) && isnan(d[0]));
            }
}

static void whole_numbers_wrap(void **state)
{
    (void)state;
    int32_t i[] = {INT32_MAX, INT32_MIN}, one[] = {1, -1};
    int64_t l[] = {INT64_MAX, INT64_MIN}, two[] = {2, -1};
    hr_element_fold((struct hr_kind){HR_INT32, HR_SUM}, i, one, 2);
    assert_true(i[0] == INT32_MIN && i[1] == INT32_MAX);
    hr_element_fold((struct hr_kind){HR_INT64, HR_PRODUCT}, l, two, 2);
    assert_true(l[0] == -2 && l[1] == INT64_MIN);
}

static void a_mean_of_whole_numbers_is_cut_towards_0(void **state)
{
    (void)state;
    int32_t i[] = {7, -7, 8, -8, INT32_MIN};
    int64_t l[] = {7, -7, 8, -8, INT64_MIN};
    float f[] = {7, -7};
    double d[] = {7, -7};
    hr_element_mean((struct hr_kind){HR_INT32, HR_MEAN}, i, 4, 5);
    hr_element_mean((struct hr_kind){HR_INT64, HR_MEAN}, l, 4, 5);
    hr_element_mean((struct hr_kind){HR_FLOAT32, HR_MEAN}, f, 4, 2);
    hr_element_mean((struct hr_kind){HR_FLOAT64, HR_MEAN}, d, 4, 2);
    assert_memory_equal(i, ((int32_t[]){1, -1, 2, -2, INT32_MIN / 4}), sizeof i);
    assert_memory_equal(l, ((int64_t[]){1, -1, 2, -2, INT64_MIN / 4}), sizeof l);
    assert_memory_equal(f, ((float[]){1.75f, -1.75f}), sizeof f);
    assert_memory_equal(d, ((double[]){1.75, -1.75}), sizeof d);
    hr_element_mean((struct hr_kind){HR_INT32, HR_SUM}, i, 4, 5);
    assert_int_equal(i[2], 2); /* a sum is not divided */
}

static void names_lead_there_and_back(void **state)
{
    (void)state;
    enum hr_type type = HR_TYPES;
    enum hr_redop redop = HR_REDOPS;
    for (enum hr_type t = 0; t < HR_TYPES; t++)
        assert_true(hr_type_parse(hr_type_name(t), &type) && type == t);
    for (enum hr_redop op = 0; op < HR_REDOPS; op++)
        assert_true(hr_redop_parse(hr_redop_name(op), &redop) && redop == op);
    assert_false(hr_type_parse("float16", &type) || hr_redop_parse("xor", &redop));
    assert_null(hr_type_name(HR_TYPES));
    assert_null(hr_redop_name(HR_REDOPS));
    assert_int_equal(hr_type_bytes(HR_TYPES), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folding_is_what_the_twin_does),
        cmocka_unit_test(the_tree_over_ranks_is_T_of_n),
        cmocka_unit_test(the_order_shows_in_the_bits),
        cmocka_unit_test(least_and_greatest_carry_NaN_from_either_side),
        cmocka_unit_test(whole_numbers_wrap),
        cmocka_unit_test(a_mean_of_whole_numbers_is_cut_towards_0),
        cmocka_unit_test(names_lead_there_and_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
