/* colours.h - each strategy has one colour, in every picture and on every page; variants of a
 * strategy differ by dash and marker instead.
 *
 * Threads: constants. Test: tests/unit/page/, tests/unit/plot/
 */
#ifndef HR_REPORT_COLOURS_H
#define HR_REPORT_COLOURS_H

#include <stddef.h>

/* "#rrggbb" on white and on black: lines of both stand out from their ground by 3 to 1 and more. */
struct hr_colour {
    const char *strategy, *on_light, *on_dark;
};

/* (HR_COLOURS); the last, whose strategy is "other", is for names that are not in it. */
enum { HR_COLOURS = 12 };
extern const struct hr_colour hr_colours[HR_COLOURS];

/* That of a strategy, by its name. */
const struct hr_colour *hr_colour_of(const char *strategy);

#endif
