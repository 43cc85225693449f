/* virtual_account.h - how a worker spent its virtual time.
 *
 * Between two gradients a worker communicates while a message of its is under way, and otherwise
 * waits. Of the shards only the slowest counts, since their replies travel at the same time.
 * Messages between workers count while any is under way. The owner of a shard also communicates
 * while that takes messages: it counts as one more shard.
 *
 * Threads: none.
 * Test: tests/unit/train/test_virtual.c
 */
#ifndef HR_VIRTUAL_VIRTUAL_ACCOUNT_H
#define HR_VIRTUAL_VIRTUAL_ACCOUNT_H

#include <stddef.h>
#include <stdint.h>

#include "base/account.h"

struct hr_virtual_account {
    struct hr_account *account;      /* borrowed: in nanoseconds */
    int64_t since_ps;                /* up to when its time is accounted for */
    int64_t spent_ps[HR_ACTIVITIES]; /* its account */
    size_t under_way;                /* messages between it and other workers */
    int64_t looked_ps;               /* up to when they are counted in moving_ps */
    int64_t *moving_ps;              /* (nmoving) how long its messages were under way; borrowed */
    size_t nmoving;                  /* shards, at least 1; and one more for its own */
};

/* It takes part from now on; no message of its is under way. */
void hr_virtual_begin(struct hr_virtual_account *account, int64_t now_ps);
void hr_virtual_spend(struct hr_virtual_account *account, enum hr_activity activity, int64_t ps);
/* A message between two workers has left, or arrived. */
void hr_virtual_move(struct hr_virtual_account *from, struct hr_virtual_account *to, bool leaves,
                     int64_t now_ps);
/* Book the time since since_ps as communicating and waiting. */
void hr_virtual_settle(struct hr_virtual_account *account, int64_t now_ps);

#endif
