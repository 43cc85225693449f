/* human.h - numbers as people read them. Each writes into the caller's text and returns it. */
#ifndef HR_REPORT_HUMAN_H
#define HR_REPORT_HUMAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stats/tests.h"

enum { HR_HUMAN_MAX = 64 };

/* 235146 -> "235,146" */
char *hr_human_count(char text[HR_HUMAN_MAX], uint64_t n);

/* 41234.5 -> "41.2k", 987 -> "987", 1.5e6 -> "1.50M", NaN -> "nan". */
char *hr_human_short(char text[HR_HUMAN_MAX], double x);

/* Two or more significant digits: 0.0334 -> "0.033", 0.5 -> "0.50", 12.34 -> "12.3". */
char *hr_human_seconds(char text[HR_HUMAN_MAX], double seconds);

/* How fast training is, in what it is counted: of text, whose samples have `tokens` each, tokens/s;
 * 0: it is no text. The number alone; its unit; and both: "58.6k tokens/s". Every table, sentence
 * and line that shows a speed goes through these. */
static inline double hr_rate_shown(double samples_per_s, size_t tokens)
{
    return tokens ? samples_per_s * (double)tokens : samples_per_s;
}
static inline const char *hr_rate_unit(size_t tokens)
{
    return tokens ? "tokens/s" : "samples/s";
}
char *hr_human_rate(char text[HR_HUMAN_MAX], double samples_per_s, size_t tokens);

/* A loss: "0.4123"; huge ones as "1.23e+30". */
char *hr_human_loss(char text[HR_HUMAN_MAX], double loss);

/* A length of time to wait: "4 s", "3 min 20 s", "2 h 5 min". */
char *hr_human_wait(char text[HR_HUMAN_MAX], double seconds);

/* The same as an estimate, of two digits at most: "40 s", "3 min", "2 h". */
char *hr_human_about(char text[HR_HUMAN_MAX], double seconds);

/* Is the locale (the first of LC_ALL, LC_CTYPE, LANG that is set) UTF-8? Then a plus-minus sign can
 * be printed. */
bool hr_human_utf8(void);

/* "97.31 ± 0.12", or "+-"; only the mean when there is one value. */
char *hr_human_spread(char text[HR_HUMAN_MAX], const struct hr_spread *spread, double factor,
                      int decimals);
/* The same in hr_human_short's units: "41.2 ± 1.1k". */
char *hr_human_short_spread(char text[HR_HUMAN_MAX], const struct hr_spread *spread);

#endif
