/* json.h - JSON is read and written whole, or not at all.
 *
 * jansson (2.14) passes over a failed malloc in places: json_dumps then gives a text with a hole in
 * it, and json_loadb loses letters and writes behind its memory. So its mallocs are watched, and
 * while a text is read, the first that fails ends the reading (longjmp), and all is given back.
 *
 * Threads: any; what is watched is this thread's.
 * Test: tests/unit/checkpoint/test_every_call.c
 */
#ifndef HR_BASE_JSON_H
#define HR_BASE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Has a malloc of jansson's failed in this thread? Asking forgets. */
bool hr_json_no_memory(void);

/* As json_dumps: free() it; NULL without memory, or for NULL. */
char *hr_json_dump(const json_t *json, size_t flags);

/* A string of any bytes (names in files, paths): what is not UTF-8 is written as Python's
 * backslashreplace has it, \xE9. NULL without memory. */
json_t *hr_json_text(const char *text);
/* json_object_set_new with such a key. */
int hr_json_set_new(json_t *object, const char *key, json_t *value);
/* Takes the value; a failure, or NULL, makes the array NULL, which stays so. */
void hr_json_append(json_t **array, json_t *value);

/* A number; null for NaN and infinities, which JSON does not have. */
json_t *hr_json_number(double x);
/* A whole number; above 2^63 - 1, which jansson cannot hold, a string of digits. */
json_t *hr_json_count(uint64_t n);
/* A list of them; a histogram ends at its last number that is not 0. */
json_t *hr_json_counts(const uint64_t *counts, size_t n);
json_t *hr_json_histogram(const uint64_t *counts, size_t n);
/* hr_json_text, null for "" and NULL. */
json_t *hr_json_text_or_null(const char *text);

/* An object of members, key by key: hr_json_object("name", HR_JSON(name), HR_OF(row, bytes), NULL).
 * It takes the values; NULL where one is. */
json_t *hr_json_object(const char *key, ...) __attribute__((sentinel));
/* A list of n values, each made of `of` and its number. */
json_t *hr_json_list(size_t n, json_t *(*one)(const void *of, size_t i), const void *of);
/* A value by its type in C. */
#define HR_JSON(x)                                                                                 \
    _Generic((x), char * : hr_json_text, const char * : hr_json_text, bool : hr_json_flag,         \
             double : hr_json_number, unsigned : hr_json_count, unsigned long : hr_json_count,     \
             unsigned long long : hr_json_count)(x)
/* A member under its own name. */
#define HR_OF(object, member) #member, HR_JSON((object)->member)
static inline json_t *hr_json_flag(bool flag)
{
    return json_boolean(flag);
}

/* What stands in an object: NaN, "" for what is missing, of another type, or beyond 1e150. A path
 * may have several keys: "time_us.p50". */
double hr_json_number_at(const json_t *object, const char *path);
const char *hr_json_text_at(const json_t *object, const char *key);
/* The bytes that hr_json_text was given, 0-terminated; false when `out` has no room for them. */
bool hr_json_bytes(const char *text, char *out, size_t size);

/* As json_loadb with JSON_REJECT_DUPLICATES; without memory NULL, and hr_json_no_memory says so. */
json_t *hr_json_load(const char *text, size_t bytes, json_error_t *error);
/* That of a file; HR_E_FORMAT: larger than cap, or none. */
HR_CHECKED enum hr_status hr_json_read(const char *path, size_t cap, json_t **out);

#endif
