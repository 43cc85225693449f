/* human.h - numbers as people read them. */
#ifndef HR_REPORT_HUMAN_H
#define HR_REPORT_HUMAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* 98.2k, 1.25M: three digits and a decimal letter. */
static inline void hr_human_count(char *text, size_t size, double value)
{
    static const char *const letters[] = {"", "k", "M", "G"};
    int letter = 0;
    for (; value >= 999.5 && letter < 3; letter++)
        value /= 1000;
    const int decimals = letter == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    snprintf(text, size, "%.*f%s", decimals, value, letters[letter]);
}

#endif
