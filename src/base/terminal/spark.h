/* spark.h - a curve of a few characters: "▇▆▄▃▂▁", or "#*=-." where the locale is not UTF-8.
 *
 * Test: tests/unit/terminal/test_spark.c
 */
#ifndef HR_TERMINAL_SPARK_H
#define HR_TERMINAL_SPARK_H

#include <stdbool.h>
#include <stddef.h>

enum { HR_SPARK_WIDTH = 16, HR_SPARK_MAX = 3 * HR_SPARK_WIDTH + 1 };

/* Values as they come; of more than there are characters, each stands for the mean of several. */
struct hr_spark {
    double mean[HR_SPARK_WIDTH];
    size_t count[HR_SPARK_WIDTH]; /* of those in a mean */
    size_t n, each;
};

/* Of a zeroed one; values that are not finite are left out. */
void hr_spark_add(struct hr_spark *spark, double value);
/* From the smallest, lowest, to the largest, by logarithms where all are above 0; "" of fewer than
 * two. */
char *hr_spark_draw(const struct hr_spark *spark, bool utf8, char text[HR_SPARK_MAX]);

#endif
