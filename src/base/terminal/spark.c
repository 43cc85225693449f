#include "terminal/spark.h"

#include <math.h>
#include <string.h>

static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
static const char *const plain[] = {"_", ".", ",", "-", "=", "+", "*", "#"};

enum { LEVELS = sizeof blocks / sizeof *blocks };

/* Two by two. */
static void halve(struct hr_spark *spark)
{
    for (size_t i = 0; i < spark->n / 2; i++) {
        spark->mean[i] = (spark->mean[2 * i] + spark->mean[2 * i + 1]) / 2;
        spark->count[i] = spark->count[2 * i] + spark->count[2 * i + 1];
    }
    spark->n /= 2;
    spark->each *= 2;
}

void hr_spark_add(struct hr_spark *spark, double value)
{
    if (!isfinite(value))
        return;
    spark->each = spark->each ? spark->each : 1;
    if (spark->n == HR_SPARK_WIDTH && spark->count[spark->n - 1] == spark->each)
        halve(spark);
    if (spark->n == 0 || spark->count[spark->n - 1] == spark->each) {
        spark->mean[spark->n] = 0;
        spark->count[spark->n++] = 0;
    }
    const size_t last = spark->n - 1;
    const double n = (double)++spark->count[last];
    spark->mean[last] += value / n - spark->mean[last] / n;
}

/* Losses fall fast, and then ever more slowly: where all are above 0 heights are logarithms. */
static bool is_positive(const struct hr_spark *spark)
{
    bool all = true;
    for (size_t i = 0; i < spark->n; i++)
        all = all && spark->mean[i] > 0;
    return all;
}

static double height(bool logs, double value)
{
    return logs ? log(value) : value;
}

char *hr_spark_draw(const struct hr_spark *spark, bool utf8, char text[HR_SPARK_MAX])
{
    double least = INFINITY, most = -INFINITY;
    const bool logs = is_positive(spark);
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < spark->n; i++) {
        least = fmin(least, height(logs, spark->mean[i]));
        most = fmax(most, height(logs, spark->mean[i]));
    }
    for (size_t i = 0; spark->n > 1 && i < spark->n; i++) {
        const double span = most - least;
        const double part =
            span > 0 && isfinite(span) ? (height(logs, spark->mean[i]) - least) / span : 0;
        const size_t level = (size_t)fmin(part * LEVELS, LEVELS - 1);
        const char *sign = utf8 ? blocks[level] : plain[level];
        memcpy(text + used, sign, strlen(sign) + 1);
        used += strlen(sign);
    }
    return text;
}
