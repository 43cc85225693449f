#include "strategies/pushes.h"

#include <string.h>

#include "base/size.h"

struct hr_push hr_push_begin(struct hr_worker *worker, uint64_t staleness)
{
    const struct hr_shared_state *shared = worker->shared;
    const struct hr_stale_updates *stale = shared->setup;
    struct hr_push push = {
        .step = hr_step_stale(shared, worker->index, worker->samples, ++worker->applied, staleness),
        .lambda = staleness ? stale->compensation : 0,
    };
    hr_step_measure(&push.step, worker->weights, worker->state, worker->grads, worker->ratio);
    return push;
}

void hr_push_update(struct hr_worker *worker, const struct hr_push *push, size_t at, size_t count,
                    const float *pulled, float *w)
{
    enum { SOME = 256 };
    const float *g = worker->grads + at;
    float carried[SOME];
    if (push->lambda <= 0) {
        hr_step_update(&push->step, at, count, w, worker->state, g);
        return;
    }
    for (size_t i = 0; i < count; i += SOME) {
        const size_t some = hr_min_size(SOME, count - i);
        const struct hr_drift drift = {pulled + i, w + i, push->lambda};
        hr_step_compensate(&push->step, at + i, some, carried, g + i, &drift);
        hr_step_update(&push->step, at + i, some, w + i, worker->state, carried);
    }
}

/* --- how many there were --- */

/* A worker's line. */
struct pushes {
    alignas(HR_LINE) struct hr_atom64 count; /* pushes completed */
    struct hr_atom64 clock;                  /* those since the last epoch's end, or AT_CUT */
    uint64_t came;                           /* clock, with which it has come to a cut */
};

static const uint64_t AT_CUT = UINT64_MAX; /* at a cut: left out of the skew */

static struct pushes *line_of(const struct hr_shared_state *shared, size_t worker)
{
    return (struct pushes *)shared->own + worker;
}

size_t hr_pushes_bytes(const struct hr_shared_state *shared)
{
    return shared->workers * sizeof(struct pushes);
}

uint64_t hr_pushes_of_others(const struct hr_worker *worker)
{
    uint64_t sum = 0;
    for (size_t w = 0; w < worker->shared->workers; w++)
        if (w != worker->rank) /* those of other machines are 0 here: they do not meet ours */
            sum += hr_atom64_load_relaxed(&line_of(worker->shared, w)->count);
    return sum;
}

static uint64_t slowest_of(const struct hr_shared_state *shared, uint64_t most)
{
    uint64_t slowest = most;
    for (size_t w = 0; w < shared->workers; w++) {
        if (!hr_homes_here(&shared->homes, w))
            continue;
        const uint64_t clock = hr_atom64_load_relaxed(&line_of(shared, w)->clock);
        slowest = clock < slowest ? clock : slowest;
    }
    return slowest;
}

uint64_t hr_pushes_skew(const struct hr_worker *worker)
{
    const uint64_t mine = hr_atom64_load_relaxed(&line_of(worker->shared, worker->rank)->clock);
    return mine - slowest_of(worker->shared, mine);
}

/* Partners: the two above; counts, which order nothing. */
void hr_pushes_add(struct hr_worker *worker)
{
    struct pushes *mine = line_of(worker->shared, worker->rank);
    hr_atom64_store_relaxed(&mine->count, hr_atom64_load_relaxed(&mine->count) + 1);
    hr_atom64_store_relaxed(&mine->clock, hr_atom64_load_relaxed(&mine->clock) + 1);
    worker->stats->updates++;
    worker->stats->bytes_sent += worker->shared->params * sizeof(float);
}

void hr_pushes_arrive(struct hr_worker *worker)
{
    struct pushes *mine = line_of(worker->shared, worker->rank);
    if (hr_atom64_load_relaxed(&mine->clock) != AT_CUT) /* it may come to a cut again */
        mine->came = hr_atom64_load_relaxed(&mine->clock);
    hr_atom64_store_relaxed(&mine->clock, AT_CUT);
}

void hr_pushes_go_on(struct hr_worker *worker)
{
    struct pushes *mine = line_of(worker->shared, worker->rank);
    hr_atom64_store_relaxed(&mine->clock, hr_cut_only_rests(worker->shared) ? mine->came : 0);
}

void hr_pushes_lose(const struct hr_shared_state *shared, size_t worker)
{
    hr_atom64_store_relaxed(&line_of(shared, worker)->clock, AT_CUT);
}

void hr_pushes_come_back(struct hr_worker *worker)
{
    const uint64_t slowest = slowest_of(worker->shared, AT_CUT);
    hr_atom64_store_relaxed(&line_of(worker->shared, worker->rank)->clock,
                            slowest == AT_CUT ? 0 : slowest);
}
