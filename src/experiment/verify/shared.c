/* What ranks share, between two processes: rings, words to park on, a segment by its name. */
#include "verify/verify.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "shm/atom.h"
#include "shm/ring.h"
#include "shm/segment.h"
#include "shm/wait.h"

/* --- rings ---
 * A ring in shared memory between two processes: every message arrives whole, once and in order,
 * also where its indices wrap. */

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

static enum hr_status try_rings(struct hr_trial *trial)
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
    .run = try_rings,
};

/* --- parking ---
 * Two processes hand a word to and fro, and park on a futex in between: nobody sleeps through what
 * he waits for. */

enum { ROUNDS = 2000 };

struct gate {
    struct hr_atom32 abort;
    struct {
        struct hr_atom64 count;
        struct hr_bell bell;
    } side[2];
};

struct goal {
    const struct gate *gate;
    size_t side;
    uint64_t count;
};

static bool is_reached(void *arg)
{
    const struct goal *goal = arg;
    /* partner: the store in play */
    return hr_atom64_load_acquire(&goal->gate->side[goal->side].count) >= goal->count;
}

/* Side 0 begins. */
static enum hr_status play(struct gate *gate, size_t side, uint64_t *missed)
{
    struct hr_waiter waiter = {.abort = &gate->abort, .timeout_ns = 60 * HR_NS_PER_SECOND};
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        struct goal goal = {gate, 1 - side, side ? round : round - 1};
        HR_TRY(hr_wait_until(&waiter, &gate->side[goal.side].bell, is_reached, &goal, "its turn"));
        hr_atom64_store_release(&gate->side[side].count, round); /* partner: is_reached */
        hr_bell_ring(&gate->side[side].bell);
    }
    *missed = waiter.missed;
    return HR_OK;
}

static _Noreturn void play_apart(struct gate *gate)
{
    uint64_t missed;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    _exit(play(gate, 1, &missed) == HR_OK ? 0 : 1);
}

/* Asleep for 50 ms though it was rung: on a busy machine now and then, of a lost ring always. */
static enum hr_status judge(uint64_t missed)
{
    return missed <= ROUNDS / 20
               ? HR_OK
               : hr_fail(HR_E_FAILED, "in %llu of %d rounds a parked process was not woken",
                         (unsigned long long)missed, ROUNDS);
}

static enum hr_status try_parking(struct hr_trial *trial)
{
    struct hr_segment segment;
    uint64_t missed = 0;
    HR_TRY(hr_segment_create(sizeof(struct gate), false, &segment));
    const pid_t child = fork();
    if (child == 0)
        play_apart(segment.base);
    enum hr_status status =
        child > 0 ? play(segment.base, 0, &missed) : hr_fail_errno(HR_E_NOMEM, "no second process");
    if (status == HR_E_TIMEOUT)
        status = hr_fail(HR_E_FAILED, "a parked process was not woken within 60 s");
    if (child > 0 && status != HR_OK)
        kill(child, SIGKILL);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        continue;
    hr_segment_destroy(&segment);
    trial->compared += ROUNDS;
    return status == HR_OK ? judge(missed) : status;
}

const struct hr_check hr_check_parking = {
    .name = "parking",
    .claim = "who waits is woken",
    .story = "Two processes hand a word to and fro 2,000 times and park on a futex in between; at "
             "most 1 in 20 wakes by itself after 50 ms.",
    .what = "rounds",
    .run = try_parking,
};

/* --- a segment by name ---
 * Shared memory by name in /dev/shm: zeroed, reached from another process, counted in by both at
 * once, gone behind it. */

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

static enum hr_status try_memory(struct hr_trial *trial)
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
    .run = try_memory,
};
