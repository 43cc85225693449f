/* The transforms of each instruction set against those of the naive twin, bit by bit. */
#include <string.h>

#include "base/philox.h"
#include "support/check.h"
#include "tiles/winograd.h"
#include "unit/nn/winograd_twin.h"

enum { IMAGES = 2, HIGH = 2, WIDE = 3, TILES = IMAGES * HIGH * WIDE, FIRST = 1 };
enum { MOST = 37, ROWS = 2 * HIGH + 2, COLUMNS = 2 * WIDE + 2, GAP = 2, COUNT = 5 };
enum { TILE = MOST + GAP, PLANE = TILES * TILE + 3, ELEMS = 16 * PLANE };

static float from[ELEMS], got[ELEMS], want[ELEMS], bias[MOST];

/* This machine can run hr_isa() + 1 of them. */
static const struct hr_winograd *const copies[] = {HR_ISA_COPIES(hr_winograd)};

static void fill(float *x, size_t count, uint32_t sequence)
{
    for (size_t i = 0; i < count; i++)
        x[i] =
            hr_random_unit(hr_random_block(check_seed(), HR_STREAM_TEST, i, sequence).v[0]) - 0.5f;
}

static void begin(void)
{
    fill(from, ELEMS, 0);
    fill(bias, MOST, 1);
    for (size_t i = 0; i < ELEMS; i++)
        got[i] = want[i] = 7; /* what is not to be written stays */
}

/* All tiles but the first, of images of so many rows and columns of pixels. */
static struct hr_winograd_tiles tiles_of(size_t rows, size_t columns, size_t channels)
{
    return (struct hr_winograd_tiles){.high = HIGH,
                                      .wide = WIDE,
                                      .height = rows,
                                      .width = columns,
                                      .step = channels,
                                      .row = columns * channels,
                                      .image = rows * columns * channels,
                                      .channels = channels,
                                      .first = FIRST,
                                      .count = TILES - FIRST};
}

/* Before the upper left pixel of a tile. */
static size_t pixel_of(const struct hr_winograd_tiles *t, size_t tile)
{
    const size_t i = tile / WIDE % HIGH, j = tile % WIDE;
    return tile / (HIGH * WIDE) * t->image + 2 * (i * t->row + j * t->step);
}

static void check_into_planes(const struct hr_winograd *copy, size_t channels)
{
    const struct hr_winograd_tiles x = tiles_of(ROWS, COLUMNS, channels);
    const struct hr_winograd_tiles dy = tiles_of(2 * HIGH, 2 * WIDE, channels);
    for (int of_dy = 0; of_dy < 2; of_dy++) {
        begin();
        for (size_t n = 0; n < (TILES - FIRST) * channels; n++) {
            const size_t t = n / channels, c = n % channels;
            const struct hr_winograd_tiles *tiles = of_dy ? &dy : &x;
            const float *at = from + pixel_of(tiles, FIRST + t) + c;
            float d[4][4], small[2][2];
            for (size_t k = 0; k < 16; k++)
                d[k / 4][k % 4] = of_dy ? 0 : at[k / 4 * x.row + k % 4 * x.step];
            for (size_t k = 0; k < 4; k++)
                small[k / 2][k % 2] = at[k / 2 * tiles->row + k % 2 * tiles->step];
            if (of_dy)
                winograd_gradient(small, d);
            else
                winograd_patch(d);
            for (size_t k = 0; k < 16; k++)
                want[k * PLANE + t * TILE + c] = d[k / 4][k % 4];
        }
        const struct hr_winograd_planes to = {got, PLANE, TILE};
        (of_dy ? copy->gradients : copy->patches)(of_dy ? &dy : &x, from, &to);
        CHECK_SAME_FLOATS(got, want, ELEMS);
    }
}

/* Of images whose last tiles reach beyond them. */
static void check_outputs(const struct hr_winograd *copy, size_t channels, bool with_bias,
                          bool relu)
{
    const struct hr_winograd_tiles y = tiles_of(2 * HIGH - 1, 2 * WIDE - 1, channels);
    begin();
    for (size_t n = 0; n < (TILES - FIRST) * channels; n++) {
        const size_t t = n / channels, c = n % channels, tile = FIRST + t;
        float m[4][4], out[2][2];
        for (size_t k = 0; k < 16; k++)
            m[k / 4][k % 4] = from[k * PLANE + t * TILE + c];
        winograd_output(m, out);
        for (size_t k = 0; k < 4; k++) {
            const float sum = with_bias ? out[k / 2][k % 2] + bias[c] : out[k / 2][k % 2];
            if (2 * (tile / WIDE % HIGH) + k / 2 < y.height && 2 * (tile % WIDE) + k % 2 < y.width)
                want[pixel_of(&y, tile) + k / 2 * y.row + k % 2 * y.step + c] =
                    relu && sum < 0 ? 0 : sum;
        }
    }
    const struct hr_winograd_planes planes = {from, PLANE, TILE};
    copy->outputs(&y, &planes, with_bias ? bias : NULL, relu, got);
    CHECK_SAME_FLOATS(got, want, ELEMS);
}

static void check_filters(const struct hr_winograd *copy, bool turned)
{
    const size_t width = copy->width, plane = COUNT * width + 1;
    begin();
    for (size_t n = 0; n < COUNT * width; n++) {
        float g[3][3], u[4][4];
        for (size_t k = 0; k < 9; k++)
            g[k / 3][k % 3] = from[(n / width * 9 + (turned ? 8 - k : k)) * width + n % width];
        winograd_filter(g, u);
        for (size_t k = 0; k < 16; k++)
            want[k * plane + n] = u[k / 4][k % 4];
    }
    copy->filters(COUNT, turned, from, got, plane);
    CHECK_SAME_FLOATS(got, want, ELEMS);
}

static void check_weights(const struct hr_winograd *copy, size_t channels)
{
    const size_t plane = COUNT * channels + 1;
    begin();
    for (size_t n = 0; n < COUNT * channels; n++) {
        float u[4][4], dw[3][3];
        for (size_t k = 0; k < 16; k++)
            u[k / 4][k % 4] = from[k * plane + n];
        winograd_weights(u, dw);
        for (size_t k = 0; k < 9; k++)
            want[(n / channels * 9 + k) * channels + n % channels] = dw[k / 3][k % 3];
    }
    copy->weights(COUNT, channels, from, plane, got);
    CHECK_SAME_FLOATS(got, want, ELEMS);
}

static void transforms_are_those_of_the_twin(void **state)
{
    (void)state;
    static const size_t channels[] = {1, 7, 16, 32, MOST};
    const size_t n = hr_isa() + 1;
    for (size_t i = 0; i < n; i++) {
        check_filters(copies[i], false);
        check_filters(copies[i], true);
        for (size_t c = 0; c < sizeof channels / sizeof *channels; c++) {
            check_into_planes(copies[i], channels[c]);
            check_outputs(copies[i], channels[c], false, false);
            check_outputs(copies[i], channels[c], true, true);
            check_weights(copies[i], channels[c]);
        }
    }
}

static void relu_leaves_what_is_no_number(void **state)
{
    (void)state;
    const size_t n = hr_isa() + 1;
    for (size_t i = 0; i < n; i++) {
        const struct hr_winograd_tiles y = tiles_of(2 * HIGH, 2 * WIDE, 1);
        const struct hr_winograd_planes planes = {from, PLANE, TILE};
        begin();
        from[5 * PLANE] = NAN;
        copies[i]->outputs(&y, &planes, NULL, true, got);
        for (size_t k = 0; k < 4; k++)
            assert_true(isnan(got[pixel_of(&y, FIRST) + k / 2 * y.row + k % 2 * y.step]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transforms_are_those_of_the_twin),
        cmocka_unit_test(relu_leaves_what_is_no_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
