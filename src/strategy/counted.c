#include "strategy/counted.h"

#include <string.h>

void hr_counted_say(const struct hr_shared_state *shared, size_t worker, uint64_t index)
{
    if (!shared->counted)
        return;
    struct hr_atom64 *said = shared->counted[worker].said[index % HR_COUNTED_BATCHES];
    const struct hr_worker_stats *stats = &shared->stats[worker];
    uint64_t loss;
    memcpy(&loss, &stats->epoch_loss, sizeof loss);
    hr_atom64_store_relaxed(&said[1], stats->steps);
    hr_atom64_store_relaxed(&said[2], stats->samples);
    hr_atom64_store_relaxed(&said[3], stats->epoch_samples);
    hr_atom64_store_relaxed(&said[4], loss);
    hr_atom64_store_release(&said[0], index + 1); /* partner: the carrier, which reads it first */
}

bool hr_counted_restore(const struct hr_shared_state *shared, size_t worker, uint64_t index)
{
    const struct hr_atom64 *said = shared->counted[worker].said[index % HR_COUNTED_BATCHES];
    struct hr_gradient_counters then;
    if (hr_atom64_load_acquire(&said[0]) != index + 1) /* partner: the carrier */
        return false;
    const uint64_t loss = hr_atom64_load_relaxed(&said[4]);
    then.steps = hr_atom64_load_relaxed(&said[1]);
    then.samples = hr_atom64_load_relaxed(&said[2]);
    then.epoch_samples = hr_atom64_load_relaxed(&said[3]);
    memcpy(&then.epoch_loss, &loss, sizeof loss);
    hr_stats_go_back(&shared->stats[worker], &then);
    return true;
}
