/* pause.h - the state of an asynchronous run between two events, copied while nobody moves and
 * nothing is changed: a save that is a pure read. Where one process runs all ranks.
 *
 *   Whole     the copy has whole updates only. One that some shards have applied and others not, or
 *             of which a part of the weights has been updated, is finished on the copy; one that
 *             nobody has begun to apply is not in it, nor is a step in hand that all share.
 *   In hand   batches that were handed out, and whose gradients are not in the copy. A run that
 *             goes on from it hands them out first (batch_schedule.h), so every sample counts once.
 *   Counters  are those of what is in the copy: without a gradient that was computed and not
 *             applied.
 *   Replicas  elastic-averaging's are copied as they are, each with the steps since its last
 *             exchange: a run that goes on begins with an exchange where there are any.
 *   Resumed   a run that begins from the copy at time 0: all workers ask, no message is on its
 *             way, clocks stand level, and no weights have been read. So in virtual time it is not
 *             the run that never stopped, but it is the same one each time.
 *
 * Threads: the launcher's, which runs all ranks.
 * Test:    tests/unit/serial/test_pause.c
 */
#ifndef HR_STRATEGY_PAUSE_H
#define HR_STRATEGY_PAUSE_H

#include "strategy/strategy.h"

/* Batches [first, first + count). */
struct hr_hand {
    uint64_t first, count;
};

/* What of a worker is in the copy. */
struct hr_paused_worker {
    uint64_t updates; /* of this run */
    uint64_t undone;  /* a batch of which its counters may have a gradient that is not in the copy;
                         UINT64_MAX: none */
    uint64_t samples, epoch_samples;
    double epoch_loss;
};

struct hr_pause {
    struct hr_snapshot snapshot;     /* the copy */
    struct hr_paused_worker *worker; /* (workers) */
    struct hr_hand *hand;            /* (room), of which `hands` are in use */
    size_t hands, room;
    double *saved_hands; /* (room, 2): as a checkpoint has them */
    bool is_saved;       /* the state to be saved is this copy: a pause is under way */
};

/* Where a worker stands. */
enum hr_stands {
    HR_STANDS_BETWEEN, /* it has handed in its gradient, and asked for nothing yet */
    HR_STANDS_ASKED,   /* it has asked, and not accepted what it is given */
    HR_STANDS_HAS,     /* it has accepted a batch, and not handed its gradient in */
};

/* A run between two events. No worker stands at a cut, every loss is known to all, and whoever
 * speaks for a shard has all that anybody was told. */
struct hr_standing {
    const struct hr_shared_state *shared;
    enum hr_stands *stands;    /* (workers) */
    struct hr_worker **worker; /* (workers) NULL: it is lost */
    /* (workers) Its counters before a gradient that is perhaps being computed; NULL: none is */
    const struct hr_gradient_counters **before;
    struct hr_shard **shard; /* (servers) who speaks for each */
};

/* How many hands there may be. */
size_t hr_pause_room(const struct hr_shared_state *shared);

/* One more. */
static inline void hr_pause_add_hand(struct hr_pause *to, uint64_t first, uint64_t count)
{
    if (count == 0)
        return;
    HR_ASSERT(to->hands < to->room);
    to->hand[to->hands++] = (struct hr_hand){first, count};
}
/* A worker has that batch in its hands. */
void hr_pause_in_hand(const struct hr_standing *at, size_t worker, uint64_t batch,
                      struct hr_pause *to);
/* Copy a worker's private state; of one that is lost: that of the last cut. */
void hr_pause_copy_state(const struct hr_standing *at, size_t worker, struct hr_pause *to);

/* Copy the state: strategy->pause, and what all have in common. False: not now. */
bool hr_pause_copy(const struct hr_standing *at, struct hr_pause *to);

#endif
