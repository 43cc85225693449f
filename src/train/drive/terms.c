#include "drive/terms.h"

#include <string.h>

#include "group/local_group.h"
#include "server/staleness.h"
#include "strategy/rows.h"
#include "strategy/shared.h"

uint64_t hr_term_go_back(const struct hr_leader *leader)
{
    struct hr_shared_state *shared = leader->job->shared;
    uint64_t samples = 0;
    hr_last_cut_restore(shared);
    hr_fates_roll_back(shared->fates);
    if (leader->cuts.cut->begins == shared->schedule.first)
        hr_begin_with(shared);
    for (size_t w = 0; w < shared->workers; w++) {
        hr_stats_mend(&shared->stats[w]); /* it may have died while it counted */
        samples += hr_stats_roll_back(&shared->stats[w]);
    }
    return samples;
}

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

/* As a run begins from a checkpoint. */
enum hr_status hr_term_begin_at_cut(const struct hr_leader *leader)
{
    struct hr_shared_state *shared = leader->job->shared;
    const uint64_t index = leader->cuts.cut->begins;
    if (take_seats(leader->job) == 0)
        return hr_fail(HR_E_LOST, "no worker is left");
    shared->seats->index = index;
    if (shared->strategy->bytes)
        memset(shared->own, 0, shared->strategy->bytes(shared));
    hr_strategy_init(shared);
    hr_staleness_restore(shared);
    begin_dispenser(leader, index);
    return begin_group(leader->job);
}

enum hr_status hr_term_begin(const struct hr_leader *leader, bool recalled, uint64_t *again)
{
    *again = 0;
    if (take_seats(leader->job) == 0)
        return hr_fail(HR_E_LOST, "no worker is left");
    if (!recalled)
        return HR_OK;
    *again = hr_term_go_back(leader);
    return hr_term_begin_at_cut(leader);
}
