/* step_digests.h - --digest-every: of each save the digests of its tensors are kept, and no file is
 * written. What a save copies is what all ranks hold at a cut, or between two events, and a save is
 * a pure read: so the digests change no bit, and where two runs part they say in what first.
 *
 *     "0.weight"                   weights, and what else the model's file has
 *     "0.weight.momentum_buffer"   the optimizer's
 *     "worker.3.0.weight"          where each worker has its own
 *     "worker.3.loss"              samples and losses of worker 3 in this epoch: a row of the table
 *
 * Threads: the launcher's, and the thread that writes for it.
 * Test:    tests/cli/digests.bats
 */
#ifndef HR_SESSION_STEP_DIGESTS_H
#define HR_SESSION_STEP_DIGESTS_H

#include "base/error.h"
#include "hogring/checkpoint.h"
#include "hogring/run_result.h"

/* Digests one behind the other, by step. */
struct hr_step_digests {
    struct hr_step_digest *list; /* (n, room) owned: free() it */
    size_t n, room;
};

enum { HR_STEP_DIGESTS_MAX = 1 << 18 };

/* HR_E_USAGE: so many steps with so many tensors each are too many to keep. */
HR_CHECKED enum hr_status hr_step_digests_check(uint64_t every, uint64_t steps, size_t tensors);

/* Those of the first `ntensors` tensors of a file; of the table named `losses` (NULL: of none) a
 * digest a row. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_step_digests_add(struct hr_step_digests *digests, uint64_t step,
                                              const struct hr_tensor_file *file, size_t ntensors,
                                              const char *losses);

#endif
