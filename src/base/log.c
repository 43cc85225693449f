#include "base/log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/printable.h"

/* A terminal may show progress in the line that we come to: it is drawn again below ours. */
static const char *wipe(void)
{
    const char *term = getenv("TERM");
    const bool redraws = isatty(STDERR_FILENO) && term && term[0] && strcmp(term, "dumb") != 0;
    return redraws ? "\r\x1b[K" : "";
}

void hr_log(enum hr_log_level level, const char *format, ...)
{
    static const char *const prefix[] = {"hogring: error: ", "hogring: warning: ", "hogring: "};
    char line[1024];
    const size_t wiped = (size_t)snprintf(line, sizeof line, "%s", wipe());
    size_t used = wiped + (size_t)snprintf(line + wiped, sizeof line - wiped, "%s", prefix[level]);
    va_list args;
    va_start(args, format);
    vsnprintf(line + used, sizeof line - used - 1, format, args);
    va_end(args);
    used = strlen(line);
    hr_make_printable(&(struct hr_printable_state){0}, line + wiped, used - wiped, "");
    line[used++] = '\n';
    /* Nowhere to report a failed diagnostic to. */
    ssize_t ignored = write(STDERR_FILENO, line, used);
    (void)ignored;
}
