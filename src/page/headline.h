/* headline.h - the sentence on several strategies that a page begins with. Where the document has
 * a comparison it says what that proved; documents are not compared with each other, for their
 * data and clocks may differ.
 *
 * Threads: pure. Test: tests/unit/page/test_headline.c
 */
#ifndef HR_PAGE_HEADLINE_H
#define HR_PAGE_HEADLINE_H

#include <stdio.h>

#include "page/view.h"

/* Not escaped. */
void hr_headline_write(FILE *out, const struct hr_view *view);

#endif
