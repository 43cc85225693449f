/* saved.h - how the state of a run is called and laid out in checkpoints, for save.c, which writes
 * it, and resume.c, which reads it.
 */
#ifndef HR_TRAIN_SAVED_H
#define HR_TRAIN_SAVED_H

#include <stdio.h>

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

#endif
