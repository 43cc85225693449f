/* columns.h - what becomes of a table's columns: numbers as they are, means where one is missing,
 * columns of words as one-hot.
 *
 *     age,sex,city          age         the field, or the mean of the training rows
 *     31,f,Bern             sex_f sex_m 1 for the word that stands there, 0 for the others
 *     ,m,Chur               city_Bern
 *
 * A feature is what a column of the file was; it makes one number, or one for each word. Means and
 * words are those of the rows that are trained on: never of test samples (--test).
 * Words are in the order that classes have (data/labels.h). A word that training did
 * not have, and a missing one, is 0 in all its numbers, as scikit-learn's OneHotEncoder with
 * handle_unknown="ignore" has it; a mean is that of its SimpleImputer.
 *
 * As JSON in a model's file, so that whoever reads new rows does the same to them:
 *
 *     {"missing": "mean", "of": 4, "columns": [{"name": "age", "column": 1, "mean": 30.5},
 *                                     {"name": "sex", "column": 2, "words": ["f", "m"]}]}
 *
 * Missing are "", NA, N/A, NaN, null, <NA> and ?; in a column of numbers None, - and . too.
 *
 * Errors:  HR_E_FORMAT with file, line and column; HR_E_USAGE; HR_E_NOMEM.
 * Threads: none. Tests: tests/cli/columns.bats, tests/fuzz/fuzz_csv.c
 */
#ifndef HR_FORMATS_COLUMNS_H
#define HR_FORMATS_COLUMNS_H

#include "data/labels.h"
#include "formats/csv_fields.h"
#include "hogring/data.h"

enum hr_missing { HR_MISSING_REFUSE, HR_MISSING_MEAN, HR_MISSING_DROP };

/* A feature. */
struct hr_column {
    char *name;    /* owned; NULL where the file has no header */
    size_t place;  /* its column in the training file, from 1 */
    bool is_words; /* else a number */
    double mean;   /* of a number, where `missing` is HR_MISSING_MEAN */
    struct hr_labels words;
    struct hr_classes order; /* of the words */
    size_t first;            /* where its numbers begin in a sample */
};

struct hr_columns {
    enum hr_missing missing;
    size_t count;           /* features; 0: columns are numbers as they are */
    struct hr_column *list; /* (count) owned */
    size_t width;           /* numbers of a sample */
    size_t of;              /* columns of the file */
    bool of_model;          /* read from its file: the options are those of training */
    bool plain;             /* every column but the labels is a number as it is: nothing to keep */
    char label[HR_CSV_MAX_FIELD + 1]; /* its name in the file that was read; "" */
    char label_place[100];            /* "label is column 3, kind", for messages */
};

/* What was met in one file. */
struct hr_columns_met {
    size_t filled;        /* missing numbers that the mean took the place of */
    size_t dropped;       /* rows that were left out */
    size_t first_dropped; /* which row that was, from 1; 0: not said */
    size_t unseen;        /* words that training did not have */
    bool missing;         /* of this row: a feature is missing and rows are to be dropped */
};

bool hr_field_is_missing(const struct hr_csv_field *f, bool of_numbers);

/* What stands for the word of a field: the field, but of a whole number its digits (1.0 and +1 are
 * 1, as of classes). Returns its bytes. */
size_t hr_field_word(const struct hr_csv_field *f, char text[HR_CSV_MAX_FIELD + 1]);

/* The number of a field, with a point; or with a comma where commas separate nothing. */
bool hr_field_number(const struct hr_csv_reader *r, const struct hr_csv_field *f, double *out);

/* inf, 1e400 and 0x10 are no numbers here, and no words. */
bool hr_field_looks_number(const struct hr_csv_field *f);

/* Fill in a feature's numbers of a sample. What is refused names the column and what to do.
 *   sample  (width) */
HR_CHECKED enum hr_status hr_columns_take(const struct hr_columns *columns, size_t feature,
                                          const struct hr_csv_reader *r,
                                          const struct hr_csv_field *f, struct hr_columns_met *met,
                                          double *sample);

/* Add what was met to a note on a file, "" or one line. */
void hr_columns_describe(const struct hr_columns_met *met, size_t comments, const char *name,
                         char note[HR_DATA_NOTE]);

/* Give each feature its place in a sample, once all words are there. */
HR_CHECKED enum hr_status hr_columns_finish(struct hr_columns *columns, const char *name);
/* Sums of the training rows become means.
 *   one_hot  the option: what `auto` found of many distinct words is refused
 *   counts   (count) how many numbers or words were there
 * HR_E_FORMAT: a column has nothing to learn from. */
HR_CHECKED enum hr_status hr_columns_resolve(struct hr_columns *columns, const char *name,
                                             const char *one_hot, const size_t *counts);

/* Names of a sample's numbers, 0-terminated, one behind the other; nothing where there is no
 * header. */
HR_CHECKED enum hr_status hr_columns_names(const struct hr_columns *columns, const char *name,
                                           struct hr_array *names);

/* The feature of this name; count: there is none. */
size_t hr_columns_named(const struct hr_columns *columns, const char *text, size_t bytes);

/* Find features in the first record of a file (`first`, a copy of its reader): by name where both
 * have a header, else at their places.
 *   feature_of  (columns) out: 1 + which feature; 0: it is none */
HR_CHECKED enum hr_status hr_columns_find(const struct hr_columns *columns,
                                          struct hr_csv_reader first, bool header,
                                          size_t *feature_of);

/* free(*text). HR_E_FORMAT: names are no UTF-8, or too many for a model's file. */
enum { HR_COLUMNS_MAX_BYTES = 512 << 10 };
HR_CHECKED enum hr_status hr_columns_write(const struct hr_columns *columns, const char *name,
                                           char **text);
/* HR_E_FORMAT, HR_E_NOMEM; free it even on error. `where`: for messages. */
HR_CHECKED enum hr_status hr_columns_read(const char *where, const char *text,
                                          struct hr_columns *out);

/* Harmless on a zeroed struct. */
void hr_columns_free(struct hr_columns *columns);

#endif
