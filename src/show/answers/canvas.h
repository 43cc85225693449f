/* canvas.h - a picture in memory: rectangles, pixels, text in a font of 5x7 dots; saved as PNG.
 *
 * Colours are 0xRRGGBB. What lies outside is not drawn.
 *
 * Errors: HR_E_NOMEM, HR_E_IO. Threads: none. Test: tests/unit/answers/test_canvas.c
 */
#ifndef HR_ANSWERS_CANVAS_H
#define HR_ANSWERS_CANVAS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct hr_canvas {
    size_t width, height;
    uint8_t *pixels; /* (height, width, 3) owned */
};

/* White. Free it with hr_canvas_free. */
HR_CHECKED enum hr_status hr_canvas_create(size_t width, size_t height, struct hr_canvas *out);
void hr_canvas_free(struct hr_canvas *canvas);

void hr_canvas_fill(struct hr_canvas *canvas, size_t x, size_t y, size_t width, size_t height,
                    uint32_t colour);

/* ASCII, each dot a square of `dot` pixels; a character takes 6 dots, and a row 7. Other bytes than
 * printable ASCII are drawn as '?', one a character of UTF-8. At most `most` characters: a longer
 * text ends in "..". */
enum { HR_FONT_WIDTH = 6, HR_FONT_HEIGHT = 7 };
void hr_canvas_text(struct hr_canvas *canvas, size_t x, size_t y, size_t dot, size_t most,
                    const char *text, uint32_t colour);

/* As a whole file, or not at all. */
HR_CHECKED enum hr_status hr_canvas_save(const struct hr_canvas *canvas, const char *path);

#endif
