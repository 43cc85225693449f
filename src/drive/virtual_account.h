/* virtual_account.h - what a worker did with its virtual time.
 *
 * From the end of a gradient to the start of the next a worker communicates while something of its
 * is under way, and waits for the rest. Replies of several shards are under way at the same time:
 * the slowest counts. What workers send one another counts while any of it is under way. Whoever
 * owns a shard communicates while that takes messages: it counts as one more.
 *
 * Threads: none.
 * Test: tests/unit/train/test_virtual.c
 */
#ifndef HR_DRIVE_VIRTUAL_ACCOUNT_H
#define HR_DRIVE_VIRTUAL_ACCOUNT_H

#include <stddef.h>
#include <stdint.h>

#include "base/account.h"

struct hr_virtual_account {
    struct hr_account *account;      /* borrowed: in nanoseconds */
    int64_t since_ps;                /* up to when its time is accounted for */
    int64_t spent_ps[HR_ACTIVITIES]; /* its account */
    size_t under_way;                /* messages between it and other workers */
    int64_t looked_ps;               /* up to when these are in moving_ps */
    int64_t *moving_ps; /* (nmoving) how long something of its was under way; borrowed */
    size_t nmoving;     /* to each shard, at least 1; and at its own */
};

void hr_virtual_spend(struct hr_virtual_account *account, enum hr_activity activity, int64_t ps);
/* A message between two workers leaves, or has come. */
void hr_virtual_move(struct hr_virtual_account *from, struct hr_virtual_account *to, bool leaves,
                     int64_t now_ps);
/* Since then it communicated, and waited. */
void hr_virtual_settle(struct hr_virtual_account *account, int64_t now_ps);

#endif
