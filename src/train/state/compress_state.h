/* compress_state.h - errors of --compress in checkpoints: "worker.3.compress", one row of numbers a
 * worker (strategy/compression.h says which).
 *
 * Threads: before the ranks start, or the launcher's.
 */
#ifndef HR_STATE_COMPRESS_STATE_H
#define HR_STATE_COMPRESS_STATE_H

#include "state/parts.h"

size_t hr_compress_state_tensors(const struct hr_run *run);
size_t hr_compress_state_bytes(const struct hr_run *run);
void hr_compress_state_put(const struct hr_run *run, struct hr_tensor_file *trainer);

/* Public copies are the replicas, all of which are known: where none were saved. */
void hr_compress_state_begin(const struct hr_run *run);
/* Take them up where workers, strategy and compressor are as saved; else say that they begin at 0,
 * where there were any. HR_E_FORMAT. */
HR_CHECKED enum hr_status hr_compress_state_load(struct hr_run *run,
                                                 const struct hr_checkpoint *checkpoint);

#endif
