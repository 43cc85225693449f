/* sheet.h - the worst samples as a sheet of images: each enlarged by whole pixels, and under it its
 * row, the truth, and the answer with its probability, red where it is wrong.
 *
 * Images have 1 or 3 channels. Bytes are shown as they are (what the model calls 1 is white);
 * of floats, the smallest on the sheet is black and the largest white.
 *
 * Errors: HR_E_USAGE, HR_E_NOMEM, HR_E_IO. Threads: none. Test: tests/cli/worst.bats
 */
#ifndef HR_ANSWERS_SHEET_H
#define HR_ANSWERS_SHEET_H

#include "hogring/data.h"
#include "answers/worst.h"

enum { HR_SHEET_MOST = 1000 };

/* HR_E_USAGE: these samples are no images. */
HR_CHECKED enum hr_status hr_sheet_check(const struct hr_dataset *dataset);
/* Write it to `path`, a PNG. */
HR_CHECKED enum hr_status hr_sheet_write(const char *path, const struct hr_worst *worst,
                                         const struct hr_dataset *dataset);

#endif
