#include "server/staleness.h"

#include "base/size.h"
#include "server/server.h"

/* Shards [first, last]. */
struct span {
    size_t first, last;
};

struct table {
    alignas(HR_LINE) size_t n; /* spans */
    struct span span[];
};

/* The shard that holds this parameter; from: a shard not after it. */
static size_t shard_of(const struct hr_shared_state *shared, size_t param, size_t from)
{
    while (hr_slice_begin(shared, from + 1) <= param)
        from++;
    return from;
}

/* The span of the key behind `before`, which is that of the key in front of it. */
static struct span span_of(const struct hr_shared_state *shared, size_t key, struct span before)
{
    const struct hr_param_segment *segment = &shared->optimizer.segments[key];
    const size_t first = shard_of(shared, segment->begin, before.last);
    return (struct span){first, shard_of(shared, segment->begin + segment->count - 1, first)};
}

static bool is_same(struct span a, struct span b)
{
    return a.first == b.first && a.last == b.last;
}

/* Spans of keys [0, keys), each once, in order. out: may be NULL. */
static size_t list_spans(const struct hr_shared_state *shared, size_t keys, struct span *out)
{
    struct span span = {0, 0};
    size_t n = 0;
    for (size_t key = 0; key < keys; key++) {
        const struct span next = span_of(shared, key, span);
        if (key > 0 && is_same(next, span))
            continue;
        span = next;
        if (out)
            out[n] = span;
        n++;
    }
    return n;
}

static size_t table_bytes(size_t spans)
{
    return hr_round_up(sizeof(struct table) + spans * sizeof(struct span), HR_LINE);
}

static size_t said_bytes(const struct hr_shared_state *shared)
{
    return hr_round_up(shared->servers * sizeof(uint64_t), HR_LINE);
}

/* Copies of the histograms: each machine counts in its own. */
static size_t copies_of(const struct hr_shared_state *shared)
{
    return hr_shared_is_multinode(shared) ? shared->hosts.machines : 1;
}

/* At the last cut. */
struct kept {
    alignas(HR_LINE) struct hr_stale stale;
};

size_t hr_staleness_kept_bytes(const struct hr_shared_state *shared)
{
    return shared->servers ? shared->workers * sizeof(struct kept) +
                                 list_spans(shared, shared->optimizer.nsegments, NULL) *
                                     sizeof(struct hr_staleness_counts)
                           : 0;
}

size_t hr_staleness_bytes(const struct hr_shared_state *shared)
{
    if (shared->servers == 0)
        return 0;
    const size_t spans = list_spans(shared, shared->optimizer.nsegments, NULL);
    return table_bytes(spans) + copies_of(shared) * spans * sizeof(struct hr_staleness_counts) +
           shared->workers * said_bytes(shared);
}

struct hr_range hr_staleness_copies(const struct hr_shared_state *shared)
{
    if (shared->servers == 0 || !hr_shared_is_multinode(shared))
        return (struct hr_range){0, 0};
    const size_t spans = list_spans(shared, shared->optimizer.nsegments, NULL);
    return (struct hr_range){table_bytes(spans),
                             copies_of(shared) * spans * sizeof(struct hr_staleness_counts)};
}

void hr_staleness_init(const struct hr_shared_state *shared)
{
    struct table *table = shared->staleness;
    if (shared->servers > 0)
        table->n = list_spans(shared, shared->optimizer.nsegments, table->span);
}

static struct hr_staleness_counts *counts_on(const struct hr_shared_state *shared, size_t machine)
{
    const struct table *table = shared->staleness;
    unsigned char *first = (unsigned char *)shared->staleness + table_bytes(table->n);
    return (struct hr_staleness_counts *)(void *)first + machine * table->n;
}

/* Of this machine. */
static struct hr_staleness_counts *counts_of(const struct hr_shared_state *shared)
{
    return counts_on(shared, shared->hosts.self);
}

uint64_t *hr_staleness_at_shards(const struct hr_shared_state *shared, size_t worker)
{
    unsigned char *said = (unsigned char *)counts_on(shared, copies_of(shared));
    return (void *)(said + worker * said_bytes(shared));
}

static void add(struct hr_staleness_counts *counts, uint64_t staleness)
{
    const uint64_t bucket = hr_min_size(staleness, HR_STALENESS_BUCKETS - 1);
    hr_atom64_fetch_add_relaxed(&counts->updates, 1);
    hr_atom64_fetch_add_relaxed(&counts->sum, staleness);
    hr_atom64_fetch_add_relaxed(&counts->bucket[bucket], 1);
    for (uint64_t max = hr_atom64_load_relaxed(&counts->max);
         staleness > max && !hr_atom64_replace_acq_rel(&counts->max, max, staleness);
         max = hr_atom64_load_relaxed(&counts->max))
        continue;
}

static uint64_t largest(const uint64_t *said, struct span span)
{
    uint64_t most = 0;
    for (size_t s = span.first; s <= span.last; s++)
        most = said[s] > most ? said[s] : most;
    return most;
}

static bool is_of_all(const struct hr_shared_state *shared, struct span span)
{
    return span.last - span.first + 1 == shared->servers;
}

/* The worker's own last: what is in there is everywhere. */
void hr_staleness_count(const struct hr_shared_state *shared, size_t worker)
{
    const struct table *table = shared->staleness;
    const uint64_t *said = hr_staleness_at_shards(shared, worker);
    struct hr_worker_stats *stats = &shared->stats[worker];
    while (stats->stale_keys < table->n) {
        const struct span span = table->span[stats->stale_keys];
        if (!is_of_all(shared, span))
            add(&counts_of(shared)[stats->stale_keys], largest(said, span));
        stats->stale_keys++;
        hr_fence_of_death();
    }
    hr_stale_count(&stats->stale, largest(said, (struct span){0, shared->servers - 1}));
    stats->stale_keys = 0;
}

static void add_all(struct hr_staleness_counts *to, const struct hr_staleness_counts *more)
{
    const uint64_t had = hr_atom64_load_relaxed(&to->max), max = hr_atom64_load_relaxed(&more->max);
    hr_atom64_fetch_add_relaxed(&to->updates, hr_atom64_load_relaxed(&more->updates));
    hr_atom64_fetch_add_relaxed(&to->sum, hr_atom64_load_relaxed(&more->sum));
    hr_atom64_store_relaxed(&to->max, had > max ? had : max);
    for (size_t i = 0; i < HR_STALENESS_BUCKETS; i++)
        hr_atom64_fetch_add_relaxed(&to->bucket[i], hr_atom64_load_relaxed(&more->bucket[i]));
}

void hr_staleness_gather(const struct hr_shared_state *shared)
{
    const struct table *table = shared->staleness;
    for (size_t m = 0; shared->servers && m < copies_of(shared); m++)
        for (size_t i = 0; m != shared->hosts.self && i < table->n; i++)
            add_all(&counts_of(shared)[i], &counts_on(shared, m)[i]);
}

/* --- cuts --- */

static void copy_counts(struct hr_staleness_counts *to, const struct hr_staleness_counts *from)
{
    const uint64_t had = hr_atom64_load_relaxed(&to->max), has = hr_atom64_load_relaxed(&from->max);
    const uint64_t most = hr_min_size(had > has ? had : has, HR_STALENESS_BUCKETS - 1);
    for (uint64_t i = 0; i <= most; i++)
        hr_atom64_store_relaxed(&to->bucket[i], hr_atom64_load_relaxed(&from->bucket[i]));
    hr_atom64_store_relaxed(&to->updates, hr_atom64_load_relaxed(&from->updates));
    hr_atom64_store_relaxed(&to->sum, hr_atom64_load_relaxed(&from->sum));
    hr_atom64_store_relaxed(&to->max, has);
}

static void copy_all(const struct hr_shared_state *shared, bool restores)
{
    const struct table *table = shared->staleness;
    struct kept *kept = shared->kept_staleness;
    struct hr_staleness_counts *now = counts_of(shared), *then = (void *)(kept + shared->workers);
    for (size_t w = 0; w < shared->workers; w++) {
        struct hr_stale *stale = &shared->stats[w].stale;
        if (!hr_hosts_here(&shared->hosts, w)) /* its machine does */
            continue;
        hr_stale_copy(restores ? stale : &kept[w].stale, restores ? &kept[w].stale : stale);
        if (restores)
            shared->stats[w].stale_keys = 0;
    }
    for (size_t i = 0; i < table->n; i++)
        copy_counts(restores ? &now[i] : &then[i], restores ? &then[i] : &now[i]);
}

void hr_staleness_keep(const struct hr_shared_state *shared)
{
    if (shared->servers)
        copy_all(shared, false);
}

void hr_staleness_restore(const struct hr_shared_state *shared)
{
    if (shared->servers)
        copy_all(shared, true);
}

const struct hr_staleness_counts *hr_staleness_of_key(const struct hr_shared_state *shared,
                                                      size_t key)
{
    const struct table *table = shared->staleness;
    if (shared->servers == 0 || hr_strategy_never_stale(shared->strategy))
        return NULL;
    const size_t span = list_spans(shared, key + 1, NULL) - 1;
    return is_of_all(shared, table->span[span]) ? NULL : &counts_of(shared)[span];
}
