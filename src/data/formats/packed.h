/* packed.h - hogring's own format of data sets: one file, ready to be memory-mapped.
 *
 * Little-endian; offsets count from the start of the file. The header has 512 bytes:
 *
 *       0   8  magic 89 'H' 'R' 'P' 0d 0a 1a 0a
 *       8   4  version, 1; of data whose labels are values 2
 *      12   4  features: 0 bytes, 1 floats, 2 sparse
 *      16  24  channels, height, width, 8 bytes each
 *      40   8  classes; version 2: 0
 *      48   4  scale, a float
 *      52   4  0; version 2: values of a sample
 *      56  16  digest of the data set, XXH3-128 (hr_dataset.digest), canonical
 *      72  16  samples: train, test, 8 bytes each
 *      88 216  nine sections, each: offset, bytes, XXH3-64 of its bytes, 8 bytes each
 *     304 200  0
 *     504   8  XXH3-64 of bytes 0..503
 *
 * Sections, in this order, each at a multiple of 64, as near as can be behind the one before it,
 * zeros between, the last one ends the file:
 *
 *     0 train pixels (bytes) or values     4 test pixels or values     8 names of the classes:
 *     1 train rows (sparse, else empty)    5 test rows                   `classes` texts, each
 *     2 train columns (sparse)             6 test columns                ended by a 0; empty:
 *     3 train labels, 4 bytes each         7 test labels                 "0", "1", ...
 *
 * Of floats that are not enough (hr_dataset.rounding) sections 1 and 5 have what was read, doubles.
 * In version 2 labels are so many doubles a sample, and the names those of the targets.
 *
 * What opening checks: the header's digest, every size and offset against the file, labels, rows
 * and columns against their bounds (one pass over those), the names' ends, and in files of up to
 * 1 GiB the hash of each section (some ms for 55 MB; a note says where it was left out).
 * hr_packed_verify digests everything. A file that is cut while it is mapped raises SIGBUS
 * (base/signals.h): replace files, do not rewrite them.
 *
 * Errors: HR_E_FORMAT, HR_E_IO. Threads: none. Test: tests/unit/formats/test_packed.c
 */
#ifndef HR_FORMATS_PACKED_H
#define HR_FORMATS_PACKED_H

#include "base/error.h"
#include "formats/formats.h"

enum { HR_PACKED_HEADER_BYTES = 512, HR_PACKED_SECTIONS = 9, HR_PACKED_ALIGN = 64 };

/* Write a data set to a file: under a temporary name in the same folder, synced, then renamed, so
 * that `path` is never half a file; HR_E_IO where it is no regular file. */
HR_CHECKED enum hr_status hr_packed_write(const char *path, const struct hr_dataset *dataset);

/* Look at `bytes` bytes of memory, aligned to 64, which the storage's tables then borrow. */
HR_CHECKED enum hr_status hr_packed_parse(const char *name, const void *memory, size_t bytes,
                                          struct hr_storage *storage);

/* Open the file, check all its bytes against their digests, and that values are finite. */
HR_CHECKED enum hr_status hr_packed_verify(const char *path);

#endif
