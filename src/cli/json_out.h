/* json_out.h - a small JSON document to a file, or to stdout for "-". */
#ifndef HR_CLI_JSON_OUT_H
#define HR_CLI_JSON_OUT_H

#include <jansson.h>

#include "base/error.h"

/* Writes and releases the document; NULL (it could not be built) is HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_json_out(const char *path, json_t *document);

#endif
