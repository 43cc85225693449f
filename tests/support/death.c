#include "support/death.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"

static void nothing(void *arg)
{
    (void)arg;
}

/* A child that stops before the act. */
static pid_t begin(const struct death *death)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child)
        return child;
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
        _exit(1);
    raise(SIGSTOP);
    death->act(death->arg);
    _exit(0);
}

/* Its next instruction; false: it has ended. */
static bool step(pid_t child, int *status)
{
    return ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) == 0 &&
           waitpid(child, status, 0) == child && WIFSTOPPED(*status);
}

bool death_can_be_played(void)
{
#if defined(__x86_64__)
    const struct death trial = {.act = nothing};
    int status = 0;
    if (CHECK_SANITIZED)
        return false;
    const pid_t child = begin(&trial);
    bool ended = waitpid(child, &status, 0) == child && !WIFSTOPPED(status);
    while (!ended && step(child, &status))
        ended = WSTOPSIG(status) != SIGTRAP;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
#else
    return false;
#endif
}

size_t death_everywhere(const struct death *death)
{
    unsigned char *seen = malloc(2 * death->bytes), *before = seen + death->bytes;
    size_t looks = 0;
    int status;
    assert_non_null(seen);
    memcpy(seen, death->memory, death->bytes);
    memcpy(before, death->memory, death->bytes);
    const pid_t child = begin(death);
    assert_int_equal(waitpid(child, &status, 0), child);
    do {
        if (looks && !memcmp(seen, death->memory, death->bytes))
            continue;
        memcpy(seen, death->memory, death->bytes);
        death->look(death->arg);
        memcpy(death->memory, seen, death->bytes);
        looks++;
    } while (step(child, &status));
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    memcpy(death->memory, before, death->bytes);
    free(seen);
    return looks;
}
