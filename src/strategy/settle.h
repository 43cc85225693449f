/* settle.h - what strategies that recall keep of a term, so that the launcher can settle it: bring
 * the snapshot to a state between two batches (strategy.h, "Losses").
 *
 *   Story    a term begins with a snapshot, at seats->index. Every worker says before each batch
 *            how far its replica is (hr_worker_stats.done). When all who live rest, the launcher
 *            asks how far the term has come, and puts that state into the snapshot; if it has not
 *            come beyond its beginning the snapshot holds that state already. (A cut exports there,
 *            too, but at a later batch, or the same bits.)
 *   Deaths   a rank may die between any two of its stores: what it stored before is all there, and
 *            nothing of what it would have stored after. So a word that says that something is
 *            whole is stored after it, with release, and one that says that it is being changed
 *            before it, with hr_fence_of_death behind it.
 *   Back     a rank that was started again has no seat before the next term: its replica and state
 *            stay what the one before it left, which others may be reading (hr_take_up_weights).
 *
 * Threads: the record is written by the launcher, while all rest.
 * Test:    tests/unit/strategy/test_settle.c
 */
#ifndef HR_STRATEGY_SETTLE_H
#define HR_STRATEGY_SETTLE_H

#include "strategy/shared.h"

/* A term, as it began; in the strategy's memory. */
struct hr_term_record {
    uint64_t applied; /* updates ever made to the snapshot's first state */
    uint64_t updates; /* that workers had counted */
    size_t n;
    struct hr_term_seat {
        uint32_t worker, lost; /* lost: how often it had been lost */
    } seat[];                  /* (workers) [0, n) are set */
};

/* Bytes of a record, whole lines; 0 where the run does not outlive losses. */
size_t hr_term_record_bytes(const struct hr_shared_state *shared);
/* A term begins: its seats are taken, the snapshot is in order, and nobody has begun. */
void hr_term_record_begin(const struct hr_shared_state *shared, struct hr_term_record *record);

/* Has the worker of that seat lived through the term? */
bool hr_term_lives(const struct hr_shared_state *shared, const struct hr_term_record *record,
                   size_t seat);

/* Where the worker of that seat is. */
uint64_t hr_term_done(const struct hr_shared_state *shared, const struct hr_term_record *record,
                      size_t seat);

/* The snapshot is at `index` now: so many updates have been made to the one state, if there is one,
 * and counted. */
void hr_term_settled(const struct hr_shared_state *shared, const struct hr_term_record *record,
                     uint64_t index);

/* --- a worker's; nothing where the run does not outlive losses --- */

/* Batches before `index` are in its weights. */
void hr_worker_says(const struct hr_worker *worker, uint64_t index);
/* Is everybody called, so that it need not begin another batch? */
bool hr_worker_is_recalled(const struct hr_worker *worker);
/* Both; HR_E_RECALLED. */
HR_CHECKED enum hr_status hr_worker_is_at(const struct hr_worker *worker, uint64_t index);

#endif
