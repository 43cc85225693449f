/* A picture in memory, and as PNG. */
#include <png.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"
#include "cli/worst.h"

static bool is_dark(const struct hr_canvas *canvas, size_t x, size_t y)
{
    return canvas->pixels[(y * canvas->width + x) * 3] == 0;
}

/* Rows of dots, from a corner, as "#...#|...". */
static void check_dots(const struct hr_canvas *canvas, size_t left, size_t top, size_t dot,
                       const char *expected)
{
    for (size_t x = 0, y = 0; *expected; expected++) {
        if (*expected == '|') {
            x = 0;
            y++;
            continue;
        }
        assert_int_equal(is_dark(canvas, left + x * dot, top + y * dot), *expected == '#');
        assert_int_equal(is_dark(canvas, left + x * dot + dot - 1, top + y * dot + dot - 1),
                         *expected == '#');
        x++;
    }
}

static void text_is_drawn_in_dots(void **state)
{
    (void)state;
    struct hr_canvas canvas;
    CHECK_OK(hr_canvas_create(60, 20, &canvas));
    hr_canvas_text(&canvas, 3, 2, 2, 9, "A7", 0);
    check_dots(&canvas, 3, 2, 2, ".###.|#...#|#...#|#...#|#####|#...#|#...#");
    check_dots(&canvas, 3 + 12, 2, 2, "#####|....#|...#.|..#..|.#...|.#...|.#...");
    hr_canvas_free(&canvas);
}

static void a_long_text_is_cut_and_other_letters_are_questions(void **state)
{
    (void)state;
    struct hr_canvas canvas, other;
    CHECK_OK(hr_canvas_create(40, 8, &canvas));
    CHECK_OK(hr_canvas_create(40, 8, &other));
    hr_canvas_text(&canvas, 0, 0, 1, 4, "abcde", 0);
    hr_canvas_text(&other, 0, 0, 1, 4, "ab..", 0);
    assert_memory_equal(canvas.pixels, other.pixels, 40 * 8 * 3);
    hr_canvas_fill(&canvas, 0, 0, 40, 8, 0xffffff);
    hr_canvas_fill(&other, 0, 0, 40, 8, 0xffffff);
    hr_canvas_text(&canvas, 0, 0, 1, 4, "a\xc3\xa9\tb", 0); /* four characters, five bytes */
    hr_canvas_text(&other, 0, 0, 1, 4,
                   "a?"
                   "?b",
                   0);
    assert_memory_equal(canvas.pixels, other.pixels, 40 * 8 * 3);
    hr_canvas_text(&canvas, 30, 5, 3, 9, "outside", 0); /* is not drawn */
    hr_canvas_free(&canvas);
    hr_canvas_free(&other);
}

static void a_saved_picture_is_read_again(void **state)
{
    (void)state;
    char path[] = "/tmp/hogring-canvas-XXXXXX";
    struct hr_canvas canvas;
    uint8_t read[7 * 5 * 3];
    close(mkstemp(path));
    CHECK_OK(hr_canvas_create(7, 5, &canvas));
    hr_canvas_fill(&canvas, 1, 2, 3, 9, 0x12ab0f);
    CHECK_OK(hr_canvas_save(&canvas, path));
    png_image image = {.version = PNG_IMAGE_VERSION};
    assert_true(png_image_begin_read_from_file(&image, path));
    assert_int_equal(image.width, 7);
    assert_int_equal(image.height, 5);
    image.format = PNG_FORMAT_RGB;
    assert_true(png_image_finish_read(&image, NULL, read, 0, NULL));
    assert_memory_equal(read, canvas.pixels, sizeof read);
    assert_memory_equal(read + (2 * 7 + 1) * 3, "\x12\xab\x0f", 3);
    CHECK_FAILS(hr_canvas_save(&canvas, "/nowhere/x.png"), HR_E_IO);
    hr_canvas_free(&canvas);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_drawn_in_dots),
        cmocka_unit_test(a_long_text_is_cut_and_other_letters_are_questions),
        cmocka_unit_test(a_saved_picture_is_read_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
