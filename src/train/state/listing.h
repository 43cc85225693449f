/* listing.h - names in a message: "0.weight, 0.bias, 2.weight and 14 more".
 *
 * Threads: the caller's memory.
 * Test:    tests/unit/state/test_listing.c
 */
#ifndef HR_STATE_LISTING_H
#define HR_STATE_LISTING_H

#include <stddef.h>

enum { HR_LISTING_MAX = 200 };

struct hr_listing {
    size_t n;                   /* names added */
    size_t shown;               /* of them, those in `names` */
    char names[HR_LISTING_MAX]; /* "0.weight, 0.bias" */
    char text[HR_LISTING_MAX + sizeof " and 18446744073709551615 more"];
};

/* One more; zeroed before the first. What does not fit is counted; the first one is cut to fit. */
void hr_listing_add(struct hr_listing *listing, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* All of it, made printable; until the next name. */
const char *hr_listing_text(struct hr_listing *listing);

#endif
