/* text.h - text put together in a buffer: what does not fit is cut off. */
#ifndef HR_BASE_TEXT_H
#define HR_BASE_TEXT_H

#include <stddef.h>

/* Put more behind the text in a buffer of `size` bytes, by snprintf. */
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
