#include "strategies/survivors.h"

#include "base/size.h"
#include "shm/control.h"

static const uint32_t NO_MEMBER = UINT32_MAX; /* nobody is lost so often */

/* A worker's line. */
struct line {
    alignas(HR_LINE) struct hr_atom64 next; /* 1 + the index it has begun last; partner: missing */
    size_t seat, seats;                     /* its share of that */
    uint64_t missed;                        /* see lose; the launcher's */
    uint32_t joined; /* how often it had been lost when it became a member, or NO_MEMBER */
};

struct hr_survivors {
    alignas(HR_LINE) struct hr_atom64 begun; /* 2 * indices that anybody has begun + frozen */
    alignas(HR_LINE) uint64_t began;         /* index at which the members started */
    uint64_t counted, samples; /* up to this index it is known who has trained on what: so many */
    struct line of[];          /* (workers) */
};

enum { FROZEN = 1, ONE = 2 };

size_t hr_survivors_bytes(const struct hr_shared_state *shared)
{
    return shared->outlives ? sizeof(struct hr_survivors) + shared->workers * sizeof(struct line)
                            : 0;
}

static uint64_t samples_of_all(const struct hr_shared_state *shared)
{
    uint64_t sum = 0;
    for (size_t w = 0; w < shared->workers; w++)
        sum += shared->stats[w].samples;
    return sum;
}

void hr_survivors_init(struct hr_survivors *survivors, const struct hr_shared_state *shared)
{
    const struct hr_seats *seats = shared->seats;
    if (!shared->outlives)
        return;
    survivors->began = survivors->counted = seats->index;
    survivors->samples = samples_of_all(shared);
    hr_atom64_store_release(&survivors->begun, seats->index * ONE); /* partner: next */
    for (size_t w = 0; w < shared->workers; w++)
        survivors->of[w].joined = NO_MEMBER;
    for (size_t i = 0; i < seats->n; i++)
        survivors->of[seats->rank[i]].joined = hr_roster_lost(shared->control, seats->rank[i]);
}

bool hr_survivors_lack(const struct hr_survivors *survivors, const struct hr_shared_state *shared,
                       size_t worker)
{
    return hr_roster_lost(shared->control, worker) != survivors->of[worker].joined;
}

/* --- who begins what --- */

/* May this index be begun? It is the worker's next, so that it is at most the word's. */
static bool may_begin(struct hr_survivors *survivors, uint64_t index, bool stop)
{
    for (;;) {
        /* Partner: the exchange below, by whoever was here before. */
        const uint64_t word = hr_atom64_load_acquire(&survivors->begun);
        const uint64_t raised = index < word / ONE ? word : (index + 1) * ONE;
        const uint64_t wanted = raised | (stop ? FROZEN : 0);
        if (word & FROZEN)
            return raised == word;
        if (wanted == word || hr_atom64_replace_acq_rel(&survivors->begun, word, wanted))
            return true;
    }
}

/* Every index before a frozen word has been begun: there the run stops. */
static void tell_where(const struct hr_survivors *survivors, struct hr_dispenser *dispenser)
{
    const uint64_t word = hr_atom64_load_acquire(&survivors->begun); /* partner: may_begin */
    if (word & FROZEN) /* all who say so say the same; partner: the leader */
        hr_atom64_store_release(&dispenser->stop_at, word / ONE);
}

void hr_survivors_next(struct hr_survivors *survivors, struct hr_worker *worker,
                       struct hr_task *task)
{
    struct hr_dispenser *dispenser = worker->shared->dispenser;
    struct line *line = &survivors->of[worker->rank];
    const bool stop = hr_shared_rests(worker->shared, worker->index + 1);
    if (worker->index >= worker->cut || !may_begin(survivors, worker->index, stop)) {
        tell_where(survivors, dispenser);
        *task = (struct hr_task){HR_TASK_CUT, worker->index};
        return;
    }
    *task = (struct hr_task){HR_TASK_BATCH, worker->index++};
    line->seat = worker->seat;
    line->seats = worker->seats;
    hr_atom64_store_release(&line->next, worker->index); /* partner: missing */
}

/* --- what nobody has trained on --- */

void hr_survivors_lose(struct hr_survivors *survivors, const struct hr_shared_state *shared,
                       size_t worker, uint64_t missed)
{
    struct hr_worker_stats *stats = &shared->stats[worker];
    survivors->of[worker].missed = missed;
    if (stats->last.any && stats->last.index >= missed)
        hr_stats_take_back(stats);
}

uint64_t hr_survivors_index(const struct hr_survivors *survivors)
{
    return hr_atom64_load_acquire(&survivors->begun) / ONE; /* partner: may_begin */
}

uint64_t hr_survivors_began(const struct hr_survivors *survivors)
{
    return survivors->began;
}

/* Samples of the share of batches [from, to); of whole batches where there is one seat. */
static uint64_t share_of(const struct hr_shared_state *shared, size_t seat, size_t seats,
                         uint64_t from, uint64_t to)
{
    uint64_t sum = 0;
    for (uint64_t index = from; index < to; index++) {
        const uint64_t n = hr_batch_schedule_batch(&shared->schedule, index).count;
        sum += hr_split_begin(n, seats, seat + 1) - hr_split_begin(n, seats, seat);
    }
    return sum;
}

static void count_lost(const struct hr_shared_state *shared, size_t worker, uint64_t batches,
                       uint64_t samples)
{
    struct hr_fate *fate = hr_fate_of(shared->fates, worker);
    fate->lost_batches += batches;
    fate->lost_samples += samples;
}

/* Worker `worker` was lost in the span that ends at `end`, in which *left samples are missing: put
 * its own down to it. False: it had begun nothing in the span, and so its share is not known. */
static bool settle(struct hr_survivors *survivors, const struct hr_shared_state *shared,
                   size_t worker, uint64_t end, uint64_t *left)
{
    struct line *line = &survivors->of[worker];
    line->joined = NO_MEMBER;
    if (hr_atom64_load_acquire(&line->next) <= survivors->counted) /* partner: next */
        return false;
    const uint64_t share = share_of(shared, line->seat, line->seats, line->missed, end);
    const uint64_t lost = share < *left ? share : *left;
    count_lost(shared, worker, end - line->missed, lost);
    *left -= lost;
    return true;
}

/* Updates of the mean, one an index, which the first seat's worker counts while it lives. */
static void mend_updates(const struct hr_shared_state *shared, uint64_t end)
{
    uint64_t sum = 0;
    for (size_t w = 0; w < shared->workers; w++)
        sum += shared->stats[w].updates;
    shared->stats[shared->seats->rank[0]].updates += end - shared->schedule.first - sum;
}

void hr_survivors_missing(struct hr_survivors *survivors, const struct hr_shared_state *shared)
{
    const uint64_t end = hr_survivors_index(survivors), trained = samples_of_all(shared);
    uint64_t left = share_of(shared, 0, 1, survivors->counted, end) + survivors->samples - trained;
    size_t other = 0;
    tell_where(survivors, shared->dispenser);
    for (size_t w = 0; w < shared->workers; w++) {
        if (survivors->of[w].joined == NO_MEMBER || !hr_survivors_lack(survivors, shared, w))
            continue;
        if (!settle(survivors, shared, w, end, &left))
            other = w;
    }
    if (left > 0)
        count_lost(shared, other, end - survivors->counted, left);
    mend_updates(shared, end);
    /* Who goes on may begin more. All rest; partner: may_begin. */
    hr_atom64_store_release(&survivors->begun, end * ONE);
    survivors->counted = end;
    survivors->samples = trained;
}
