#include "drive/terms.h"

#include <string.h>

#include "group/local_group.h"
#include "server/staleness.h"
#include "strategy/counted.h"
#include "strategy/last_cut.h"
#include "strategy/shared.h"

/* --- the state of the last cut --- */

static uint64_t roll_back(const struct hr_leader *leader)
{
    const struct hr_shared_state *shared = leader->job->shared;
    hr_last_cut_restore(shared);
    hr_fates_roll_back(shared->fates);
    if (leader->cuts.cut->begins == shared->schedule.first)
        hr_begin_with(shared);
    return leader->cuts.cut->begins;
}

/* --- counters --- */

/* Gradients of batches from `index` on will be computed once more. */
static uint64_t take_back_from(struct hr_shared_state *shared, uint64_t index)
{
    uint64_t samples = 0;
    for (size_t w = 0; w < shared->workers; w++) {
        struct hr_worker_stats *stats = &shared->stats[w];
        hr_stats_mend(stats);
        if (stats->last.any && stats->last.index >= index)
            samples += hr_stats_take_back(stats);
    }
    return samples;
}

static uint64_t take_back_span(struct hr_shared_state *shared)
{
    uint64_t samples = 0;
    for (size_t w = 0; w < shared->workers; w++)
        samples += hr_stats_roll_back(&shared->stats[w]);
    hr_staleness_restore(shared);
    return samples;
}

/* --- what ranks share --- */

static void begin_dispenser(const struct hr_leader *leader, uint64_t index)
{
    struct hr_dispenser *dispenser = leader->job->shared->dispenser;
    hr_atom64_store_release(&dispenser->stop_at, UINT64_MAX); /* a request is agreed upon anew */
    hr_atom64_store_release(&dispenser->begins, index);
    if (leader->job->shared->strategy->synchronous)
        return;
    hr_atom64_store_release(&dispenser->next, index);
    hr_atom64_store_release(&dispenser->cut,
                            hr_batch_schedule_next_cut(&leader->job->shared->schedule, index));
}

/* As a run begins from a checkpoint. */
static void begin_anew(const struct hr_leader *leader, uint64_t index)
{
    struct hr_shared_state *shared = leader->job->shared;
    shared->seats->index = index;
    if (shared->strategy->bytes)
        memset(shared->own, 0, shared->strategy->bytes(shared));
    if (shared->strategy->init)
        shared->strategy->init(shared);
    begin_dispenser(leader, index);
}

static size_t take_seats(const struct hr_train_job *job)
{
    const struct hr_shared_state *shared = job->shared;
    struct hr_seats *seats = shared->seats;
    size_t n = 0;
    for (size_t w = 0; w < shared->workers; w++)
        if (!hr_roster_is_gone(shared->control, w))
            seats->rank[n++] = (uint16_t)w;
    while (job->micro_shards && n & (n - 1)) /* each has a whole subtree of the sum */
        n--;
    seats->n = n;
    return n;
}

static enum hr_status begin_group(const struct hr_train_job *job)
{
    const struct hr_group_options options = hr_group_of_seats(job->shared);
    size_t bytes;
    if (job->local)
        return hr_local_group_begin(job->local, job->shared->seats->n);
    HR_TRY(hr_group_bytes(&job->shared->group_options, &bytes));
    memset(job->shared->group, 0, bytes);
    return hr_group_init(job->shared->group, &options);
}

enum hr_status hr_term_begin(const struct hr_leader *leader, struct hr_term_begin how,
                             uint64_t *again)
{
    const struct hr_train_job *job = leader->job;
    struct hr_shared_state *shared = job->shared;
    *again = 0;
    if (take_seats(job) == 0)
        return hr_fail(HR_E_LOST, "no worker is left");
    if (!how.recalled)
        return HR_OK;
    const uint64_t index = how.rolled ? roll_back(leader) : shared->strategy->settle(shared);
    *again = how.rolled ? take_back_span(shared) : take_back_from(shared, index);
    begin_anew(leader, index);
    return begin_group(job);
}

/* --- on several machines --- */

enum hr_status hr_term_take_seats(const struct hr_train_job *job)
{
    if (take_seats(job) == 0)
        return hr_fail(HR_E_LOST, "no worker is left");
    return begin_group(job);
}

size_t hr_term_source(const struct hr_shared_state *shared, uint64_t index)
{
    size_t worker = 0;
    while (worker < shared->workers &&
           (hr_roster_is_gone(shared->control, worker) ||
            hr_atom64_load_acquire(&shared->stats[worker].done) != index)) /* partner: says */
        worker++;
    return worker;
}

/* Of workers that were lost with their machine. What machine 0 has of them is as they were at the
 * last cut, or where this term began. */
static void restore_counters(const struct hr_leader *leader, uint64_t machines, uint64_t index)
{
    const struct hr_shared_state *shared = leader->job->shared;
    if (index <= leader->cuts.cut->begins || index <= shared->seats->index)
        return;
    for (size_t w = 0; w < shared->workers; w++) {
        if (!(machines >> shared->homes.machine[w] & 1))
            continue;
        const bool said = hr_counted_restore(shared, w, index - 1);
        HR_ASSERT(said); /* else nobody could be behind that batch */
    }
}

uint64_t hr_term_settle(const struct hr_leader *leader, bool leads, uint64_t machines,
                        uint64_t *index)
{
    struct hr_shared_state *shared = leader->job->shared;
    *index = shared->strategy->settle(shared);
    if (!leads)
        return 0;
    restore_counters(leader, machines, *index);
    return take_back_from(shared, *index);
}

void hr_term_begin_at(const struct hr_leader *leader, uint64_t index)
{
    begin_anew(leader, index);
}
