/* How far a term of allreduce has come when all rest, and its state: allreduce.c, "Losses". */
#include "strategies/allreduce_losses.h"

#include <string.h>

/* The seat of a worker that nobody is ahead of. */
static size_t farthest(const struct hr_shared_state *shared, const struct hr_term_record *record)
{
    size_t seat = 0;
    for (size_t s = 1; s < record->n; s++)
        if (hr_term_done(shared, record, s) > hr_term_done(shared, record, seat))
            seat = s;
    return seat;
}

static bool all_have_kept(const struct hr_term_record *record, const struct hr_before_image *image,
                          uint64_t index)
{
    for (size_t s = 0; s < record->n; s++)
        if (!hr_before_image_has(image, s, index))
            return false;
    return true;
}

static void take_replica(const struct hr_shared_state *shared, size_t worker, const float *one)
{
    const float *state = one ? one : hr_state_of(shared, worker);
    memcpy(shared->snapshot.weights, shared->weights[worker], shared->params * sizeof(float));
    hr_export_state(shared, state, 0, shared->params);
}

/* On several machines: of those who live. */
static uint64_t settle_apart(struct hr_shared_state *shared, const struct hr_term_record *record)
{
    size_t first = record->n;
    uint64_t index = shared->seats->index;
    for (size_t s = 0; s < record->n; s++) {
        if (!hr_term_lives(shared, record, s) || hr_term_done(shared, record, s) <= index)
            continue;
        index = hr_term_done(shared, record, s);
        first = s;
    }
    if (first < record->n && hr_homes_here(&shared->homes, record->seat[first].worker))
        take_replica(shared, record->seat[first].worker, NULL);
    hr_term_settled(shared, record, index);
    return index;
}

uint64_t hr_allreduce_settle(struct hr_shared_state *shared, const struct hr_term_record *record,
                             const struct hr_before_image *image, const float *one)
{
    if (hr_shared_is_apart(shared))
        return settle_apart(shared, record);
    const size_t first = farthest(shared, record);
    const uint64_t index = hr_term_done(shared, record, first);
    if (index == shared->seats->index)
        ; /* the snapshot is that state */
    else if (all_have_kept(record, image, index))
        hr_before_image_restore(image, (struct hr_range){0, shared->params});
    else
        take_replica(shared, record->seat[first].worker, one);
    hr_term_settled(shared, record, index);
    return index;
}
