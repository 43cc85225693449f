/* table.h - the samples of one split, as a format's parser leaves them.
 *
 * Threads: none. Errors: HR_E_FORMAT, HR_E_NOMEM, naming the file.
 * Tests: those of the formats, tests/unit/data/test_*.c
 */
#ifndef HR_DATA_TABLE_H
#define HR_DATA_TABLE_H

#include <stdbool.h>

#include "base/error.h"
#include "data/bytes.h"
#include "hogring/data.h"

#define HR_TABLE_MAX_COUNT ((size_t)1 << 31) /* samples are fewer: they have 31-bit numbers */

struct hr_table {
    enum hr_features features;
    struct hr_shape shape;
    size_t count;
    /* Owned unless `borrowed`; the same arrays as in struct hr_split. */
    uint8_t *pixels;
    float *values;
    double *exact; /* of floats: the same before they were rounded; NULL: none was */
    uint64_t *rows;
    uint32_t *columns;
    uint32_t *labels;
    bool borrowed;
    void *map; /* owned: the mapping that pixels or values lie in; NULL: they are memory */
    size_t map_bytes;
    uint32_t *file_rows; /* owned; as in struct hr_split */
    size_t first, end;   /* of tokens: as there */
    /* CSV: */
    uint32_t *groups;        /* owned; as in struct hr_split */
    char label_column[80];   /* where the labels stand */
    bool label_guessed;      /* the header alone says so */
    char *feature_names;     /* 0-terminated, one behind the other; NULL where there is no header */
    int index_base;          /* libsvm: of the first column */
    char note[HR_DATA_NOTE]; /* one line about what is doubtful; "" */
};

/* Harmless on a zeroed struct. */
void hr_table_free(struct hr_table *table);

/* Values that are read one by one: floats, and beside them the same as doubles, from the first
 * value on that is no float. Whoever reads frees both, or makes them a table's. */
struct hr_values {
    struct hr_array floats, exact;
};
HR_CHECKED enum hr_status hr_values_add(struct hr_values *values, const char *name, double value);
void hr_values_free(struct hr_values *values);

void hr_table_drop_exact(struct hr_table *table);

/* A view. */
struct hr_split hr_table_split(const struct hr_table *table);

/* Pairs of a sparse table; 0 for others. */
size_t hr_table_pairs(const struct hr_table *table);

/* Bytes of its arrays in memory: not of borrowed or mapped ones. */
size_t hr_table_bytes(const struct hr_table *table);

/* Its feature_names as a list (shape.channels) that points into them; free() it. NULL where there
 * are none, where two are the same, and where one is longer than a label. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_table_names(const char *name, const struct hr_table *table,
                                         const char ***out);

/* Take samples out of `table` into `test`: those of hr_hold_out_tests, `split` as it has it. Both
 * keep the order of the file, and `table` its names. classes: labels are numbers of classes.
 * HR_E_FORMAT: there are not two samples. */
HR_CHECKED enum hr_status hr_table_hold_out(const char *name, const char *split, bool classes,
                                            struct hr_table *table, double fraction,
                                            struct hr_table *test);

#endif
