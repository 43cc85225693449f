/* error.h - failing by value: set the sentence once, return the status, clean up once.
 *
 *     HR_TRY(call)                 return the status if the call failed
 *     HR_TRY_GOTO(call, st, out)   st = call; if it failed goto out; all frees live below `out:`
 *     return hr_fail(HR_E_FORMAT, "%s: magic is %08x, expected 00000803", path, magic);
 *
 * Environment (files, memory, shm, a lost peer, a deadline) is a status; a caller's mistake is
 * HR_ASSERT, on in every build and kept out of inner loops.
 */
#ifndef HR_BASE_ERROR_H
#define HR_BASE_ERROR_H

#include "hogring/status.h"

#define HR_CHECKED __attribute__((warn_unused_result))

/* Record the message of this thread (printf format, one line) and return `status`. Control
 * characters become '?' (printable.h). One that is too long loses its middle ("begin ... end"): a
 * long value stands there, and behind it what is wrong. */
enum hr_status hr_fail(enum hr_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3))) HR_CHECKED;

/* As hr_fail, with ": <text of errno>" behind the message. */
enum hr_status hr_fail_errno(enum hr_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3))) HR_CHECKED;

/* Put "prefix: " before the message of this thread and return `status` (for "step 3, rank
 * 1: ..."). */
enum hr_status hr_fail_within(enum hr_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3))) HR_CHECKED;

/* Whose message hr_fail writes in this thread, and hr_error_message reads; NULL: the thread's own.
 * Set by fibre.c. */
enum { HR_ERROR_BYTES = 1024 };
struct hr_error {
    char message[HR_ERROR_BYTES];
};
extern _Thread_local struct hr_error *hr_error_of;

_Noreturn void hr_assert_failed(const char *expression, const char *file, int line);

#define HR_TRY(call)                                                                               \
    do {                                                                                           \
        enum hr_status hr_try_status_ = (call);                                                    \
        if (hr_try_status_ != HR_OK)                                                               \
            return hr_try_status_;                                                                 \
    } while (0)

#define HR_TRY_GOTO(call, status, label)                                                           \
    do {                                                                                           \
        (status) = (call);                                                                         \
        if ((status) != HR_OK)                                                                     \
            goto label;                                                                            \
    } while (0)

#define HR_ASSERT(expression)                                                                      \
    ((expression) ? (void)0 : hr_assert_failed(#expression, __FILE__, __LINE__))

#endif
