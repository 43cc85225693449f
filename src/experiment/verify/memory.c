/* Shared memory by name in /dev/shm: zeroed, reached from another process, counted in by both at
 * once, gone behind it. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "shm/atom.h"
#include "shm/segment.h"
#include "verify/check.h"

enum { BYTES = 1 << 20, WORDS = BYTES / 8, COUNTS = 20000, MARK = 77 };

static const struct hr_atom64 *words(const struct hr_segment *segment)
{
    return segment->base;
}

static void count(struct hr_segment *segment)
{
    struct hr_atom32 *word = segment->base;
    for (size_t i = 0; i < COUNTS; i++)
        hr_atom32_fetch_add_acq_rel(word, 1); /* partner: itself, in the other process */
}

static _Noreturn void count_apart(const char *name)
{
    struct hr_segment segment;
    bool exists;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (hr_segment_attach(name, &segment, &exists) != HR_OK)
        _exit(2);
    count(&segment);
    hr_atom64_store_release((struct hr_atom64 *)words(&segment) + WORDS - 1, MARK);
    _exit(0);
}

static enum hr_status check_counts(const struct hr_segment *segment, int wait_status)
{
    const uint32_t got = hr_atom32_load_acquire(segment->base);
    if (!WIFEXITED(wait_status) || WEXITSTATUS(wait_status) != 0)
        return hr_fail(HR_E_FAILED, "/dev/shm%s: another process could not attach", segment->name);
    if (hr_atom64_load_acquire(&words(segment)[WORDS - 1]) != MARK)
        return hr_fail(HR_E_FAILED, "/dev/shm%s: what another process wrote is not seen",
                       segment->name);
    return got == 2 * COUNTS
               ? HR_OK
               : hr_fail(HR_E_FAILED, "two processes counted to %u, each to %d", got, COUNTS);
}

static enum hr_status share(struct hr_segment *segment)
{
    int wait_status = 0;
    for (size_t i = 0; i < WORDS; i++)
        if (hr_atom64_load_relaxed(&words(segment)[i]) != 0)
            return hr_fail(HR_E_FAILED, "word %zu of new shared memory is not zero", i);
    const pid_t child = fork();
    if (child == 0)
        count_apart(segment->name);
    if (child < 0)
        return hr_fail_errno(HR_E_NOMEM, "no second process");
    count(segment);
    while (waitpid(child, &wait_status, 0) < 0 && errno == EINTR)
        continue;
    return check_counts(segment, wait_status);
}

static enum hr_status run(struct hr_trial *trial)
{
    struct hr_segment segment, other;
    char name[sizeof segment.name];
    bool exists;
    uint64_t there = 0;
    HR_TRY(hr_folder_free_bytes("/dev/shm", &there));
    HR_TRY(hr_segment_create(BYTES, true, &segment));
    if (!segment.name[0]) {
        hr_segment_destroy(&segment);
        return hr_fail(HR_E_SHM,
                       "/dev/shm has no room for 1 MiB (%llu KiB free): runs take a memfd",
                       (unsigned long long)there / 1024);
    }
    snprintf(name, sizeof name, "%s", segment.name);
    const enum hr_status status = share(&segment);
    hr_segment_destroy(&segment);
    HR_TRY(status);
    trial->compared += 2 * COUNTS;
    if (hr_segment_attach(name, &other, &exists) == HR_OK || exists)
        return hr_fail(HR_E_FAILED, "/dev/shm%s is still there", name);
    return HR_OK;
}

const struct hr_check hr_check_memory = {
    .name = "memory",
    .claim = "/dev/shm: shared and counted",
    .story = "A segment in /dev/shm is zeroed, another process attaches to it by name and is seen, "
             "40,000 atomic additions of two processes all count, and it is gone behind them.",
    .what = "counts",
    .run = run,
};
