/* pause_state.h - what only the checkpoint of a pause has (strategy/pause.h): batches in hand, and
 * elastic-averaging's replicas.
 *
 *     "in_hand"                (hands, 2) the first sample's number since training began, samples
 *     "worker.3.<name>"        a replica's weights
 *     "steps_since_exchange"   (workers) of each replica
 *
 * Threads: before the ranks start, or the launcher's.
 * Test:    tests/unit/play/test_pause.c
 */
#ifndef HR_STATE_PAUSE_STATE_H
#define HR_STATE_PAUSE_STATE_H

#include "state/parts.h"

enum { HR_PAUSE_TENSORS = 2 };

/* What is to be saved now: the copy of a pause, or the snapshot. */
const struct hr_snapshot *hr_saved_snapshot(const struct hr_run *run);
/* Append to the trainer's file. */
void hr_pause_state_put(const struct hr_run *run, struct hr_tensor_file *trainer);
/* Bytes of its tables, and of the one of tied replicas (state.c). */
size_t hr_pause_state_bytes(const struct hr_run *run);

/* Behind hr_resume_position: which batches this run begins with. HR_E_USAGE: batches in hand are
 * none of this run's. */
HR_CHECKED enum hr_status hr_pause_state_position(struct hr_run *run,
                                                  const struct hr_checkpoint *checkpoint);

#endif
