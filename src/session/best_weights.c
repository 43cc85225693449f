#include "session/best_weights.h"

#include <string.h>

void hr_best_weights_keep(const struct hr_best_weights *best, const float *weights)
{
    if (!best->kept)
        return;
    const uint64_t next = hr_atom64_load_relaxed(best->kept) + 1; /* our own word, at a cut */
    memcpy(best->place[next % 2], weights, best->params * sizeof *weights);
    hr_atom64_store_release(best->kept, next); /* partner: last */
}

float *hr_best_weights_last(const struct hr_best_weights *best)
{
    const uint64_t kept = best->kept ? hr_atom64_load_acquire(best->kept) : 0; /* partner: keep */
    return kept ? best->place[kept % 2] : NULL;
}
