/* held_out.h - a data set whose training split is parted in two: one is trained on, and the other,
 * the validation split, takes the place of the test split.
 *
 * So whoever measures while it trains measures the validation split, and cannot reach the test set.
 * The samples are drawn by (seed, number of samples) alone: by no strategy, nor number of workers.
 *
 * Memory:  the view borrows all rows, and owns two lists of their numbers.
 * Threads: read-only once it is open.
 * Test:    tests/unit/data/test_held_out.c
 */
#ifndef HR_DATA_HELD_OUT_H
#define HR_DATA_HELD_OUT_H

#include "base/error.h"
#include "hogring/data.h"

struct hr_held_out {
    struct hr_dataset dataset; /* train: what is left; test: the validation split */
    uint32_t *chosen;          /* (samples of both) owned: validation first */
};

/* Hold out round(fraction * samples) samples of the training split, at least 1 and not all.
 * 0 < fraction < 1. Close it even on error. HR_E_USAGE: fewer than two samples; HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_held_out_open(const struct hr_dataset *dataset, double fraction,
                                           uint64_t seed, struct hr_held_out *out);
/* Harmless on a zeroed struct. */
void hr_held_out_close(struct hr_held_out *held_out);

#endif
