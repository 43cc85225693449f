/* fate.h - what became of the batches of workers that were lost: every sample is accounted for.
 *
 *   A worker writes down what it counts in a way that survives its death: hr_last_gradient holds
 *   its counters as they were before its last gradient, so that one that never reached the weights
 *   can be taken back, and one that was being counted can be undone.
 *
 *   A batch that a lost worker had in its hands is handed out again (--lost-batch reissue) or is
 *   lost. Who hands out batches does so: shard 0, or where there are no servers the launcher at a
 *   cut. A cut with batches still to be handed out again is not one: all go back for them.
 *
 * Threads: one writer at a time, see each struct.
 * Test:    tests/unit/strategy/test_fate.c
 */
#ifndef HR_STRATEGY_FATE_H
#define HR_STRATEGY_FATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/atom.h"

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
struct hr_fate {
    alignas(HR_LINE) uint64_t lost_batches;
    uint64_t lost_samples;                 /* never trained on, or gone with its replica */
    uint64_t again_batches, again_samples; /* handed out, or computed, once more */
    uint64_t partial;                      /* pushes of which only a part reached the weights.
                                              With servers the writer is the last of them that
                                              takes the loss (server_losses.h) */
    uint64_t cut_batches, cut_samples;     /* lost_* at the last cut */
};

/* Batches to be handed out again, a queue. Writer of `returned`: who hands out batches; `taken` is
 * also counted up by whoever takes one. */
struct hr_fates {
    alignas(HR_LINE) struct hr_atom64 returned; /* partner: hr_fates_take */
    alignas(HR_LINE) struct hr_atom64 taken;    /* partner: itself */
    uint64_t workers, room;
    struct hr_fate fate[]; /* (workers), and behind them the queue: (room) indices */
};

/* room: batches that all workers together may have in their hands. */
size_t hr_fates_bytes(size_t workers, size_t room);
void hr_fates_init(struct hr_fates *fates, size_t workers, size_t room);
struct hr_fate *hr_fate_of(struct hr_fates *fates, size_t worker);

/* Batch `index` is to be handed out again. */
void hr_fates_return(struct hr_fates *fates, uint64_t index);
/* Is there one; take one. Any number of threads. */
bool hr_fates_waiting(const struct hr_fates *fates);
bool hr_fates_take(struct hr_fates *fates, uint64_t *index);
/* Look at the one that would be taken; false: there is none. Where one thread takes them all. */
bool hr_fates_next(const struct hr_fates *fates, uint64_t *index);
/* The one behind `ahead` others; false: there are not so many. */
bool hr_fates_waiting_at(const struct hr_fates *fates, uint64_t ahead, uint64_t *index);

/* All stand at a cut; all go back to it: what was lost since is not, nor waits to be handed out. */
void hr_fates_leave_cut(struct hr_fates *fates);
void hr_fates_roll_back(struct hr_fates *fates);

struct hr_worker_stats;

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

#endif
