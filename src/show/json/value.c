/* Objects by rows; the machine, the command and the date; documents. */
#include "json/value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/cpus.h"
#include "base/file.h"
#include "base/isa.h"

/* --- the machine */

static json_t *memory_bytes(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? hr_json_count((uint64_t)pages * (uint64_t)size) : json_null();
}

/* {"cpu", "processors", "isa", "memory_bytes", "architecture", "kernel", "os"} */
static json_t *machine_json(void)
{
    char cpu[256], os[256];
    struct utsname name;
    if (uname(&name) != 0)
        memset(&name, 0, sizeof name);
    hr_cpus_model(cpu, sizeof cpu);
    hr_file_find_key("/etc/os-release", "PRETTY_NAME", '=', os, sizeof os);
    return hr_json_object("cpu", hr_json_text_or_null(cpu), "processors",
                          HR_JSON(hr_cpus_allowed()), "isa", HR_JSON(hr_isa_name()), "memory_bytes",
                          memory_bytes(), "architecture", hr_json_text_or_null(name.machine),
                          "kernel", hr_json_text_or_null(name.release), "os",
                          hr_json_text_or_null(os[0] ? os : name.sysname), NULL);
}

/* --- how it came about */

/* "2026-07-04T09:30:00Z" */
static json_t *date(void)
{
    char text[32];
    struct tm tm;
    const time_t now = time(NULL);
    if (!gmtime_r(&now, &tm) || strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
        return json_null();
    return json_string(text);
}

/* The words of the command line, as the kernel keeps them; null where it does not. */
static json_t *command(void)
{
    FILE *file = fopen("/proc/self/cmdline", "re");
    char *word = NULL;
    size_t size = 0;
    json_t *words = json_array();
    while (file && getdelim(&word, &size, 0, file) > 0)
        hr_json_append(&words, hr_json_text(word));
    free(word);
    if (file)
        fclose(file);
    if (json_array_size(words))
        return words;
    json_decref(words);
    return json_null();
}

/* --- documents */

enum { DUMP_FLAGS = JSON_INDENT(2) | JSON_REAL_PRECISION(17) };

/* After what was printed before, and by write(2), so that stdio changes no byte. */
static enum hr_status write_stdout(const char *text, size_t bytes)
{
    struct hr_file_writer writer = {.path = "stdout", .fd = STDOUT_FILENO, .bytes = bytes};
    fflush(stdout);
    return hr_file_write(&writer, text, bytes);
}

enum hr_status hr_json_write_document(const char *path, const json_t *document)
{
    const bool out = !strcmp(path, "-"), shown = out && isatty(STDOUT_FILENO);
    char *text = document
                     ? hr_json_dump(document, DUMP_FLAGS | (shown ? (size_t)JSON_ENSURE_ASCII : 0))
                     : NULL; /* U+009B is one that terminals obey */
    if (!text)
        return hr_fail(HR_E_NOMEM, "%s: no memory for the JSON document", path);
    const size_t length = strlen(text);
    text[length] = '\n'; /* replaces the 0 */
    const enum hr_status status =
        out ? write_stdout(text, length + 1) : hr_file_replace_durably(path, text, length + 1);
    free(text);
    return status;
}

json_t *hr_json_document(json_t *rest)
{
    json_t *document = hr_json_object("hogring", HR_JSON(HR_VERSION), "date", date(), "command",
                                      command(), "machine", machine_json(), NULL);
    if (!rest || !document || json_object_update(document, rest) != 0) {
        json_decref(document);
        document = NULL;
    }
    json_decref(rest);
    return document;
}

enum hr_status hr_json_write(const char *path, json_t *rest)
{
    json_t *document = hr_json_document(rest);
    const enum hr_status status = hr_json_write_document(path, document);
    json_decref(document);
    return status;
}

static bool is_0(const char *at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (at[i])
            return false;
    return true;
}

static json_t *number(double x, enum hr_field_null null)
{
    const bool none = (null == HR_NULL_AT_0 && !(x > 0)) || (null == HR_NULL_BELOW_0 && x < 0);
    return none ? json_null() : hr_json_number(x);
}

static json_t *value(const struct hr_field *row, const void *base, const void *about)
{
    const char *at = (const char *)base + row->offset;
    if (row->when_size && is_0((const char *)base + row->when, row->when_size))
        return json_null();
    switch (row->kind) {
    case HR_FIELD_TEXT:
        return hr_json_text_or_null(at);
    case HR_FIELD_TEXT_AT:
        return hr_json_text_or_null(*(const char *const *)(const void *)at);
    case HR_FIELD_COUNT: {
        const size_t n = *(const size_t *)(const void *)at;
        return n == 0 && row->null == HR_NULL_AT_0 ? json_null() : hr_json_count(n);
    }
    case HR_FIELD_LONG:
        return json_integer(*(const long *)(const void *)at);
    case HR_FIELD_NUMBER:
        return number(*(const double *)(const void *)at, row->null);
    case HR_FIELD_FLAG:
        return json_boolean(*(const bool *)(const void *)at);
    case HR_FIELD_OBJECT:
        return hr_fields_json(row->rows, row->nrows, at, base);
    case HR_FIELD_LIST:
        return hr_fields_list(row->rows, row->nrows, *(const void *const *)(const void *)at,
                              *(const size_t *)(const void *)((const char *)base + row->count),
                              row->size, base);
    case HR_FIELD_MADE:
        return row->make(base, about);
    }
    return NULL;
}

static json_t *object_of(const struct hr_field *rows, size_t n, const void *base, const void *about,
                         bool log)
{
    json_t *object = json_object();
    for (size_t i = 0; i < n; i++) {
        const char *key = log ? rows[i].log : rows[i].name;
        if (!key || json_object_set_new(object, key, value(&rows[i], base, about)) == 0)
            continue;
        json_decref(object);
        return NULL;
    }
    return object;
}

json_t *hr_fields_json(const struct hr_field *rows, size_t n, const void *base, const void *about)
{
    return object_of(rows, n, base, about, false);
}

json_t *hr_fields_log(const struct hr_field *rows, size_t n, const void *base, const void *about)
{
    return object_of(rows, n, base, about, true);
}

json_t *hr_fields_list(const struct hr_field *rows, size_t n, const void *first, size_t count,
                       size_t size, const void *about)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        hr_json_append(&array, hr_fields_json(rows, n, (const char *)first + i * size, about));
    return array;
}

void hr_fields_describe(FILE *out, const struct hr_field *rows, size_t n)
{
    const char *before = "";
    for (size_t i = 0; i < n; i++) {
        const struct hr_field *row = &rows[i];
        if (!row->name)
            continue;
        fprintf(out, "%s%s", before, row->name);
        before = row->meaning ? "" : ", ";
        if (!row->meaning)
            continue;
        fprintf(out, " :: %s\n", row->meaning);
    }
}
