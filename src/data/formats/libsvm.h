/* libsvm.h - the text format of LIBSVM and SVMlight, kept sparse.
 *
 *     +1 3:0.5 7:1.25      label, then index:value with ascending indices; what is missing is 0
 *     -1 qid:4 2:1 # note  qid:N and what stands behind # mean nothing here
 *
 * Of a regression the label is the target; several are written 1.5,2.5.
 *
 * Indices begin at 1, or at 0 in files that some programs write: --index-base auto takes 0 when
 * one of the data set's files has an index 0. Lines without a label are skipped when they hold
 * nothing but a comment.
 *
 * Errors: HR_E_FORMAT with file and line. Threads: none. Test: tests/unit/formats/test_libsvm.c
 */
#ifndef HR_FORMATS_LIBSVM_H
#define HR_FORMATS_LIBSVM_H

#include "base/error.h"
#include "data/labels.h"
#include "data/table.h"

/* Parse `bytes` bytes of text into a sparse table whose columns are still the indices of the file,
 * and whose shape is (largest index + 1, 1, 1); hr_libsvm_shift makes columns of them.
 *   labels  NULL: lines may begin without one, what they have is not kept, and all are 0 */
HR_CHECKED enum hr_status hr_libsvm_parse(const char *name, const char *text, size_t bytes,
                                          struct hr_labels *labels, struct hr_table *out);

/* Columns from indices, and one shape for all tables; those behind the first may be empty. */
enum { HR_LIBSVM_TABLES = 3 };
HR_CHECKED enum hr_status hr_libsvm_shift(const char *name, const struct hr_data_options *options,
                                          struct hr_table *const tables[HR_LIBSVM_TABLES]);

#endif
