#include "support/check.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

uint64_t check_seed(void)
{
    const char *text = getenv("HOGRING_SEED");
    return text ? strtoull(text, NULL, 10) : 1;
}

size_t check_count(size_t usual, size_t full)
{
    const char *text = getenv("HOGRING_LONG");
    return text && !strcmp(text, "1") ? full : usual;
}

static void fail_at(const char *file, int line)
{
    print_error("seed %llu (HOGRING_SEED)\n", (unsigned long long)check_seed());
    _fail(file, line);
}

void check_status_(enum hr_status got, enum hr_status want, const char *call, const char *file,
                   int line)
{
    if (got == want)
        return;
    print_error("%s\n  gave   %s (%s)\n  wanted %s\n", call, hr_status_str(got), hr_error_message(),
                hr_status_str(want));
    fail_at(file, line);
}

void check_message_(const char *text, const char *file, int line)
{
    if (strstr(hr_error_message(), text))
        return;
    print_error("message \"%s\"\n  lacks \"%s\"\n", hr_error_message(), text);
    fail_at(file, line);
}

static bool near(double a, double b, double rtol, double atol)
{
    return fabs(a - b) <= atol + rtol * fabs(b);
}

void check_near_(double a, double b, double rtol, double atol, const char *file, int line)
{
    if (near(a, b, rtol, atol))
        return;
    print_error("%.9g is not near %.9g (rtol %g, atol %g)\n", a, b, rtol, atol);
    fail_at(file, line);
}

void check_same_floats_(const float *a, const float *b, size_t count, const char *file, int line)
{
    for (size_t i = 0; i < count; i++) {
        if (!memcmp(&a[i], &b[i], sizeof *a))
            continue;
        print_error("element %zu of %zu: %.9g (%a) and %.9g (%a)\n", i, count, (double)a[i],
                    (double)a[i], (double)b[i], (double)b[i]);
        fail_at(file, line);
    }
}

void check_near_floats_(const float *a, const float *b, size_t count, double rtol, double atol,
                        const char *file, int line)
{
    for (size_t i = 0; i < count; i++) {
        if (near((double)a[i], (double)b[i], rtol, atol))
            continue;
        print_error("element %zu of %zu: %.9g is not near %.9g\n", i, count, (double)a[i],
                    (double)b[i]);
        fail_at(file, line);
    }
}
