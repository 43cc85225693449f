/* batch_schedule.h - what a batch index means: a pure function, the same for every strategy.
 *
 * A run is a sequence of batch indices. An index stands for one update: the global batch under a
 * synchronous strategy, one worker's minibatch under an asynchronous one. Epoch, samples, learning
 * rate, evaluation, checkpoints and the end of the run all follow from the index. So ranks agree on
 * them without messages, and a checkpoint's position is one number.
 *
 * An *epoch* is a number of samples, by default a pass over the data. Positions continue from epoch
 * to epoch and from pass to pass. When an epoch is not a whole number of passes, a batch may reach
 * into the next pass; each pass is still an exact permutation.
 *
 * A *cut* is an index at which all workers have finished every earlier index and begun no later
 * one: the ends of epochs, multiples of checkpoint_every, the end of the run, and where somebody
 * asks for a save (below). Strategies may act at the end of an epoch (average, for
 * example). At any other cut workers *only quiesce*: what they have is copied, to be saved or
 * evaluated, and they, or a run that is resumed there, go on as if nothing had been.
 */
#ifndef HR_STRATEGY_BATCH_SCHEDULE_H
#define HR_STRATEGY_BATCH_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hogring/train.h"
#include "optim/lr.h"
#include "shm/atom.h"

struct hr_batch_schedule {
    uint64_t samples;           /* in an epoch */
    uint64_t pass;              /* samples in a pass over the data */
    uint64_t batch;             /* samples an index stands for (the last of an epoch: fewer) */
    uint64_t batches_per_epoch; /* ceil(samples / batch) */
    uint64_t first, end;        /* indices of this run: [first, end) */
    uint64_t checkpoint_every;  /* indices; 0: only at the ends of epochs; HR_NO_INDEX: nowhere */
    bool pauses;                /* saves inside of an epoch are no cuts: strategy/pause.h */
    bool saves_wait;            /* a save that is asked for waits for the end of its epoch */
    bool levels;                /* who is back at a cut begins level with all others: no cut is
                                   there only to quiesce */
    /* (nrequested_cuts) borrowed, growing: cuts that were asked for in a run that is replayed */
    const uint64_t *requested_cuts;
    size_t nrequested_cuts;
    struct hr_lr_schedule lr;
    double lr_factor; /* --scale-lr, and --async-lr divide: 1 / workers */
};

struct hr_batch {
    uint64_t epoch, first, count; /* samples [first, first + count) of the epoch */
};

struct hr_batch hr_batch_schedule_batch(const struct hr_batch_schedule *schedule, uint64_t index);

/* Part of a pass: positions [first, first + count) of the order of pass `pass`. */
struct hr_piece {
    uint64_t pass, first, count;
};

/* The samples of a batch from its `done`-th to the end of that pass; done < batch->count. */
struct hr_piece hr_batch_schedule_piece(const struct hr_batch_schedule *schedule,
                                        const struct hr_batch *batch, uint64_t done);

/* The learning rate of the update of that index. */
float hr_batch_schedule_lr(const struct hr_batch_schedule *schedule, uint64_t index);

/* The first cut after index (index < end). */
uint64_t hr_batch_schedule_next_cut(const struct hr_batch_schedule *schedule, uint64_t index);

/* The first end of an epoch after index. */
uint64_t hr_batch_schedule_next_end(const struct hr_batch_schedule *schedule, uint64_t index);

/* No two cuts are farther apart, in indices. */
uint64_t hr_batch_schedule_longest_span(const struct hr_batch_schedule *schedule);

/* The first multiple of checkpoint_every after index; UINT64_MAX: there is none. */
uint64_t hr_batch_schedule_next_save(const struct hr_batch_schedule *schedule, uint64_t index);

/* checkpoint_every in indices; where it is of time, no index is a place to save at. */
#define HR_NO_INDEX UINT64_MAX
uint64_t hr_batch_schedule_every(const struct hr_batch_schedule *schedule,
                                 const struct hr_every *every);

/* Is this index the end of an epoch, or a place to save at? */
bool hr_batch_schedule_ends_epoch(const struct hr_batch_schedule *schedule, uint64_t index);
/* Do all only quiesce at that cut? Not at the end of an epoch. */
bool hr_batch_schedule_only_quiesces(const struct hr_batch_schedule *schedule, uint64_t index);
bool hr_batch_schedule_saves(const struct hr_batch_schedule *schedule, uint64_t index);

/* Somebody asks for a checkpoint, of a run that is not at a cut: nobody begins
 * another batch, all quiesce, save, and go on. Or for a cut alone, of which a run that
 * outlives losses keeps a copy to go back to (drive/losses.h); any cut will do.
 *
 * Threads: atomics; each word has one writer.
 * Test:    tests/unit/train/test_save_requests.c
 */
struct hr_save_request {
    alignas(HR_LINE) struct hr_atom32 asked; /* how often. Writer: the launcher */
    struct hr_atom32 served; /* the last that a cut has served. Writer: the leader, at a cut */
    struct hr_atom32 copies_asked, copies_served; /* the same of a cut alone */
};

/* Each partner: the other's writer. */
static inline bool hr_copy_is_asked(const struct hr_save_request *request)
{
    return hr_atom32_load_acquire(&request->copies_asked) !=
           hr_atom32_load_acquire(&request->copies_served);
}

static inline bool hr_save_is_asked(const struct hr_save_request *request)
{
    return hr_atom32_load_acquire(&request->asked) != hr_atom32_load_acquire(&request->served);
}

/* Batches that were handed out and came back: of lost workers, or of a run that was saved while
 * somebody had them. They are handed out before all others. A queue.
 *
 * Threads: one writer of `added`; any number of threads take, but where it says so.
 * Test:    tests/unit/strategy/test_lost_batches.c
 */
struct hr_returned {
    alignas(HR_LINE) struct hr_atom64 added; /* partner: hr_returned_take */
    alignas(HR_LINE) struct hr_atom64 taken; /* partner: itself */
    uint64_t room;                           /* that may wait */
    uint64_t index[];                        /* (room) */
};

static inline size_t hr_returned_bytes(size_t room)
{
    return sizeof(struct hr_returned) + room * sizeof(uint64_t);
}

void hr_returned_add(struct hr_returned *returned, uint64_t index);
bool hr_returned_any(const struct hr_returned *returned);
bool hr_returned_take(struct hr_returned *returned, uint64_t *index);
/* The one behind `ahead` others, where one thread takes them all; false: there are not so many. */
bool hr_returned_look(const struct hr_returned *returned, uint64_t ahead, uint64_t *index);

#endif
