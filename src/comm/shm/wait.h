/* wait.h - waiting that neither hangs nor burns: spin for a while, then park on a futex.
 *
 * A *bell* is a word to park on. Whoever makes a condition true stores its own word (release) and
 * then rings the bell; whoever waits announces itself on the bell, looks at the condition once
 * more, and parks. Both sides do a read-modify-write on the same word, so one of them sees the
 * other:
 *
 *     waiter:  bell |= 1 (acquire); ready? ; futex_wait(bell, value seen)
 *     ringer:  word = ... (release); bell += 2 (release); was bit 0 set? then clear it and wake
 *
 * If the waiter's operation comes first, the ringer sees the bit and wakes it; if the ringer's
 * comes first, the waiter's acquires it and `ready` sees the word. No fence is needed, and a bell
 * nobody parks on costs one locked instruction.
 *
 * How long to spin: one futex hand-off, measured once per process, and at least 200 us, when every
 * runnable thread has a processor of its own: the partner is running, and parking would cost more
 * than it saves. (A virtual processor that goes idle is slow to come back, slower than the hand-off
 * that we can measure: 64 MiB in 512 pieces took 30 ms with 20 us of spinning, and 9 with 200.)
 * Whoever spun in vain twice spins no more until a wait has ended within that time: other programs
 * want the processors, too, and two runs on two of them spent half of their time spinning.
 * Otherwise not at all, since the partner may be waiting for our processor; then a waiter gives its
 * processor away for 20 us, over and over: that costs a fifth of a hand-off through a futex when
 * the partner takes it, and little when nobody does.
 *
 * Every wait watches the abort word and has a deadline, which begins anew for a waiter that did not
 * run itself (base/clock.h). Whoever parks sleeps on its bell and on the
 * abort word at a time (futex_waitv), so an abort wakes all at once and needs no list of who waits
 * where; before Linux 5.16 they look up every 50 ms, which they do in any case.
 *
 * Threads: any number may ring; any number may park on one bell.
 * Test: tests/unit/shm/test_wait.c, tests/unit/shm/test_wait_poll.c
 */
#ifndef HR_SHM_WAIT_H
#define HR_SHM_WAIT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/account.h"
#include "base/error.h"
#include "shm/atom.h"

struct hr_bell {
    struct hr_atom32 word; /* bit 0: somebody may be parked; the rest counts rings */
};

/* Has it rung `count` times, or up to 2^30 times more, since it was zero? It counts modulo 2^31.
 * All that the ringer did before that ring is seen. */
static inline bool hr_bell_has_rung(const struct hr_bell *bell, uint32_t count)
{
    const uint32_t rings = hr_atom32_load_acquire(&bell->word) >> 1; /* partner: hr_bell_ring */
    return ((rings - count) & 0x7fffffffu) < 0x40000000u;
}

/* As hr_bell_ring, but wake at most `count` of those parked; the others sleep on. */
void hr_bell_ring_some(struct hr_bell *bell, uint32_t count);

/* How one rank waits; private memory of that rank. */
struct hr_waiter {
    const struct hr_atom32 *abort; /* nonzero: give up (writer: hr_control_abort) */
    int64_t spin_ns;               /* before parking */
    int64_t yield_ns;              /* after spinning: yield the processor for so long */
    int64_t timeout_ns;            /* of one wait; 0: none */
    unsigned vain;                 /* spins in vain since a wait was shorter than that */
    int64_t alarm_ns;              /* set by `ready`: look again at this time; 0: when rung */
    bool under_way; /* set by `ready`: the message has been sent, over an emulated link */
    struct hr_account *account; /* waiting goes into it; NULL: nobody keeps one */
    int64_t waited_ns;          /* total */
    uint64_t parks;             /* times it parked */
    uint64_t missed;            /* times it slept 50 ms and was then ready: lost rings */
    /* Give up with HR_E_REVOKED when this word is not revoke_seen any more; NULL: never. Whoever
     * changes it rings every bell. */
    const struct hr_atom32 *revoke;
    uint32_t revoke_seen;
    /* Where this word moves, others get on, one after the other: the deadline begins anew. NULL:
     * never. */
    const struct hr_atom64 *beat;
    void (*look)(void *arg); /* every 50 ms of a wait: look around, must not block; or NULL */
    void *look_arg;
    /* Moves what nobody here rings for (messages of other machines); must not block. Called while
     * it spins, ten times as long, and at each look; and whoever parks sleeps a sixteenth of the
     * time that it has waited at most, 20 us to 1 ms. NULL: there is nothing of that kind. */
    void (*poll)(void *arg);
    void *poll_arg;
};

typedef bool (*hr_ready_fn)(void *arg);

/* Wake whoever is parked on `bell` to look again. Call after the store that makes the condition
 * true. */
void hr_bell_ring(struct hr_bell *bell);

/* Wait until ready(arg). `ready` may do work (progress a collective) but must not block; once it
 * has returned true it is not called again.
 *   bell  is rung after whatever makes ready() true
 *   what  is waited for, in words, for the message
 * HR_E_ABORTED when the abort word is set; HR_E_REVOKED; HR_E_TIMEOUT past the deadline. */
HR_CHECKED enum hr_status hr_wait_until(struct hr_waiter *waiter, struct hr_bell *bell,
                                        hr_ready_fn ready, void *arg, const char *what);

/* Is the revoke word another one than revoke_seen? */
bool hr_wait_is_recalled(const struct hr_waiter *waiter);

/* HR_E_ABORTED when the abort word is set: for work that never waits. */
HR_CHECKED enum hr_status hr_wait_check(const struct hr_waiter *waiter);

/* Wake whoever is parked with this abort word. Call after the store that set it. */
void hr_abort_wake(struct hr_atom32 *abort);

/* A pause for spin loops. */
static inline void hr_cpu_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* How long `nthreads` runnable threads on this machine should spin, in ns. Calibrates on first use
 * (about a millisecond, with one helper thread that is gone afterwards); call before
 * ranks start. */
int64_t hr_spin_budget_ns(size_t nthreads);

/* How long they should yield after that: not at all when each has a processor. */
int64_t hr_yield_budget_ns(size_t nthreads);

/* The measured time of one hand-off through the kernel, in ns. */
int64_t hr_handoff_ns(void);

#endif
