#include "session/best_weights.h"

#include <string.h>

float *hr_best_weights_next(const struct hr_best_weights *best)
{
    return best->place[(hr_atom64_load_relaxed(best->kept) + 1) % 2]; /* our own word, at a cut */
}

void hr_best_weights_done(const struct hr_best_weights *best)
{
    /* Our own word; partner: last. */
    hr_atom64_store_release(best->kept, hr_atom64_load_relaxed(best->kept) + 1);
}

void hr_best_weights_keep(const struct hr_best_weights *best, const float *weights)
{
    if (!best->kept)
        return;
    memcpy(hr_best_weights_next(best), weights, best->params * sizeof *weights);
    hr_best_weights_done(best);
}

float *hr_best_weights_last(const struct hr_best_weights *best)
{
    const uint64_t kept = best->kept ? hr_atom64_load_acquire(best->kept) : 0; /* partner: keep */
    return kept ? best->place[kept % 2] : NULL;
}
