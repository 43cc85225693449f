/* text_folder.h - a folder of texts: its files NAME.txt and NAME.txt.gz, one after the other in the
 * order of their names' bytes. Folders in it are not looked into. One that does not end a line gets
 * a line end, so that lines of two texts stay two.
 *
 * Threads: none. Errors: HR_E_IO, HR_E_FORMAT, HR_E_NOMEM, with the path.
 * Test: tests/unit/formats/test_text.c
 */
#ifndef HR_FORMATS_TEXT_FOLDER_H
#define HR_FORMATS_TEXT_FOLDER_H

#include <stdbool.h>

#include "data/bytes.h"

/* Has it any, and no files of MNIST that they are notes to? Where nobody can tell, no. */
bool hr_text_folder_is(const char *folder);

/* note (HR_DATA_NOTE): how many they are. free(out->data), whatever the outcome. */
HR_CHECKED enum hr_status hr_text_folder_read(const char *folder, struct hr_array *out, char *note);

#endif
