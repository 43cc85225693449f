/* cifar.h - the binary version of CIFAR-10 and CIFAR-100 (https://www.cs.toronto.edu/~kriz/).
 *
 *     CIFAR-10    label | 1024 red | 1024 green | 1024 blue        data_batch_1..5, test_batch .bin
 *     CIFAR-100   coarse | fine | 1024 red | ...              train.bin, test.bin; fine counts
 *
 * A record an image, row by row, nothing before, between or behind: shape (3,32,32).
 *
 * Errors: HR_E_FORMAT with file and record. Threads: none. Tests: tests/cli/data.bats, tests/fuzz
 */
#ifndef HR_FORMATS_CIFAR_H
#define HR_FORMATS_CIFAR_H

#include "base/error.h"
#include "data/bytes.h"
#include "data/table.h"

struct hr_cifar_kind {
    const char *name;
    size_t label_bytes; /* the last of them counts */
    size_t classes;
};

extern const struct hr_cifar_kind hr_cifar_10, hr_cifar_100;

/* Append the records of one file to a split that grows: pixels, and labels of 32 bits. */
HR_CHECKED enum hr_status hr_cifar_parse(const char *name, const uint8_t *data, size_t bytes,
                                         const struct hr_cifar_kind *kind, struct hr_array *pixels,
                                         struct hr_array *labels);

#endif
