/* image_load.h - pictures from files into a table, by several threads.
 *
 * Which thread does what changes no byte, and of several files that are wrong the first in the
 * list is named.
 *
 * Threads: starts as many as there are allowed processors, and ends them.
 * Test: tests/cli/images.bats
 */
#ifndef HR_FORMATS_IMAGE_LOAD_H
#define HR_FORMATS_IMAGE_LOAD_H

#include "data/table.h"
#include "formats/image_list.h"

/* Read the head of every picture. HR_E_IO, HR_E_FORMAT: names the file.
 *   skip  decode it, too, and leave those out of the list, which HR_E_FORMAT would name */
HR_CHECKED enum hr_status hr_image_load_heads(struct hr_image_list *list, bool skip);

/* Decode them into pixels (count, channels, height, width) of the shape; grey becomes RGB where the
 * shape has three channels; what has another size is resized (images/resize.h). */
HR_CHECKED enum hr_status hr_image_load(const struct hr_image_list *list, struct hr_shape shape,
                                        uint8_t *pixels);

#endif
