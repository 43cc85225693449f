#include "strategy/fate.h"

#include "base/size.h"
#include "strategy/shared_state.h"

size_t hr_fates_bytes(size_t workers, size_t room)
{
    return sizeof(struct hr_fates) + workers * sizeof(struct hr_fate) + room * sizeof(uint64_t);
}

void hr_fates_init(struct hr_fates *fates, size_t workers, size_t room)
{
    fates->workers = workers;
    fates->room = room;
}

struct hr_fate *hr_fate_of(struct hr_fates *fates, size_t worker)
{
    return &fates->fate[worker];
}

static uint64_t *slot(const struct hr_fates *fates, uint64_t number)
{
    return (uint64_t *)(void *)&((struct hr_fates *)fates)->fate[fates->workers] +
           number % fates->room;
}

void hr_fates_return(struct hr_fates *fates, uint64_t index)
{
    const uint64_t number = hr_atom64_load_relaxed(&fates->returned); /* our own word */
    HR_ASSERT(number - hr_atom64_load_relaxed(&fates->taken) < fates->room);
    *slot(fates, number) = index;
    hr_atom64_store_release(&fates->returned, number + 1); /* partner: hr_fates_take */
}

bool hr_fates_waiting(const struct hr_fates *fates)
{
    return hr_atom64_load_acquire(&fates->returned) != hr_atom64_load_acquire(&fates->taken);
}

bool hr_fates_take(struct hr_fates *fates, uint64_t *index)
{
    for (;;) {
        const uint64_t number = hr_atom64_load_acquire(&fates->taken);
        if (number == hr_atom64_load_acquire(&fates->returned)) /* partner: hr_fates_return */
            return false;
        *index = *slot(fates, number);
        if (hr_atom64_replace_acq_rel(&fates->taken, number, number + 1))
            return true;
    }
}

void hr_fates_leave_cut(struct hr_fates *fates)
{
    for (size_t w = 0; w < fates->workers; w++) {
        fates->fate[w].cut_batches = fates->fate[w].lost_batches;
        fates->fate[w].cut_samples = fates->fate[w].lost_samples;
    }
}

void hr_fates_roll_back(struct hr_fates *fates)
{
    uint64_t index;
    while (hr_fates_take(fates, &index))
        continue;
    for (size_t w = 0; w < fates->workers; w++) {
        fates->fate[w].lost_batches = fates->fate[w].cut_batches;
        fates->fate[w].lost_samples = fates->fate[w].cut_samples;
    }
}

bool hr_fates_waiting_at(const struct hr_fates *fates, uint64_t ahead, uint64_t *index)
{
    const uint64_t number = hr_atom64_load_acquire(&fates->taken);
    if (ahead >= hr_atom64_load_acquire(&fates->returned) - number) /* partner: hr_fates_return */
        return false;
    *index = *slot(fates, number + ahead);
    return true;
}

bool hr_fates_next(const struct hr_fates *fates, uint64_t *index)
{
    return hr_fates_waiting_at(fates, 0, index);
}

struct hr_gradient_counters hr_stats_gradients(const struct hr_worker_stats *stats)
{
    return (struct hr_gradient_counters){stats->steps, stats->samples, stats->epoch_samples,
                                         stats->epoch_loss};
}

/* To what they were: returns the samples that do not count any more. */
static uint64_t go_back(struct hr_worker_stats *stats, const struct hr_gradient_counters *then)
{
    const uint64_t samples = stats->samples - then->samples;
    stats->steps = then->steps;
    stats->samples = then->samples;
    stats->epoch_samples = then->epoch_samples;
    stats->epoch_loss = then->epoch_loss;
    stats->last.any = false;
    hr_atom64_store_relaxed(&stats->seen, stats->samples); /* for progress, an estimate */
    return samples;
}

void hr_stats_mark(struct hr_worker_stats *stats, uint64_t index)
{
    struct hr_marked_counters *mark = &stats->mark;
    mark->gradients = hr_stats_gradients(stats);
    mark->updates = stats->updates;
    hr_atom64_store_release(&mark->range, index + 1); /* partner: hr_stats_back_to_mark */
}

void hr_stats_back_to_mark(struct hr_worker_stats *stats, uint64_t index)
{
    struct hr_marked_counters *mark = &stats->mark;
    if (hr_atom64_load_acquire(&mark->range) != index + 1) /* partner: hr_stats_mark */
        return;
    go_back(stats, &mark->gradients);
    stats->updates = mark->updates;
    hr_atom64_store_relaxed(&mark->range, 0);
}

void hr_stats_begin(struct hr_worker_stats *stats, uint64_t index)
{
    struct hr_last_gradient *last = &stats->last;
    last->before = hr_stats_gradients(stats);
    last->index = index;
    last->any = true;
    hr_atom32_store_release(&last->counting, HR_COUNTING); /* partner: hr_stats_mend */
    hr_fence_of_death();
}

void hr_stats_end(struct hr_worker_stats *stats)
{
    hr_atom32_store_release(&stats->last.counting, 0); /* partner: hr_stats_mend */
}

/* It was computed: the step counts. */
static void drop(struct hr_worker_stats *stats)
{
    struct hr_gradient_counters then = stats->last.before;
    then.steps = stats->steps;
    go_back(stats, &then);
}

void hr_stats_drop(struct hr_worker_stats *stats)
{
    if (!stats->last.any)
        return;
    hr_atom32_store_release(&stats->last.counting, HR_DROPPING); /* partner: hr_stats_mend */
    drop(stats);
    hr_stats_end(stats);
}

void hr_stats_mend(struct hr_worker_stats *stats)
{
    /* Partner: the worker's stores. It is dead: what it stored before is all there is. */
    const uint32_t counting = hr_atom32_load_acquire(&stats->last.counting);
    if (counting == HR_COUNTING)
        hr_stats_take_back(stats);
    else if (counting == HR_DROPPING)
        drop(stats);
    hr_stats_end(stats);
}

uint64_t hr_stats_take_back(struct hr_worker_stats *stats)
{
    return stats->last.any ? go_back(stats, &stats->last.before) : 0;
}

void hr_stats_leave_cut(struct hr_worker_stats *stats, bool ends_epoch)
{
    if (ends_epoch) {
        stats->epoch_loss = 0;
        stats->epoch_samples = 0;
    }
    stats->at_cut = (struct hr_cut_counters){hr_stats_gradients(stats), stats->updates,
                                             stats->max_skew, stats->dropped};
    stats->last.any = false;
}

uint64_t hr_stats_roll_back(struct hr_worker_stats *stats)
{
    const struct hr_cut_counters *at_cut = &stats->at_cut;
    hr_stats_end(stats);
    hr_atom64_store_relaxed(&stats->mark.range, 0); /* all rest */
    stats->updates = at_cut->updates;
    stats->dropped = at_cut->dropped;
    stats->max_skew = at_cut->max_skew;
    return go_back(stats, &at_cut->gradients);
}
