/* short_labels.h - what curves go by in a picture: the labels of the groups that are drawn, short,
 * and told apart by what differs.
 *
 *   ps-async lr 0.05 batch 16                   ps-async lr 0.05
 *   ps-async lr 0.1 batch 16                    ps-async lr 0.1
 *   allreduce direct lr 0.05 batch 16           allreduce direct lr 0.05
 *
 * Threads: pure functions. Test: tests/unit/page/test_page.c
 */
#ifndef HR_PAGE_SHORT_LABELS_H
#define HR_PAGE_SHORT_LABELS_H

#include "page/view.h"

enum { HR_SHORT_LABEL = HR_LABEL_MAX + 4 };

struct hr_short_labels {
    char text[HR_DRAWN][HR_SHORT_LABEL]; /* (view->ndrawn) */
};

void hr_short_labels(const struct hr_view *view, struct hr_short_labels *labels);

/* Letters of UTF-8 text. */
size_t hr_letters(const char *text);

#endif
