#include "base/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* whole (bytes) of the text, and a 0 */
static void cut_middle(const char *whole, size_t bytes, char *text, size_t size)
{
    static const char gap[] = " ... ";
    size_t begin = 240, end = bytes - (size - sizeof gap - begin);
    while (begin && (whole[begin] & 0xc0) == 0x80) /* in a character of UTF-8 */
        begin--;
    while (end < bytes && (whole[end] & 0xc0) == 0x80)
        end++;
    snprintf(text, size, "%.*s%s%s", (int)begin, whole, gap, whole + end);
}

void hr_format(char *text, size_t size, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    const int bytes = vsnprintf(text, size, format, args);
    char *whole = bytes > 0 && (size_t)bytes >= size ? malloc((size_t)bytes + 1) : NULL;
    if (whole) {
        vsnprintf(whole, (size_t)bytes + 1, format, again);
        cut_middle(whole, (size_t)bytes, text, size);
    }
    free(whole);
    va_end(again);
}

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
