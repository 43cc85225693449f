#include "strategy/pushes.h"

uint64_t hr_pushes_of_others(const struct hr_pushes *lines, const struct hr_worker *worker)
{
    uint64_t sum = 0;
    for (size_t w = 0; w < worker->world->workers; w++)
        if (w != worker->rank)
            sum += hr_atom64_load_relaxed(&lines[w].count);
    return sum;
}

uint64_t hr_pushes_skew(const struct hr_pushes *lines, const struct hr_worker *worker)
{
    const uint64_t mine = hr_atom64_load_relaxed(&lines[worker->rank].clock);
    uint64_t slowest = mine;
    for (size_t w = 0; w < worker->world->workers; w++) {
        const uint64_t clock = hr_atom64_load_relaxed(&lines[w].clock);
        slowest = clock < slowest ? clock : slowest;
    }
    return mine - slowest;
}

void hr_pushes_add(struct hr_pushes *lines, struct hr_worker *worker)
{
    struct hr_pushes *mine = &lines[worker->rank];
    /* Partners: the two above; counts only. */
    hr_atom64_store_release(&mine->count, hr_atom64_load_relaxed(&mine->count) + 1);
    hr_atom64_store_relaxed(&mine->clock, hr_atom64_load_relaxed(&mine->clock) + 1);
    worker->stats->updates++;
    worker->stats->bytes_sent += worker->world->params * sizeof(float);
}
