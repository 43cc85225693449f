/* Attention of each instruction set against the definition in double, with all of its scores. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "support/check.h"
#include "tiles/attention.h"

/* Rows may be longer than a head, as where heads stand side by side. */
enum { MOST = 200, GAP = 5, MOST_WIDTH = 72, ROW = MOST_WIDTH + GAP, FLOATS = MOST * ROW };
enum { GUARD = 64 };
static const float OUTSIDE = -12345;

static float q[FLOATS], k[FLOATS], v[FLOATS], d_o[FLOATS], o[FLOATS], log_sums[MOST];
static float dq[FLOATS], dk[FLOATS], dv[FLOATS];
static double p[MOST][MOST], want[4][FLOATS];

struct shape {
    size_t queries, keys, width;
};

static const struct shape shapes[] = {{1, 1, 1},    {2, 2, 3},     {5, 5, 8},      {1, 33, 16},
                                      {7, 50, 16},  {47, 47, 16},  {48, 48, 33},   {49, 49, 64},
                                      {64, 64, 16}, {97, 97, 24},  {128, 128, 16}, {130, 131, 64},
                                      {3, 200, 72}, {200, 200, 40}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static size_t copies(const struct hr_attention *out[3])
{
    static const struct hr_attention *const all[] = {HR_ISA_COPIES(hr_attention)};
    for (size_t level = 0; level <= hr_isa(); level++)
        out[level] = all[level];
    return hr_isa() + 1;
}

static void fill(float *to, uint32_t which, float size)
{
    for (size_t i = 0; i < FLOATS; i++) {
        const struct hr_philox r = hr_random_block(check_seed(), HR_STREAM_TEST, i, which);
        to[i] = size * (hr_random_unit(r.v[0]) - 0.5f);
    }
}

static void fill_all(float size)
{
    fill(q, 1, size), fill(k, 2, size), fill(v, 3, 2), fill(d_o, 4, 2);
    float *const out[] = {o, dq, dk, dv};
    for (size_t n = 0; n < 4; n++)
        for (size_t i = 0; i < FLOATS; i++)
            out[n][i] = OUTSIDE;
}

static struct hr_attention_head head_of(const struct hr_attention *table, struct shape shape)
{
    const size_t row = shape.width + GAP, bytes = table->scratch_bytes(shape.keys, shape.width);
    struct hr_attention_head head = {.queries = shape.queries,
                                     .keys = shape.keys,
                                     .width = shape.width,
                                     .q = q,
                                     .k = k,
                                     .v = v,
                                     .q_row = row,
                                     .kv_row = row,
                                     .scale = 1 / sqrtf((float)shape.width),
                                     .o = o,
                                     .o_row = row,
                                     .log_sums = log_sums,
                                     .scratch = aligned_alloc(64, (bytes + GUARD + 63) / 64 * 64)};
    assert_non_null(head.scratch);
    memset(head.scratch, 0xff, bytes); /* NaN */
    memset((char *)head.scratch + bytes, 0x5a, GUARD);
    return head;
}

static void give_back(const struct hr_attention *table, const struct hr_attention_head *head)
{
    const char *end = (char *)head->scratch + table->scratch_bytes(head->keys, head->width);
    for (size_t i = 0; i < GUARD; i++)
        assert_int_equal(end[i], 0x5a);
    free(head->scratch);
}

static double dot(const float *a, const float *b, size_t width)
{
    double sum = 0;
    for (size_t c = 0; c < width; c++)
        sum += (double)a[c] * (double)b[c];
    return sum;
}

static size_t seen(const struct hr_attention_head *head, size_t i)
{
    return head->keys - head->queries + i + 1;
}

/* p, and o in want[0] */
static void attend_plainly(const struct hr_attention_head *head)
{
    memset(want, 0, sizeof want);
    for (size_t i = 0; i < head->queries; i++) {
        double sum = 0;
        for (size_t j = 0; j < seen(head, i); j++) {
            const double s = dot(q + i * head->q_row, k + j * head->kv_row, head->width);
            sum += p[i][j] = exp(s * (double)head->scale);
        }
        for (size_t j = 0; j < seen(head, i); j++) {
            p[i][j] /= sum;
            for (size_t c = 0; c < head->width; c++)
                want[0][i * head->o_row + c] += p[i][j] * (double)v[j * head->kv_row + c];
        }
    }
}

/* dq, dk, dv in want[1], ... */
static void go_back_plainly(const struct hr_attention_head *head)
{
    const size_t row = head->kv_row;
    for (size_t i = 0; i < head->queries; i++) {
        double delta = 0;
        for (size_t c = 0; c < head->width; c++)
            delta += want[0][i * row + c] * (double)d_o[i * row + c];
        for (size_t j = 0; j < seen(head, i); j++) {
            const double dp = dot(d_o + i * row, v + j * row, head->width);
            const double ds = p[i][j] * (dp - delta) * (double)head->scale;
            for (size_t c = 0; c < head->width; c++) {
                want[1][i * row + c] += ds * (double)k[j * row + c];
                want[2][j * row + c] += ds * (double)q[i * row + c];
                want[3][j * row + c] += p[i][j] * (double)d_o[i * row + c];
            }
        }
    }
}

static void check_rows(const float *got, const double *wanted, const struct hr_attention_head *head)
{
    for (size_t i = 0; i < FLOATS; i++) {
        const bool inside = i < head->queries * head->o_row && i % head->o_row < head->width;
        if (inside)
            CHECK_NEAR((double)got[i], wanted[i], 2e-6, 2e-6);
        else
            assert_true(got[i] == OUTSIDE);
    }
}

static void check_shape(const struct hr_attention *table, struct shape shape)
{
    fill_all(3);
    struct hr_attention_head head = head_of(table, shape);
    attend_plainly(&head);
    table->forward(&head);
    check_rows(o, want[0], &head);
    if (shape.queries == shape.keys) {
        go_back_plainly(&head);
        table->backward(&head, &(struct hr_attention_gradients){d_o, dq, dk, dv});
        check_rows(dq, want[1], &head);
        check_rows(dk, want[2], &head);
        check_rows(dv, want[3], &head);
    }
    give_back(table, &head);
}

static void outputs_and_gradients_follow_the_definition(void **state)
{
    (void)state;
    const struct hr_attention *tables[3];
    for (size_t n = copies(tables); n-- > 0;)
        for (size_t s = 0; s < SHAPES; s++)
            check_shape(tables[n], shapes[s]);
}

/* A few queries behind keys that are kept, one at a time: as all at once. */
static void a_query_has_the_same_bits_whatever_stands_beside_it(void **state)
{
    (void)state;
    const struct hr_attention *tables[3];
    static float whole[FLOATS], sums[MOST];
    for (size_t n = copies(tables); n-- > 0;) {
        fill_all(3);
        struct hr_attention_head head = head_of(tables[n], (struct shape){131, 131, 24});
        tables[n]->forward(&head);
        memcpy(whole, o, sizeof o);
        memcpy(sums, log_sums, sizeof sums);
        for (size_t i = 0, rows; i < 131; i += rows) {
            rows = i < 100 ? 1 + i % 3 : 31;
            struct hr_attention_head some = head;
            some.queries = rows;
            some.keys = i + rows;
            some.q += i * head.q_row;
            tables[n]->forward(&some);
            CHECK_SAME_FLOATS(o, whole + i * head.o_row, 24);
            CHECK_SAME_FLOATS(log_sums, sums + i, rows);
        }
        give_back(tables[n], &head);
    }
}

static void instruction_sets_with_fused_steps_agree(void **state)
{
    (void)state;
    const struct hr_attention *tables[3];
    const size_t n = copies(tables);
    static float first[4][FLOATS];
    float *const out[] = {o, dq, dk, dv};
    for (size_t t = 1; t < n; t++) {
        fill_all(3);
        struct hr_attention_head head = head_of(tables[t], (struct shape){100, 100, 40});
        tables[t]->forward(&head);
        tables[t]->backward(&head, &(struct hr_attention_gradients){d_o, dq, dk, dv});
        for (size_t i = 0; i < 4; i++)
            if (t == 1)
                memcpy(first[i], out[i], sizeof first[i]);
            else
                CHECK_SAME_FLOATS(first[i], out[i], FLOATS);
        give_back(tables[t], &head);
    }
}

/* Scores of thousands: all weight is on one key, and nothing overflows. */
static void large_scores_do_not_overflow(void **state)
{
    (void)state;
    const struct hr_attention *tables[3];
    for (size_t n = copies(tables); n-- > 0;) {
        fill_all(3);
        struct hr_attention_head head = head_of(tables[n], (struct shape){40, 40, 16});
        for (size_t j = 0; j < 40; j++)
            for (size_t c = 0; c < 16; c++) {
                q[j * head.q_row + c] = 50;
                k[j * head.kv_row + c] = j == 0 ? 50 : -50;
            }
        tables[n]->forward(&head);
        for (size_t i = 0; i < 40; i++)
            CHECK_NEAR_FLOATS(o + i * head.o_row, v, 16, 1e-6, 0);
        tables[n]->backward(&head, &(struct hr_attention_gradients){d_o, dq, dk, dv});
        for (size_t c = 0; c < 16; c++)
            assert_true(fabsf(dq[c]) < 1e-3f && isfinite(dk[c]) && isfinite(dv[c]));
        give_back(tables[n], &head);
    }
}

static void what_is_not_a_number_reaches_those_that_see_it(void **state)
{
    (void)state;
    const struct hr_attention *tables[3];
    for (size_t n = copies(tables); n-- > 0;)
        for (size_t at = 3; at < 70; at += 17) {
            fill_all(3);
            struct hr_attention_head head = head_of(tables[n], (struct shape){70, 70, 16});
            uint32_t word = 0x7f800123u; /* NaN, with more bits than one */
            memcpy(&k[at * head.kv_row], &word, sizeof word);
            tables[n]->forward(&head);
            for (size_t i = 0; i < 70; i++)
                assert_true(!isnan(o[i * head.o_row]) == (i < at));
            give_back(tables[n], &head);
        }
}

static void memory_grows_with_the_length(void **state)
{
    (void)state;
    for (size_t keys = 256; keys < (size_t)1 << 24; keys *= 2)
        assert_true(hr_attention_scratch_bytes(2 * keys, 64) <=
                    2 * hr_attention_scratch_bytes(keys, 64));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_and_gradients_follow_the_definition),
        cmocka_unit_test(a_query_has_the_same_bits_whatever_stands_beside_it),
        cmocka_unit_test(instruction_sets_with_fused_steps_agree),
        cmocka_unit_test(large_scores_do_not_overflow),
        cmocka_unit_test(what_is_not_a_number_reaches_those_that_see_it),
        cmocka_unit_test(memory_grows_with_the_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
