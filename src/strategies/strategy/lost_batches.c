#include "strategy/lost_batches.h"

#include <string.h>

#include "base/error.h"
#include "base/size.h"
#include "strategy/pause.h"
#include "strategy/shared_state.h"

void hr_lost_work_leave_cut(const struct hr_shared_state *shared)
{
    for (size_t w = 0; w < shared->workers; w++) {
        shared->lost_work[w].cut_batches = shared->lost_work[w].lost_batches;
        shared->lost_work[w].cut_samples = shared->lost_work[w].lost_samples;
    }
}

void hr_lost_work_roll_back(const struct hr_shared_state *shared)
{
    uint64_t index;
    while (hr_returned_take(shared->returned, &index))
        continue;
    for (size_t w = 0; w < shared->workers; w++) {
        shared->lost_work[w].lost_batches = shared->lost_work[w].cut_batches;
        shared->lost_work[w].lost_samples = shared->lost_work[w].cut_samples;
    }
}

bool hr_shared_takes_losses(const struct hr_shared_state *shared)
{
    return !shared->strategy->synchronous && !hr_shared_is_multinode(shared) && !shared->colocated;
}

size_t hr_returned_room(const struct hr_shared_state *shared)
{
    const size_t held = shared->outlives ? shared->workers * (shared->options->sync_every + 1) : 0;
    return held + shared->begins_with.n;
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
    stats->too_late++;
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
    hr_atom64_store_relaxed(&stats->mark.range, 0); /* all are quiescent */
    stats->updates = at_cut->updates;
    stats->dropped = at_cut->dropped;
    stats->max_skew = at_cut->max_skew;
    return go_back(stats, &at_cut->gradients);
}

static uint64_t bucket_of(uint64_t staleness)
{
    const uint64_t last = HR_STALENESS_BUCKETS - 1;
    return staleness < last ? staleness : last;
}

void hr_stale_count(struct hr_stale *stale, uint64_t staleness)
{
    const uint64_t bucket = bucket_of(staleness);
    stale->before = (struct hr_stale_before){stale->updates, stale->sum, stale->max, bucket,
                                             stale->bucket[bucket]};
    hr_fence_of_death();
    hr_atom32_store_release(&stale->counting, 1); /* partner: hr_stale_mend */
    hr_fence_of_death();
    stale->updates++;
    stale->sum += staleness;
    stale->bucket[bucket]++;
    if (staleness > stale->max)
        stale->max = staleness;
    hr_atom32_store_release(&stale->counting, 0); /* partner: hr_stale_mend */
    hr_fence_of_death();
}

void hr_stale_take_back(struct hr_stale *stale)
{
    const struct hr_stale_before *before = &stale->before;
    stale->updates = before->updates;
    stale->sum = before->sum;
    stale->max = before->max;
    stale->bucket[before->bucket] = before->in_bucket;
}

void hr_stale_mend(struct hr_stale *stale)
{
    if (!hr_atom32_load_acquire(&stale->counting)) /* partner: hr_stale_count */
        return;
    hr_stale_take_back(stale);
    hr_atom32_store_release(&stale->counting, 0); /* of the dead */
}

void hr_stale_copy(struct hr_stale *to, const struct hr_stale *from)
{
    const uint64_t most = to->max > from->max ? to->max : from->max;
    memcpy(to->bucket, from->bucket, (bucket_of(most) + 1) * sizeof *to->bucket);
    to->updates = from->updates;
    to->sum = from->sum;
    to->max = from->max;
    hr_atom32_store_release(&to->counting, 0); /* nobody is */
}

/* A batch's word: 0 nobody has written it, 1 + w worker w has drawn it, or: */
static const uint32_t PUSHED = UINT32_MAX;

/* A worker's line. */
struct hands {
    alignas(HR_LINE) struct hr_atom64 pushing; /* 1 + the index; 0: none */
    uint64_t deaths; /* in this span, to which no batch is put down yet; the launcher's */
};

struct hr_batch_states {
    alignas(HR_LINE) uint64_t begin; /* of the span */
    uint64_t workers, room;          /* indices of the longest span */
    struct hands of[];               /* (workers), and behind them (room) words */
};

/* The first index it is about: of a batch in hand where the run begins, perhaps. */
static uint64_t first_of(const struct hr_shared_state *shared)
{
    const struct hr_begins_with *begins = &shared->begins_with;
    return begins->n ? begins->lowest : shared->schedule.first;
}

static uint64_t room_of(const struct hr_shared_state *shared)
{
    return hr_batch_schedule_longest_span(&shared->schedule) + shared->schedule.first -
           first_of(shared);
}

size_t hr_batch_states_bytes(const struct hr_shared_state *shared)
{
    if (!shared->outlives || !hr_strategy_shares_weights(shared->strategy) ||
        !hr_shared_takes_losses(shared))
        return 0;
    return sizeof(struct hr_batch_states) + shared->workers * sizeof(struct hands) +
           room_of(shared) * sizeof(struct hr_atom32);
}

/* The words of the span, the first of which is about index `begin`. */
static struct hr_atom32 *words(struct hr_batch_states *states)
{
    return (struct hr_atom32 *)(void *)&states->of[states->workers];
}

static struct hr_atom32 *word_of(struct hr_batch_states *states, uint64_t index)
{
    HR_ASSERT(index - states->begin < states->room);
    return words(states) + (index - states->begin);
}

void hr_batch_states_init(const struct hr_shared_state *shared)
{
    struct hr_batch_states *states = shared->batch_states;
    if (!states)
        return;
    memset(states, 0, hr_batch_states_bytes(shared));
    states->begin = first_of(shared);
    states->workers = shared->workers;
    states->room = room_of(shared);
    for (uint64_t index = states->begin; index < shared->schedule.first; index++)
        hr_atom32_store_relaxed(word_of(states, index), PUSHED); /* no rank runs yet */
    for (uint64_t i = 0; i < shared->begins_with.n; i++)
        hr_atom32_store_relaxed(word_of(states, shared->begins_with.index[i]), 0);
}

static bool is_in_span(const struct hr_batch_states *states, uint64_t index)
{
    return index - states->begin < states->room; /* an earlier one wraps round */
}

/* --- the worker; partner of each store: the launcher, after its death or quiescent --- */

void hr_batch_states_draw(const struct hr_shared_state *shared, size_t worker, uint64_t index)
{
    if (shared->batch_states)
        hr_atom32_store_release(word_of(shared->batch_states, index), (uint32_t)worker + 1);
}

void hr_batch_states_begin_push(const struct hr_shared_state *shared, size_t worker, uint64_t index)
{
    /* It must stand before the first weight is stored: a release alone would not say so. */
    if (shared->batch_states)
        hr_atom64_replace_acq_rel(&shared->batch_states->of[worker].pushing, 0, index + 1);
}

void hr_batch_states_end_push(const struct hr_shared_state *shared, size_t worker, uint64_t index)
{
    struct hr_batch_states *states = shared->batch_states;
    if (!states)
        return;
    hr_atom32_store_release(word_of(states, index), PUSHED);
    hr_atom64_store_release(&states->of[worker].pushing, 0);
}

/* --- the launcher --- */

static bool is_pushed(struct hr_batch_states *states, uint64_t index)
{
    return hr_atom32_load_acquire(word_of(states, index)) == PUSHED; /* partner: end_push */
}

void hr_batch_states_lose(const struct hr_shared_state *shared, size_t worker)
{
    struct hr_batch_states *states = shared->batch_states;
    if (!states)
        return;
    struct hands *hands = &states->of[worker];
    struct hr_worker_stats *stats = &shared->stats[worker];
    const uint64_t pushing = hr_atom64_load_acquire(&hands->pushing); /* partner: begin_push */
    hr_stats_mend(stats);
    if (pushing && !is_pushed(states, pushing - 1)) {
        shared->lost_work[worker].partial++;
        hr_atom32_store_release(word_of(states, pushing - 1), PUSHED); /* partner: missing */
    }
    if (stats->last.any && is_in_span(states, stats->last.index) &&
        !is_pushed(states, stats->last.index))
        hr_stats_take_back(stats);
    stats->updates = stats->steps;
    hr_stale_mend(&stats->stale);
    if (stats->stale.updates > stats->updates) /* of a push that it did not come to begin */
        hr_stale_take_back(&stats->stale);
    hr_atom64_store_release(&hands->pushing, 0);
    hands->deaths++;
}

/* Who lost a batch that nobody has written: somebody who died and has none. */
static size_t somebody(const struct hr_batch_states *states)
{
    for (size_t w = 0; w < states->workers; w++)
        if (states->of[w].deaths > 0)
            return w;
    return 0;
}

/* A lost worker had this batch: it is handed out again, or lost. */
static void settle(struct hr_batch_states *states, const struct hr_shared_state *shared,
                   uint64_t index)
{
    struct hr_atom32 *word = word_of(states, index);
    const uint32_t drawn = hr_atom32_load_acquire(word); /* partner: draw */
    const size_t worker = drawn ? drawn - 1 : somebody(states);
    const uint64_t samples = hr_batch_schedule_batch(&shared->schedule, index).count;
    struct hr_lost_work *lost = &shared->lost_work[worker];
    states->of[worker].deaths -= states->of[worker].deaths > 0;
    if (shared->reissues) {
        hr_returned_add(shared->returned, index);
        lost->again_batches++;
        lost->again_samples += samples;
    } else {
        hr_atom32_store_release(word, PUSHED); /* nobody waits for it; partner: this file */
        lost->lost_batches++;
        lost->lost_samples += samples;
    }
}

/* Settle those before `end` that somebody has written, or those that nobody has. */
static void settle_all(struct hr_batch_states *states, const struct hr_shared_state *shared,
                       uint64_t end, bool written, size_t *settled)
{
    for (uint64_t index = states->begin; index < end; index++) {
        const uint32_t word = hr_atom32_load_acquire(word_of(states, index)); /* partner: draw */
        if (word == PUSHED || (word != 0) != written)
            continue;
        if (shared->reissues && *settled == shared->returned->room)
            return; /* the rest will be missing when all come again */
        settle(states, shared, index);
        ++*settled;
    }
}

/* The next span begins. */
static void turn_over(struct hr_batch_states *states, uint64_t begin)
{
    memset(words(states), 0, states->room * sizeof(struct hr_atom32));
    for (size_t w = 0; w < states->workers; w++)
        states->of[w].deaths = 0;
    states->begin = begin;
}

void hr_batch_states_missing(const struct hr_shared_state *shared)
{
    struct hr_batch_states *states = shared->batch_states;
    if (!states || hr_returned_any(shared->returned)) /* they would be returned twice */
        return;
    const struct hr_dispenser *dispenser = shared->dispenser;
    const uint64_t next = hr_atom64_load_acquire(&dispenser->next); /* partner: who has drawn */
    const uint64_t cut = hr_atom64_load_acquire(&dispenser->cut);   /* partner: the leader */
    const uint64_t end = next < cut ? next : cut;
    size_t settled = 0;
    settle_all(states, shared, end, true, &settled);
    settle_all(states, shared, end, false, &settled);
    if (!hr_returned_any(shared->returned))
        turn_over(states, end);
}

/* Who lives may be pushing one, which is finished on the copy, or has one that is listed. */
static bool is_taken_care_of(const struct hr_batch_states *states, uint64_t index,
                             const struct hr_pause *to)
{
    for (size_t w = 0; w < states->workers; w++)
        if (hr_atom64_load_relaxed(&states->of[w].pushing) == index + 1) /* one thread */
            return true;
    for (size_t i = 0; i < to->hands; i++)
        if (to->hand[i].first == index)
            return true;
    return false;
}

/* Those that are lost for good stay so. */
void hr_batch_states_pause(const struct hr_standing *at, struct hr_pause *to)
{
    const struct hr_shared_state *shared = at->shared;
    struct hr_batch_states *states = shared->batch_states;
    const uint64_t next = hr_atom64_load_acquire(&shared->dispenser->next); /* one thread */
    if (!states || !shared->reissues)
        return;
    for (uint64_t i = states->begin; i < next; i++)
        if (hr_atom32_load_acquire(word_of(states, i)) != PUSHED &&
            !is_taken_care_of(states, i, to))
            hr_pause_add_hand(to, i, 1);
}
