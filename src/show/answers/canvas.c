#include "answers/canvas.h"

#include <png.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/size.h"
#include "answers/font.h"

enum { COLOURS = 3, COLUMNS = 5 };

enum hr_status hr_canvas_create(size_t width, size_t height, struct hr_canvas *out)
{
    size_t bytes;
    const bool fits =
        hr_size_mul(width, height, &bytes) && hr_size_mul(bytes, COLOURS, &bytes) && bytes;
    *out = (struct hr_canvas){width, height, fits ? malloc(bytes) : NULL};
    if (!out->pixels)
        return hr_fail(HR_E_NOMEM, "no memory for a picture of %zux%zu pixels", width, height);
    memset(out->pixels, 0xff, bytes);
    return HR_OK;
}

void hr_canvas_free(struct hr_canvas *canvas)
{
    free(canvas->pixels);
    *canvas = (struct hr_canvas){0};
}

void hr_canvas_fill(struct hr_canvas *canvas, size_t x, size_t y, size_t width, size_t height,
                    uint32_t colour)
{
    const size_t right = hr_min_size(x + width, canvas->width);
    const size_t below = hr_min_size(y + height, canvas->height);
    for (size_t v = y; v < below; v++)
        for (size_t u = x; u < right; u++) {
            uint8_t *pixel = canvas->pixels + (v * canvas->width + u) * COLOURS;
            pixel[0] = (uint8_t)(colour >> 16);
            pixel[1] = (uint8_t)(colour >> 8);
            pixel[2] = (uint8_t)colour;
        }
}

static void put_character(struct hr_canvas *canvas, size_t x, size_t y, size_t dot, char c,
                          uint32_t colour)
{
    const uint8_t *glyph = hr_font[(c >= ' ' && c <= '~' ? c : '?') - ' '];
    for (size_t column = 0; column < COLUMNS; column++)
        for (size_t row = 0; row < HR_FONT_HEIGHT; row++)
            if (glyph[column] >> row & 1)
                hr_canvas_fill(canvas, x + column * dot, y + row * dot, dot, dot, colour);
}

/* Behind the first byte of a character of UTF-8. */
static bool goes_on(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

void hr_canvas_text(struct hr_canvas *canvas, size_t x, size_t y, size_t dot, size_t most,
                    const char *text, uint32_t colour)
{
    size_t length = 0, at = 0;
    for (const char *c = text; *c; c++)
        length += !goes_on(*c);
    for (; *text && at < most; text++) {
        if (goes_on(*text))
            continue;
        const bool cut = length > most && at + 2 >= most;
        put_character(canvas, x + at++ * HR_FONT_WIDTH * dot, y, dot, cut ? '.' : *text, colour);
    }
}

/* --- PNG --- */

static enum hr_status fail_png(const char *path, png_image *image)
{
    const enum hr_status status =
        hr_fail(HR_E_FAILED, "%s: libpng cannot write it: %s", path, image->message);
    png_image_free(image);
    return status;
}

enum hr_status hr_canvas_save(const struct hr_canvas *canvas, const char *path)
{
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (png_uint_32)canvas->width,
                       .height = (png_uint_32)canvas->height,
                       .format = PNG_FORMAT_RGB};
    png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(image);
    void *memory = malloc(bytes);
    if (!memory)
        return hr_fail(HR_E_NOMEM, "%s: no memory for a picture", path);
    enum hr_status status =
        png_image_write_to_memory(&image, memory, &bytes, 0, canvas->pixels, 0, NULL)
            ? hr_file_replace_durably(path, memory, bytes)
            : fail_png(path, &image);
    free(memory);
    return status;
}
