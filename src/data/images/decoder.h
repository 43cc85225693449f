/* decoder.h - what image.c has of each decoder, and they of it.
 *
 * Threads: any.
 */
#ifndef HR_IMAGES_DECODER_H
#define HR_IMAGES_DECODER_H

#include "images/image.h"

/* A picture to be read. */
struct hr_picture {
    const char *name; /* for messages */
    const uint8_t *data;
    size_t bytes, whole;                  /* at data; of the file */
    const struct hr_image_head *expected; /* NULL: any */
    uint8_t *pixels;                      /* out; NULL: the head alone */
};

bool hr_png_is(const uint8_t *data, size_t bytes);
bool hr_jpeg_is(const uint8_t *data, size_t bytes);

/* Fill *head, then the pixels. */
HR_CHECKED enum hr_status hr_png_read(const struct hr_picture *picture, struct hr_image_head *head);
HR_CHECKED enum hr_status hr_jpeg_read(const struct hr_picture *picture,
                                       struct hr_image_head *head);

/* HR_E_FORMAT: no pixel, too many, or another size than was expected. */
HR_CHECKED enum hr_status hr_picture_check(const struct hr_picture *picture,
                                           const struct hr_image_head *head);

/* Is the orientation of these EXIF data (behind "Exif\0\0") another than upright? */
bool hr_exif_is_turned(const uint8_t *data, size_t bytes);

#endif
