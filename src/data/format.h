/* format.h - what a data format is: how it is recognised, and how it is opened.
 *
 * formats/dataset_open.c asks them in order; the first that recognises a file or folder opens it.
 * Each parser also has an entry point over memory (idx.h, csv.h, ...), which the fuzzers use.
 */
#ifndef HR_DATA_FORMAT_H
#define HR_DATA_FORMAT_H

#include <stdbool.h>

#include "base/error.h"
#include "data/bytes.h"
#include "data/class_list.h"
#include "data/labels.h"
#include "data/table.h"
#include "hogring/data.h"

enum { HR_PROBE_BYTES = 4096 };

enum { HR_MAX_CONTEXT = 1 << 16 };

/* What can be seen of a path without reading it whole. */
struct hr_probe {
    const char *path;
    bool folder;
    size_t bytes;              /* at head */
    char head[HR_PROBE_BYTES]; /* the first of a file's content, inflated */
};

/* What an opened format leaves; dataset.c finishes it. */
struct hr_storage {
    struct hr_table train, test; /* test.count 0: to be held out of train */
    struct hr_table validation;  /* count 0: there is none */
    float scale;
    size_t classes;               /* 0: largest label + 1 */
    struct hr_labels labels;      /* when it has any, the tables' labels are its numbers */
    struct hr_classes naming;     /* made from `labels` */
    const char **columns;         /* train.feature_names as a list; NULL where it is none; owned */
    const char **names;           /* of the classes, when the format says them; owned */
    struct hr_rounding *rounding; /* owned: the data set's */
    char digest[33];              /* when the format says it */
    struct hr_class_list list;    /* options->classes */
    uint32_t *numbered[3];        /* labels by that list, of train, test and validation */
    char *recipe;                 /* owned: the data set's */
    uint8_t *token_bytes;         /* owned: hr_tokens.bytes */
    size_t skipped;               /* the data set's */
    struct hr_tokens tokens;      /* of text; ids lie in `text`, or in `map` */
    void *text;                   /* owned */
    void *map;                    /* a mapping that tables and tokens borrow from */
    size_t map_bytes;
};

/* Options that mean something to a format. */
enum hr_data_option_bit {
    HR_OPTION_TEST_DATA = 1,
    HR_OPTION_TEST_FRACTION = 2,
    HR_OPTION_HEADER = 4,
    HR_OPTION_LABEL_COLUMN = 8,
    HR_OPTION_INDEX_BASE = 16,
    HR_OPTION_FEATURES = 32,
    HR_OPTION_VALIDATION_DATA = 64,
    HR_OPTION_RESIZE = 128,
    HR_OPTION_VALUES = 512, /* labels may be values */
    HR_OPTION_TARGET = 1024,
    HR_OPTION_COLUMNS = 2048, /* columns, drop, one-hot, missing */
    HR_OPTION_SPLIT = 4096,
    HR_OPTION_GROUPS = 8192, /* split group:COLUMN */
    HR_OPTION_SKIP = 16384,
    HR_OPTION_TOKENS = 32768, /* vocabulary, context, lines, eval-tokens */
};

struct hr_format {
    const char *name;
    unsigned options;
    bool (*matches)(const struct hr_probe *probe);
    /* Fill a zeroed storage; the caller frees it whatever the outcome. */
    enum hr_status (*open)(const char *path, const struct hr_data_options *options,
                           struct hr_storage *storage);
};

/* Is there `folder`/`name`? Where nobody can tell (EIO, EACCES) there is: who opens it says what is
 * wrong, and no data are missing in silence. */
bool hr_folder_has(const char *folder, const char *name);

/* A data set from what was opened: classes, held out samples, checks, digest. *out is written on
 * success only; it then owns `storage`, which hr_dataset_close frees. */
HR_CHECKED enum hr_status hr_dataset_finish(const char *name, const struct hr_format *format,
                                            const struct hr_data_options *options,
                                            struct hr_storage *storage, struct hr_dataset *out);

/* May samples of this shape be read? */
HR_CHECKED enum hr_status hr_format_admit(const struct hr_data_options *options,
                                          struct hr_shape shape);

void hr_storage_free(struct hr_storage *storage);

/* XXH3-128 over shape, counts, features and labels, as hex; whatever the format and scale. */
HR_CHECKED enum hr_status hr_dataset_digest(const struct hr_dataset *dataset, char digest[33]);

#endif
