/* resize.h - a picture of another size, by the filter of Pillow's Image.resize(size, BILINEAR),
 * which torchvision's Resize((height, width)) of a PIL image is. The bytes are those of Pillow 11.3
 * and 12.3; 13.0 takes columns first for some sizes, which differs by one grey level at most.
 *
 * A triangle filter, first along rows, then along columns; where the picture shrinks it is as wide
 * as what becomes one pixel, so that nothing is passed over (antialiased). Weights are rounded to
 * 22 bits and sums to bytes, after each of the two. Height and width are each brought to theirs:
 * nothing is cropped, and proportions are not kept.
 *
 * Threads: any, each with a plan of its own. Test: tests/unit/images/test_resize.c
 */
#ifndef HR_IMAGES_RESIZE_H
#define HR_IMAGES_RESIZE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* From (from_height, from_width, channels) to (to_height, to_width, channels); sizes are at least
 * 1.
 *   middle  (from_height, to_width, channels) bytes for what lies between, hr_resize_middle */
struct hr_resize {
    size_t from_height, from_width, to_height, to_width, channels;
};
size_t hr_resize_middle(const struct hr_resize *resize);
HR_CHECKED enum hr_status hr_resize(const struct hr_resize *resize, const uint8_t *from,
                                    uint8_t *middle, uint8_t *to);

#endif
