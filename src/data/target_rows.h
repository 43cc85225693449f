/* target_rows.h - the values of a regression, as files give them: `width` numbers per sample.
 *
 * What is a class for other data is here the number of the sample's row: rows are counted through
 * all files of a data set, so samples may be drawn, held out and handed out without their values.
 *
 * Memory:  owned; grows with what was really read.
 * Errors:  HR_E_FORMAT, HR_E_NOMEM. Threads: none. Test: tests/unit/formats/test_targets.c
 */
#ifndef HR_DATA_TARGET_ROWS_H
#define HR_DATA_TARGET_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "data/bytes.h"

enum { HR_MAX_TARGETS = 1024 };

struct hr_target_rows {
    bool wanted;             /* labels are values; else they are classes, and nothing is here */
    size_t width;            /* values of a sample; 0: no file has said it yet */
    struct hr_array values;  /* (rows, width) double */
    struct hr_array names;   /* 0-terminated, one behind the other; empty: there are none */
    const char **name_table; /* (width) owned, made by hr_target_rows_finish; or NULL */
};

/* A file has so many values per sample, named `names` (a list as above; NULL: not). HR_E_FORMAT: a
 * file before it had another number, or other names; `name` and `place` say where. */
HR_CHECKED enum hr_status hr_target_rows_begin(struct hr_target_rows *rows, const char *name,
                                               size_t width, const struct hr_array *names);

/* The next sample's values (width), finite. *number: of the row. */
HR_CHECKED enum hr_status hr_target_rows_add(struct hr_target_rows *rows, const char *name,
                                             const double *values, uint32_t *number);

size_t hr_target_rows_count(const struct hr_target_rows *rows);

/* When all files were read: the names as a table. */
HR_CHECKED enum hr_status hr_target_rows_finish(struct hr_target_rows *rows, const char *name);

/* Harmless on a zeroed struct. */
void hr_target_rows_free(struct hr_target_rows *rows);

#endif
