/* json_write.h - a JSON document to a file, or to stdout for "-". */
#ifndef HR_REPORT_JSON_WRITE_H
#define HR_REPORT_JSON_WRITE_H

#include <jansson.h>

#include "base/error.h"

/* Write and release the document; a file is replaced as a whole. NULL (it could not be built) is
 * HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_json_write(const char *path, json_t *document);

#endif
