/* page.h - results as one page of HTML, made from the documents of --json and nothing else.
 *
 * One file, without network or server: the documents stand in it, and its script draws them.
 * Documents may be of any version (what is missing is left out) and anybody's.
 *
 * Test: tests/unit/page/, tests/cli/page.bats, tests/cli/browser.bats
 */
#ifndef HR_PAGE_PAGE_H
#define HR_PAGE_PAGE_H

#include <jansson.h>
#include <stddef.h>

#include "base/error.h"

struct hr_page_source {
    const char *name; /* where it comes from; "" for a run that has just ended */
    const json_t *document;
};

/* HR_E_FORMAT: no document of hogring's, or one that has no page; the message begins with name. */
HR_CHECKED enum hr_status hr_page_check(const struct hr_page_source *source);

/* The page on n documents that were checked: free() it. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_page_make(const struct hr_page_source *sources, size_t n, char **text,
                                       size_t *bytes);

/* --- each strategy has one colour, in every picture and on every page; variants of a strategy
 * differ by dash and marker instead --- */

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
