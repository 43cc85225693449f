#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"

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

/* What is too long has a long value in it, and says behind it what is wrong: its middle goes.
 *   whole  (bytes) of the text, and a 0 */
static void cut_middle(const char *whole, size_t bytes, char text[HR_ERROR_BYTES])
{
    enum { BEGIN = 240 };
    static const char gap[] = " ... ";
    size_t begin = BEGIN, end = bytes - (HR_ERROR_BYTES - sizeof gap - BEGIN);
    while (begin && (whole[begin] & 0xc0) == 0x80) /* between characters of UTF-8 */
        begin--;
    while (end < bytes && (whole[end] & 0xc0) == 0x80)
        end++;
    snprintf(text, HR_ERROR_BYTES, "%.*s%s%s", (int)begin, whole, gap, whole + end);
}

static void put_message(char text[HR_ERROR_BYTES], const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
static void put_message(char text[HR_ERROR_BYTES], const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    const int bytes = vsnprintf(text, HR_ERROR_BYTES, format, args);
    char *whole = bytes >= HR_ERROR_BYTES ? malloc((size_t)bytes + 1) : NULL;
    if (whole) {
        vsnprintf(whole, (size_t)bytes + 1, format, again);
        cut_middle(whole, (size_t)bytes, text);
    }
    free(whole);
    va_end(again);
}

enum hr_status hr_fail(enum hr_status status, const char *format, ...)
{
    char text[HR_ERROR_BYTES]; /* the old message may be among the arguments */
    va_list args;
    va_start(args, format);
    put_message(text, format, args);
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
    put_message(text, format, args);
    va_end(args);
    return hr_fail(status, "%s: %s", text, strerror(cause));
}

enum hr_status hr_fail_within(enum hr_status status, const char *format, ...)
{
    char prefix[HR_ERROR_BYTES];
    va_list args;
    va_start(args, format);
    put_message(prefix, format, args);
    va_end(args);
    return hr_fail(status, "%s: %s", prefix, message());
}

void hr_assert_failed(const char *expression, const char *file, int line)
{
    fprintf(stderr, "hogring: %s:%d: this must hold, and does not: %s\n", file, line, expression);
    abort();
}
