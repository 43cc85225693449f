/* The workers' counters, copied from the segment to the result: sums, staleness by worker and by
 * key, shares of time, who was waited for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/staleness.h"
#include "strategy/arrivals.h"
#include "strategy/compression.h"
#include "train/counters.h"

/* A histogram: a worker's, a key's, or that of all updates. */
struct source {
    const uint64_t *own;
    const struct hr_staleness_counts *shared; /* own is NULL */
};

static uint64_t count_at(struct source source, size_t bucket)
{
    return source.own ? source.own[bucket] : hr_atom64_load_relaxed(&source.shared->bucket[bucket]);
}

/* Buckets up to the last that is not empty. */
static size_t length_of(struct source source)
{
    size_t n = HR_STALENESS_BUCKETS;
    while (n > 0 && count_at(source, n - 1) == 0)
        n--;
    return n;
}

static struct source source_of(const struct hr_run *run, size_t part)
{
    const struct hr_shared_state *shared = &run->shared;
    if (part < shared->workers)
        return (struct source){.own = shared->stats[part].stale.bucket};
    const struct hr_staleness_counts *key = hr_staleness_of_key(shared, part - shared->workers);
    return key ? (struct source){.shared = key} : (struct source){.own = run->result->stale};
}

static struct hr_staleness part_of(const struct hr_run *run, size_t part)
{
    const struct hr_shared_state *shared = &run->shared;
    const struct hr_run_result *result = run->result;
    if (part < shared->workers) {
        const struct hr_stale *stale = &shared->stats[part].stale;
        return (struct hr_staleness){
            .updates = stale->updates, .sum = stale->sum, .max = stale->max};
    }
    const size_t key = part - shared->workers;
    const struct hr_staleness_counts *counts = hr_staleness_of_key(shared, key);
    struct hr_staleness out = {
        .updates = result->stale_updates, .sum = result->stale_sum, .max = result->stale_max};
    if (counts) {
        out.updates = hr_atom64_load_relaxed(&counts->updates);
        out.sum = hr_atom64_load_relaxed(&counts->sum);
        out.max = hr_atom64_load_relaxed(&counts->max);
    }
    snprintf(out.name, sizeof out.name, "%s", hr_model_tensor(run->job.model, key)->name);
    return out;
}

static enum hr_status take_room(const struct hr_run *run, size_t parts)
{
    struct hr_run_result *result = run->result;
    size_t counts = 0;
    for (size_t i = 0; i < parts; i++)
        counts += length_of(source_of(run, i));
    result->stale_parts = calloc(parts, sizeof *result->stale_parts);
    result->stale_counts = calloc(counts, sizeof *result->stale_counts);
    if (!result->stale_parts || !result->stale_counts)
        return hr_fail(HR_E_NOMEM, "no memory for the staleness of %zu workers and keys", parts);
    return HR_OK;
}

enum hr_status hr_account_staleness(struct hr_run *run)
{
    struct hr_run_result *result = run->result;
    const size_t keys = run->shared.optimizer.nsegments, parts = run->shared.workers + keys;
    if (result->stale_updates == 0)
        return HR_OK;
    HR_TRY(take_room(run, parts));
    for (size_t i = 0; i < parts; i++) {
        struct hr_staleness *part = &result->stale_parts[i];
        *part = part_of(run, i);
        part->first = result->nstale_counts;
        part->n = length_of(source_of(run, i));
        for (size_t bucket = 0; bucket < part->n; bucket++)
            result->stale_counts[result->nstale_counts++] = count_at(source_of(run, i), bucket);
    }
    result->nstale_workers = run->shared.workers;
    result->nstale_keys = keys;
    return HR_OK;
}

static void fold_worker(const struct hr_worker_stats *stats, bool compressed,
                        struct hr_run_result *result)
{
    _Static_assert((int)HR_RESULT_STALENESS_BUCKETS == (int)HR_STALENESS_BUCKETS,
                   "the same histogram");
    result->updates += stats->updates;
    result->samples += stats->samples;
    result->forward_s += hr_seconds(stats->forward_ns);
    result->backward_s += hr_seconds(stats->backward_ns);
    result->prefetch_hits += stats->prefetch_hits;
    result->prefetch_misses += stats->prefetch_misses;
    result->bytes_sent += stats->bytes_sent;
    result->bytes_uncompressed += compressed ? stats->bytes_plain : stats->bytes_sent;
    result->bytes_received += stats->bytes_received;
    result->resent += stats->resent;
    result->dropped += stats->dropped.gradients;
    result->dropped_samples += stats->dropped.samples;
    result->watched_lines += stats->lost.lines;
    result->watched_pairs += stats->lost.pairs;
    result->lost_pairs += stats->lost.lost;
    result->duplicates += hr_atom64_load_relaxed(&stats->duplicates); /* all have ended */
    result->stale_updates += stats->stale.updates;
    result->stale_sum += stats->stale.sum;
    result->first_samples += stats->first_samples;
    result->first_loss += stats->first_loss;
    result->stale_max = stats->stale.max > result->stale_max ? stats->stale.max : result->stale_max;
    result->max_skew = stats->max_skew > result->max_skew ? stats->max_skew : result->max_skew;
    for (size_t i = 0; i < HR_STALENESS_BUCKETS; i++)
        result->stale[i] += stats->stale.bucket[i];
}

/* Each gradient is in an update that it is not too old for, or was dropped. */
static void count_in_step(struct hr_worker_stats *stats)
{
    stats->stale.updates = stats->stale.bucket[0] = stats->steps - stats->dropped.gradients;
}

void hr_result_count(const struct hr_run *run, struct hr_run_result *result)
{
    for (size_t w = 0; w < run->shared.workers; w++) {
        if (hr_strategy_never_stale(run->shared.strategy))
            count_in_step(&run->shared.stats[w]);
        fold_worker(&run->shared.stats[w], hr_compression_of(&run->shared), result);
    }
}

/* --- shares of all workers' time --- */

static double seconds_of_all(const struct hr_run_result *result)
{
    return result->load_s + result->compute_s + result->communicate_s + result->wait_s;
}

static struct hr_node_step node_step(const struct hr_shared_state *shared, double all)
{
    const double workers = (double)shared->workers;
    double part[HR_NODE_PARTS] = {0};
    for (size_t w = 0; w < shared->workers; w++)
        for (size_t i = 0; i < HR_NODE_PARTS; i++) {
            part[i] += hr_seconds(shared->stats[w].node_ns[i]) / workers;
            all -= hr_seconds(shared->stats[w].node_ns[i]);
        }
    return (struct hr_node_step){.workers = shared->node_workers,
                                 .load_s = part[HR_NODE_LOAD],
                                 .compute_s = part[HR_NODE_COMPUTE],
                                 .aggregate_s = part[HR_NODE_AGGREGATE],
                                 .push_s = part[HR_NODE_PUSH],
                                 .update_s = part[HR_NODE_UPDATE],
                                 .distribute_s = part[HR_NODE_DISTRIBUTE],
                                 .rest_s = all / workers};
}

/* Tickets are what recording costs: the workers' time over the same without them. */
static double record_cost(const struct hr_shared_state *shared, double all)
{
    double tickets = 0;
    for (size_t w = 0; w < shared->workers; w++)
        tickets += hr_seconds(shared->stats[w].ticket_ns);
    return tickets < all ? all / (all - tickets) : 0;
}

void hr_result_divide_time(const struct hr_run *run, struct hr_run_result *result)
{
    const struct hr_shared_state *shared = &run->shared;
    if (shared->node_workers)
        result->node_step = node_step(shared, seconds_of_all(result));
    if (run->drive.recorder && hr_strategy_shares_weights(shared->strategy))
        result->record_cost = record_cost(shared, seconds_of_all(result));
}

/* --- who was waited for --- */

static void add_cost(struct hr_waited_for *to, const int64_t *ns)
{
    const struct hr_waited_for more = {
        .load_s = hr_seconds(ns[HR_LATE_LOAD]),
        .compute_s = hr_seconds(ns[HR_LATE_COMPUTE]),
        .stall_s = hr_seconds(ns[HR_LATE_STALL]),
        .preempted_s = hr_seconds(ns[HR_LATE_PREEMPTED]),
        .communicate_s = hr_seconds(ns[HR_LATE_COMMUNICATE]),
        .wait_s = hr_seconds(ns[HR_LATE_WAIT]),
    };
    to->load_s += more.load_s;
    to->compute_s += more.compute_s;
    to->stall_s += more.stall_s;
    to->preempted_s += more.preempted_s;
    to->communicate_s += more.communicate_s;
    to->wait_s += more.wait_s;
}

static double all_of(const int64_t *ns)
{
    int64_t all = 0;
    for (size_t i = 0; i < HR_LATES; i++)
        all += ns[i];
    return hr_seconds(all);
}

static int64_t busy_of(const struct hr_train_job *job, size_t worker, size_t seat)
{
    const struct hr_stage_account *account =
        &job->stage_accounts[worker * job->pipeline->seats + seat];
    return job->simulated ? account->busy_ps : account->busy_ns;
}

/* A replica waits for its slowest stage, and the others for the replica: by how much longer it
 * worked than the one that worked least, of all replicas' ranks in that place. */
static size_t slow_stage(const struct hr_train_job *job, size_t worker)
{
    int64_t longest = 0;
    size_t slow = 0;
    for (size_t k = 0; job->pipeline && k < job->pipeline->seats; k++) {
        int64_t least = INT64_MAX;
        for (size_t w = 0; w < job->shared->workers; w++)
            least = busy_of(job, w, k) < least ? busy_of(job, w, k) : least;
        if (busy_of(job, worker, k) - least <= longest)
            continue;
        longest = busy_of(job, worker, k) - least;
        slow = k / job->pipeline->team;
    }
    return slow;
}

enum hr_status hr_account_waiting(struct hr_run *run)
{
    const struct hr_shared_state *shared = &run->shared;
    struct hr_run_result *result = run->result;
    const size_t n = shared->workers, rows = n <= HR_ARRIVALS_ROWS ? n : 1;
    if (seconds_of_all(result) <= 0)
        return HR_OK;
    result->waited_for = calloc(n, sizeof *result->waited_for);
    result->waited_s = n <= HR_ARRIVALS_ROWS ? calloc(n * n, sizeof(double)) : NULL;
    if (!result->waited_for || (n <= HR_ARRIVALS_ROWS && !result->waited_s))
        return hr_fail(HR_E_NOMEM, "no memory for the waiting of %zu workers", n);
    result->nwaited = n;
    for (size_t w = 0; w < n; w++) {
        result->stalled_s += hr_seconds(shared->stats[w].stalled_ns);
        result->waited_for[w].stage = slow_stage(&run->job, w);
    }
    for (size_t i = 0; i < rows * n; i++) {
        const int64_t *ns = hr_arrivals_cost(shared, i / n, i % n);
        add_cost(&result->waited_for[i % n], ns);
        result->waited_for[i % n].cost_s += all_of(ns);
        result->waited_for_others_s += all_of(ns);
        if (result->waited_s)
            result->waited_s[i] = all_of(ns);
    }
    return HR_OK;
}
