#include "data/label_number.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"

bool hr_label_number(const char *text, double *value)
{
    const char *digits = text + (*text == '+' || *text == '-');
    if (digits[0] == '0' && isdigit((unsigned char)digits[1]))
        return false;
    return hr_parse_real(text, strlen(text), value);
}

/* 0.d1d2d3... times 10^point; the first and the last digit are not 0. Without digits: 0. */
struct decimal {
    bool negative;
    long point;
    size_t count;
    char digits[HR_REAL_MAX_BYTES];
};

static struct decimal read_decimal(const char *text)
{
    struct decimal d = {.negative = *text == '-'};
    bool fraction = false;
    for (text += *text == '-' || *text == '+'; isdigit((unsigned char)*text) || *text == '.';
         text++) {
        const bool leads = *text == '0' && !d.count;
        fraction = fraction || *text == '.';
        if (*text != '.' && !leads)
            d.digits[d.count++] = *text;
        if (*text != '.')
            d.point += fraction ? -leads : !leads;
    }
    while (d.count && d.digits[d.count - 1] == '0')
        d.count--;
    if (*text == 'e' || *text == 'E') {
        const long exponent = strtol(text + 1, NULL, 10), most = 1000000000;
        d.point += exponent > most ? most : exponent < -most ? -most : exponent;
    }
    return d.count ? d : (struct decimal){0};
}

static int compare_sizes(const struct decimal *a, const struct decimal *b)
{
    const size_t both = a->count < b->count ? a->count : b->count;
    if (!a->count || !b->count)
        return (a->count > 0) - (b->count > 0);
    if (a->point != b->point)
        return a->point < b->point ? -1 : 1;
    const int order = memcmp(a->digits, b->digits, both);
    return order ? order : (a->count > b->count) - (a->count < b->count);
}

int hr_label_compare(const char *a, const char *b)
{
    const struct decimal x = read_decimal(a), y = read_decimal(b);
    if (x.negative != y.negative)
        return x.negative ? -1 : 1;
    return x.negative ? compare_sizes(&y, &x) : compare_sizes(&x, &y);
}

bool hr_label_is_whole(const char *text)
{
    const struct decimal d = read_decimal(text);
    return d.point >= 0 && (size_t)d.point >= d.count;
}
