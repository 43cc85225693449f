#include "support/faults.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fault planned;
static size_t counted;
static bool planning, struck;
static const char *struck_by;

void fault_plan(const struct fault *fault)
{
    planned = *fault;
    counted = 0;
    struck = false;
    struck_by = "none";
    planning = true;
}

bool fault_end(size_t *calls, const char **what)
{
    planning = false;
    *calls = counted;
    *what = struck_by;
    return struck;
}

UNWATCHED static bool counts(const char *call)
{
    static const char *const memory[] = {"malloc", "calloc", "realloc", "aligned_alloc"};
    static const char *const data[] = {"read", "pread", "write", "pwrite", "posix_fallocate"};
    unsigned kind = OF_FILES;
    bool moves = false;
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        if (!strcmp(call, memory[i]))
            kind = OF_MEMORY;
    for (size_t i = 0; i < sizeof data / sizeof *data; i++)
        moves |= !strcmp(call, data[i]);
    return planned.kinds & kind && (moves || !planned.interrupts);
}

bool fault_strikes(const char *call)
{
    if (!planning || !counts(call))
        return false;
    pthread_mutex_lock(&lock);
    const size_t at = ++counted;
    const bool strikes = planned.nth && (planned.stays ? at >= planned.nth : at == planned.nth);
    if (strikes && !struck)
        struck_by = call;
    struck |= strikes;
    pthread_mutex_unlock(&lock);
    if (strikes)
        errno = planned.interrupts ? EINTR : planned.error;
    return strikes;
}

size_t fault_shortens(size_t bytes)
{
    return planning && planned.shorts && bytes > 1 ? 1 : bytes;
}
