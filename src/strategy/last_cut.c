#include "strategy/last_cut.h"

#include <string.h>

#include "strategy/shared.h"

static void copy(const struct hr_shared_state *shared, const struct hr_snapshot *to,
                 const struct hr_snapshot *from)
{
    const size_t copies = shared->snapshot.state_copies;
    memcpy(to->weights, from->weights, shared->params * sizeof *to->weights);
    memcpy(to->state, from->state, hr_state_floats(shared) * copies * sizeof *to->state);
    memcpy(to->applied, from->applied, copies * sizeof *to->applied);
    if (to->since && from->since)
        memcpy(to->since, from->since, shared->workers * sizeof *to->since);
    if (to->replicas && from->replicas)
        memcpy(to->replicas, from->replicas,
               shared->workers * shared->params * sizeof *to->replicas);
}

void hr_last_cut_keep(const struct hr_shared_state *shared)
{
    struct hr_last_cut *kept = shared->last_cut;
    if (!kept)
        return;
    hr_atom32_store_release(&kept->whole, 0); /* both partners: restore, if the leader dies here */
    copy(shared, &kept->snapshot, &shared->snapshot);
    hr_atom32_store_release(&kept->whole, 1);
}

void hr_last_cut_restore(const struct hr_shared_state *shared)
{
    const struct hr_last_cut *kept = shared->last_cut;
    if (hr_atom32_load_acquire(&kept->whole)) /* partner: keep; else the snapshot is */
        copy(shared, &shared->snapshot, &kept->snapshot);
}
