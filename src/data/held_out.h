/* held_out.h - a data set in which a validation split takes the place of the test split: a part of
 * the training split, which is then not trained on, or the samples of a file (--validation FILE).
 *
 * So whoever measures while it trains measures the validation split, and cannot reach the test set.
 * A part is drawn by (seed, number of samples) alone: by no strategy, nor number of workers.
 *
 * Memory:  the view borrows all rows, and owns two lists of their numbers.
 * Threads: read-only once it is open.
 * Test:    tests/unit/data/test_held_out.c
 */
#ifndef HR_DATA_HELD_OUT_H
#define HR_DATA_HELD_OUT_H

#include <stdbool.h>

#include "base/error.h"
#include "data/table.h"
#include "hogring/data.h"

struct hr_held_out {
    struct hr_dataset dataset; /* train: what is left; test: the validation split */
    uint32_t *chosen;          /* (samples of both) owned: validation first; NULL: of a file */
    struct hr_table parts[2];  /* owned, where they were gathered: train, validation */
};

/* Does anything validate? */
static inline bool hr_held_out_asked(const struct hr_dataset *dataset, double fraction)
{
    return fraction > 0 || dataset->validation.count;
}

/* Hold out round(fraction * samples) samples of the training split, at least 1 and not all.
 * 0 <= fraction < 1; 0: the data set's validation split is taken, which it has. Close it even on
 * error. HR_E_USAGE: fewer than two samples, or it has both; HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_held_out_open(const struct hr_dataset *dataset, double fraction,
                                           uint64_t seed, struct hr_held_out *out);
/* Take both parts in the order of their rows, for data that are read as they lie. */
void hr_held_out_sort(struct hr_held_out *held_out);
/* Copy both parts of a sparse data set into arrays of their own, for readers of all rows. Nothing
 * where they are that already. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_held_out_gather(struct hr_held_out *held_out);
/* Harmless on a zeroed struct. */
void hr_held_out_close(struct hr_held_out *held_out);

#endif
