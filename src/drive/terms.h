/* terms.h - a new term: what the launcher puts in order while all who live rest.
 *
 *   always    seats: the workers that live; under --reduce repro the largest power of two of them
 *   recalled  the strategy settles the snapshot, or (a server was lost) it is that of the last cut;
 *             counters beyond it are taken back; what ranks share is initialised from it, as it is
 *             when a run begins. So recovery is a cut, then a resume in memory.
 *   else      owners have taken the loss as an input: nothing else changes
 *
 * Threads: the launcher's, alone.
 * Test:    tests/unit/train/test_losses.c
 */
#ifndef HR_DRIVE_TERMS_H
#define HR_DRIVE_TERMS_H

#include "drive/cut_counts.h"

/* How a term begins. */
struct hr_term_begin {
    bool recalled; /* all of them; */
    bool rolled;   /* back to the last cut */
};

/* Put in order what ranks share. *again: samples that will be computed once more. HR_E_LOST: there
 * is no worker left. */
HR_CHECKED enum hr_status hr_term_begin(const struct hr_leader *leader, struct hr_term_begin how,
                                        uint64_t *again);

/* --- where ranks are on several machines (losses_apart.h): the same in steps --- */

/* Seats, and the group of who has them, on this machine. HR_E_LOST. */
HR_CHECKED enum hr_status hr_term_take_seats(const struct hr_train_job *job);
/* All have what ranks had stored. *index: of the batch with which all go on. Its state is in the
 * snapshot of the machine where worker hr_term_source lives. leads: counters are put in order, too;
 * machines: those that
 * were lost in the term before, a set. Returns samples that will be computed once more. */
uint64_t hr_term_settle(const struct hr_leader *leader, bool leads, uint64_t machines,
                        uint64_t *index);
/* The first worker that lives and is at that batch; workers: nobody has begun it. */
size_t hr_term_source(const struct hr_shared_state *shared, uint64_t index);
/* What ranks share begins there. */
void hr_term_begin_at(const struct hr_leader *leader, uint64_t index);

#endif
