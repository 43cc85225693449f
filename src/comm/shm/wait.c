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
    LOOK_UP_NS = HR_PATIENCE_LOOK_NS,
    CROWDED_YIELD_NS = 20 * 1000,
    LEAST_SPIN_NS = 200 * 1000,
    MOST_SPIN_NS = 500 * 1000,
    IN_VAIN = 2,        /* so often, and no more */
    POLLS_A_CLOCK = 16, /* reading the clock costs more than a poll */
    /* Of who polls, and parks. */
    LEAST_NAP_NS = 20 * 1000,
    MOST_NAP_NS = 1000 * 1000,
    NAP_SHARE = 16,
    POLLING = 10, /* times as long it spins: bytes move while it looks, and not while it sleeps */
};

static struct timespec timespec_of(int64_t ns)
{
    return (struct timespec){ns / HR_NS_PER_SECOND, ns % HR_NS_PER_SECOND};
}

/* Sleep while the word is `seen`; -1 with errno ETIMEDOUT when the time ran out.
 * Shared, not FUTEX_PRIVATE: the word may lie in memory of several processes. */
static long futex_wait(struct hr_atom32 *word, uint32_t seen, int64_t ns)
{
    const struct timespec limit = timespec_of(ns);
    return syscall(SYS_futex, &word->word, FUTEX_WAIT, seen, &limit, NULL, 0);
}

/* The same while nobody aborts or revokes: sleep on several words at a time. Linux 5.16; ENOSYS
 * before. */
static long futex_wait_all(struct hr_atom32 *word, uint32_t seen, const struct hr_waiter *waiter,
                           int64_t ns)
{
#ifdef SYS_futex_waitv
    const struct timespec until = timespec_of(hr_clock_own_ns() + ns);
    const struct futex_waitv words[] = {
        {.val = seen, .uaddr = (uintptr_t)&word->word, .flags = FUTEX_32},
        {.val = 0, .uaddr = (uintptr_t)&waiter->abort->word, .flags = FUTEX_32},
        {.val = waiter->revoke_seen, .uaddr = (uintptr_t)waiter->revoke, .flags = FUTEX_32}};
    return syscall(SYS_futex_waitv, words, waiter->revoke ? 3 : 2, 0, &until, CLOCK_MONOTONIC);
#else
    (void)word, (void)seen, (void)waiter, (void)ns;
    errno = ENOSYS;
    return -1;
#endif
}

/* Sleep while the bell's word is `seen` and nobody aborts or revokes; true when the time ran out
 * before a wake. Where a thread cannot sleep on several words it learns of that when it wakes. */
static bool sleep_on(struct hr_bell *bell, uint32_t seen, const struct hr_waiter *waiter,
                     int64_t ns)
{
    if (futex_wait_all(&bell->word, seen, waiter, ns) >= 0)
        return false;
    if (errno == EAGAIN || errno == EINTR || errno == ETIMEDOUT)
        return errno == ETIMEDOUT;
    return futex_wait(&bell->word, seen, ns) != 0 && errno == ETIMEDOUT;
}

static void futex_wake(struct hr_atom32 *word, uint32_t count)
{
    syscall(SYS_futex, &word->word, FUTEX_WAKE, count, NULL, NULL, 0);
}

void hr_abort_wake(struct hr_atom32 *abort)
{
    futex_wake(abort, INT_MAX);
}

void hr_bell_ring(struct hr_bell *bell)
{
    /* Partner: the waiter's fetch_or. Release: the waiter sees what was stored before. Not acquire:
     * the parked bit is all that a ringer learns. */
    const uint32_t before = hr_atom32_fetch_add_release(&bell->word, RING);
    if (!(before & PARKED))
        return;
    /* Relaxed: it carries nothing itself, and a read-modify-write keeps earlier releases visible.
     * */
    if (hr_atom32_fetch_and_relaxed(&bell->word, ~(uint32_t)PARKED) & PARKED)
        futex_wake(&bell->word, INT_MAX);
}

void hr_bell_ring_some(struct hr_bell *bell, uint32_t count)
{
    /* Partner: the waiter's fetch_or. The bit stays: whoever sleeps on is still parked. */
    if (hr_atom32_fetch_add_release(&bell->word, RING) & PARKED && count)
        futex_wake(&bell->word, count);
}

/* Ask `ready`. If it works it books that in the account; otherwise the time counts as waiting, or,
 * for a message under way on a link, as communicating. */
static bool look(struct hr_waiter *waiter, hr_ready_fn ready, void *arg)
{
    waiter->under_way = false;
    if (waiter->poll)
        waiter->poll(waiter->poll_arg);
    if (ready(arg))
        return true;
    hr_account_turn(waiter->account, waiter->under_way ? HR_COMMUNICATE : HR_WAIT);
    return false;
}

static int64_t spin_budget(const struct hr_waiter *waiter)
{
    return waiter->poll ? POLLING * waiter->spin_ns : waiter->spin_ns;
}

static bool spins(const struct hr_waiter *waiter)
{
    return waiter->spin_ns && waiter->vain < IN_VAIN;
}

static bool spin(struct hr_waiter *waiter, hr_ready_fn ready, void *arg, int64_t start)
{
    const int64_t budget = spins(waiter) ? spin_budget(waiter) : 0;
    const int64_t yield_ns = waiter->vain < IN_VAIN ? waiter->yield_ns : CROWDED_YIELD_NS;
    for (int64_t spun = 0; spun < budget; spun = hr_clock_ns() - start)
        for (int poll = 0; poll < POLLS_A_CLOCK; poll++) {
            if (look(waiter, ready, arg))
                return true;
            hr_cpu_relax();
        }
    waiter->vain += budget > 0;
    while (hr_clock_ns() - start < yield_ns) {
        sched_yield();
        if (look(waiter, ready, arg))
            return true;
    }
    return false;
}

/* How long to sleep at a time when messages come that nobody rings for. */
static int64_t nap_ns(int64_t waited)
{
    const int64_t share = waited / NAP_SHARE;
    return share < LEAST_NAP_NS ? LEAST_NAP_NS : share > MOST_NAP_NS ? MOST_NAP_NS : share;
}

/* Park once, for 50 ms at most. The parked bit stays set on a time-out: others may be
 * parked too. */
static bool park(struct hr_waiter *waiter, struct hr_bell *bell, hr_ready_fn ready, void *arg,
                 int64_t longest)
{
    /* Partner: the ringer's fetch_add. Not release: a waiter tells nothing but the bit. */
    const uint32_t seen = hr_atom32_fetch_or_acquire(&bell->word, PARKED) | PARKED;
    waiter->alarm_ns = 0;
    if (look(waiter, ready, arg))
        return true;
    if (waiter->alarm_ns) { /* nobody rings when that time comes */
        const int64_t until = waiter->alarm_ns - hr_clock_ns();
        longest = until < 1 ? 1 : until < longest ? until : longest;
    }
    waiter->parks++;
    const bool rings = !waiter->alarm_ns && !waiter->poll;
    const bool overslept = sleep_on(bell, seen, waiter, longest) && rings;
    if (!look(waiter, ready, arg))
        return false;
    waiter->missed += overslept; /* woken in time but scheduled late does not count */
    return true;
}

enum hr_status hr_wait_check(const struct hr_waiter *waiter)
{
    /* Partner: hr_control_abort. Relaxed: who reads the record acquires it (hr_control_failure). */
    if (!hr_atom32_load_relaxed(waiter->abort))
        return HR_OK;
    return hr_fail(HR_E_ABORTED, "another rank failed");
}

bool hr_wait_is_recalled(const struct hr_waiter *waiter)
{
    return waiter->revoke && /* partner: shm/roster.c; the rank acquires `rounds` when it rests */
           hr_atom32_load_relaxed(waiter->revoke) != waiter->revoke_seen;
}

/* For how long nothing has moved. */
struct stillness {
    struct hr_patience patience;
    uint64_t beat;
};

static int64_t still_for(const struct hr_waiter *waiter, struct stillness *still)
{
    const int64_t stands = hr_patience_look(&still->patience, hr_clock_ns());
    const uint64_t beat = /* partner: worker/compute_buffers.c; it carries nothing */
        waiter->beat ? hr_atom64_load_relaxed(waiter->beat) : still->beat;
    if (beat == still->beat)
        return stands;
    still->beat = beat;
    return still->patience.waited_ns = 0;
}

static enum hr_status wait_slowly(struct hr_waiter *waiter, struct hr_bell *bell, hr_ready_fn ready,
                                  void *arg, const char *what, int64_t start)
{
    struct stillness still = {.patience = {.limit_ns = waiter->timeout_ns, .looked_ns = start},
                              .beat = waiter->beat ? hr_atom64_load_relaxed(waiter->beat) : 0};
    int64_t look_at = LOOK_UP_NS; /* measured by the clock: rings may wake us often */
    if (spin(waiter, ready, arg, start))
        return HR_OK;
    for (;;) {
        if (hr_atom32_load_relaxed(waiter->abort)) /* as in hr_wait_check */
            return hr_fail(HR_E_ABORTED, "another rank failed while this one waited for %s", what);
        if (hr_wait_is_recalled(waiter)) /* others may have seen this end, and gone on */
            return look(waiter, ready, arg)
                       ? HR_OK
                       : hr_fail(HR_E_REVOKED, "revoked while it waited for %s", what);
        const int64_t waited = hr_clock_ns() - start;
        if (waiter->look && waited >= look_at) {
            waiter->look(waiter->look_arg);
            look_at = waited + LOOK_UP_NS;
            continue;
        }
        const int64_t stands = still_for(waiter, &still);
        if (waiter->timeout_ns && stands >= waiter->timeout_ns)
            return hr_fail(HR_E_TIMEOUT, "waited %.1f s for %s (--timeout)", hr_seconds(stands),
                           what);
        int64_t longest = LOOK_UP_NS;
        if (waiter->timeout_ns && waiter->timeout_ns - stands < longest)
            longest = waiter->timeout_ns - stands;
        if (waiter->poll && nap_ns(waited) < longest)
            longest = nap_ns(waited);
        if (park(waiter, bell, ready, arg, longest))
            return HR_OK;
    }
}

/* Look at the bell until it has rung, for a moment: `ready` takes longer than a look. */
static void listen(const struct hr_bell *bell, uint32_t seen)
{
    for (int poll = 0; poll < POLLS_A_CLOCK; poll++) {
        if (hr_atom32_load_relaxed(&bell->word) != seen) /* `ready` acquires what it needs */
            return;
        hr_cpu_relax();
    }
}

enum hr_status hr_wait_until(struct hr_waiter *waiter, struct hr_bell *bell, hr_ready_fn ready,
                             void *arg, const char *what)
{
    /* A wait that ends at once is not timed: reading the clock twice would take as long. */
    for (int poll = 0; poll < (spins(waiter) ? POLLS_A_CLOCK : 1); poll++) {
        const uint32_t seen = hr_atom32_load_relaxed(&bell->word);
        if (ready(arg))
            return HR_OK;
        if (waiter->poll)
            waiter->poll(waiter->poll_arg);
        else if (waiter->spin_ns)
            listen(bell, seen);
    }
    const int64_t start = hr_clock_ns();
    const enum hr_activity was = hr_account_turn(waiter->account, HR_WAIT);
    const enum hr_status status = wait_slowly(waiter, bell, ready, arg, what, start);
    hr_account_turn(waiter->account, was);
    const int64_t waited = hr_clock_ns() - start;
    if (waited < spin_budget(waiter))
        waiter->vain = 0;
    waiter->waited_ns += waited;
    return status;
}

/* --- calibration: two threads hand a turn to and fro through the kernel --- */

enum { HANDOFFS = 50 };

/* On a bare futex: a bell is often rung before the other sleeps, and we want the time of a wake-up.
 */
static void play(struct hr_atom32 *whose, uint32_t mine)
{
    for (uint32_t k = 0; k < HANDOFFS; k++) {
        uint32_t turn; /* relaxed: it is all that is handed over; partner: the store below */
        while ((turn = hr_atom32_fetch_and_relaxed(whose, ~0u)) % 2 != mine) /* never stale */
            if (futex_wait(whose, turn, HR_NS_PER_SECOND) != 0 && errno == ETIMEDOUT)
                return;
        hr_atom32_store_relaxed(whose, 2 * k + mine + 1);
        futex_wake(whose, 1);
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
    struct hr_atom32 whose = {0};
    pthread_t second;
    if (pthread_create(&second, NULL, play_second, &whose) != 0)
        return MOST_SPIN_NS;
    const int64_t start = hr_clock_ns();
    play(&whose, 0);
    pthread_join(second, NULL);
    measured = (hr_clock_ns() - start) / (2 * HANDOFFS) + 1;
    return measured;
}

int64_t hr_spin_budget_ns(size_t nthreads)
{
    if (nthreads > hr_cpus_allowed())
        return 0; /* the partner may be waiting for our processor */
    const int64_t handoff = hr_handoff_ns();
    return handoff < LEAST_SPIN_NS  ? LEAST_SPIN_NS
           : handoff > MOST_SPIN_NS ? MOST_SPIN_NS
                                    : handoff;
}

int64_t hr_yield_budget_ns(size_t nthreads)
{
    return nthreads > hr_cpus_allowed() ? CROWDED_YIELD_NS : 0;
}
