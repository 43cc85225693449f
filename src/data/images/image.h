/* image.h - a picture's bytes become pixels.
 *
 * PNG   of every kind: 1 to 16 bits, grey, RGB, palettes, interlaced. Greys of fewer bits fill the
 *       range, of 16 bits the upper eight are taken, palettes become RGB, alpha and transparent
 *       colours are dropped (the colour beneath shows), gamma and profiles are not looked at: what
 *       Pillow's convert gives.
 * JPEG  baseline and progressive, grey or colour (YCbCr becomes RGB); ISLOW inverse transform
 *       and fancy upsampling, libjpeg-turbo's defaults, are fixed. CMYK and 12 bits are refused. An
 *       EXIF orientation is seen and not obeyed.
 * A picture that is cut short or damaged is refused, not filled up with grey.
 *
 * Errors: HR_E_FORMAT: name, what was found, what was expected; HR_E_NOMEM.
 * Threads: any, each with its own memory. Test: tests/unit/images/test_image.c
 */
#ifndef HR_IMAGES_IMAGE_H
#define HR_IMAGES_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Of one picture, as Pillow has it. */
#define HR_IMAGE_MAX_PIXELS ((size_t)178956970)

struct hr_image_head {
    size_t width, height; /* each at least 1; together at most HR_IMAGE_MAX_PIXELS */
    size_t channels;      /* 1 grey, 3 RGB */
    bool turned;          /* JPEG: EXIF says that the camera was */
};

/* Does a file that begins so look like a PNG or JPEG? */
bool hr_image_is_one(const uint8_t *data, size_t bytes);

/* What the picture says of itself; no pixel is decoded. A size that a file of `whole` bytes cannot
 * hold is refused.
 *   name   for messages
 *   bytes  of data, which may be the file's first ones: HR_E_FORMAT where more are needed */
HR_CHECKED enum hr_status hr_image_read_head(const char *name, const uint8_t *data, size_t bytes,
                                             size_t whole, struct hr_image_head *out);

/* All pixels.
 *   head    what hr_image_read_head said of these bytes; HR_E_FORMAT when it is something else by
 *           now
 *   pixels  (height, width, channels) out */
HR_CHECKED enum hr_status hr_image_decode(const char *name, const uint8_t *data, size_t bytes,
                                          const struct hr_image_head *head, uint8_t *pixels);

#endif
