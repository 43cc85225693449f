/* value.h - documents as hogring writes them, and objects by rows.
 *
 * All return new references. NULL (no memory) may be passed on: hr_json_write turns a NULL document
 * into HR_E_NOMEM.
 *
 * Threads: none. Test: tests/unit/json/
 */
#ifndef HR_JSON_VALUE_H
#define HR_JSON_VALUE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/json.h"

/* {"hogring": version, "date", "command": [...], "machine": {...}, <rest>}: a new
 * reference; rest is released. NULL: no memory. */
json_t *hr_json_document(json_t *rest);

/* Write hr_json_document(rest) to `path`: a file, replaced as a whole (temporary and rename), or
 * "-" for stdout. HR_E_IO names the path; HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_json_write(const char *path, json_t *rest);
/* Write a document as it is; borrowed, NULL is HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_json_write_document(const char *path, const json_t *document);

/* --- structs as JSON objects, by rows --- */

/* A row is a key, where its value is, and what it means. Whoever writes such objects, or tells of
 * them (hogring help json), goes through rows.
 *
 *     static const struct hr_field rows[] = {
 *         {HR_FIELD(struct hr_loss, "step", step), .log = "gradients"},
 *         {HR_FIELD(struct hr_loss, "pause_s", pause_s), .null = HR_NULL_BELOW_0},
 *         {HR_MADE("share", share_of), .meaning = "of all losses"},
 *     };
 *     json_t *object = hr_fields_json(HR_ROWS(rows), base, NULL);
 *
 * Numbers that are none are null, and so is an empty text. All return new references; NULL: no
 * memory. */
enum hr_field_kind {
    HR_FIELD_TEXT,    /* char[] */
    HR_FIELD_TEXT_AT, /* const char * */
    HR_FIELD_COUNT,   /* size_t, uint64_t */
    HR_FIELD_LONG,
    HR_FIELD_NUMBER, /* double */
    HR_FIELD_FLAG,   /* bool */
    HR_FIELD_OBJECT, /* a struct inside */
    HR_FIELD_LIST,   /* a pointer to `count` structs */
    HR_FIELD_MADE,   /* by `make` */
};

/* When it is null although it is a number. */
enum hr_field_null { HR_NULL_NEVER, HR_NULL_AT_0, HR_NULL_BELOW_0 };

struct hr_field {
    const char *name; /* the key; NULL: it is no part of documents */
    enum hr_field_kind kind;
    enum hr_field_null null;
    size_t offset;
    size_t when, when_size; /* null where this member is 0; when_size 0: always there */
    /* `about`: what the caller gave; for structs inside others, the outer one. */
    json_t *(*make)(const void *base, const void *about);
    const struct hr_field *rows; /* (nrows) of a struct inside */
    size_t nrows, count, size;   /* of a list: the offset of its length; bytes of an element */
    const char *log;             /* its key in a line of --log; NULL: it is not there */
    const char *meaning;         /* NULL: that of the next row, which tells of both */
};

#define HR_FIELD_KIND(member)                                                                      \
    _Generic((member), char * : HR_FIELD_TEXT, const char * : HR_FIELD_TEXT_AT,                    \
             unsigned long : HR_FIELD_COUNT, long : HR_FIELD_LONG, double : HR_FIELD_NUMBER,       \
             bool : HR_FIELD_FLAG)
#define HR_MEMBER(type, member) (((type *)NULL)->member)
#define HR_ROWS(table) (table), sizeof(table) / sizeof *(table)

/* What a row begins with. */
#define HR_FIELD(type, key, member)                                                                \
    .name = (key), .kind = HR_FIELD_KIND(HR_MEMBER(type, member)), .offset = offsetof(type, member)
#define HR_OBJECT(type, key, member, table) .offset = offsetof(type, member), HR_INSIDE(key, table)
#define HR_INSIDE(key, table) /* an object of members of the same struct */                        \
    .name = (key), .kind = HR_FIELD_OBJECT, .rows = (table),                                       \
    .nrows = sizeof(table) / sizeof *(table)
#define HR_LIST(type, key, member, length, table)                                                  \
    .name = (key), .kind = HR_FIELD_LIST, .offset = offsetof(type, member), .rows = (table),       \
    .nrows = sizeof(table) / sizeof *(table), .count = offsetof(type, length),                     \
    .size = sizeof *HR_MEMBER(type, member)
#define HR_MADE(key, function) .name = (key), .kind = HR_FIELD_MADE, .make = (function)
#define HR_WHEN(type, member)                                                                      \
    .when = offsetof(type, member), .when_size = sizeof HR_MEMBER(type, member)

json_t *hr_fields_json(const struct hr_field *rows, size_t n, const void *base, const void *about);
/* One such object for each of `count` structs of `size` bytes. */
json_t *hr_fields_list(const struct hr_field *rows, size_t n, const void *first, size_t count,
                       size_t size, const void *about);
/* Those that have a key in the log, under it. */
json_t *hr_fields_log(const struct hr_field *rows, size_t n, const void *base, const void *about);
/* The rows as items of a page of the manual (manual/manual.h), one a meaning. */
void hr_fields_describe(FILE *out, const struct hr_field *rows, size_t n);

#endif
