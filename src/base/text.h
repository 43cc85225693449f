/* text.h - text put together in a buffer. */
#ifndef HR_BASE_TEXT_H
#define HR_BASE_TEXT_H

#include <stdarg.h>
#include <stddef.h>

/* A message, by vsnprintf. One that does not fit has a long value in it, and says behind that what
 * is wrong: it loses its middle ("begin ... end"), between characters. size: 500 or more. */
void hr_format(char *text, size_t size, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

/* Put more behind the text in a buffer of `size` bytes; what does not fit is cut off. */
void hr_append(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The shortest text of a number that reads back as the same: 0.05, not 0.050000000000000003. */
struct hr_number_text {
    char text[32];
};
struct hr_number_text hr_number_text(double number);

/* How many significant digits tell numbers of this size apart that differ by about `spread`: six,
 * and more, at most 17, where the spread is small beside the size. */
int hr_digits_of(double size, double spread);

#endif
