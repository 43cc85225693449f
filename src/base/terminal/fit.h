/* fit.h - what there is no room for in a line of columns, two blanks between them.
 *
 * Threads: pure. Test: tests/unit/report/test_table.c, test_progress.c
 */
#ifndef HR_TERMINAL_FIT_H
#define HR_TERMINAL_FIT_H

#include <stdbool.h>
#include <stddef.h>

struct hr_fitted {
    size_t width;
    int expendable; /* 0: never */
    bool shown;
};

/* Of those that are shown the most expendable go, of several the last, until the line fits; room 0:
 * it does. One is always left. */
void hr_fit(struct hr_fitted *column, size_t n, size_t room);

#endif
