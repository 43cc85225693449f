#include "base/parse.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool hr_parse_count(const char *text, uint64_t *out)
{
    char *end;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)text[0]) || *end || errno)
        return false;
    *out = value;
    return true;
}

/* strtod in the C locale: a program that uses this library may have set another, where 0.5 is
 * written 0,5. */
static double c_strtod(const char *text, char **end)
{
    const locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    const double value = c ? strtod_l(text, end, c) : strtod(text, end);
    if (c)
        freelocale(c);
    return value;
}

/* A number, finite and not negative, with the rest of the text. */
static bool number_and_unit(const char *text, double *value, const char **unit)
{
    char *end;
    errno = 0;
    *value = c_strtod(text, &end);
    *unit = end;
    return end != text && !errno && isfinite(*value) && *value >= 0 &&
           !isspace((unsigned char)text[0]);
}

bool hr_parse_number(const char *text, double *out)
{
    double value;
    const char *unit;
    if (!number_and_unit(text, &value, &unit) || *unit)
        return false;
    *out = value;
    return true;
}

struct unit {
    const char *name;
    double factor;
};

static bool scaled(const char *text, const struct unit *units, size_t n, double *out)
{
    double value;
    const char *name;
    if (!number_and_unit(text, &value, &name))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!strcmp(name, units[i].name)) {
            *out = value * units[i].factor;
            return true;
        }
    return false;
}

bool hr_parse_duration(const char *text, double *out)
{
    static const struct unit units[] = {{"s", 1},  {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9},
                                        {"m", 60}, {"min", 60},  {"h", 3600}};
    double zero;
    if (hr_parse_number(text, &zero) && zero <= 0) {
        *out = 0;
        return true;
    }
    return scaled(text, units, sizeof units / sizeof *units, out);
}

bool hr_parse_seconds(const char *text, double *out)
{
    return hr_parse_number(text, out) || hr_parse_duration(text, out);
}

bool hr_parse_size(const char *text, uint64_t *out)
{
    static const struct unit units[] = {
        {"", 1},           {"B", 1},      {"K", 1024},      {"M", 1048576},
        {"G", 1073741824}, {"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1073741824},
        {"kB", 1e3},       {"KB", 1e3},   {"MB", 1e6},      {"GB", 1e9},
    };
    double bytes;
    if (!scaled(text, units, sizeof units / sizeof *units, &bytes) || bytes > 1e15)
        return false;
    *out = (uint64_t)bytes;
    return true;
}

bool hr_parse_bandwidth(const char *text, double *out)
{
    static const struct unit units[] = {
        {"B/s", 1},        {"kB/s", 1e3},     {"KB/s", 1e3},      {"MB/s", 1e6},
        {"GB/s", 1e9},     {"TB/s", 1e12},    {"kb/s", 1e3 / 8},  {"Kb/s", 1e3 / 8},
        {"Mb/s", 1e6 / 8}, {"Gb/s", 1e9 / 8}, {"Tb/s", 1e12 / 8}, {"kbps", 1e3 / 8},
        {"Mbps", 1e6 / 8}, {"Gbps", 1e9 / 8}, {"Tbps", 1e12 / 8},
    };
    return scaled(text, units, sizeof units / sizeof *units, out);
}

/* --- real numbers of files */

/* The value read so far is digits x 10^exponent, exact up to 19 digits. */
struct decimal {
    uint64_t digits;
    int ndigits, exponent;
    bool negative;
};

static const char *read_digits(const char *at, const char *end, struct decimal *d, int shift)
{
    for (; at < end && *at >= '0' && *at <= '9'; at++) {
        d->digits = d->digits * 10 + (uint64_t)(*at - '0');
        d->ndigits += d->ndigits > 0 || *at != '0';
        d->exponent -= shift;
    }
    return at;
}

static const char *read_exponent(const char *at, const char *end, struct decimal *d)
{
    const char *sign = at + 1;
    const bool negative = sign < end && *sign == '-';
    const char *first = sign + (sign < end && (*sign == '-' || *sign == '+'));
    int exponent = 0;
    for (at = first; at < end && *at >= '0' && *at <= '9'; at++)
        if (exponent < 100000)
            exponent = exponent * 10 + (*at - '0');
    d->exponent += negative ? -exponent : exponent;
    return at > first ? at : NULL;
}

/* The whole text against the grammar. */
static bool read_decimal(const char *text, size_t bytes, struct decimal *d)
{
    const char *at = text, *end = text + bytes;
    d->negative = at < end && *at == '-';
    at += at < end && (*at == '-' || *at == '+');
    const char *whole = at;
    at = read_digits(at, end, d, 0);
    size_t digits = (size_t)(at - whole);
    if (at < end && *at == '.') {
        const char *fraction = at + 1;
        at = read_digits(fraction, end, d, 1);
        digits += (size_t)(at - fraction);
    }
    if (digits && at < end && (*at == 'e' || *at == 'E'))
        at = read_exponent(at, end, d);
    return digits && at == end;
}

/* Clinger's fast path: digits below 2^53 times or over an exact power of ten needs one rounding, so
 * it is correct ("How to read floating point numbers accurately", PLDI 1990). */
static bool read_fast(const struct decimal *d, double *out)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (d->ndigits > 19 || d->digits > (uint64_t)1 << 53 || d->exponent < -22 || d->exponent > 22)
        return false;
    const double digits = (double)d->digits;
    const double value =
        d->exponent < 0 ? digits / powers[-d->exponent] : digits * powers[d->exponent];
    *out = d->negative ? -value : value;
    return true;
}

bool hr_parse_real(const char *text, size_t bytes, double *out)
{
    struct decimal decimal = {0};
    if (bytes > HR_REAL_MAX_BYTES || !read_decimal(text, bytes, &decimal))
        return false;
    if (read_fast(&decimal, out))
        return true;
    char copy[HR_REAL_MAX_BYTES + 1], *end;
    memcpy(copy, text, bytes);
    copy[bytes] = '\0';
    const double value = c_strtod(copy, &end);
    if (!isfinite(value))
        return false;
    *out = value;
    return true;
}
