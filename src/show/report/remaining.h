/* remaining.h - how long the runs of a comparison will take that have not begun, told from those
 * that have.
 *
 * A run takes as long an epoch as the same entry took with other seeds; one whose entry has not run
 * as long as the others did on average. Where nothing was measured nothing is said.
 *
 * Test: tests/unit/report/test_remaining.c
 */
#ifndef HR_REPORT_REMAINING_H
#define HR_REPORT_REMAINING_H

#include <stdbool.h>
#include <stddef.h>

enum { HR_REMAINING_RUNS = 256 };

struct hr_remaining {
    size_t n, per_seed; /* run i is of entry i mod per_seed */
    double epochs[HR_REMAINING_RUNS];
    double seconds[HR_REMAINING_RUNS]; /* it took; 0: it has not run, or failed */
    bool spared[HR_REMAINING_RUNS];    /* it will not run */
};

/* Seconds that run i will take, as the same entry did with other seeds; not a number: it has not
 * run. */
double hr_remaining_expect(const struct hr_remaining *remaining, size_t i);

/* Seconds of the runs behind run `now`, which will take about now_s; not a number: unknown. */
double hr_remaining_after(const struct hr_remaining *remaining, size_t now, double now_s);

#endif
