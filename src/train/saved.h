/* saved.h - how the state of a run is called and laid out in checkpoints, for save.c, which writes
 * it, and resume.c, which reads it; and past.c, which does both.
 */
#ifndef HR_TRAIN_SAVED_H
#define HR_TRAIN_SAVED_H

#include <stdio.h>

#include "hogring/checkpoint.h"
#include "strategy/shared.h"
#include "train/run.h"

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
    const struct hr_world *world = &run->world;
    return world->snapshot.state + copy * hr_state_floats(world) + array * world->params;
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
