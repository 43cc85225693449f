/* elastic_pause.h - elastic averaging (elastic_averaging.c): what its pause has to know of it.
 *
 * Threads: a worker's, and in a pause whoever plays them all.
 */
#ifndef HR_STRATEGIES_ELASTIC_PAUSE_H
#define HR_STRATEGIES_ELASTIC_PAUSE_H

#include "strategy/pause.h"

struct hr_elastic_setup {
    double rate; /* alpha */
};

/* The exchange: x (count) of a worker and c (count) draw together, which are the shard's slice. */
void hr_elastic_draw_together(const struct hr_shard *shard, float *x, float *c);

static inline float hr_elastic_rate(const struct hr_shared_state *shared)
{
    return (float)((const struct hr_elastic_setup *)shared->setup)->rate;
}

/* A worker's own: batches [next, end) that it was handed and has not begun. */
struct hr_elastic_range {
    uint64_t next, end;
    uint64_t steps;  /* made since its last exchange */
    int64_t took_ns; /* to compute their gradients */
};

/* strategy->pause */
bool hr_elastic_pause(const struct hr_standing *at, struct hr_pause *to);

#endif
