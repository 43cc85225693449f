/* image_folder.h - folders of PNG and JPEG files as data.
 *
 *     FOLDER/train/CLASS/a.png, FOLDER/test/CLASS/b.jpg     torchvision's ImageFolder, twice
 *     FOLDER/CLASS/a.png                                    samples are held out, as of a table
 *
 * Without a folder `test`, `val` and `valid` are looked for. Classes are the folders' names,
 * ascending byte by byte, those of all splits together; files in the order of image_list.h. Where
 * all pictures are grey there is one channel, otherwise three. All have one size, or are given one
 * (options->resize).
 *
 * Errors: HR_E_FORMAT and HR_E_IO name the file; HR_E_USAGE. Sizes are added up from the pictures'
 * heads, and compared with options->max_data and the memory there is, before memory is taken.
 * Threads: image_load.h. Test: tests/cli/images.bats
 */
#ifndef HR_FORMATS_IMAGE_FOLDER_H
#define HR_FORMATS_IMAGE_FOLDER_H

#include "data/format.h"

/* "28x28" of options->resize; 0, 0 where it is "". HR_E_USAGE. */
HR_CHECKED enum hr_status hr_image_size_parse(const struct hr_data_options *options, size_t *height,
                                              size_t *width);

#endif
