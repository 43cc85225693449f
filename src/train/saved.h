/* saved.h - the state of a run in checkpoints: save.c writes it, resume.c reads it, past.c does
 * both for what was trained before; and how things are called there.
 */
#ifndef HR_TRAIN_SAVED_H
#define HR_TRAIN_SAVED_H

#include <stdio.h>

#include "hogring/checkpoint.h"
#include "strategy/shared.h"
#include "train/run.h"

/* --- save.c, resume.c */
/* Bytes that a checkpoint of this run takes. */
size_t hr_save_bytes(const struct hr_run *run);
/* Claim options->checkpoint_dir, where there is one, for the run that begins or goes on from
 * `checkpoint`; see that there is room. hr_claim_drop(&run->claim) gives it back. */
HR_CHECKED enum hr_status hr_save_prepare(struct hr_run *run,
                                          const struct hr_checkpoint *checkpoint);
/* Save the snapshot to options->checkpoint_dir; result->checkpoint says where. */
HR_CHECKED enum hr_status hr_save(struct hr_run *run);
/* Load options->resume, before the segment exists: where to go on. Then, when it does,
 * the state. */
HR_CHECKED enum hr_status hr_resume_position(struct hr_run *run,
                                             const struct hr_checkpoint *checkpoint);
HR_CHECKED enum hr_status hr_resume_state(struct hr_run *run,
                                          const struct hr_checkpoint *checkpoint);

/* The scaling that a checkpoint's model was trained with, of no channels when there was none; free
 * with hr_scaling_free. HR_E_FORMAT when it is not for `channels`. */
HR_CHECKED enum hr_status hr_load_scaling(const struct hr_checkpoint *checkpoint, size_t channels,
                                          struct hr_scaling *out);

/* Copy the tensor of that name into its place in params; HR_E_FORMAT when it is missing
 * or unlike. */
HR_CHECKED enum hr_status hr_load_tensor(const struct hr_checkpoint *checkpoint,
                                         const struct hr_tensor_file *file,
                                         const struct hr_tensor_info *info, const char *name,
                                         float *params);

/* --- kept.c: options and kernels, beside the state */
#define HR_KEPT_OPTION "option."
#define HR_KEPT_MACHINE "machine."
/* Entries of metadata that they take at most. */
size_t hr_kept_entries(void);
void hr_kept_put(const struct hr_run *run, struct hr_tensor_file *file);
/* Do the kernels at hand give the bits of those that the checkpoint was trained with? If not, a
 * warning; HR_E_USAGE where bits are promised (--reduce repro). */
HR_CHECKED enum hr_status hr_kept_check(const struct hr_run *run,
                                        const struct hr_checkpoint *checkpoint);

/* --- between them */
/* Tensors of --normalize: mean and deviation. */
enum { HR_SAVED_SCALING = 2 };

/* "" where the state is one; "worker.3." where each worker has its own. */
static inline void hr_saved_prefix(char *prefix, size_t size, size_t copies, size_t copy)
{
    prefix[0] = '\0';
    if (copies > 1)
        snprintf(prefix, size, "worker.%zu.", copy);
}

/* Array `array` of state copy `copy`. */
static inline float *hr_saved_array(const struct hr_run *run, size_t copy, size_t array)
{
    const struct hr_shared_state *shared = &run->shared;
    return shared->snapshot.state + copy * hr_state_floats(shared) + array * shared->params;
}

/* --- past.c: what was trained before, as tensors of a checkpoint, and back */
enum { HR_PAST_TENSORS = 2, HR_PAST_POINT = 6 };
/* Doubles that the curve takes at the cut in hand. */
size_t hr_past_numbers(const struct hr_run *run);
/* Add the tensors to a trainer file; `curve` has room for those doubles, and lives as long. */
void hr_past_put(const struct hr_run *run, double *curve, struct hr_tensor_file *file);
/* Before the segment exists: run->past. Then: the curve, and the epoch in hand. */
HR_CHECKED enum hr_status hr_past_take(struct hr_run *run, const struct hr_checkpoint *checkpoint);
HR_CHECKED enum hr_status hr_past_restore(struct hr_run *run,
                                          const struct hr_checkpoint *checkpoint);

/* The whole number behind a key of the trainer's metadata; HR_E_FORMAT when it is missing
 * or none. */
HR_CHECKED enum hr_status hr_saved_count(const struct hr_checkpoint *checkpoint, const char *key,
                                         uint64_t *out);
/* The number behind a key that a checkpoint may have; else 0. */
double hr_saved_number(const struct hr_checkpoint *checkpoint, const char *key);

#endif
