/* feature_names.h - columns of training and test files have the same names in the same order.
 *
 * Threads: none. Test: tests/unit/formats/test_csv.c
 */
#ifndef HR_FORMATS_FEATURE_NAMES_H
#define HR_FORMATS_FEATURE_NAMES_H

#include "base/error.h"
#include "data/table.h"

/* Where both tables have names: HR_E_FORMAT when they are the same in another order; a note in
 * `test` when they are others. HR_E_NOMEM. Names and places of files are for messages. */
HR_CHECKED enum hr_status hr_feature_names_check(const char *test_name, const char *train_name,
                                                 struct hr_table *test,
                                                 const struct hr_table *train);

#endif
