/* value.h - values as hogring's JSON spells them, and documents as it writes them.
 *
 * All return new references. NULL (no memory) may be passed on: jansson's json_*_new functions fail
 * on it, and hr_json_write turns a NULL document into HR_E_NOMEM.
 */
#ifndef HR_JSON_VALUE_H
#define HR_JSON_VALUE_H

#include <jansson.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"

/* A number; null for NaN and infinities, which JSON does not have. */
json_t *hr_json_number(double x);
/* A whole number; above 2^63 - 1, which jansson cannot hold, a string of digits. */
json_t *hr_json_count(uint64_t n);
/* A list of them; a histogram ends at its last number that is not 0. */
json_t *hr_json_counts(const uint64_t *counts, size_t n);
json_t *hr_json_histogram(const uint64_t *counts, size_t n);
/* hr_json_text, null for "". */
json_t *hr_json_text_or_null(const char *text);

/* {"hogring": version, "date", "command": [...], "machine": {...}, <rest>}: a new
 * reference; rest is released. NULL: no memory. */
json_t *hr_json_document(json_t *rest);

/* Write hr_json_document(rest) to `path`: a file, replaced as a whole (temporary and rename), or
 * "-" for stdout. HR_E_IO names the path; HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_json_write(const char *path, json_t *rest);
/* Write a document as it is; borrowed, NULL is HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_json_write_document(const char *path, const json_t *document);

#endif
