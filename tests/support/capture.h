/* capture.h - what a function prints, as text. */
#ifndef HR_TESTS_SUPPORT_CAPTURE_H
#define HR_TESTS_SUPPORT_CAPTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"

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

/* Several blanks become one: how wide columns are is the table's own. */
static inline char *without_runs_of_blanks(const char *text)
{
    char *plain = strdup(text), *to = plain;
    for (const char *from = plain; *from; from++)
        if (*from != ' ' || from == plain || from[-1] != ' ')
            *to++ = *from;
    *to = '\0';
    return plain;
}

/* Does the table have such a piece, whatever its columns' widths? */
static inline void check_has(const char *text, const char *part)
{
    char *all = without_runs_of_blanks(text), *some = without_runs_of_blanks(part);
    if (!strstr(all, some))
        fail_msg("no \"%s\" in:\n%s", part, text);
    free(all);
    free(some);
}

#endif
