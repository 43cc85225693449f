/* lost_batches.h - what became of the batches of workers that were lost: every sample is accounted
 * for.
 *
 *   A worker writes down what it counts in a way that survives its death: hr_last_gradient holds
 *   its counters as they were before its last gradient, so that one that never reached the weights
 *   can be taken back, and one that was being counted can be undone.
 *
 *   A batch that a lost worker had in its hands is handed out again (continue:reissue) or is
 *   lost. Who hands out batches does so: shard 0, or where there are no servers the launcher at a
 *   cut. A cut with batches still to be handed out again is not one: all go back for them.
 *
 * Threads: one writer at a time, see each struct.
 * Test:    tests/unit/strategy/test_lost_batches.c
 */
#ifndef HR_STRATEGY_LOST_BATCHES_H
#define HR_STRATEGY_LOST_BATCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/atom.h"

struct hr_shared_state;
struct hr_worker_stats;
struct hr_standing;
struct hr_pause;

/* What a worker is doing with its counters. */
enum { HR_COUNTING_NOT, HR_COUNTING, HR_DROPPING };

/* A worker's counters of gradients: of the run, and of the epoch. */
struct hr_gradient_counters {
    uint64_t steps, samples, epoch_samples;
    double epoch_loss;
};

/* A worker's counters before its last gradient. Writer: the worker; after its death the launcher,
 * or shard 0. */
struct hr_last_gradient {
    struct hr_atom32 counting; /* not 0: the counters are being changed; partner: hr_stats_mend */
    bool any;
    uint64_t index; /* of its batch */
    struct hr_gradient_counters before;
};

/* A worker's counters when it began a range of batches that count together. Writer: as above. */
struct hr_marked_counters {
    struct hr_atom64 range; /* 1 + its first batch; 0: nothing is marked */
    struct hr_gradient_counters gradients;
    uint64_t updates;
};

/* What a worker was too late for (backup-workers): gradients that it handed in; samples, theirs and
 * those of shares that it never began. */
struct hr_dropped {
    uint64_t gradients, samples;
};

/* A worker's counters at the last cut. */
struct hr_cut_counters {
    struct hr_gradient_counters gradients;
    uint64_t updates, max_skew;
    struct hr_dropped dropped;
};

/* What was lost with one worker, in all. Writer: who hands out batches. */
struct hr_lost_work {
    alignas(HR_LINE) uint64_t lost_batches;
    uint64_t lost_samples;                 /* never trained on, or gone with its replica */
    uint64_t again_batches, again_samples; /* handed out, or computed, once more */
    uint64_t partial;                      /* pushes of which only a part reached the weights.
                                              With servers the writer is the last of them that
                                              takes the loss (server/server.h) */
    uint64_t cut_batches, cut_samples;     /* lost_* at the last cut */
};

/* All stand at a cut; all go back to it: what was lost since is not, nor waits to be handed out. */
void hr_lost_work_leave_cut(const struct hr_shared_state *shared);
void hr_lost_work_roll_back(const struct hr_shared_state *shared);

/* Is the loss of a worker one more input of those who own the weights, like a message, or of
 * nobody, and all others go on? It ends the term (drive/losses.h) where others wait for it in any
 * case, on several machines, and where owners are workers. */
bool hr_shared_takes_losses(const struct hr_shared_state *shared);

/* Room in shared->returned: batches that all workers together may have in their hands, and those
 * that the run begins with. */
size_t hr_returned_room(const struct hr_shared_state *shared);

/* The worker counts one more gradient: between these two its counters may be torn. */
void hr_stats_begin(struct hr_worker_stats *stats, uint64_t index);
void hr_stats_end(struct hr_worker_stats *stats);
/* Its last gradient came too late: it was computed, but its samples do not count. */
void hr_stats_drop(struct hr_worker_stats *stats);
/* Its counters now. */
struct hr_gradient_counters hr_stats_gradients(const struct hr_worker_stats *stats);
/* The worker begins a range of batches with `index`. It is dead, and they do not count: undo what
 * it did in them, if it came to begin. */
void hr_stats_mark(struct hr_worker_stats *stats, uint64_t index);
void hr_stats_back_to_mark(struct hr_worker_stats *stats, uint64_t index);
/* The worker is dead: undo what it was just counting, or finish what it was just dropping. */
void hr_stats_mend(struct hr_worker_stats *stats);
/* Its last gradient never reached the weights: it does not count. Returns its samples. */
uint64_t hr_stats_take_back(struct hr_worker_stats *stats);
/* It leaves a cut, or begins a run. */
void hr_stats_leave_cut(struct hr_worker_stats *stats, bool ends_epoch);
/* All go back to the last cut; returns the samples that do not count any more. */
uint64_t hr_stats_roll_back(struct hr_worker_stats *stats);

/* A worker's histogram of how stale its updates were, right wherever the worker dies.
 *
 *   Before it counts an update the worker writes down what the counters were. So one that was being
 *   counted when it died, or was counted and never made, can be taken back.
 *
 * Threads: the worker's own; after its death the launcher's, or that of its next life.
 * Test:    tests/unit/strategy/test_stale.c
 */
enum { HR_STALENESS_BUCKETS = 4096 }; /* four times the workers that there may be */

struct hr_stale {
    uint64_t updates, sum, max;
    /* Before the last count: */
    struct hr_atom32 counting; /* not 0: it is under way; partner: hr_stale_mend */
    struct hr_stale_before {
        uint64_t updates, sum, max, bucket, in_bucket;
    } before;
    uint64_t bucket[HR_STALENESS_BUCKETS]; /* how many updates; the last holds all above */
};

void hr_stale_count(struct hr_stale *stale, uint64_t staleness);
/* The last count is taken back; once. */
void hr_stale_take_back(struct hr_stale *stale);
/* The worker is dead: what it was just counting is not counted. */
void hr_stale_mend(struct hr_stale *stale);
/* The same counts. As far as either has any: to is not cleared before. */
void hr_stale_copy(struct hr_stale *to, const struct hr_stale *from);

/* What became of each batch, where workers draw batches themselves (Hogwild) and may be
 * lost: a worker may die anywhere, as between drawing an index and telling anybody.
 *
 *   Story    a word for each index of the span in hand, which goes from the last cut to the next
 *            one: not drawn, drawn by a worker, or pushed. A worker writes it when it has drawn
 *            the index, and when its push has ended. At the cut, when all who live are quiescent,
 *            an index that was given out and not pushed is one that a lost worker had, whether or
 *            not it came to write anything: it is handed out again, or counted as lost.
 *   Pushes   a worker says when it begins a push. One that dies before it has ended may have
 *            changed any part of the weights: the push is counted as partial, and its batch as
 *            trained on, since to push it again would apply a part of it twice.
 *   Whose    an index that nobody has written is put down to a worker that was lost and has none.
 *   Cost     two stores a step to a line that neighbours write too, and one exchange; without
 *            --on-loss there are none.
 *
 * Threads: a batch's word is written by whoever has drawn its index, then by the launcher; so is
 *          the word about pushing. The rest is the launcher's, while all are quiescent.
 * Test:    tests/unit/strategy/test_batch_states.c
 */

/* Of shared->batch_states, in lines; 0 where nobody is outlived, or servers hand out batches: there
 * nothing below does anything. */
size_t hr_batch_states_bytes(const struct hr_shared_state *shared);
void hr_batch_states_init(const struct hr_shared_state *shared);

/* A worker has drawn a batch; begins its push; has ended it. */
void hr_batch_states_draw(const struct hr_shared_state *shared, size_t worker, uint64_t index);
void hr_batch_states_begin_push(const struct hr_shared_state *shared, size_t worker,
                                uint64_t index);
void hr_batch_states_end_push(const struct hr_shared_state *shared, size_t worker, uint64_t index);

/* Worker `worker` is gone: its counters hold what it pushed, and no more. Called by the launcher
 * at once, while others go on. Updates are its pushes, a partial one too, and so is its histogram
 * of staleness. */
void hr_batch_states_lose(const struct hr_shared_state *shared, size_t worker);

/* All who live have come to a cut, and rest: hand out again what lost workers have left undone
 * before it, or count it as lost. Called by the launcher, and again when all come back to the cut,
 * or repeat it. */
void hr_batch_states_missing(const struct hr_shared_state *shared);

/* Between two events (strategy/pause.h): batches in the hands of workers that are lost. */
void hr_batch_states_pause(const struct hr_standing *at, struct hr_pause *to);

#endif
