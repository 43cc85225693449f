/* kept.h - what a checkpoint keeps of the run beside its state: the options, spelled as on a
 * command line, and the kernels. A resumed run is told where its own differ.
 *
 * Threads: before the ranks start, or the launcher's.
 */
#ifndef HR_SESSION_KEPT_H
#define HR_SESSION_KEPT_H

#include "base/error.h"
#include "hogring/checkpoint.h"
#include "hogring/train.h"

#define HR_KEPT_OPTION "option."
#define HR_KEPT_MACHINE "machine."

/* Most entries of metadata that they take. */
size_t hr_kept_entries(void);
void hr_kept_put(const struct hr_train_options *options, const struct hr_dataset *dataset,
                 struct hr_tensor_file *file);

/* Does the checkpoint say that the run had this value of an option? NULL: it does not. */
bool hr_kept_is(const struct hr_checkpoint *checkpoint, const char *option, const char *value);

/* Warn when this machine's kernels give other bits than the checkpoint's; HR_E_USAGE when the run
 * promises bits (--reduce repro).
 *   bf16    of a model of bfloat16 values (machine_bits.h)
 *   direct  of one whose convolutions are all direct (madds.h) */
struct hr_kept_run {
    bool bf16, direct, promised;
};
HR_CHECKED enum hr_status hr_kept_check(const struct hr_checkpoint *checkpoint,
                                        struct hr_kept_run run);

#endif
