/* How long a loss kept updates up. */
#include "base/clock.h"
#include "drive/losses.h"

double hr_losses_pause_s(const struct hr_losses *losses, size_t i)
{
    const struct hr_resumption *it = &losses->resumptions->loss[i];
    const uint64_t resumed = hr_atom64_load_acquire(&it->resumed_ns); /* partner: resumed */
    return resumed ? hr_seconds((int64_t)(resumed - hr_atom64_load_relaxed(&it->lost_ns))) : -1;
}

void hr_losses_resumed(const struct hr_losses *losses, uint32_t *seen, int64_t offered_ns)
{
    struct hr_resumptions *resumptions = losses->resumptions;
    const uint32_t n = hr_atom32_load_acquire(&resumptions->n); /* partner: note */
    for (uint32_t i = *seen; i < n; i++) {
        struct hr_resumption *it = &resumptions->loss[i];
        if (offered_ns < (int64_t)hr_atom64_load_relaxed(&it->lost_ns))
            return; /* later losses are later still */
        hr_atom64_replace_acq_rel(&it->resumed_ns, 0, (uint64_t)losses->now_ns(losses->clock));
        *seen = i + 1;
    }
}
