/* banner_share.h - one banner for several runs: what they share once, then of each what differs.
 *
 * Test: tests/unit/report/test_banner_share.c
 */
#ifndef HR_REPORT_BANNER_SHARE_H
#define HR_REPORT_BANNER_SHARE_H

#include <stdbool.h>
#include <stdio.h>

#include "hogring/train.h"

struct hr_banner_share {
    const char *head; /* "6 runs: 3 strategies, 2 seeds, one after another"; borrowed */
    char *common;     /* what was said of all; owned; NULL: nothing yet */
    bool silent;      /* another process says it */
};

/* The first time the head and what runs share; then "run 4 of 15: ...", what is a run's own, and
 * what else is not as it was said. */
void hr_banner_print_shared(FILE *out, const struct hr_run_info *info, const char *data,
                            struct hr_banner_share *share, const char *name);
void hr_banner_share_free(struct hr_banner_share *share);

#endif
