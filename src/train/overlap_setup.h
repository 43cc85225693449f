/* overlap_setup.h - what is said of gradients that leave their workers in pieces (--overlap on).
 *
 * Threads: of the launcher, before ranks run.
 * Test:    tests/unit/train/test_parts_of_pushes.c, tests/cli/overlap.bats
 */
#ifndef HR_TRAIN_OVERLAP_SETUP_H
#define HR_TRAIN_OVERLAP_SETUP_H

#include "train/run.h"

/* For people: in how many parts a push leaves; "": nothing is pushed, or it is off. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_overlap_text(const struct hr_run *run, char *text, size_t size);

#endif
