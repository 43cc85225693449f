#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "base/text.h"

static _Thread_local struct hr_error own;
_Thread_local struct hr_error *hr_error_of;

static char *message(void)
{
    return hr_error_of ? hr_error_of->message : own.message;
}

const char *hr_status_str(enum hr_status status)
{
    switch (status) {
#define HR_STATUS_TEXT(name, value, exit_code, text)                                               \
    case name:                                                                                     \
        return text;
        HR_STATUS_LIST(HR_STATUS_TEXT)
#undef HR_STATUS_TEXT
    }
    return "unknown status";
}

int hr_status_exit_code(enum hr_status status)
{
    switch (status) {
#define HR_STATUS_EXIT(name, value, exit_code, text)                                               \
    case name:                                                                                     \
        return exit_code;
        HR_STATUS_LIST(HR_STATUS_EXIT)
#undef HR_STATUS_EXIT
    }
    return 1;
}

const char *hr_error_message(void)
{
    return message();
}

enum hr_status hr_fail(enum hr_status status, const char *format, ...)
{
    char text[HR_ERROR_BYTES]; /* the old message may be among the arguments */
    va_list args;
    va_start(args, format);
    hr_format(text, sizeof text, format, args);
    va_end(args);
    hr_make_printable(&(struct hr_printable_state){0}, text, strlen(text), "");
    memcpy(message(), text, sizeof text);
    return status;
}

enum hr_status hr_fail_errno(enum hr_status status, const char *format, ...)
{
    const int cause = errno;
    char text[HR_ERROR_BYTES];
    va_list args;
    va_start(args, format);
    hr_format(text, sizeof text, format, args);
    va_end(args);
    return hr_fail(status, "%s: %s", text, strerror(cause));
}

enum hr_status hr_fail_within(enum hr_status status, const char *format, ...)
{
    char prefix[HR_ERROR_BYTES];
    va_list args;
    va_start(args, format);
    hr_format(prefix, sizeof prefix, format, args);
    va_end(args);
    return hr_fail(status, "%s: %s", prefix, message());
}

void hr_assert_failed(const char *expression, const char *file, int line)
{
    fprintf(stderr, "hogring: %s:%d: this must hold, and does not: %s\n", file, line, expression);
    abort();
}
