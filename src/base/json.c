#include "base/json.h"

#include <math.h>
#include <pthread.h>
#include <search.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

static json_malloc_t inner_malloc;
static json_free_t inner_free;
static _Thread_local bool failed;

/* A text that is being read: what has been taken for it, and the way out. */
static _Thread_local struct reading {
    jmp_buf out;
    void *blocks; /* a tree by address (tsearch): a hostile text has millions */
} * reading;

static int by_address(const void *one, const void *other)
{
    return ((uintptr_t)one > (uintptr_t)other) - ((uintptr_t)one < (uintptr_t)other);
}

static void *watched_malloc(size_t bytes)
{
    struct reading *r = reading;
    void *memory = inner_malloc(bytes);
    if (memory && (!r || tsearch(memory, &r->blocks, by_address)))
        return memory;
    failed = true;
    if (memory)
        inner_free(memory);
    if (r)
        longjmp(r->out, 1);
    return NULL;
}

static void watched_free(void *memory)
{
    if (reading && memory)
        tdelete(memory, &reading->blocks, by_address);
    inner_free(memory);
}

static void keep(void *memory)
{
    (void)memory;
}

static void watch(void)
{
    json_get_alloc_funcs(&inner_malloc, &inner_free);
    json_set_alloc_funcs(watched_malloc, watched_free);
}

bool hr_json_no_memory(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch);
    const bool was = failed;
    failed = false;
    return was;
}

/* Measured, then written into memory that is there. */
char *hr_json_dump(const json_t *json, size_t flags)
{
    const size_t bytes = json ? json_dumpb(json, NULL, 0, flags) : 0;
    char *text = bytes ? malloc(bytes + 1) : NULL;
    if (!text)
        return NULL;
    if (json_dumpb(json, text, bytes, flags) != bytes) {
        free(text);
        return NULL;
    }
    text[bytes] = 0;
    return text;
}

/* --- any bytes */

/* Bytes of the character that begins here; 0: it is not UTF-8. */
static size_t character(const unsigned char *c)
{
    const size_t n = *c < 0x80   ? 1
                     : *c < 0xc2 ? 0
                     : *c < 0xe0 ? 2
                     : *c < 0xf0 ? 3
                     : *c < 0xf5 ? 4
                                 : 0;
    for (size_t i = 1; i < n; i++)
        if ((c[i] & 0xc0) != 0x80)
            return 0;
    const bool overlong = (*c == 0xe0 && c[1] < 0xa0) || (*c == 0xf0 && c[1] < 0x90);
    const bool no_character = (*c == 0xed && c[1] >= 0xa0) || (*c == 0xf4 && c[1] >= 0x90);
    return overlong || no_character ? 0 : n;
}

static char *make_utf8(const char *text)
{
    char *utf8 = malloc(4 * strlen(text) + 1), *at = utf8;
    while (utf8 && *text) {
        const size_t n = character((const unsigned char *)text);
        if (!n)
            at += sprintf(at, "\\x%02X", (unsigned char)*text++);
        for (size_t i = 0; i < n; i++)
            *at++ = *text++;
    }
    if (utf8)
        *at = 0;
    failed = failed || !utf8;
    return utf8;
}

json_t *hr_json_text(const char *text)
{
    char *utf8 = make_utf8(text);
    json_t *value = utf8 ? json_string(utf8) : NULL;
    free(utf8);
    return value;
}

int hr_json_set_new(json_t *object, const char *key, json_t *value)
{
    char *utf8 = make_utf8(key);
    if (!utf8)
        json_decref(value);
    const int set = utf8 ? json_object_set_new(object, utf8, value) : -1;
    free(utf8);
    return set;
}

json_t *hr_json_number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

json_t *hr_json_count(uint64_t n)
{
    if (n <= INT64_MAX)
        return json_integer((json_int_t)n);
    return json_sprintf("%llu", (unsigned long long)n);
}

json_t *hr_json_counts(const uint64_t *counts, size_t n)
{
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++)
        hr_json_append(&array, hr_json_count(counts[i]));
    return array;
}

json_t *hr_json_histogram(const uint64_t *counts, size_t n)
{
    while (n > 0 && counts[n - 1] == 0)
        n--;
    return hr_json_counts(counts, n);
}

json_t *hr_json_text_or_null(const char *text)
{
    return text && text[0] ? hr_json_text(text) : json_null();
}

json_t *hr_json_list(size_t n, json_t *(*one)(const void *of, size_t i), const void *of)
{
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++)
        hr_json_append(&array, one(of, i));
    return array;
}

json_t *hr_json_object(const char *key, ...)
{
    json_t *object = json_object();
    va_list values;
    va_start(values, key);
    for (; key; key = va_arg(values, const char *))
        if (json_object_set_new(object, key, va_arg(values, json_t *)) != 0) {
            json_decref(object);
            object = NULL; /* and all that come are released */
        }
    va_end(values);
    return object;
}

/* The byte that \x80 to \xFF stands for; 0: it is none of these. */
static unsigned char escaped(const char *text)
{
    char *end;
    const bool is = text[0] == '\\' && text[1] == 'x' && text[2] && strchr("89ABCDEF", text[2]) &&
                    text[3] && strchr("0123456789ABCDEF", text[3]);
    return is ? (unsigned char)strtoul((const char[]){text[2], text[3], 0}, &end, 16) : 0;
}

bool hr_json_bytes(const char *text, char *out, size_t size)
{
    size_t n = 0;
    while (*text && n < size) {
        const unsigned char byte = escaped(text);
        out[n++] = byte ? (char)byte : *text;
        text += byte ? 4 : 1;
    }
    if (n < size)
        out[n] = 0;
    return n < size;
}

json_t *hr_json_load(const char *text, size_t bytes, json_error_t *error)
{
    struct reading r = {.blocks = NULL};
    json_t *volatile json = NULL;
    hr_json_no_memory();
    reading = &r;
    if (setjmp(r.out) == 0)
        json = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, error);
    reading = NULL;
    tdestroy(r.blocks, failed ? inner_free : keep);
    return json;
}

enum hr_status hr_json_read(const char *path, size_t cap, json_t **out)
{
    char *text;
    size_t bytes;
    json_error_t error;
    *out = NULL;
    HR_TRY(hr_file_read_all(path, cap, &text, &bytes));
    *out = hr_json_load(text, bytes, &error);
    free(text);
    if (*out)
        return HR_OK;
    return hr_json_no_memory()
               ? hr_fail(HR_E_NOMEM, "%s: no memory to read it", path)
               : hr_fail(HR_E_FORMAT, "%s: line %d: not JSON: %s", path, error.line, error.text);
}

void hr_json_append(json_t **array, json_t *value)
{
    if (*array && json_array_append_new(*array, value) == 0)
        return;
    if (!*array)
        json_decref(value);
    json_decref(*array);
    *array = NULL;
}

double hr_json_number_at(const json_t *object, const char *path)
{
    char key[64];
    for (const char *dot; (dot = strchr(path, '.')) != NULL; path = dot + 1) {
        snprintf(key, sizeof key, "%.*s", (int)(dot - path), path);
        object = json_object_get(object, key);
    }
    const json_t *value = json_object_get(object, path);
    return json_is_number(value) && fabs(json_number_value(value)) < 1e150
               ? json_number_value(value)
               : (double)NAN;
}

const char *hr_json_text_at(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}
