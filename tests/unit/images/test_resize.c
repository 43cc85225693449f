/* Bytes that Pillow 11.3 and 12.3 gave; more of them are asked for in tests/cli/images.bats. */
#include <stdlib.h>
#include <string.h>

#include "images/resize.h"
#include "support/check.h"

static void resized(const struct hr_resize *r, const uint8_t *from, uint8_t *to)
{
    uint8_t *middle = malloc(hr_resize_middle(r));
    CHECK_OK(hr_resize(r, from, middle, to));
    free(middle);
}

static void pillows_bytes_come_out(void **state)
{
    (void)state;
    uint8_t from[7 * 9], to[100];
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (uint8_t)(i * i * 37 + 11 * i);
    static const struct {
        size_t height, width;
        uint8_t wanted[16];
    } cases[] = {
        {2, 3, {148, 160, 134, 144, 122, 107}},
        {3, 2, {152, 143, 150, 136, 126, 105}},
        {7, 2, {103, 137, 175, 152, 187, 136, 132, 135, 150, 154, 101, 49, 141, 143}},
        {2, 2, {154, 142, 133, 116}},
        {4, 4, {105, 152, 166, 127, 176, 165, 137, 140, 151, 118, 145, 110, 165, 83, 130, 81}},
        {1, 16, {132, 143, 161, 162, 158, 120, 102, 140, 159, 156, 145, 131, 111, 99, 124, 140}},
        {1, 1, {137}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct hr_resize r = {7, 9, cases[i].height, cases[i].width, 1};
        resized(&r, from, to);
        assert_memory_equal(to, cases[i].wanted, cases[i].height * cases[i].width);
    }
}

static void a_picture_of_one_colour_keeps_it(void **state)
{
    uint8_t from[17 * 5 * 3], to[40 * 30 * 3];
    (void)state;
    memset(from, 201, sizeof from);
    for (size_t h = 1; h <= 40; h += 3)
        for (size_t w = 1; w <= 30; w += 4) {
            const struct hr_resize r = {17, 5, h, w, 3};
            memset(to, 0, sizeof to);
            resized(&r, from, to);
            for (size_t i = 0; i < h * w * 3; i++)
                assert_int_equal(to[i], 201);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pillows_bytes_come_out),
        cmocka_unit_test(a_picture_of_one_colour_keeps_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
