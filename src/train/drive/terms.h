/* terms.h - a new term: what the launcher puts in order while all who live rest.
 *
 *   always    seats: the workers that live; under --reduce repro the largest power of two of them
 *   recalled  a loss has ended the term before: all go back to the last cut. Snapshot and counters
 *             become what they were there, and what ranks share is initialised from them, as it is
 *             when a run is resumed from a checkpoint. So recovery is a resume in memory, with the
 *             workers that are left, or were started again.
 *   else      owners have taken the loss as an input (strategy->losses_are_inputs): nothing else
 *             changes
 *
 * Threads: the launcher's, alone.
 * Test:    tests/unit/train/test_losses.c, tests/unit/play/test_explored_losses.c
 */
#ifndef HR_DRIVE_TERMS_H
#define HR_DRIVE_TERMS_H

#include "drive/cut_counts.h"

/* Put in order what ranks share. *again: samples that will be computed once more. HR_E_LOST: there
 * is no worker left. */
HR_CHECKED enum hr_status hr_term_begin(const struct hr_leader *leader, bool recalled,
                                        uint64_t *again);

/* --- where ranks are on several machines (losses_apart.h): a recall in steps --- */

/* Machine 0: snapshot and counters are those of the last cut. Returns samples that will be computed
 * once more. */
uint64_t hr_term_go_back(const struct hr_leader *leader);
/* All machines have them: seats, and what ranks here share, begin there. HR_E_LOST. */
HR_CHECKED enum hr_status hr_term_begin_at_cut(const struct hr_leader *leader);

#endif
