#include "strategy/settle.h"

#include "base/size.h"
#include "shm/control.h"

size_t hr_term_record_bytes(const struct hr_shared_state *shared)
{
    const size_t bytes = sizeof(struct hr_term_record) +
                         shared->workers * sizeof *((struct hr_term_record *)0)->seat;
    return shared->outlives ? hr_round_up(bytes, HR_LINE) : 0;
}

static uint64_t updates_counted(const struct hr_shared_state *shared)
{
    uint64_t sum = 0;
    for (size_t w = 0; w < shared->workers; w++)
        sum += shared->stats[w].updates;
    return sum;
}

void hr_term_record_begin(const struct hr_shared_state *shared, struct hr_term_record *record)
{
    const struct hr_seats *seats = shared->seats;
    record->applied = shared->snapshot.applied[0];
    record->updates = updates_counted(shared);
    record->n = seats->n;
    for (size_t s = 0; s < seats->n; s++)
        record->seat[s] = (struct hr_term_seat){
            .worker = seats->rank[s],
            .lost = hr_roster_lost(shared->control, seats->rank[s]),
        };
    for (size_t w = 0; w < shared->workers; w++)
        hr_atom64_store_release(&shared->stats[w].done, 0); /* partner: hr_term_done */
}

bool hr_term_lives(const struct hr_shared_state *shared, const struct hr_term_record *record,
                   size_t seat)
{
    const struct hr_term_seat *it = &record->seat[seat];
    return hr_roster_lost(shared->control, it->worker) == it->lost;
}

uint64_t hr_term_done(const struct hr_shared_state *shared, const struct hr_term_record *record,
                      size_t seat)
{
    /* Partner: hr_worker_is_at. 0: the worker has not begun. */
    const uint64_t done = hr_atom64_load_acquire(&shared->stats[record->seat[seat].worker].done);
    return done > shared->seats->index ? done : shared->seats->index;
}

/* The worker of the first seat counts updates, one a step; it may have counted one that is taken
 * back, or not yet one that others have finished. */
void hr_term_settled(const struct hr_shared_state *shared, const struct hr_term_record *record,
                     uint64_t index)
{
    const uint64_t made = index - shared->seats->index;
    if (!shared->strategy->private_state)
        shared->snapshot.applied[0] = record->applied + made;
    shared->stats[record->seat[0].worker].updates +=
        record->updates + made - updates_counted(shared);
}

void hr_worker_says(const struct hr_worker *worker, uint64_t index)
{
    if (!worker->shared->outlives)
        return;
    hr_atom64_store_release(&worker->stats->done, index); /* partner: hr_term_done */
    hr_fence_of_death();
}

bool hr_worker_is_recalled(const struct hr_worker *worker)
{
    return worker->shared->outlives && worker->waiter && hr_wait_is_recalled(worker->waiter);
}

enum hr_status hr_worker_is_at(const struct hr_worker *worker, uint64_t index)
{
    hr_worker_says(worker, index);
    return hr_worker_is_recalled(worker) ? hr_fail(HR_E_RECALLED, "recalled") : HR_OK;
}
