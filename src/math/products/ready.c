#include "products/ready.h"

#ifdef HR_NO_BLAS

enum hr_status hr_kernels_check(void)
{
    return HR_OK;
}

enum hr_status hr_kernels_init_process(size_t threads)
{
    (void)threads;
    return HR_OK;
}

const char *hr_kernels_name(void)
{
    return "reference";
}

const char *hr_kernels_name_direct(void)
{
    return "reference";
}

#else

#include <pthread.h>
#include <stdio.h>

#include "base/isa.h"
#include "kernels/select.h"
#include "products/blas.h"
#include "products/gemm_check.h"

/* --- can OpenBLAS be trusted? --- */

enum { FIRST_MS = 2000, AGAIN_MS = 10000 };

static struct {
    bool good;
    hr_gemm_fn instead; /* tests: check these */
    int deadline_ms[2];
} trust = {.deadline_ms = {FIRST_MS, AGAIN_MS}};

void hr_kernels_suspect(hr_gemm_fn instead, int first_ms, int again_ms)
{
    trust.good = false;
    trust.instead = instead;
    trust.deadline_ms[0] = first_ms;
    trust.deadline_ms[1] = again_ms;
}

/* Other kernels would train as well, but with other bits: the user has to choose. */
static enum hr_status refuse(const struct hr_gemm_answer *answer)
{
    char text[HR_GEMM_ANSWER_MAX];
    hr_gemm_answer_text(answer, text);
    return hr_fail(HR_E_KERNELS,
                   "OpenBLAS, tried with two threads that multiply at once, gave %s (\"%.120s\", "
                   "%s); %s%s does without it",
                   text, hr_blas_config(), hr_blas_threading(),
                   answer->verdict == HR_GEMM_WRONG ? ""
                                                    : "the machine may be too busy or full: "
                                                      "try again; ",
                   hr_isa() == HR_ISA_PLAIN ? "--kernels reference, which is slow,"
                                            : "--kernels fast");
}

enum hr_status hr_kernels_check(void)
{
    enum { CALLERS = 2 };
    struct hr_gemm_answer answer = {HR_GEMM_STARVED, 0};
    if (!hr_kernels_use_blas() || trust.good)
        return HR_OK;
    HR_TRY(hr_blas_prepare(CALLERS)); /* which the child inherits */
    for (int i = 0; i < 2 && answer.verdict != HR_GEMM_GOOD && answer.verdict != HR_GEMM_WRONG; i++)
        answer =
            hr_gemm_check(trust.instead ? trust.instead : hr_blas_multiply, trust.deadline_ms[i]);
    trust.good = answer.verdict == HR_GEMM_GOOD;
    return trust.good ? HR_OK : refuse(&answer);
}

enum hr_status hr_kernels_init_process(size_t threads)
{
    return hr_kernels_use_blas() ? hr_blas_prepare(threads) : HR_OK;
}

static char tiles_name[16], winograd_name[32], blas_name[112];

static void write_tiles_names(void)
{
    snprintf(tiles_name, sizeof tiles_name, "tiles %s", hr_isa_name());
    snprintf(winograd_name, sizeof winograd_name, "%s, winograd", tiles_name);
}

static void write_blas_name(void)
{
    snprintf(blas_name, sizeof blas_name, "%s, tiles %s", hr_blas_name(), hr_isa_name());
}

static const char *name_of(bool winograd)
{
    static pthread_once_t tiles_once = PTHREAD_ONCE_INIT, blas_once = PTHREAD_ONCE_INIT;
    if (hr_kernels_are_reference())
        return "reference";
    if (!hr_kernels_use_blas()) {
        pthread_once(&tiles_once, write_tiles_names);
        return winograd ? winograd_name : tiles_name;
    }
    pthread_once(&blas_once, write_blas_name);
    return blas_name;
}

const char *hr_kernels_name(void)
{
    return name_of(hr_kernels_use_winograd());
}

const char *hr_kernels_name_direct(void)
{
    return name_of(false);
}

#endif
