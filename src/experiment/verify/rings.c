/* A ring in shared memory between two processes: every message arrives whole, once and in order,
 * also where its indices wrap. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "shm/ring.h"
#include "shm/segment.h"
#include "shm/wait.h"
#include "verify/check.h"

enum { MESSAGES = 20000 };

static const uint64_t starts[] = {0, UINT64_MAX, UINT64_MAX - 3, UINT64_MAX - MESSAGES / 2};

/* Each word tells its number, so that a torn or stale slot is seen. */
static struct hr_message message_of(uint64_t k)
{
    struct hr_message message = {.sequence = k, .kind = (uint32_t)k ^ 0x55, .from = 7};
    for (uint64_t w = 0; w < 6; w++)
        message.word[w] = k * 0x9e3779b97f4a7c15u + w;
    return message;
}

static _Noreturn void produce(struct hr_ring *ring)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (uint64_t k = 0; k < MESSAGES; k++) {
        struct hr_message *slot;
        while (!(slot = hr_ring_try_reserve_spsc(ring)))
            sched_yield();
        *slot = message_of(k);
        hr_ring_commit_spsc(ring);
    }
    _exit(0);
}

/* The next message; NULL: it never came. */
static const struct hr_message *await(struct hr_ring *ring)
{
    const int64_t end_ns = hr_clock_ns() + 60 * HR_NS_PER_SECOND;
    const struct hr_message *message;
    while (!(message = hr_ring_peek_spsc(ring)) && hr_clock_ns() < end_ns)
        sched_yield();
    return message;
}

/* All of them, or, where a processor is hard to get, those of half a second. */
static enum hr_status consume(struct hr_trial *trial, struct hr_ring *ring, size_t slots)
{
    const int64_t enough_ns = hr_clock_ns() + HR_NS_PER_SECOND / 2;
    for (uint64_t k = 0; k < MESSAGES; k++) {
        const struct hr_message *message = await(ring), want = message_of(k);
        if (!message)
            return hr_fail(HR_E_FAILED, "a ring of %zu slots: message %llu never came", slots,
                           (unsigned long long)k);
        if (memcmp(message, &want, sizeof want) != 0)
            return hr_fail(HR_E_FAILED, "a ring of %zu slots: message %llu came as %llu", slots,
                           (unsigned long long)k, (unsigned long long)message->sequence);
        hr_ring_release_spsc(ring);
        trial->compared++;
        if (k % 16 == 0 && hr_clock_ns() > enough_ns)
            return HR_OK;
    }
    return hr_ring_peek_spsc(ring)
               ? hr_fail(HR_E_FAILED, "a ring of %zu slots: one message too many", slots)
               : HR_OK;
}

static enum hr_status run(struct hr_trial *trial)
{
    const size_t slots = (size_t)1 << hr_trial_draw(trial, 7);
    struct hr_segment segment;
    HR_TRY(hr_segment_create(hr_ring_bytes(slots), false, &segment));
    hr_ring_init(segment.base, slots, starts[hr_trial_draw(trial, 4)]);
    const pid_t child = fork();
    if (child == 0)
        produce(segment.base);
    const enum hr_status status = child > 0 ? consume(trial, segment.base, slots)
                                            : hr_fail_errno(HR_E_NOMEM, "no second process");
    if (child > 0)
        kill(child, SIGKILL);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        continue;
    hr_segment_destroy(&segment);
    return status;
}

const struct hr_check hr_check_rings = {
    .name = "rings",
    .claim = "messages whole and in order",
    .story = "A ring of 1 to 64 slots in shared memory between two processes: up to 20,000 "
             "messages a case, each whole, once and in order, also where indices wrap.",
    .what = "messages",
    .run = run,
};
