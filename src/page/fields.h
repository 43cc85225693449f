/* fields.h - fields of documents that may be anybody's: what is missing, or of another type, is
 * read as nothing.
 *
 * Threads: pure functions. Test: tests/unit/page/test_page.c
 */
#ifndef HR_PAGE_FIELDS_H
#define HR_PAGE_FIELDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Numbers from here on are none: sums and squares of all others are numbers, too. */
#define HR_FIELD_MOST 1e150

/* A number, or a string of digits; else NaN. */
double hr_field_number(const json_t *object, const char *key);
double hr_value_number(const json_t *value);
/* ""; borrowed. */
const char *hr_field_text(const json_t *object, const char *key);
bool hr_field_true(const json_t *object, const char *key);
/* NULL where it is no object, or no list. */
const json_t *hr_field_object(const json_t *object, const char *key);
const json_t *hr_field_list(const json_t *object, const char *key);

/* Mean, sample deviation and ends of numbers that are numbers; n: so many. */
struct hr_mean {
    size_t n;
    double mean, sd, least, most;
    double m2; /* Welford's */
};
#define HR_MEAN_NONE ((struct hr_mean){.mean = NAN, .sd = NAN, .least = NAN, .most = NAN})
void hr_mean_add(struct hr_mean *mean, double x);

#endif
