/* capture.h - what a function prints, as text. */
#ifndef HR_TESTS_SUPPORT_CAPTURE_H
#define HR_TESTS_SUPPORT_CAPTURE_H

#include <stdio.h>
#include <stdlib.h>

struct capture {
    FILE *out;
    char *text; /* valid after capture_end */
    size_t bytes;
};

static inline void capture_begin(struct capture *capture)
{
    capture->out = open_memstream(&capture->text, &capture->bytes);
    if (!capture->out)
        abort();
}

/* The text; free() it. */
static inline char *capture_end(struct capture *capture)
{
    fclose(capture->out);
    return capture->text;
}

#endif
