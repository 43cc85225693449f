/* parse.h - one grammar for numbers, everywhere: counts 12, numbers 0.02, durations 30s 500ms 2m,
 * sizes 4 4K 256M 1G (binary) and 160MB 16GB (decimal), bandwidths 16GB/s 100Gb/s. Each returns
 * false when the text is not all of that, and leaves *out alone.
 */
#ifndef HR_BASE_PARSE_H
#define HR_BASE_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool hr_parse_count(const char *text, uint64_t *out);
bool hr_parse_number(const char *text, double *out);
/* With a unit, but for 0; hr_parse_seconds: without one it is seconds. */
bool hr_parse_duration(const char *text, double *out);
bool hr_parse_seconds(const char *text, double *out);
bool hr_parse_size(const char *text, uint64_t *out);
/* In bytes per second; GB/s counts bytes, Gb/s bits, both decimal. */
bool hr_parse_bandwidth(const char *text, double *out);

/* A real number as files hold it: all `bytes` bytes of text (no 0 behind them needed) are
 * [+-]digits[.digits][e[+-]digits], at most HR_REAL_MAX_BYTES of them, and the value is finite.
 * Whatever the locale, the point is a point. Correctly rounded. */
enum { HR_REAL_MAX_BYTES = 127 };
bool hr_parse_real(const char *text, size_t bytes, double *out);

#endif
