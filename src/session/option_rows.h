/* option_rows.h - the fields of struct hr_train_options by the names that flags have: one table for
 * whatever writes options down or reads them back.
 *
 * Threads: constants and pure functions.
 * Test: tests/unit/report/test_json.c, tests/unit/train/test_replay_attacks.c
 */
#ifndef HR_TRAIN_OPTION_ROWS_H
#define HR_TRAIN_OPTION_ROWS_H

#include <jansson.h>

#include "base/error.h"
#include "hogring/train.h"

enum hr_option_type {
    HR_OPTION_TEXT,
    HR_OPTION_SIZE,  /* size_t */
    HR_OPTION_COUNT, /* uint64_t */
    HR_OPTION_NUMBER,
    HR_OPTION_TRUTH,
};

/* What a field has to do with the result. */
enum hr_option_use {
    HR_DECIDES, /* the bits of the weights, or which weights they are */
    HR_BEGINS,  /* as this, of one start alone: what it begins with, how far it goes */
    HR_AROUND,  /* how: another value gives the same run */
    HR_ONCE,    /* as this, of one start alone: where it saves, how long it may take */
    HR_SPARSE,  /* the weights of sparse models, which are not recorded */
};

struct hr_train_row {
    const char *flag;
    enum hr_option_type type;
    enum hr_option_use use;
    size_t offset, size; /* of the field in struct hr_train_options */
};

/* The i-th row, NULL past the end. */
const struct hr_train_row *hr_train_row_at(size_t i);

/* Does it hold for runs that go on from this one's checkpoints? */
bool hr_train_row_is_kept(const struct hr_train_row *row);

/* The value as a command line would have it: the row's field of *options. */
void hr_train_row_text(const void *options, const struct hr_train_row *row, char *text,
                       size_t size);

/* {"strategy": "ssp", "staleness": 3, ...}: the rows that decide. Whole numbers beyond 2^63 - 1 are
 * strings of digits. NULL: no memory, or a text is not UTF-8. */
json_t *hr_train_options_json(const struct hr_train_options *options);

/* Put what such an object says into *options; what it does not name stays. Unknown names, names
 * that do not decide, and values that do not fit their field are HR_E_FORMAT; what values mean is
 * for hr_train to check. */
HR_CHECKED enum hr_status hr_train_options_from_json(const json_t *object,
                                                     struct hr_train_options *options);

#endif
