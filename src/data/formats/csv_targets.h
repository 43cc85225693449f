/* csv_targets.h - lists of a table's columns, above all of those that hold the values to predict.
 *
 * --target "price,3": pieces between commas, each a name of the header (any case) or a number from
 * 1, blanks around it left out; in that order they are the model's outputs. "" means the one column
 * that is the label otherwise.
 *
 * Errors:  HR_E_USAGE: no such column, or one twice; HR_E_NOMEM.
 * Threads: none. Test: tests/unit/formats/test_targets.c
 */
#ifndef HR_FORMATS_CSV_TARGETS_H
#define HR_FORMATS_CSV_TARGETS_H

#include "formats/csv_fields.h"

struct hr_csv_targets {
    size_t count;          /* 0: labels are classes */
    size_t *column;        /* (count) owned; from 1 */
    double *row;           /* (count) owned: room for one record */
    struct hr_array names; /* as target_rows.h has them; empty without a header */
};

/* Columns that a list asks for, at least 1. */
size_t hr_csv_targets_asked(const char *list);

/* `first` is a copy of the reader at the first record; option: whose list it is, for messages;
 * label: the column that is meant by "". Free with hr_csv_targets_free whatever the outcome. */
HR_CHECKED enum hr_status hr_csv_targets_find(const struct hr_csv_reader *first, const char *option,
                                              const char *list, size_t label, bool header,
                                              struct hr_csv_targets *out);
void hr_csv_targets_free(struct hr_csv_targets *targets);

/* 1 + which target the column is; 0: it is a feature. */
static inline size_t hr_csv_target_slot(const struct hr_csv_targets *targets, size_t column)
{
    for (size_t i = 0; i < targets->count; i++)
        if (targets->column[i] == column)
            return i + 1;
    return 0;
}

/* "column 3, price" or "columns 3, 5, price, rent", as much as fits. */
void hr_csv_targets_place(const struct hr_csv_targets *targets, char *text, size_t size);

#endif
