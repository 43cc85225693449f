/* publish.h - what a command has found out, for programs and as a page. */
#ifndef HR_PAGE_PUBLISH_H
#define HR_PAGE_PUBLISH_H

#include <jansson.h>

#include "base/error.h"

/* Make the document of `rest` (json/value.h), which is released, and write it to `json` and its
 * page to `report`; "": not asked for. Both files are replaced as a whole; json "-" is stdout.
 * HR_E_IO, HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_publish(const char *json, const char *report, json_t *rest);

#endif
