/* faults.h - the n-th call fails. file_calls.h and memory_calls.h ask here before each.
 *
 *     fault_plan(&(struct fault){.kinds = OF_FILES, .nth = 5, .error = EIO})
 *     ... what is tested; its calls are counted ...
 *     struck = fault_end(&calls, &what)
 *
 * Threads: calls may come from any; plan and end when no other thread calls.
 */
#ifndef HR_TESTS_SUPPORT_FAULTS_H
#define HR_TESTS_SUPPORT_FAULTS_H

#include <stdbool.h>
#include <stddef.h>

enum { OF_MEMORY = 1, OF_FILES = 2 };

struct fault {
    unsigned kinds;  /* which calls count */
    size_t nth;      /* which of them, from 1; 0: none */
    int error;       /* its errno */
    bool stays;      /* and all after it */
    bool interrupts; /* it is EINTR, and only what reads and writes counts */
    bool shorts;     /* all that reads or writes moves at most a byte */
};

void fault_plan(const struct fault *fault);
/* Did a call fail? calls: how many counted; what: the one that failed. */
bool fault_end(size_t *calls, const char **what);

/* --- asked by the calls */

/* Of functions that a sanitizer calls before it is ready to watch anything. */
#if defined(__clang__)
#define UNWATCHED __attribute__((disable_sanitizer_instrumentation))
#else
#define UNWATCHED
#endif

UNWATCHED bool fault_strikes(const char *call);
size_t fault_shortens(size_t bytes);

#endif
