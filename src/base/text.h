/* text.h - text put together in a buffer: what does not fit is cut off. */
#ifndef HR_BASE_TEXT_H
#define HR_BASE_TEXT_H

#include <stddef.h>

/* Put more behind the text in a buffer of `size` bytes, by snprintf. */
void hr_append(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
