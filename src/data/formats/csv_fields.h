/* csv_fields.h - the text of a table as records of fields.
 *
 * Errors:  HR_E_FORMAT with file, line and column.
 * Threads: none. Test: tests/unit/formats/test_csv.c
 */
#ifndef HR_FORMATS_CSV_FIELDS_H
#define HR_FORMATS_CSV_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "formats/csv.h"

/* May be copied, to look ahead. */
struct hr_csv_reader {
    const char *name;
    const char *at, *end;
    size_t line;     /* of the record, from 1 */
    size_t below;    /* line breaks passed since it began */
    size_t comments; /* lines that were left out before the first record */
    char separator;
    char scratch[HR_CSV_MAX_FIELD]; /* a quoted field, without its quotes */
};

/* A field of any length is read, as one of HR_CSV_MAX_FIELD bytes: free text stands in tables, too.
 * Whoever uses one takes fewer bytes: names below that, labels and words 255, numbers 127. */
struct hr_csv_field {
    const char *text; /* until the next field is read */
    size_t bytes;
    size_t column; /* from 1 */
    bool quoted, last;
};

HR_CHECKED enum hr_status hr_csv_fail_at(const struct hr_csv_reader *r,
                                         const struct hr_csv_field *f, const char *what);

/* f->column is counted up; set it to 0 to begin a record. */
HR_CHECKED enum hr_status hr_csv_next_field(struct hr_csv_reader *r, struct hr_csv_field *f);

/* What people call a column of labels, the likeliest first. */
#define HR_CSV_USUAL_LABELS                                                                        \
    {                                                                                              \
        "label", "class", "target", "y"                                                            \
    }

/* To the first record, behind a byte order mark and comments, and choose the separator: the one of
 * these that it has most of; commas of numbers between semicolons separate nothing. false: there is
 * none. */
#define HR_CSV_SEPARATORS ",\t;|"
bool hr_csv_begin(struct hr_csv_reader *r);

/* To the first byte of the next record; false at the end. */
bool hr_csv_next_record(struct hr_csv_reader *r);

#endif
