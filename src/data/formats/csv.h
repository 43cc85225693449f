/* csv.h - tables as text: CSV, TSV and ; separated, quoted as RFC 4180 has it.
 *
 *     sepal length,sepal width,species        a header, or none
 *     5.1,3.5,"setosa"
 *     4.9,3.0,setosa                          lines end in LF or CR LF
 *
 * - The separator is the one of , tab ; | that the first line has most of. Blank lines are skipped,
 *   blanks around a field too, and a UTF-8 byte order mark at the start.
 * - The first line is a header when none of its fields is a number, or one of them is the name of
 *   the label column (a number names it only in a line that is a header anyway); --header yes or no
 *   decides otherwise, and has to where a y stands beside numbers.
 * - The label column: --label-column as a name of the header or a number from 1; else the one
 *   named label; else class, target or y (any case), in this order; else the last.
 * - Of a regression the target is that column, or --target says which ones, by names of the header
 *   or numbers from 1; its fields are finite numbers.
 * - A feature's column has a name where there is a header: one without ("", or "Unnamed: 0", both
 *   by pandas) is refused, for it holds row numbers.
 * - Labels are any text; all other fields are finite numbers (base/parse.h), with a comma for the
 *   point where no comma separates fields; what is missing and columns of words: columns.h.
 * - Lines before the first record that begin with # are comments, but for one that has as many
 *   separators as the line below it: that is a header.
 *
 * Errors: HR_E_FORMAT with file, line and column, what was found and what was expected.
 * Threads: none. Test: tests/unit/formats/test_csv.c
 */
#ifndef HR_FORMATS_CSV_H
#define HR_FORMATS_CSV_H

#include "base/error.h"
#include "data/labels.h"
#include "data/table.h"

struct hr_columns;

enum { HR_CSV_MAX_FIELD = 1024 };

/* Is the first line a header? (--header) */
enum hr_csv_header { HR_CSV_HEADER_AUTO, HR_CSV_HEADER_YES, HR_CSV_HEADER_NO };
static inline enum hr_csv_header hr_csv_header_of(const struct hr_data_options *options)
{
    const char first = options->header[0]; /* of auto, yes, no */
    return first == 'a' ? HR_CSV_HEADER_AUTO : first == 'y' ? HR_CSV_HEADER_YES : HR_CSV_HEADER_NO;
}

/* Parse `bytes` bytes of text. Labels are numbers of `labels`, to which they are added.
 *   columns  what becomes of its columns (columns.h): {0} for the file that is trained on, which
 *            fills it in; the others of a data set get the same. Free it whatever the outcome
 *   out      floats of shape (features, 1, 1); zeroed on error, free with hr_table_free */
HR_CHECKED enum hr_status hr_csv_parse(const char *name, const char *text, size_t bytes,
                                       const struct hr_data_options *options,
                                       struct hr_columns *columns, struct hr_labels *labels,
                                       struct hr_table *out);

/* The columns of a file's first line, whatever stands in it; no more of it is read. 0 where it may
 * be a comment. HR_E_IO,
 * HR_E_FORMAT. */
HR_CHECKED enum hr_status hr_csv_width(const char *path, size_t *columns);

#endif
