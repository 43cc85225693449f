/* prune.h - old checkpoints go, and some stay.
 *
 * Threads: one a folder.      Test: tests/unit/checkpoint/test_steps.c, tests/cli/early_stop.bats
 */
#ifndef HR_CHECKPOINT_PRUNE_H
#define HR_CHECKPOINT_PRUNE_H

#include <stddef.h>
#include <stdint.h>

/* Remove all steps but the newest `keep` (0: keep all); `saved` always stays, and so does the one
 * that dir/best points at, which is not counted. Neither is what is no checkpoint, or holds other
 * files, too (hr_steps_check_ours): that stays, with a warning. Failure is only a warning. */
void hr_steps_prune(const char *dir, uint64_t saved, size_t keep);

#endif
