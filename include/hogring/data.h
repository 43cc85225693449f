/* data.h - labelled data sets: read once, kept as bytes, scaled when a batch is gathered.
 *
 * A data set is two splits (train, test) of samples of one shape (channels, height, width), each
 * sample one byte a feature, with one label in [0, classes).
 *
 * Formats: IDX (http://yann.lecun.com/exdb/mnist/, restated in the source), plain or gzip, told
 * apart by content and not by name.
 *
 * Threads: a data set is read-only after hr_dataset_open; any number of threads, and processes
 * forked afterwards, may gather from it at once. hr_dataset_open reads the environment.
 */
#ifndef HOGRING_DATA_H
#define HOGRING_DATA_H

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

struct hr_split {
    size_t count;          /* samples */
    const uint8_t *pixels; /* (count, channels * height * width), owned by the data set */
    const uint8_t *labels; /* (count), each < classes */
};

struct hr_dataset {
    char name[256];        /* what was asked for: "digits", "fashion-mnist" or a path */
    struct hr_shape shape; /* of one sample */
    size_t classes;        /* largest label + 1 over both splits; 10 for the named sets */
    float scale;           /* a pixel byte times this is the network's input */
    struct hr_split train, test;
    char digest[33]; /* XXH3-128 over shape, counts, pixels, labels, hex */
    void *storage;   /* owned memory behind the splits */
};

/* Open a data set.
 *   name  "digits"         1,797 images of 8x8, inside the library; scale 1/16
 *         "fashion-mnist"  Debian's package dataset-fashion-mnist (or the folder that the
 *                          environment variable FASHION_MNIST names); scale 1/255
 *         anything else    a folder with the four MNIST-named files, each raw or .gz, spelled
 *                          train-images-idx3-ubyte or train-images.idx3-ubyte (the first that is
 *                          there, raw before .gz); scale 1/255
 *   out   written only on success; close with hr_dataset_close
 * Errors: HR_E_IO (missing: says which file, and which package to install), HR_E_FORMAT (says file,
 * what was found, what was expected), HR_E_USAGE (a name over 255 bytes), HR_E_NOMEM. Sizes are
 * checked against 8 GiB a file and against the bytes that are there before memory is taken; for
 * gzip, memory grows with what has really been inflated. */
enum hr_status hr_dataset_open(const char *name, struct hr_dataset *out);

/* Give the memory back; harmless on a zeroed struct. */
void hr_dataset_close(struct hr_dataset *dataset);

/* Gather n samples into a batch.
 *   split    of `dataset`
 *   samples  (n) indices < split->count
 *   x        (n, features) out, scaled
 *   y        (n) out, labels
 * Pure; no allocation. */
void hr_dataset_gather(const struct hr_dataset *dataset, const struct hr_split *split,
                       const uint32_t *samples, size_t n, float *x, uint8_t *y);

#ifdef __cplusplus
}
#endif
#endif
