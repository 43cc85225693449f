/* best_state.h - the weights that a run with --early-stop ends with, in its checkpoints and after.
 *
 * While it trains, a checkpoint's model has the current weights, and its trainer the best ones
 * ("best."). At its end the model has the best ones, so that eval finds them, and the trainer the
 * current ones ("last."), so that it may go on. Which evaluation was the best follows from the
 * curve, which a checkpoint has, too (session/cut.h).
 *
 * Threads: before the ranks start, or the launcher's.
 * Test:    tests/unit/train/test_early_stop.c
 */
#ifndef HR_STATE_BEST_STATE_H
#define HR_STATE_BEST_STATE_H

#include "state/parts.h"

/* (params) The weights of the model's file at the current cut. */
float *hr_best_state_model(const struct hr_run *run);
/* Append the other ones to the trainer's. */
void hr_best_state_put(const struct hr_run *run, struct hr_tensor_file *trainer);

/* HR_E_USAGE: the checkpoint has not the best weights by this rule. */
HR_CHECKED enum hr_status hr_best_state_check(const struct hr_run *run,
                                              const struct hr_checkpoint *checkpoint);
/* The current weights into the snapshot, and the best ones into their place. */
HR_CHECKED enum hr_status hr_best_state_load(struct hr_run *run,
                                             const struct hr_checkpoint *checkpoint);

/* After the last save: the run ends with the best weights, unless it was interrupted. */
void hr_best_state_end(struct hr_run *run);

#endif
