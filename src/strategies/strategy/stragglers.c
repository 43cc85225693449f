#include "strategy/stragglers.h"

#include "base/size.h"
#include "observe/spans.h"
#include "strategy/strategy.h"

/* A line: what its worker says of one arrival. */
struct line {
    alignas(HR_LINE) struct hr_atom64 begun; /* the key; it is written first, */
    struct hr_atom64 at_ns, free_ns, cause, since_ns[HR_LATES];
    struct hr_atom64 key; /* and last; 0: none */
};

_Static_assert(sizeof(struct line) == HR_LINE, "an arrival is one line");
_Static_assert(offsetof(struct line, key) + sizeof(struct hr_atom64) == HR_ARRIVAL_WORDS_BYTES,
               "what is carried");

/* The same, read. */
struct arrival {
    int64_t at_ns, free_ns, since_ns[HR_LATES];
    uint32_t cause;
    bool missing;
};

#define AT_CUT                                                                                     \
    (UINT64_C(1) << 63) /* in the key of a cut, beside the index that the span begins at */

static uint32_t cause_of(size_t worker, enum hr_late late)
{
    return (uint32_t)(worker * HR_LATES) + late;
}

/* --- memory: [lines (workers, HR_ARRIVALS) | costs (rows, workers, HR_LATES)] */

static size_t rows_of(size_t workers)
{
    return workers <= HR_STRAGGLER_ROWS ? workers : 1;
}

/* A row begins on a line: it has one writer. */
static size_t row_bytes(size_t workers)
{
    return hr_round_up(workers * HR_LATES * sizeof(int64_t), HR_LINE);
}

size_t hr_stragglers_bytes(size_t workers)
{
    return workers * HR_ARRIVALS * sizeof(struct line) + rows_of(workers) * row_bytes(workers);
}

void *hr_stragglers_words(const struct hr_shared_state *shared, size_t worker, size_t i)
{
    return (struct line *)shared->stragglers + worker * HR_ARRIVALS + i;
}

static struct line *line_of(const struct hr_shared_state *shared, size_t worker, uint64_t key)
{
    /* A cut has the last one: others may still look at the step before it. */
    const uint64_t place = key & AT_CUT ? HR_ARRIVALS - 1 : key % (HR_ARRIVALS - 1);
    return (struct line *)shared->stragglers + worker * HR_ARRIVALS + place;
}

int64_t *hr_stragglers_cost(const struct hr_shared_state *shared, size_t waiter, size_t last)
{
    unsigned char *rows = (unsigned char *)line_of(shared, shared->workers, 0);
    const size_t row = waiter % rows_of(shared->workers);
    return (int64_t *)(void *)(rows + row * row_bytes(shared->workers)) + last * HR_LATES;
}

/* --- lines */

/* Partner of all: read_line, here, or of another machine behind its bridge. */
static void write_line(struct line *line, const struct hr_arrival *own)
{
    hr_atom64_store_release(&line->begun, own->key);
    hr_atom64_store_release(&line->at_ns, (uint64_t)own->at_ns);
    hr_atom64_store_release(&line->free_ns, (uint64_t)own->free_ns);
    hr_atom64_store_release(&line->cause, own->cause);
    for (size_t i = 0; i < HR_LATES; i++)
        hr_atom64_store_release(&line->since_ns[i], (uint64_t)own->since_ns[i]);
    hr_atom64_store_release(&line->key, own->key);
}

static struct arrival read_line(const struct line *line, uint64_t key, int64_t now_ns)
{
    struct arrival found = {.missing = hr_atom64_load_acquire(&line->key) != key};
    found.at_ns = (int64_t)hr_atom64_load_acquire(&line->at_ns);
    found.free_ns = (int64_t)hr_atom64_load_acquire(&line->free_ns);
    found.cause = (uint32_t)hr_atom64_load_acquire(&line->cause);
    for (size_t i = 0; i < HR_LATES; i++)
        found.since_ns[i] = (int64_t)hr_atom64_load_acquire(&line->since_ns[i]);
    /* Relaxed: behind the acquires. Whoever writes what we have seen has begun before. */
    if (found.missing || hr_atom64_load_relaxed(&line->begun) != key)
        return (struct arrival){.at_ns = now_ns, .missing = true};
    return found;
}

bool hr_stragglers_later(const struct hr_shared_state *shared, uint64_t opened, uint64_t before)
{
    const uint64_t mask = (UINT64_C(1) << 48) - 1, word[2] = {before, opened};
    int64_t at_ns[2];
    for (size_t i = 0; i < 2; i++) {
        if (!word[i])
            return i == 0;
        const uint64_t key = word[i] & mask;
        at_ns[i] = read_line(line_of(shared, (word[i] >> 48) - 1, key), key, INT64_MAX).at_ns;
    }
    return at_ns[1] > at_ns[0];
}

/* --- a worker comes */

static void take_stock(const struct hr_worker *worker, int64_t *did_ns)
{
    const struct hr_worker_stats *stats = worker->stats;
    const int64_t *spent_ns = stats->account.spent_ns;
    did_ns[HR_LATE_LOAD] = spent_ns[HR_LOAD];
    did_ns[HR_LATE_COMPUTE] = spent_ns[HR_COMPUTE] - stats->preempted_ns;
    did_ns[HR_LATE_STALL] = stats->stalled_ns;
    did_ns[HR_LATE_PREEMPTED] = stats->preempted_ns;
    did_ns[HR_LATE_COMMUNICATE] = spent_ns[HR_COMMUNICATE];
    did_ns[HR_LATE_WAIT] = spent_ns[HR_WAIT] - stats->stalled_ns;
}

static void set_out(struct hr_worker *worker, int64_t free_ns, uint32_t cause)
{
    struct hr_arrival *own = &worker->arrival;
    own->key = 0;
    own->free_ns = free_ns;
    own->cause = cause;
    take_stock(worker, own->did_ns);
}

void hr_stragglers_begin(struct hr_worker *worker, int64_t now_ns)
{
    set_out(worker, now_ns, cause_of(worker->rank, HR_LATE_WAIT));
}

void hr_stragglers_arrive(struct hr_worker *worker, uint64_t key, int64_t now_ns)
{
    struct hr_arrival *own = &worker->arrival;
    int64_t did_ns[HR_LATES];
    if (worker->shared->workers < 2)
        return;
    take_stock(worker, did_ns);
    for (size_t i = 0; i < HR_LATES; i++)
        own->since_ns[i] = did_ns[i] - own->did_ns[i];
    own->key = key;
    own->awaits = hr_awaits_all;
    own->at_ns = now_ns;
    own->waited_ns = worker->stats->account.spent_ns[HR_WAIT];
    write_line(line_of(worker->shared, worker->rank, key), own);
}

bool hr_awaits_all(const struct hr_worker *worker, size_t peer)
{
    (void)worker, (void)peer;
    return true;
}

void hr_stragglers_offer(struct hr_worker *worker, uint64_t index, int64_t now_ns)
{
    const struct hr_shared_state *shared = worker->shared;
    const bool apart = shared->node_workers && !shared->strategy->synchronous;
    if (!worker->hooks->awaits)
        return;
    hr_stragglers_arrive(
        worker, hr_arrival_key(apart ? index - worker->rank % shared->node_workers : index),
        now_ns);
    worker->arrival.awaits = worker->hooks->awaits;
}

void hr_stragglers_arrive_at_cut(struct hr_worker *worker, int64_t now_ns)
{
    /* Relaxed: nobody writes it in a span. */
    const uint64_t begins = hr_atom64_load_relaxed(&worker->shared->dispenser->begins);
    hr_stragglers_arrive(worker, AT_CUT | begins, now_ns);
}

/* --- a worker leaves */

/* Who opened the gate that it waited at, if that came later than the last so far. */
static void use_opener(const struct hr_worker *worker, int64_t now_ns, int64_t *latest_ns,
                       size_t *last, struct arrival *arrival)
{
    const struct hr_arrival *own = &worker->arrival;
    const uint64_t key = own->opened & ((UINT64_C(1) << 48) - 1);
    const size_t opener = (own->opened >> 48) - 1;
    const struct arrival its = read_line(line_of(worker->shared, opener, key), key, now_ns);
    if (opener == worker->rank || its.at_ns <= *latest_ns)
        return;
    *last = opener;
    *arrival = its;
    *latest_ns = its.at_ns;
}

/* The last of those it had to wait for; false: it was the last itself. */
static bool find_last(const struct hr_worker *worker, int64_t now_ns, size_t *last,
                      struct arrival *arrival)
{
    const struct hr_shared_state *shared = worker->shared;
    const struct hr_arrival *own = &worker->arrival;
    const bool at_cut = own->key & AT_CUT;
    int64_t latest_ns = own->at_ns;
    const bool gated = shared->servers && !shared->node_workers;
    const bool revoked = hr_roster_is_revoked(shared->control); /* then all wait for who is gone */
    if (!at_cut && gated && !revoked) {
        if (own->opened)
            use_opener(worker, now_ns, &latest_ns, last, arrival);
        return latest_ns > own->at_ns;
    }
    for (size_t s = 0; s < shared->active->n; s++) {
        const size_t w = shared->active->rank[s];
        if (w == worker->rank || (!revoked && !own->awaits(worker, w)))
            continue;
        struct arrival its = read_line(line_of(shared, w, own->key), own->key, now_ns);
        its.at_ns += its.missing && hr_roster_is_gone(shared->control, w); /* it never comes */
        if (its.at_ns <= latest_ns)
            continue;
        *last = w;
        *arrival = its;
        latest_ns = its.at_ns;
    }
    if (!at_cut && shared->node_workers && own->opened)
        use_opener(worker, now_ns, &latest_ns, last, arrival);
    return latest_ns > own->at_ns;
}

static int64_t longer(int64_t its_ns, int64_t mine_ns)
{
    return its_ns > mine_ns ? its_ns - mine_ns : 0;
}

/* Share lost_ns out; returns why most of it was lost. */
static uint32_t charge(struct hr_worker *worker, size_t last, const struct arrival *arrival,
                       int64_t lost_ns)
{
    const struct hr_arrival *own = &worker->arrival;
    int64_t part_ns[HR_LATES + 1], all_ns = 0, left_ns = lost_ns;
    uint32_t cause[HR_LATES + 1];
    size_t most = HR_LATE_COMPUTE;
    for (size_t i = 0; i < HR_LATES; i++) {
        part_ns[i] = arrival->missing ? 0 : longer(arrival->since_ns[i], own->since_ns[i]);
        cause[i] = cause_of(last, (enum hr_late)i);
    }
    cause[HR_LATES] = arrival->cause;
    part_ns[HR_LATES] = arrival->missing || arrival->cause / HR_LATES == last
                            ? 0 /* it did not wait for anybody */
                            : longer(arrival->free_ns, own->free_ns);
    for (size_t i = 0; i <= HR_LATES; i++) {
        all_ns += part_ns[i];
        most = part_ns[i] > part_ns[most] ? i : most;
    }
    for (size_t i = 0; i <= HR_LATES && all_ns; i++) {
        const int64_t ns = (int64_t)((double)lost_ns * (double)part_ns[i] / (double)all_ns);
        hr_stragglers_cost(worker->shared, worker->rank,
                           cause[i] / HR_LATES)[cause[i] % HR_LATES] += ns;
        left_ns -= ns;
    }
    /* What rounding leaves. */
    hr_stragglers_cost(worker->shared, worker->rank,
                       cause[most] / HR_LATES)[cause[most] % HR_LATES] += left_ns;
    return cause[most];
}

void hr_stragglers_leave(struct hr_worker *worker, int64_t now_ns)
{
    const struct hr_arrival *own = &worker->arrival;
    const int64_t waited_ns = worker->stats->account.spent_ns[HR_WAIT] - own->waited_ns;
    struct arrival arrival = {0};
    size_t last = worker->rank;
    if (!own->key)
        return;
    if (waited_ns <= 0 || !find_last(worker, now_ns, &last, &arrival)) {
        set_out(worker, own->at_ns, cause_of(worker->rank, HR_LATE_COMPUTE));
        return;
    }
    const int64_t late_ns = arrival.at_ns - own->at_ns;
    hr_spans_blame(worker->spans, last, own->at_ns, arrival.at_ns);
    const uint32_t cause =
        charge(worker, last, &arrival, late_ns < waited_ns ? late_ns : waited_ns);
    set_out(worker, arrival.at_ns, cause);
}
