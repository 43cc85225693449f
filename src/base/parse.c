#include "base/parse.h"

#include <ctype.h>
#include <errno.h>
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

/* A number, finite and not negative, with the rest of the text. */
static bool number_and_unit(const char *text, double *value, const char **unit)
{
    char *end;
    errno = 0;
    *value = strtod(text, &end);
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

bool hr_parse_seconds(const char *text, double *out)
{
    static const struct unit units[] = {{"", 1},      {"s", 1},  {"ms", 1e-3}, {"us", 1e-6},
                                        {"ns", 1e-9}, {"m", 60}, {"min", 60},  {"h", 3600}};
    return scaled(text, units, sizeof units / sizeof *units, out);
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
        {"Mb/s", 1e6 / 8}, {"Gb/s", 1e9 / 8}, {"Tb/s", 1e12 / 8},
    };
    return scaled(text, units, sizeof units / sizeof *units, out);
}
