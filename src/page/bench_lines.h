/* bench_lines.h - times over sizes, a panel an operation and a line an algorithm, where rows have
 * several sizes. */
#ifndef HR_PAGE_BENCH_LINES_H
#define HR_PAGE_BENCH_LINES_H

#include <jansson.h>
#include <stdio.h>

/* `id` tells panels of several documents apart. */
void hr_bench_lines_write(FILE *out, const json_t *rows, size_t id);

#endif
