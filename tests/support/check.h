/* check.h - cmocka, and comparisons that print file, line, index, both values and the seed. */
#ifndef HR_TESTS_SUPPORT_CHECK_H
#define HR_TESTS_SUPPORT_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"

/* 1 in builds under a sanitizer: gcc and clang say so in different ways. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CHECK_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CHECK_SANITIZED 1
#endif
#endif
#ifndef CHECK_SANITIZED
#define CHECK_SANITIZED 0
#endif

/* The seed of this run: HOGRING_SEED, or 1. Property tests derive everything from it. */
uint64_t check_seed(void);

/* How many cases a property test runs: `usual`, or `full` when HOGRING_LONG=1 (make long). */
size_t check_count(size_t usual, size_t full);

/* Skip this case, and say why: tests/run.sh counts and lists them. */
#define SKIP(reason) (print_message("# skip: %s\n", reason), skip())

/* The call must succeed; prints the library's message when it does not. */
#define CHECK_OK(call) check_status_((call), HR_OK, #call, __FILE__, __LINE__)
/* The call must fail with this status. */
#define CHECK_FAILS(call, status) check_status_((call), (status), #call, __FILE__, __LINE__)
/* The last error message must hold this text. */
#define CHECK_MESSAGE(text) check_message_((text), __FILE__, __LINE__)

/* |a - b| <= atol + rtol * |b|, and neither is NaN. */
#define CHECK_NEAR(a, b, rtol, atol) check_near_((a), (b), (rtol), (atol), __FILE__, __LINE__)
/* The same bits, element by element. */
#define CHECK_SAME_FLOATS(a, b, count) check_same_floats_((a), (b), (count), __FILE__, __LINE__)
/* CHECK_NEAR, element by element. */
#define CHECK_NEAR_FLOATS(a, b, count, rtol, atol)                                                 \
    check_near_floats_((a), (b), (count), (rtol), (atol), __FILE__, __LINE__)

void check_status_(enum hr_status got, enum hr_status want, const char *call, const char *file,
                   int line);
void check_message_(const char *text, const char *file, int line);
void check_near_(double a, double b, double rtol, double atol, const char *file, int line);
void check_same_floats_(const float *a, const float *b, size_t count, const char *file, int line);
void check_near_floats_(const float *a, const float *b, size_t count, double rtol, double atol,
                        const char *file, int line);

#endif
