/* label_number.h - labels that are numbers, compared as they are written and not as doubles: above
 * 2^53 two whole numbers may be one double.
 *
 * A text is a number when hr_parse_real takes it, unless it is digits that begin with a 0 that they
 * do not need: "02139" is the name of a place.
 *
 * Errors: none. Threads: pure. Test: tests/unit/data/test_labels.c
 */
#ifndef HR_DATA_LABEL_NUMBER_H
#define HR_DATA_LABEL_NUMBER_H

#include <stdbool.h>

/* *value: the double next to it; written only where it is a number. */
bool hr_label_number(const char *text, double *value);

/* Compare two numbers by all their digits: negative, 0 or positive as strcmp. */
int hr_label_compare(const char *a, const char *b);

/* Of a number: 3, +3, 3.0 and 0.3e1 are whole. */
bool hr_label_is_whole(const char *text);

#endif
