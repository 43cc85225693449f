/* image_samples.h - new pictures for a model: a folder of them, or one.
 *
 * All PNG and JPEG files below the folder, by folder and name (formats/image_list.h); folders of
 * classes are folders like others. Each is brought to the model's size (images/resize.h), grey or
 * RGB as the model's are; a colour picture for a grey model is refused.
 *
 * Errors: HR_E_FORMAT, HR_E_IO, each naming the file; HR_E_NOMEM. Threads: formats/image_load.h.
 * Test: tests/cli/images.bats
 */
#ifndef HR_PREDICT_IMAGE_SAMPLES_H
#define HR_PREDICT_IMAGE_SAMPLES_H

#include "data/table.h"

/* Are there pictures at the path that are no data set with a training split?
 *   head, bytes  the first ones of a file */
bool hr_image_samples_are(const char *path, bool folder, const char *head, size_t bytes);

/*   shape  the model's; channels 0: it is not known, and the pictures have to be of one size
 *   table  out: pixels, count, shape and note; no labels
 *   files  out: (count) paths, owned by the caller; NULL on error */
HR_CHECKED enum hr_status hr_image_samples_read(const char *path, struct hr_shape shape,
                                                struct hr_table *table, char ***files);

#endif
