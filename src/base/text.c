#include "base/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void hr_append(char *text, size_t size, const char *format, ...)
{
    const size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + used, size - used, format, args);
    va_end(args);
}

/* %g leaves zeros at the end out: no text of fewer than 15 digits is tried by itself. */
struct hr_number_text hr_number_text(double number)
{
    struct hr_number_text out;
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(out.text, sizeof out.text, "%.*g", digits, number);
        const double read = strtod(out.text, NULL);
        if (!memcmp(&read, &number, sizeof number))
            break;
    }
    return out;
}

int hr_digits_of(double size, double spread)
{
    const double digits = 4 + ceil(log10(fabs(size) / spread));
    return digits > 6 ? (int)fmin(digits, 17) : 6; /* also where it is no number */
}
