/* asynchrony.h - a table of what asynchrony did, one row a strategy that read stale weights. */
#ifndef HR_REPORT_ASYNCHRONY_H
#define HR_REPORT_ASYNCHRONY_H

#include <stdio.h>

#include "report/groups.h"

/* Staleness: mean, quantiles, its stalest worker; clock skew; effective step size and
 * momentum (hogring/train.h, struct hr_asynchrony); hogwild's lost updates. Prints nothing when no
 * update was stale. */
void hr_asynchrony_print(FILE *out, const struct hr_groups *groups, size_t width);

#endif
