/* kept.h - what a checkpoint keeps of the run beside its state: options as a command line would
 * have them, and what kernels made the bits. Whoever goes on has both, or is told of the
 * difference.
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

/* Entries of metadata that they take at most. */
size_t hr_kept_entries(void);
void hr_kept_put(const struct hr_train_options *options, const struct hr_dataset *dataset,
                 struct hr_tensor_file *file);

/* Do the kernels at hand give the bits of those that the checkpoint was trained with? If not, a
 * warning; HR_E_USAGE where the run promises bits (--reduce repro). */
HR_CHECKED enum hr_status hr_kept_check(const struct hr_checkpoint *checkpoint, bool promised);

#endif
