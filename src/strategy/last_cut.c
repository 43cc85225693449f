#include "strategy/last_cut.h"

#include <string.h>

#include "strategy/compression.h"
#include "strategy/shared.h"

static void copy_floats(float *to, const float *from, size_t n)
{
    if (to && from)
        memcpy(to, from, n * sizeof *to);
}

static void copy(const struct hr_shared_state *shared, const struct hr_snapshot *to,
                 const struct hr_snapshot *from)
{
    const size_t copies = shared->snapshot.state_copies, workers = shared->workers;
    copy_floats(to->weights, from->weights, shared->params);
    copy_floats(to->state, from->state, hr_state_floats(shared) * copies);
    memcpy(to->applied, from->applied, copies * sizeof *to->applied);
    copy_floats(to->replicas, from->replicas, workers * shared->params);
    copy_floats(to->errors, from->errors, workers * hr_compression_state_floats(shared));
    *to->apart = *from->apart;
    if (to->since && from->since)
        memcpy(to->since, from->since, workers * sizeof *to->since);
}

void hr_last_cut_keep(const struct hr_shared_state *shared)
{
    copy(shared, &shared->last_cut->snapshot, &shared->snapshot);
}

void hr_last_cut_restore(const struct hr_shared_state *shared)
{
    copy(shared, &shared->snapshot, &shared->last_cut->snapshot);
}
