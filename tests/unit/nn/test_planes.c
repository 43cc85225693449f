/* Images from planes to pixels and back: every value where its coordinates say. */
#include <stdlib.h>

#include "nn/planes.h"
#include "support/check.h"

static const size_t shapes[][3] = {{0, 3, 4}, {1, 1, 7}, {1, 5, 1}, {2, 3, 4}, {3, 16, 49}};
enum { NSHAPES = sizeof shapes / sizeof *shapes, MAX = 3 * 16 * 49 };

static float planes[MAX], pixels[MAX], back[MAX];

static void each_value_stands_where_its_coordinates_say(void **state)
{
    (void)state;
    for (size_t s = 0; s < NSHAPES; s++) {
        const size_t B = shapes[s][0], C = shapes[s][1], P = shapes[s][2];
        for (size_t i = 0; i < B * C * P; i++)
            planes[i] = (float)i;
        hr_planes_to_pixels(B, C, P, planes, pixels);
        for (size_t b = 0; b < B; b++)
            for (size_t p = 0; p < P; p++)
                for (size_t c = 0; c < C; c++)
                    assert_true(pixels[(b * P + p) * C + c] == (float)((b * C + c) * P + p));
        hr_pixels_to_planes(B, C, P, pixels, back);
        CHECK_SAME_FLOATS(back, planes, B * C * P);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_value_stands_where_its_coordinates_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
