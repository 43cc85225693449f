#include "shm/wait.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpus.h"

enum {
    PARKED = 1,
    RING = 2,
    LOOK_UP_NS = 50 * 1000 * 1000,
    CROWDED_SPIN_NS = 200,
    CROWDED_YIELD_NS = 20 * 1000,
    LEAST_SPIN_NS = 2000,
    MOST_SPIN_NS = 50 * 1000,
    POLLS_A_CLOCK = 16, /* reading the clock costs more than a poll */
};

/* Sleep while the word is `seen`; true when the time ran out, nobody having woken us.
 * Shared, not FUTEX_PRIVATE: the word may lie in memory of several processes. */
static bool futex_wait(struct hr_atom32 *word, uint32_t seen, int64_t ns)
{
    const struct timespec limit = {ns / HR_NS_PER_SECOND, ns % HR_NS_PER_SECOND};
    return syscall(SYS_futex, &word->word, FUTEX_WAIT, seen, &limit, NULL, 0) != 0 &&
           errno == ETIMEDOUT;
}

static void futex_wake(struct hr_atom32 *word, uint32_t count)
{
    syscall(SYS_futex, &word->word, FUTEX_WAKE, count, NULL, NULL, 0);
}

void hr_bell_ring(struct hr_bell *bell)
{
    /* Partner: the waiter's fetch_or. Release: the waiter sees what was stored before. Not acquire:
     * the parked bit is all that a ringer learns. */
    const uint32_t before = hr_atom32_fetch_add_release(&bell->word, RING);
    if (!(before & PARKED))
        return;
    /* Relaxed: carries nothing, and read-modify-writes pass on what ringers before it released. */
    if (hr_atom32_fetch_and_relaxed(&bell->word, ~(uint32_t)PARKED) & PARKED)
        futex_wake(&bell->word, INT_MAX);
}

void hr_bell_ring_some(struct hr_bell *bell, uint32_t count)
{
    /* Partner: the waiter's fetch_or. The bit stays: whoever sleeps on is still parked. */
    if (hr_atom32_fetch_add_release(&bell->word, RING) & PARKED && count)
        futex_wake(&bell->word, count);
}

static bool spin(struct hr_waiter *waiter, hr_ready_fn ready, void *arg, int64_t start)
{
    do {
        for (int poll = 0; poll < POLLS_A_CLOCK; poll++) {
            if (ready(arg))
                return true;
            hr_cpu_relax();
        }
    } while (hr_clock_ns() - start < waiter->spin_ns);
    while (hr_clock_ns() - start < waiter->yield_ns) {
        sched_yield();
        if (ready(arg))
            return true;
    }
    return false;
}

/* Park once, for 50 ms at most. The parked bit stays set on a time-out: others may be
 * parked too. */
static bool park(struct hr_waiter *waiter, struct hr_bell *bell, hr_ready_fn ready, void *arg,
                 int64_t longest)
{
    /* Partner: the ringer's fetch_add. Not release: the bit is all that a waiter tells. */
    const uint32_t seen = hr_atom32_fetch_or_acquire(&bell->word, PARKED) | PARKED;
    waiter->alarm_ns = 0;
    if (ready(arg))
        return true;
    if (waiter->alarm_ns) { /* what it waits for rings no bell when its time has come */
        const int64_t until = waiter->alarm_ns - hr_clock_ns();
        longest = until < 1 ? 1 : until < longest ? until : longest;
    }
    waiter->parks++;
    const bool rings = !waiter->alarm_ns;
    const bool overslept = futex_wait(&bell->word, seen, longest) && rings;
    if (!ready(arg))
        return false;
    waiter->missed += overslept; /* a late processor after a wake-up in time does not count */
    return true;
}

enum hr_status hr_wait_check(const struct hr_waiter *waiter)
{
    /* Partner: hr_control_abort. Relaxed: who reads the record acquires it (hr_control_failure). */
    if (!hr_atom32_load_relaxed(waiter->abort))
        return HR_OK;
    return hr_fail(HR_E_ABORTED, "another rank failed");
}

static enum hr_status wait_slowly(struct hr_waiter *waiter, struct hr_bell *bell, hr_ready_fn ready,
                                  void *arg, const char *what, int64_t start)
{
    if (spin(waiter, ready, arg, start))
        return HR_OK;
    for (;;) {
        if (hr_atom32_load_relaxed(waiter->abort)) /* as in hr_wait_check */
            return hr_fail(HR_E_ABORTED, "another rank failed while this one waited for %s", what);
        const int64_t waited = hr_clock_ns() - start;
        if (waiter->timeout_ns && waited >= waiter->timeout_ns)
            return hr_fail(HR_E_TIMEOUT, "waited %.1f s for %s (--timeout)", hr_seconds(waited),
                           what);
        int64_t longest = LOOK_UP_NS;
        if (waiter->timeout_ns && waiter->timeout_ns - waited < longest)
            longest = waiter->timeout_ns - waited;
        if (park(waiter, bell, ready, arg, longest))
            return HR_OK;
    }
}

enum hr_status hr_wait_until(struct hr_waiter *waiter, struct hr_bell *bell, hr_ready_fn ready,
                             void *arg, const char *what)
{
    /* What comes at once is not timed: two readings of the clock would take as long. */
    for (int poll = 0; poll < POLLS_A_CLOCK; poll++) {
        if (ready(arg))
            return HR_OK;
        hr_cpu_relax();
    }
    const int64_t start = hr_clock_ns();
    const enum hr_status status = wait_slowly(waiter, bell, ready, arg, what, start);
    waiter->waited_ns += hr_clock_ns() - start;
    return status;
}

/* --- calibration: two threads hand a turn to and fro through the kernel --- */

enum { HANDOFFS = 50 };

struct pair {
    struct hr_atom32 turn, never;
    struct hr_bell bell[2];
};

struct side {
    struct pair *pair;
    uint32_t mine;
};

static bool my_turn(void *arg)
{
    const struct side *side = arg;
    return hr_atom32_load_relaxed(&side->pair->turn) % 2 == side->mine; /* partner: play */
}

static void play(struct pair *pair, uint32_t mine)
{
    struct side side = {pair, mine};
    struct hr_waiter waiter = {.abort = &pair->never, .timeout_ns = HR_NS_PER_SECOND};
    for (uint32_t k = 0; k < HANDOFFS; k++) {
        if (hr_wait_until(&waiter, &pair->bell[mine], my_turn, &side, "calibration") != HR_OK)
            return;
        /* Partner: my_turn. Relaxed: the turn is all there is, and the bell hands it over. */
        hr_atom32_store_relaxed(&pair->turn, 2 * k + mine + 1);
        hr_bell_ring(&pair->bell[1 - mine]);
    }
}

static void *play_second(void *arg)
{
    play(arg, 1);
    return NULL;
}

int64_t hr_handoff_ns(void)
{
    static int64_t measured;
    if (measured)
        return measured;
    struct pair pair = {0};
    pthread_t second;
    if (pthread_create(&second, NULL, play_second, &pair) != 0)
        return MOST_SPIN_NS;
    const int64_t start = hr_clock_ns();
    play(&pair, 0);
    pthread_join(second, NULL);
    measured = (hr_clock_ns() - start) / (2 * HANDOFFS) + 1;
    return measured;
}

int64_t hr_spin_budget_ns(size_t nthreads)
{
    if (nthreads > hr_cpus_allowed())
        return CROWDED_SPIN_NS;
    const int64_t handoff = hr_handoff_ns();
    return handoff < LEAST_SPIN_NS  ? LEAST_SPIN_NS
           : handoff > MOST_SPIN_NS ? MOST_SPIN_NS
                                    : handoff;
}

int64_t hr_yield_budget_ns(size_t nthreads)
{
    return nthreads > hr_cpus_allowed() ? CROWDED_YIELD_NS : 0;
}
