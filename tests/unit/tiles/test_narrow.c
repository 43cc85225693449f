/* The narrow tiles of each instruction set against a loop that follows the definition; the fused
 * multiply-add is spelled out, so that equality is exact. */
#include <math.h>
#include <string.h>
#include <sys/mman.h>

#include "base/philox.h"
#include "kernels/bf16.h"
#include "support/check.h"
#include "tiles/lanes.h"
#include "tiles/narrow.h"

enum { MAX_ROWS = 60, MAX_STEP = 5, MAX_K = 40, WIDTH = 16, C_STRIDE = 19, B_STRIDE = 18 };
enum { A_ELEMS = 4096 };

static float a[A_ELEMS], b[MAX_K * B_STRIDE], bias[WIDTH], old[MAX_ROWS * C_STRIDE];
static float got[MAX_ROWS * C_STRIDE], want[MAX_ROWS * C_STRIDE];
static uint32_t offset[MAX_K], row[MAX_ROWS];

struct copy {
    const struct hr_narrow_tiles *table;
    const struct hr_lanes *lanes;
    bool fused;
};

/* The copies that this machine can run; returns how many. */
static size_t runnable(struct copy out[3])
{
    static const struct hr_narrow_tiles *const tables[] = {HR_ISA_COPIES(hr_narrow_tiles)};
    static const struct hr_lanes *const lanes[] = {HR_ISA_COPIES(hr_lanes)};
    for (size_t level = 0; level <= hr_isa(); level++)
        out[level] = (struct copy){tables[level], lanes[level], level != HR_ISA_PLAIN};
    return hr_isa() + 1;
}

static void fill(float *x, size_t count, uint32_t sequence)
{
    for (size_t i = 0; i < count; i++)
        x[i] =
            hr_random_unit(hr_random_block(check_seed(), HR_STREAM_TEST, i, sequence).v[0]) - 0.5f;
}

static void fill_all(void)
{
    fill(a, A_ELEMS, 0);
    fill(b, sizeof b / sizeof *b, 1);
    fill(bias, WIDTH, 2);
    fill(old, sizeof old / sizeof *old, 3);
    for (size_t k = 0; k < MAX_K; k++)
        offset[k] = (uint32_t)((k * 31) % 1000);
}

/* Lines stand anywhere, their rows evenly. */
static void place_rows(struct hr_line line)
{
    for (size_t r = 0; r < MAX_ROWS; r++)
        row[r] = (uint32_t)(r / line.length * 211 % 1000 + r % line.length * line.step);
}

/* The definition, into `want`. */
static void follow(const struct hr_narrow *narrow, size_t from, size_t to, bool fused)
{
    for (size_t i = from; i < to; i++)
        for (size_t j = 0; j < narrow->columns; j++) {
            float sum = narrow->go_on ? want[i * C_STRIDE + j] : 0;
            for (size_t k = 0; k < narrow->K; k++) {
                const float x = a[row[i] + offset[k]], y = b[k * narrow->b_stride + j];
                const float product = x * y;
                sum = fused ? fmaf(x, y, sum) : sum + product;
            }
            if (narrow->bias)
                sum = sum + narrow->bias[j];
            if (narrow->round)
                sum = hr_bf16_round(sum);
            if (narrow->relu && sum < 0)
                sum = 0;
            float *c = &want[i * C_STRIDE + j];
            *c = narrow->add ? *c + sum : sum;
        }
}

static void check_rows(const struct copy *copy, struct hr_narrow narrow, struct hr_line line,
                       size_t from, size_t to)
{
    memcpy(got, old, sizeof got);
    memcpy(want, old, sizeof want);
    place_rows(line);
    copy->table->rows(&narrow, row, line, from, to);
    follow(&narrow, from, to, copy->fused);
    CHECK_SAME_FLOATS(got, want, MAX_ROWS * C_STRIDE); /* what is outside is as it was */
}

static void check_lanes(const struct copy *copy, struct hr_narrow narrow, size_t length,
                        size_t from, size_t to)
{
    const struct hr_line line = {length, 1};
    memcpy(got, old, sizeof got);
    memcpy(want, old, sizeof want);
    place_rows(line);
    copy->lanes->tiles(&narrow, row, line, from, to);
    follow(&narrow, from, to, copy->fused);
    CHECK_SAME_FLOATS(got, want, MAX_ROWS * C_STRIDE);
}

static struct hr_narrow narrow_of(size_t K, size_t columns, unsigned way)
{
    return (struct hr_narrow){.K = K,
                              .a = a,
                              .offset = offset,
                              .b = b,
                              .b_stride = B_STRIDE,
                              .columns = columns,
                              .c = got,
                              .c_stride = C_STRIDE,
                              .bias = way & 1 ? bias : NULL,
                              .relu = way & 2,
                              .add = way == 4,
                              .go_on = way == 5,
                              .round = way > 5};
}

static void rows_are_what_the_definition_says(void **state)
{
    (void)state;
    struct copy copies[3];
    fill_all();
    for (size_t n = runnable(copies); n-- > 0;)
        for (size_t columns = 1; columns <= copies[n].table->columns; columns++)
            for (unsigned way = 0; way < 8; way++)
                for (size_t length = HR_NARROW_QUAD; length <= 11; length++)
                    check_rows(&copies[n], narrow_of(7, columns, way),
                               (struct hr_line){length, length % MAX_STEP + 1}, 0,
                               MAX_ROWS / length * length);
}

static void any_rows_of_them_are_the_same(void **state)
{
    (void)state;
    struct copy copies[3];
    fill_all();
    for (size_t n = runnable(copies); n-- > 0;)
        for (size_t from = 0; from <= 12; from++)
            for (size_t to = from; to <= 48; to++)
                for (size_t length = 4; length <= 12; length += length == 6 ? 6 : 1)
                    for (unsigned way = 4; way < 6; way++)
                        check_rows(&copies[n], narrow_of(3, copies[n].table->columns, way),
                                   (struct hr_line){length, 3}, from, to);
}

static void sums_may_be_empty_and_long(void **state)
{
    (void)state;
    static const size_t lengths[] = {0, 1, 2, MAX_K};
    struct copy copies[3];
    fill_all();
    for (size_t n = runnable(copies); n-- > 0;)
        for (size_t k = 0; k < 4; k++)
            check_rows(&copies[n], narrow_of(lengths[k], 3, 1), (struct hr_line){9, 2}, 0, 54);
}

static void rows_in_lanes_are_the_same(void **state)
{
    (void)state;
    struct copy copies[3];
    fill_all();
    for (size_t n = runnable(copies); n-- > 0;)
        for (size_t columns = 1; columns <= HR_LANES_MAX_COLUMNS; columns++)
            for (unsigned way = 0; way < 8; way++)
                for (size_t length = 1; length <= MAX_ROWS; length++)
                    check_lanes(&copies[n],
                                narrow_of(way % 2 == 0 && way > 2 ? MAX_K : 7, columns, way),
                                length, 0, MAX_ROWS / length * length);
}

static void any_rows_in_lanes_are_the_same(void **state)
{
    (void)state;
    struct copy copies[3];
    fill_all();
    for (size_t n = runnable(copies); n-- > 0;)
        for (size_t from = 0; from <= 20; from++)
            for (size_t to = from; to <= MAX_ROWS; to++)
                for (size_t length = 3; length <= 36; length += 11)
                    for (unsigned way = 4; way < 6; way++)
                        check_lanes(&copies[n], narrow_of(3, 6, way), length, from, to);
}

/* The first float behind a page that is followed by one that may not be touched. */
static float *end_of_page(void)
{
    static float *end;
    const size_t page = 4096;
    if (!end) {
        unsigned char *at =
            mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_true(at != MAP_FAILED && mprotect(at + page, page, PROT_NONE) == 0);
        end = (float *)(void *)(at + page);
    }
    return end;
}

/* Rows at the end of memory: a page's last floats, which nobody may read beyond. */
static void nothing_behind_the_rows_is_read(void **state)
{
    (void)state;
    struct copy copies[3];
    fill_all();
    for (size_t n = runnable(copies); n-- > 0;)
        for (size_t length = 1; length <= 20; length++) {
            float *end = end_of_page();
            struct hr_narrow narrow = narrow_of(1, 3, 0);
            uint32_t begin[20];
            const uint32_t none = 0;
            for (uint32_t r = 0; r < 20; r++)
                begin[r] = r;
            narrow.a = end - length;
            narrow.offset = &none;
            memcpy(end - length, a, length * sizeof *a);
            memcpy(got, old, sizeof got);
            copies[n].lanes->tiles(&narrow, begin, (struct hr_line){length, 1}, 0, length);
            for (size_t r = 0; r < length; r++)
                assert_true(got[r * C_STRIDE] == a[r] * b[0]);
        }
}

static void blocks_are_turned_round(void **state)
{
    (void)state;
    enum { SIDE = 35 };
    static float to[SIDE * SIDE], turned[SIDE * SIDE];
    struct copy copies[3];
    fill_all();
    for (size_t n = runnable(copies); n-- > 0;)
        for (size_t rows = 0; rows <= SIDE; rows++)
            for (size_t columns = 0; columns <= SIDE; columns++) {
                memset(to, 0, sizeof to);
                memset(turned, 0, sizeof turned);
                for (size_t i = 0; i < rows * columns; i++)
                    turned[i % columns * SIDE + i / columns] = a[i / columns * 37 + i % columns];
                copies[n].lanes->turn(rows, columns, a, 37, to, SIDE);
                CHECK_SAME_FLOATS(to, turned, SIDE * SIDE);
            }
}

static void relu_keeps_what_is_no_number(void **state)
{
    (void)state;
    struct copy copies[3];
    fill_all();
    b[1] = NAN;
    for (size_t n = runnable(copies); n-- > 0;) {
        check_rows(&copies[n], narrow_of(4, 2, 2), (struct hr_line){4, 1}, 0, 8);
        assert_true(isnan(got[1]) && !isnan(got[0]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_what_the_definition_says),
        cmocka_unit_test(any_rows_of_them_are_the_same),
        cmocka_unit_test(sums_may_be_empty_and_long),
        cmocka_unit_test(rows_in_lanes_are_the_same),
        cmocka_unit_test(any_rows_in_lanes_are_the_same),
        cmocka_unit_test(nothing_behind_the_rows_is_read),
        cmocka_unit_test(blocks_are_turned_round),
        cmocka_unit_test(relu_keeps_what_is_no_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
