/* data.h - labelled data sets: read once, kept as stored, converted to floats when gathered.
 *
 * A data set is two splits (train, test) of samples of one shape (channels, height, width), each
 * with one label in [0, classes), or, of a regression, with the number of a row of targets. Tables
 * have the shape (columns, 1, 1). Features are bytes times a scale, floats, or sparse rows;
 * whichever they are, a gathered batch is dense floats, C,H,W.
 *
 * Formats: IDX (MNIST), CIFAR-10 and CIFAR-100 binary, npy pairs, folders of PNG and JPEG images,
 * CSV and TSV, libsvm, packed (src/data/formats/packed.h), text and tokens
 * (src/data/formats/token_file.h), told apart by content first and by name second. All but images
 * and packed may be gzip.
 *
 * Images: grey where all are grey, else RGB; 16 bits become 8, palettes RGB, alpha is dropped, an
 * EXIF orientation is not obeyed (src/data/images/image.h). Files are decoded by as many threads as
 * processors are allowed, which end with the call. Classes are the folders' names, ascending.
 *
 * Threads: a data set is read-only after hr_dataset_open; any number of threads, and processes
 * forked afterwards, may gather from it at once. hr_dataset_open reads the environment.
 */
#ifndef HOGRING_DATA_H
#define HOGRING_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hogring/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hr_shape {
    size_t channels, height, width;
};

static inline size_t hr_shape_elems(struct hr_shape shape)
{
    return shape.channels * shape.height * shape.width;
}

enum hr_features {
    HR_FEATURES_BYTES,  /* unsigned bytes; times `scale` they are the model's input */
    HR_FEATURES_FLOATS, /* as they are */
    HR_FEATURES_SPARSE, /* rows of (column, value) pairs; missing columns are 0 */
    HR_FEATURES_TOKENS, /* of a text (hr_tokens): a sample is a window of it */
};

/* A text as numbers, which a language model learns to go on with. A sample is `context` tokens that
 * follow one another, as floats; its label is the number of the first, and what is to be predicted
 * are the tokens behind each. */
struct hr_tokens {
    size_t context;       /* 0: the data are no text */
    size_t count;         /* of all splits, below 2^32 */
    size_t width;         /* bytes a number: 1, 2 or 4 */
    const void *ids;      /* (count) each below the data set's classes */
    const uint8_t *bytes; /* (classes) of text that each token is; NULL: not known */
};

/* Number `at` of them. */
static inline uint32_t hr_token(const struct hr_tokens *tokens, size_t at)
{
    return tokens->width == 1   ? ((const uint8_t *)tokens->ids)[at]
           : tokens->width == 2 ? ((const uint16_t *)tokens->ids)[at]
                                : ((const uint32_t *)tokens->ids)[at];
}

/* The values that a regression is to predict, as they were read. */
struct hr_targets {
    size_t count;             /* of a sample; 0: labels are classes */
    size_t rows;              /* of all splits */
    const double *values;     /* (rows, count) finite */
    const char *const *names; /* (count), or NULL */
};

/* Owned by the data set; its `features` decides which arrays are set. */
struct hr_split {
    size_t count;          /* samples, below 2^31 */
    const uint8_t *pixels; /* BYTES: (count, channels * height * width) */
    const float *values;   /* FLOATS: (count, channels * height * width); SPARSE: (rows[count]) */
    const double *exact;   /* FLOATS, where values are rounded: as they were read; else NULL */
    const uint64_t *rows;  /* SPARSE: (count + 1); sample i has pairs rows[i] .. rows[i + 1] - 1 */
    const uint32_t *columns; /* SPARSE: (rows[count]), ascending in a row */
    const uint32_t *labels;  /* (count), each < classes; or a row of the targets */
    /* (count) where it is a part of another split: the rows of the arrays above that are its
     * samples; NULL: its samples are the rows. */
    const uint32_t *chosen;
    const uint32_t *groups;    /* --split group: a number of each row's group; else NULL */
    const uint32_t *file_rows; /* a part of a single file: which of its rows, from 0; else NULL */
    /* TOKENS: sample i begins at token first + i * context; end: behind the split's last token.
     * labels is NULL. */
    size_t first, end;
};

/* Of a channel, in the training split: how many values are different, and how many of these still
 * are as floats. Both are 0 where floats tell all of them apart. */
struct hr_rounding {
    size_t distinct, left;
};

/* The row of the arrays that is this sample. */
static inline size_t hr_split_row(const struct hr_split *split, size_t sample)
{
    return split->chosen ? split->chosen[sample] : sample;
}

enum { HR_MAX_CLASSES = 1 << 24, HR_DATA_NOTE = 1024 + 400 };

/* What the files do not say. Zero is not a default: call hr_data_defaults. */
struct hr_data_options {
    char test_data[1024];       /* a file of the same format with the test split; "" */
    char validation_data[1024]; /* the same with samples to validate on while training; "": none */
    double test_fraction;       /* without one: held out of a single file, in (0, 1) [0.2] */
    char header[8];             /* CSV: yes, no, auto (found by looking) [auto] */
    char label_column[256];     /* CSV: a name, or a number from 1; "": the column named label, else
                                class, target or y, in this order, else the last */
    char index_base[8];         /* libsvm: 0, 1, auto (0 when an index 0 is there) [auto] */
    size_t feature_count;       /* libsvm: columns; 0: the largest index there is */
    char resize[24];            /* images: "HEIGHTxWIDTH"; "": as they are, all of one size */
    char classes[8192]; /* all classes in order: names as "cat,dog,eel", or their number as "10"
                               for 0 .. 9; "": those that the data has */
    int values;         /* labels are values, the targets of a regression (--task regress) */
    char target[1024];  /* CSV: their columns, as "price,rent" or "3,5"; "": the one label column */
    /* CSV: lists of columns, as names or numbers from 1 ("": none) */
    char columns[1024]; /* the features; "": all others */
    char drop[1024];    /* no features */
    char one_hot[1024]; /* columns of words, a number for each; "auto": those that have words */
    char missing[8]; /* what is missing: refuse, mean of the training rows, drop the row [refuse] */
    char split[300]; /* which samples are held out: random, stratified, last, group:COLUMN; ""
                           is random */
    const char *recipe; /* what a model says of its columns (struct hr_dataset), instead of these;
                           borrowed by the call; NULL: none */
    int test_all;       /* hold nothing out: samples without a test split are both splits, whole */
    /* Called when the shape of a sample is known, before samples are read (libsvm: not called, its
     * shape is known last). An error refuses the data. Not called for text. NULL: not called. */
    enum hr_status (*admit)(const void *arg, struct hr_shape shape);
    const void *admit_arg;
    bool skip_bad_images; /* leave out, and count, those that cannot be decoded; else refuse them */
    /* Of text: */
    char vocabulary[16]; /* what a token is: bytes, or chars (of UTF-8) [bytes] */
    size_t context;      /* tokens of a sample [128] */
    bool lines;          /* shuffle lines, always alike, before the end of the text is held out */
    size_t eval_tokens;  /* how many of those held out are measured on, the first [131072] */
};

void hr_data_defaults(struct hr_data_options *options);

struct hr_dataset {
    char name[1024];       /* what was asked for: "digits", "fashion-mnist" or a path */
    char format[16];       /* "idx", "cifar-10", "cifar-100", "npy", "csv", "libsvm", "packed",
                              "images", "text" */
    struct hr_shape shape; /* of one sample */
    enum hr_features features;
    struct hr_targets targets; /* of a regression: count > 0, and classes is 0 */
    size_t classes; /* as the options say; else: distinct labels; largest label + 1 for IDX; 10 and
                       100 for CIFAR */
    /* (channels), or NULL where floats are enough: what --normalize takes from `exact`, so that
     * values with a large part in common (time stamps) are not rounded before it is gone. */
    const struct hr_rounding *rounding;
    const char *const *class_names;   /* (classes), or NULL where they are "0", "1", ... */
    const char *const *feature_names; /* CSV with a header: (shape.channels), no two the same, each
                                         of at most 255 bytes; else NULL */
    float scale;                      /* of bytes; 1 for floats and sparse */
    int index_base;                   /* libsvm: of the first feature, 0 or 1; else -1 */
    const char *recipe;               /* CSV: what was done to columns, as JSON
                                         (src/data/formats/columns.h); text: what tokens are
                                         (src/data/tokens.h); NULL: nothing */
    char label_column[80];            /* CSV: the column of labels, as "column 3, kind"; else "" */
    int label_guessed;                /* CSV: 1 if it was chosen by its name alone */
    size_t skipped;                   /* images that were left out (skip_bad_images) */
    char notes[3][HR_DATA_NOTE];      /* doubts about the files, a line each; or "" */
    struct hr_split train, test;
    struct hr_split validation; /* of a file of its own; count 0: there is none */
    struct hr_tokens tokens;    /* of text */
    char digest[33]; /* XXH3-128 over shape, counts, features, labels, hex; whatever the format */
    struct hr_data_options options; /* as opened */
    void *storage;                  /* owned memory behind the splits */
};

/* Open a data set.
 *   name     "digits"         1,797 images of 8x8, inside the library; scale 1/16
 *            "fashion-mnist"  Debian's package dataset-fashion-mnist (or the folder that the
 *                             environment variable FASHION_MNIST names); scale 1/255
 *            a folder         with the four MNIST-named files (raw or .gz), the CIFAR .bin files,
 *                             or X_train.npy, y_train.npy, X_test.npy, y_test.npy; or images:
 *                             train/<class>/ and test/<class>/, or <class>/, with PNG and JPEG
 *                             files. Bytes are scaled by 1/255
 *                             or texts, NAME.txt and NAME.txt.gz, one after the other
 *            a file           CSV, TSV, libsvm, packed, text (NAME.txt) or tokens (npy, .bin)
 *   options  NULL: the defaults. One that means nothing for the format is HR_E_USAGE.
 *   out      written only on success; close with hr_dataset_close
 * A label may be any text or number: the distinct ones are sorted (as numbers when all are) and
 * numbered from 0, and keep their names. A class that only the test or validation samples of their
 * own file have is refused, unless options->classes has it; what options->classes lacks is refused.
 * Errors: HR_E_IO (missing: says which file, and which package to install), HR_E_FORMAT (says file,
 * place, what was found, what was expected), HR_E_USAGE, HR_E_NOMEM. Sizes are checked against 8
 * GiB a file and against the bytes that are there before memory is taken; for gzip and text, memory
 * grows with what has really been read. */
enum hr_status hr_dataset_open_with(const char *name, const struct hr_data_options *options,
                                    struct hr_dataset *out);

/* The same with the defaults. */
enum hr_status hr_dataset_open(const char *name, struct hr_dataset *out);

/* Bytes of memory that its samples take; 0 where they are a file's pages (packed). */
size_t hr_dataset_bytes(const struct hr_dataset *dataset);

/* Give the memory back; harmless on a zeroed struct. */
void hr_dataset_close(struct hr_dataset *dataset);

/* Gather n samples into a batch.
 *   split    of `dataset`
 *   samples  (n) indices < split->count
 *   x        (n, features) out, scaled; sparse rows are made dense
 *   y        (n) out, labels
 * Pure; no allocation. */
void hr_dataset_gather(const struct hr_dataset *dataset, const struct hr_split *split,
                       const uint32_t *samples, size_t n, float *x, uint32_t *y);

/* The order of an epoch: a permutation of [0, count), a pure function of (seed, epoch), that
 * `hogring train` takes samples in; batch i of the epoch stands at positions from i * batch size.
 *   count    1 to below 2^31, say of a split
 *   samples  (n) out: those at positions first .. first + n - 1
 * HR_E_USAGE: count, or first + n > count. No allocation. */
enum hr_status hr_dataset_order(uint64_t seed, uint64_t epoch, size_t count, size_t first, size_t n,
                                uint32_t *samples);

/* The same of --shuffle-window: each epoch begins at another sample, goes round once, and shuffles
 * windows of so many neighbours, and the samples of each.
 *   window   0, or count and more: none, the order above */
enum hr_status hr_dataset_order_in_windows(uint64_t seed, uint64_t epoch, size_t count,
                                           size_t window, size_t first, size_t n,
                                           uint32_t *samples);

#ifdef __cplusplus
}
#endif
#endif
