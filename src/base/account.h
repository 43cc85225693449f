/* account.h - what a worker does with its time: at any moment one of four things.
 *
 *   load         decode, or wait for, the samples that it computes from
 *   compute      gradients, and updates of weights, its own or those it serves others with
 *   communicate  move data between workers, and wait for data that is under way on a link
 *   wait         for another worker, a server, a processor to begin with, the end of a span; stall
 *
 * A worker that loses its processor in the middle goes on doing what it did.
 *
 * Whoever begins another thing says so; the time since then belongs to what was done before. So the
 * four add up to the time between the first turn and the last, and none of them is what the others
 * leave over.
 *
 *     hr_account_open(&account, began_ns);                     began_ns: when the span began
 *     const enum hr_activity was = hr_account_turn(&account, HR_COMPUTE);
 *     ...
 *     hr_account_turn(&account, was);
 *     hr_account_close(&account, ended_ns);                    not before the last turn
 *
 * A closed account, or none (NULL), takes no time down and reads no clock.
 *
 * Who looks on (hr_account_watch) is told of every stretch of time when it is over: of the accounts
 * that this thread turns.
 *
 * Threads: one worker's own.
 * Units:   nanoseconds of the monotonic clock.
 * Test:    tests/unit/base/test_account.c
 */
#ifndef HR_BASE_ACCOUNT_H
#define HR_BASE_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/clock.h"

enum hr_activity { HR_LOAD, HR_COMPUTE, HR_COMMUNICATE, HR_WAIT, HR_ACTIVITIES };

struct hr_account_watch {
    void (*spent)(struct hr_account_watch *watch, enum hr_activity activity, int64_t begin_ns,
                  int64_t end_ns);
};

/* This thread's; NULL: nobody looks on. */
extern _Thread_local struct hr_account_watch *hr_account_watch;

struct hr_account {
    bool open;
    bool paused; /* the time since since_ns is not taken down, and may yet be */
    enum hr_activity doing;
    int64_t since_ns;
    int64_t spent_ns[HR_ACTIVITIES];
};

/* Book the time since the last turn. */
static inline void hr_account_spend(struct hr_account *account, enum hr_activity activity,
                                    int64_t until_ns)
{
    const int64_t since_ns = account->since_ns;
    account->spent_ns[activity] += until_ns - since_ns;
    account->since_ns = until_ns; /* before the watch is told, which may wait, and turn it */
    if (hr_account_watch)
        hr_account_watch->spent(hr_account_watch, activity, since_ns, until_ns);
}

/* A span began: until its first turn the worker waits. */
static inline void hr_account_open(struct hr_account *account, int64_t began_ns)
{
    account->open = true;
    account->doing = HR_WAIT;
    account->since_ns = began_ns;
}

/* Book up to here what is done now, and goes on. */
static inline void hr_account_look(struct hr_account *account, int64_t now_ns)
{
    if (account->open)
        hr_account_spend(account, account->doing, now_ns);
}

/* Do something else from now on; what was done until now. */
static inline enum hr_activity hr_account_turn(struct hr_account *account, enum hr_activity to)
{
    if (!account || !account->open)
        return HR_WAIT;
    const enum hr_activity was = account->doing;
    if (was == to)
        return was;
    hr_account_spend(account, was, hr_clock_ns());
    account->doing = to;
    return was;
}

/* Take no time down until it is clear when the span ended, or that it goes on. */
static inline void hr_account_pause(struct hr_account *account)
{
    account->paused = account->open;
    account->open = false;
}

/* The span ended for everybody: what was done last, was done until then. Once more: it ended for
 * everybody later, since one came back for its end; the worker has waited. */
static inline void hr_account_close(struct hr_account *account, int64_t ended_ns)
{
    hr_account_spend(account, account->open || account->paused ? account->doing : HR_WAIT,
                     ended_ns);
    account->open = account->paused = false;
}

/* The span goes on after all: since it was closed, the worker has waited. */
static inline void hr_account_resume(struct hr_account *account)
{
    if (account->open)
        return;
    if (!account->paused)
        account->doing = HR_WAIT;
    account->open = true;
    account->paused = false;
}

/* The latest of n workers' times, each `stride` bytes behind the one before: when the last of them
 * came to a barrier, say. */
static inline int64_t hr_account_latest(const int64_t *first_ns, size_t n, size_t stride)
{
    int64_t latest = *first_ns;
    for (size_t w = 1; w < n; w++) {
        const int64_t ns =
            *(const int64_t *)(const void *)((const unsigned char *)first_ns + w * stride);
        latest = ns > latest ? ns : latest;
    }
    return latest;
}

#endif
