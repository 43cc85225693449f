#include "report/human.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <string.h>

char *hr_human_count(char text[HR_HUMAN_MAX], uint64_t n)
{
    char digits[24];
    const size_t length = (size_t)snprintf(digits, sizeof digits, "%llu", (unsigned long long)n);
    size_t used = 0;
    for (size_t i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            text[used++] = ',';
        text[used++] = digits[i];
    }
    text[used] = '\0';
    return text;
}

struct unit {
    double size;
    const char *letter;
};

/* Limits allow for rounding: 999.6 is "1.00k" and not "1000". */
static struct unit unit_of(double x)
{
    const double size = fabs(x);
    if (size >= 999.5e6)
        return (struct unit){1e9, "G"};
    if (size >= 999.5e3)
        return (struct unit){1e6, "M"};
    if (size >= 999.5)
        return (struct unit){1e3, "k"};
    return (struct unit){1, ""};
}

static int decimals_of(double x)
{
    const double size = fabs(x);
    if (size >= 99.95)
        return 0;
    return size >= 9.995 ? 1 : 2;
}

char *hr_human_short(char text[HR_HUMAN_MAX], double x)
{
    const struct unit unit = unit_of(x);
    const double scaled = x / unit.size;
    const bool whole = unit.size < 10 && x == floor(x);
    snprintf(text, HR_HUMAN_MAX, "%.*f%s", whole ? 0 : decimals_of(scaled), scaled, unit.letter);
    return text;
}

char *hr_human_rate(char text[HR_HUMAN_MAX], double samples_per_s, size_t tokens)
{
    const size_t used = strlen(hr_human_short(text, hr_rate_shown(samples_per_s, tokens)));
    snprintf(text + used, HR_HUMAN_MAX - used, " %s", hr_rate_unit(tokens));
    return text;
}

char *hr_human_seconds(char text[HR_HUMAN_MAX], double seconds)
{
    if (seconds > 0 && seconds < 0.0995)
        snprintf(text, HR_HUMAN_MAX, "%.2g", seconds); /* short runs need digits to compare */
    else
        snprintf(text, HR_HUMAN_MAX, "%.*f", decimals_of(seconds), seconds);
    return text;
}

char *hr_human_loss(char text[HR_HUMAN_MAX], double loss)
{
    snprintf(text, HR_HUMAN_MAX, fabs(loss) < 1e4 ? "%.4f" : "%.3g", loss);
    return text;
}

char *hr_human_wait(char text[HR_HUMAN_MAX], double seconds)
{
    const double most = 1e9; /* 30 years */
    const long s = lround(fmin(fmax(seconds, 0), most));
    if (s < 60)
        snprintf(text, HR_HUMAN_MAX, "%ld s", s);
    else if (s < 3600)
        snprintf(text, HR_HUMAN_MAX, "%ld min %ld s", s / 60, s % 60);
    else
        snprintf(text, HR_HUMAN_MAX, "%ld h %ld min", s / 3600, s % 3600 / 60);
    return text;
}

char *hr_human_about(char text[HR_HUMAN_MAX], double seconds)
{
    const double most = 1e9, s = fmin(fmax(seconds, 0), most);
    if (s < 20)
        snprintf(text, HR_HUMAN_MAX, "%ld s", lround(fmax(s, 1)));
    else if (s < 95)
        snprintf(text, HR_HUMAN_MAX, "%ld s", 10 * lround(s / 10));
    else if (s < 95 * 60)
        snprintf(text, HR_HUMAN_MAX, "%ld min", lround(s / 60));
    else
        snprintf(text, HR_HUMAN_MAX, "%ld h", lround(s / 3600));
    return text;
}

bool hr_human_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && value[0])
            return strcasestr(value, "UTF-8") || strcasestr(value, "utf8");
    }
    return false;
}

static const char *plus_minus(void)
{
    return hr_human_utf8() ? "\xc2\xb1" : "+-";
}

char *hr_human_spread(char text[HR_HUMAN_MAX], const struct hr_spread *spread, double factor,
                      int decimals)
{
    const double mean = spread->mean * factor, sd = spread->sd * factor;
    if (!isfinite(mean))
        snprintf(text, HR_HUMAN_MAX, "%f", mean);
    else if (fabs(mean) >= 1e5)
        snprintf(text, HR_HUMAN_MAX, "%.3g", mean);
    else if (spread->n > 1)
        snprintf(text, HR_HUMAN_MAX, "%.*f %s %.*f", decimals, mean, plus_minus(), decimals, sd);
    else
        snprintf(text, HR_HUMAN_MAX, "%.*f", decimals, mean);
    return text;
}

char *hr_human_short_spread(char text[HR_HUMAN_MAX], const struct hr_spread *spread)
{
    if (spread->n < 2 || !isfinite(spread->mean))
        return hr_human_short(text, spread->mean);
    const struct unit unit = unit_of(spread->mean);
    const double mean = spread->mean / unit.size;
    const int decimals = decimals_of(mean);
    snprintf(text, HR_HUMAN_MAX, "%.*f %s %.*f%s", decimals, mean, plus_minus(), decimals,
             spread->sd / unit.size, unit.letter);
    return text;
}
