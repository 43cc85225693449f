#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/printable.h"

void hr_log(enum hr_log_level level, const char *format, ...)
{
    static const char *const prefix[] = {"hogring: error: ", "hogring: warning: ", "hogring: "};
    char line[1024];
    size_t used = (size_t)snprintf(line, sizeof line, "%s", prefix[level]);
    va_list args;
    va_start(args, format);
    vsnprintf(line + used, sizeof line - used - 1, format, args);
    va_end(args);
    used = strlen(line);
    hr_make_printable(&(struct hr_printable_state){0}, line, used, "");
    line[used++] = '\n';
    /* Nowhere to report a failed diagnostic to. */
    ssize_t ignored = write(STDERR_FILENO, line, used);
    (void)ignored;
}
