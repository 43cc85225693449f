/* The result of a run, folded from the workers' counters after all ranks have ended. */
#include "train/dense_result.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "data/look.h"
#include "drive/replay.h"
#include "hogring/checkpoint.h"
#include "options/train_options.h"
#include "server/staleness.h"
#include "session/result.h"
#include "strategies/strategies.h"
#include "strategy/stragglers.h"
#include "strategy/compression.h"
#include "train/pipeline_setup.h"

size_t hr_histogram_quantile(const uint64_t *counts, size_t n, double q)
{
    double total = 0, sum = 0;
    for (size_t i = 0; i < n; i++)
        total += (double)counts[i];
    for (size_t i = 0; i < n && total > 0; i++) {
        sum += (double)counts[i];
        if (sum >= q * total)
            return i;
    }
    return 0;
}

/* --- the workers' counters, copied from the segment to the result: staleness by worker and by key,
 * sums, shares of time, who was waited for --- */

/* The staleness of a worker, or of a key (of all updates where nobody counts it apart), and its
 * histogram up to the last bucket that is not empty. */
static struct hr_staleness read_part(const struct hr_run *run, size_t part,
                                     uint64_t bucket[HR_STALENESS_BUCKETS])
{
    const struct hr_shared_state *shared = &run->shared;
    const struct hr_run_result *all = run->result;
    struct hr_staleness out = {
        .updates = all->stale_updates, .sum = all->stale_sum, .max = all->stale_max};
    memcpy(bucket, all->stale, sizeof all->stale);
    if (part < shared->workers) {
        const struct hr_stale *own = &shared->stats[part].stale;
        out = (struct hr_staleness){.updates = own->updates, .sum = own->sum, .max = own->max};
        memcpy(bucket, own->bucket, sizeof own->bucket);
    } else {
        const size_t key = part - shared->workers;
        const struct hr_staleness_counts *own = hr_staleness_of_key(shared, key);
        for (size_t i = 0; own && i < HR_STALENESS_BUCKETS; i++)
            bucket[i] = hr_atom64_load_relaxed(&own->bucket[i]);
        out.updates = own ? hr_atom64_load_relaxed(&own->updates) : out.updates;
        out.sum = own ? hr_atom64_load_relaxed(&own->sum) : out.sum;
        out.max = own ? hr_atom64_load_relaxed(&own->max) : out.max;
        snprintf(out.name, sizeof out.name, "%s", hr_model_tensor(run->job.model, key)->name);
    }
    for (out.n = HR_STALENESS_BUCKETS; out.n > 0 && bucket[out.n - 1] == 0;)
        out.n--;
    return out;
}

/* Staleness by worker and by key; the totals are in the result. */
static enum hr_status account_staleness(struct hr_run *run)
{
    struct hr_run_result *result = run->result;
    const size_t keys = run->shared.optimizer.nsegments, parts = run->shared.workers + keys;
    uint64_t bucket[HR_STALENESS_BUCKETS];
    if (result->stale_updates == 0)
        return HR_OK;
    result->stale_parts = calloc(parts, sizeof *result->stale_parts);
    if (!result->stale_parts)
        return hr_fail(HR_E_NOMEM, "no memory for the staleness of %zu workers and keys", parts);
    for (size_t i = 0; i < parts; i++) {
        struct hr_staleness *part = &result->stale_parts[i];
        *part = read_part(run, i, bucket);
        part->first = result->nstale_counts;
        result->nstale_counts += part->n;
        uint64_t *counts =
            realloc(result->stale_counts, (result->nstale_counts + 1) * sizeof *counts);
        if (!counts)
            return hr_fail(HR_E_NOMEM, "no memory for %zu counts of staleness", part->n);
        memcpy(counts + part->first, bucket, part->n * sizeof *counts);
        result->stale_counts = counts;
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

/* Sum the counters into a zeroed result (result.c). */
static void result_count(const struct hr_run *run, struct hr_run_result *result)
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

/* What a step of a machine was made of, and what recording cost; the times of all are in the
 * result. */
static void result_divide_time(const struct hr_run *run, struct hr_run_result *result)
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
    to->load_s += hr_seconds(ns[HR_LATE_LOAD]);
    to->compute_s += hr_seconds(ns[HR_LATE_COMPUTE]);
    to->stall_s += hr_seconds(ns[HR_LATE_STALL]);
    to->preempted_s += hr_seconds(ns[HR_LATE_PREEMPTED]);
    to->communicate_s += hr_seconds(ns[HR_LATE_COMMUNICATE]);
    to->wait_s += hr_seconds(ns[HR_LATE_WAIT]);
}

static double all_of(const int64_t *ns)
{
    int64_t all = 0;
    for (size_t i = 0; i < HR_LATES; i++)
        all += ns[i];
    return hr_seconds(all);
}

static int64_t busy_of(const struct hr_train_job *job, size_t worker, size_t member)
{
    const struct hr_stage_account *account =
        &job->stage_accounts[worker * job->pipeline->members + member];
    return job->simulated ? account->busy_ps : account->busy_ns;
}

/* A replica waits for its slowest stage, and the others for the replica: by how much longer it
 * worked than the one that worked least, of all replicas' ranks in that place. */
static size_t slow_stage(const struct hr_train_job *job, size_t worker)
{
    int64_t longest = 0;
    size_t slow = 0;
    for (size_t k = 0; job->pipeline && k < job->pipeline->members; k++) {
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

/* And who was waited for, where time is kept. HR_E_NOMEM. */
static enum hr_status account_waiting(struct hr_run *run)
{
    const struct hr_shared_state *shared = &run->shared;
    struct hr_run_result *result = run->result;
    const size_t n = shared->workers, rows = n <= HR_STRAGGLER_ROWS ? n : 1;
    if (seconds_of_all(result) <= 0)
        return HR_OK;
    result->waited_for = calloc(n, sizeof *result->waited_for);
    result->waited_s = n <= HR_STRAGGLER_ROWS ? calloc(n * n, sizeof(double)) : NULL;
    if (!result->waited_for || (n <= HR_STRAGGLER_ROWS && !result->waited_s))
        return hr_fail(HR_E_NOMEM, "no memory for the waiting of %zu workers", n);
    result->nwaited = n;
    for (size_t w = 0; w < n; w++) {
        result->stalled_s += hr_seconds(shared->stats[w].stalled_ns);
        result->waited_for[w].stage = slow_stage(&run->job, w);
    }
    for (size_t i = 0; i < rows * n; i++) {
        const int64_t *ns = hr_stragglers_cost(shared, i / n, i % n);
        add_cost(&result->waited_for[i % n], ns);
        result->waited_for[i % n].cost_s += all_of(ns);
        result->waited_for_others_s += all_of(ns);
        if (result->waited_s)
            result->waited_s[i] = all_of(ns);
    }
    return HR_OK;
}

/* What staleness does to the step (hogring/train.h, struct hr_asynchrony), and which of step size,
 * momentum and staleness to change first when a run has diverged. */
/* The mean factor of lr over the updates: 1, or with --async-lr same:inverse that of
 * 1 / (1 + staleness). */
static double rate_left(const struct hr_run *run, const struct hr_run_result *result)
{
    double sum = 0;
    if (!run->shared.slows)
        return 1;
    for (size_t i = 0; i < HR_RESULT_STALENESS_BUCKETS; i++)
        sum += (double)result->stale[i] / (1 + (double)i);
    return sum / (double)result->stale_updates;
}

/* Else workers push something other than gradients. */
static bool pushes_gradients(const struct hr_strategy *strategy)
{
    return strategy->shares_batch || hr_strategy_obeys(strategy, "async-lr");
}

struct hr_asynchrony hr_asynchrony_of(const struct hr_run *run, const struct hr_run_result *result,
                                      double lr)
{
    const bool pushes = pushes_gradients(run->shared.strategy);
    const double stale = (double)result->stale_sum / (double)result->stale_updates;
    const double in_flight = pushes ? 1 + stale : (double)NAN;
    const double set = hr_optimizer_momentum(&run->shared.optimizer);
    const double implicit = 1 - 1 / in_flight; /* NaN when nothing was counted */
    return (struct hr_asynchrony){
        .effective_lr = lr * rate_left(run, result) * in_flight,
        .lr_is_step = run->shared.optimizer.rule->lr_is_step,
        .explicit_momentum = set,
        .implicit_momentum = implicit,
        .total_momentum = 1 - (1 - set) * (1 - implicit),
    };
}

/* --- divergence --- */

/* What to change first. Asynchrony multiplies the step by the updates in flight. Lower momentum
 * undoes that if there is enough of it (it keeps total momentum as it was set, as Mitliagkas et al.
 * advise); else a smaller step does; a bound cuts a long tail of staleness. */
static void write_cure(const struct hr_run *run, uint64_t stale_max, const struct hr_asynchrony *a,
                       char *text, size_t size)
{
    const double in_flight = 1 / (1 - a->implicit_momentum);
    const double momentum = 1 - (1 - a->explicit_momentum) * in_flight;
    const char *option = run->shared.optimizer.rule->momentum_option;
    const bool divides = run->job.choices.async_lr == HR_ASYNC_LR_DIVIDE;
    if (isnan(in_flight)) /* nothing was stale, or no gradients were */
        snprintf(text, size, "a smaller --lr");
    else if (in_flight < 1.5)
        snprintf(text, size, "a smaller --lr (asynchrony adds little to it)");
    else if (option && momentum > 0.005)
        snprintf(text, size, "--%s %.2f", option, momentum);
    else if (!divides)
        snprintf(text, size, "--async-lr divide");
    else if (run->shared.staleness_bound == UINT64_MAX && (double)stale_max > 4 * in_flight)
        snprintf(text, size, "--strategy ssp --staleness %.0f", ceil(in_flight));
    else
        snprintf(text, size, "a smaller --lr, or fewer --workers");
}

/* Steps right for inputs of about 1 are too large for inputs of hundreds. Returns the largest input
 * when inputs are large and not normalized; else 0. */
static double large_inputs(const struct hr_run *run)
{
    const double large = 10;
    const double most = (double)hr_look_at_largest(run->job.dataset, &run->job.dataset->train);
    return run->job.options->normalize || most <= large ? 0 : most;
}

/* Which columns are on unlike scales, by name: " (m has maximum 500, km 11)"; "": none are. */
static void write_scales(const struct hr_dataset *dataset, char *text, size_t size)
{
    struct hr_scale_look look;
    text[0] = '\0';
    if (hr_look_at_scales(dataset, &look) != HR_OK || !look.unlike)
        return;
    snprintf(text, size, " (%s has maximum %.4g, %s %.4g)",
             hr_look_at_name(dataset, look.large).text, (double)look.scales[1],
             hr_look_at_name(dataset, look.small).text, (double)look.scales[0]);
}

/* Did the training loss fall from where it began, and from each evaluation to the next? Then steps
 * are not too large. */
static bool fell_throughout(const struct hr_run_result *result)
{
    double before = result->first_samples ? result->first_loss / (double)result->first_samples
                                          : (double)INFINITY;
    for (size_t i = 0; i < result->ncurve; before = result->curve[i++].train_loss)
        if (!(result->curve[i].train_loss < before))
            return false;
    return result->ncurve > 0;
}

/* Where rare classes weigh more than they are frequent, accuracy is not what was trained for. */
static bool is_at_chance(const struct hr_run *run, const struct hr_run_result *result, char *text,
                         size_t size)
{
    const struct hr_dataset *held_out_of = run->final_test.dataset;
    const struct hr_dataset *whole = held_out_of ? held_out_of : run->job.dataset;
    return run->job.options->class_weights[0]
               ? hr_look_at_balanced_chance(whole, result->test_fit.balanced_accuracy, text, size)
               : hr_look_at_chance(whole, result->test_accuracy, text, size);
}

/* Why a network may have learned nothing; the first that holds. */
static void write_chance(const struct hr_run *run, struct hr_run_result *result)
{
    enum { FEW_UPDATES = 100 };
    char what[100], scales[140];
    const double updates = (double)(result->past_updates + result->updates);
    const struct hr_asynchrony *a = &result->asynchrony;
    const char *option = run->shared.optimizer.rule->momentum_option;
    const double stale = (double)result->stale_sum / (double)result->stale_updates;
    if (!is_at_chance(run, result, what, sizeof what))
        return;
    char *cause =
        result->chance + snprintf(result->chance, sizeof result->chance, "%s; likely ", what);
    const size_t room = sizeof result->chance - strlen(result->chance);
    const bool fell = fell_throughout(result);
    const bool stalely = !fell && !run->shared.strategy->synchronous && stale >= 1;
    write_scales(run->job.dataset, scales, sizeof scales);
    if (large_inputs(run) > 0 || (scales[0] && !run->job.options->normalize))
        snprintf(cause, room, "the scales of columns: --normalize%s", scales);
    else if (stalely && option && a->explicit_momentum > 0)
        snprintf(cause, room,
                 "lr %.3g and %s %.2f under a mean staleness of %.3g: --%s 0, or a smaller --lr",
                 result->lr, option, a->explicit_momentum, stale, option);
    else if (stalely)
        snprintf(cause, room, "lr %.3g under a mean staleness of %.3g: a smaller --lr", result->lr,
                 stale);
    else if (!fell)
        snprintf(cause, room, "the rate (lr %.3g): a smaller --lr", result->lr);
    else if (updates < FEW_UPDATES)
        snprintf(cause, room, "too few updates (%.0f): more --epochs, or a larger --lr", updates);
    else
        snprintf(cause, room,
                 "small steps (lr %.3g; the loss fell): a larger --lr, or more --epochs",
                 result->lr);
}

/* Set result->cure: which of step size, momentum and staleness to change first if the loss rose. */
static void divergence_cure(const struct hr_run *run, struct hr_run_result *result)
{
    const bool asynchronous = !run->shared.strategy->synchronous;
    const struct hr_asynchrony none = {.implicit_momentum = (double)NAN};
    write_cure(run, result->stale_max, asynchronous ? &result->asynchrony : &none, result->cure,
               sizeof result->cure);
    const double inputs = large_inputs(run);
    if (inputs > 0)
        snprintf(result->cure, sizeof result->cure,
                 "the inputs: --normalize (their maximum is %.4g)", inputs);
    write_chance(run, result);
}

/* The rate of the last index handed out. */
static double last_lr(const struct hr_run *run)
{
    const struct hr_batch_schedule *schedule = &run->shared.schedule;
    const uint64_t next = hr_atom64_load_acquire(&run->shared.dispenser->next); /* all are gone */
    const uint64_t begun = next < schedule->end ? next : schedule->end;
    return (double)hr_batch_schedule_lr(schedule,
                                        begun > schedule->first ? begun - 1 : schedule->first);
}

/* The tensor with the first weight that is not finite, of those that the run began with; NULL:
 * there was none, or others stand there by now. */
static const char *began_unfinite(const struct hr_run *run)
{
    const struct hr_model *model = run->job.model;
    const float *weights = run->shared.snapshot.weights;
    if (hr_digest64(weights, run->shared.params * sizeof *weights) != run->job.begins_with)
        return NULL;
    for (size_t t = 0; t < hr_model_tensor_count(model); t++) {
        const struct hr_tensor_info *tensor = hr_model_tensor(model, t);
        for (size_t i = 0; i < tensor->count; i++)
            if (!isfinite(weights[tensor->offset + i]))
                return tensor->name;
    }
    return NULL;
}

/* Was something done to gradients or weights on purpose? */
static bool is_injected(const struct hr_run *run)
{
    const struct hr_inject *inject = &run->job.conditions.inject;
    return hr_inject_has(inject, HR_INJECT_NAN) || hr_inject_has(inject, HR_INJECT_FLIP_BIT);
}

/* What asynchrony did to the step. */
static void write_asynchrony(const struct hr_run *run, const struct hr_run_result *so_far,
                             char *text, size_t size)
{
    char cure[200];
    const double lr = last_lr(run);
    const struct hr_asynchrony a = hr_asynchrony_of(run, so_far, lr);
    write_cure(run, so_far->stale_max, &a, cure, sizeof cure);
    snprintf(text, size,
             "; staleness so far: p50 %zu, max %llu; lr %.3g acts like %.3g, momentum %.2f like "
             "%.3f; try first: %s",
             hr_histogram_quantile(so_far->stale, HR_RESULT_STALENESS_BUCKETS, 0.5),
             (unsigned long long)so_far->stale_max, lr, a.effective_lr, a.explicit_momentum,
             a.total_momentum, cure);
}

/* The rate is blamed where updates were made by one; and whatever else is found. */
enum hr_status hr_divergence_explain(const struct hr_run *run, enum hr_status status)
{
    struct hr_run_result so_far = {0};
    char message[480], advice[480] = "";
    const struct hr_strategy *strategy = run->shared.strategy;
    size_t sample;
    if (status != HR_E_DIVERGED || !run->segment.base || is_injected(run))
        return status;
    snprintf(message, sizeof message, "%s", hr_error_message());
    const char *tensor = began_unfinite(run);
    if (tensor)
        return hr_fail(status,
                       "%s; %s has numbers that are not finite in the weights that the run "
                       "begins with",
                       message, tensor);
    if (hr_look_for_unfinite(run->job.dataset, &run->job.dataset->train, &sample))
        return hr_fail(status, "%s; features of training sample %zu are not finite", message,
                       sample + 1);
    result_count(run, &so_far);
    const bool updated = so_far.updates > 0 && run->job.options->lr > 0;
    const double inputs = large_inputs(run);
    if (inputs > 0)
        snprintf(advice, sizeof advice,
                 "; the maximum of the inputs is %.4g: try --normalize first", inputs);
    else if (updated && !strategy->synchronous && pushes_gradients(strategy) &&
             so_far.stale_updates > 0)
        write_asynchrony(run, &so_far, advice, sizeof advice);
    return hr_fail(status, "%s%s%s", message,
                   updated ? "; a smaller --lr may help"
                           : ", by the weights that the run begins with",
                   advice);
}

/* Does the strategy obey --staleness, whatever its value? */
static bool is_bounded(const struct hr_run *run)
{
    const struct hr_strategy *named;
    return hr_strategy_find(run->job.options->strategy, UINT64_MAX, &named) == HR_OK &&
           hr_strategy_obeys(named, "staleness");
}

/* --reduce repro: time by shards over time of whole shares; 0: not known. */
static double micro_shards_cost(const struct hr_train_job *job)
{
    const struct hr_worker_stats *stats = &job->shared->stats[0];
    if (!job->micro_shards || !stats->whole_ns)
        return 0;
    return (double)stats->repro_ns / (double)stats->whole_ns;
}

static void fill_configuration(const struct hr_run *run, struct hr_run_result *result)
{
    const struct hr_dataset *held_out_of = run->final_test.dataset;
    const struct hr_dataset *whole = held_out_of ? held_out_of : run->job.dataset;
    const struct hr_shared_state *shared = &run->shared;
    const bool all_reduces = hr_strategy_obeys(shared->strategy, "algorithm");
    const struct hr_algorithm *algorithm = shared->group_options.algorithm;
    snprintf(result->strategy, sizeof result->strategy, "%s", run->job.options->strategy);
    snprintf(result->algorithm, sizeof result->algorithm, "%s", all_reduces ? algorithm->name : "");
    snprintf(result->order, sizeof result->order, "%s",
             shared->strategy->order ? shared->strategy->order : algorithm->order);
    snprintf(result->launch, sizeof result->launch, "%s",
             run->job.serial ? "events" : hr_launch_name(run->job.launch));
    snprintf(result->kernels, sizeof result->kernels, "%s", hr_run_kernels(run));
    snprintf(result->precision, sizeof result->precision, "%s", run->job.options->precision);
    snprintf(result->model, sizeof result->model, "%.1023s", hr_model_text(run->job.model));
    snprintf(result->optimizer, sizeof result->optimizer, "%s", shared->optimizer.rule->name);
    hr_train_loss_text(run->job.options, result->loss);
    hr_strategy_describe(shared, result->manner, sizeof result->manner);
    result->workers = shared->workers;
    result->servers = shared->servers;
    if (shared->servers)
        snprintf(result->placement, sizeof result->placement, "%s", run->options.placement);
    result->params = shared->params;
    result->frozen_params = shared->optimizer.frozen;
    result->classes = run->job.dataset->classes;
    result->unequal = hr_look_at_unequal(whole);
    result->test_samples = whole->test.count;
    result->targets = run->job.values.count;
    result->tokens = run->job.dataset->tokens.context;
    result->batch_size = run->job.batch_size;
    result->global_batch = run->job.global_batch;
    result->threads_per_worker = run->job.options->threads_per_worker;
    result->micro_shards = run->job.micro_shards;
    result->repro_cost = micro_shards_cost(&run->job);
    result->seed = run->job.options->seed;
    result->event_order = run->job.options->event_order;
    result->bounded = is_bounded(run);
    result->staleness_bound = run->job.options->staleness;
}

static enum hr_status take_dropped(const struct hr_run *run, struct hr_run_result *result)
{
    result->ndropped_by = run->shared.workers;
    result->dropped_by = calloc(result->ndropped_by, sizeof *result->dropped_by);
    if (!result->dropped_by)
        return hr_fail(HR_E_NOMEM, "no memory for the counts of %zu workers", result->ndropped_by);
    for (size_t w = 0; w < result->ndropped_by; w++)
        result->dropped_by[w] = run->shared.stats[w].dropped.gradients;
    return HR_OK;
}

/* The double that people would write for this float: 0.05, not 0.05000000074505806. */
static double as_written(float value)
{
    char text[32];
    snprintf(text, sizeof text, "%.7g", (double)value);
    return strtod(text, NULL);
}

/* Of the updates that this run made: a rate that fell to 0 has not acted like 0. */
static double mean_lr(const struct hr_batch_schedule *schedule, uint64_t end)
{
    enum { LOOKS = 4096 };
    const uint64_t first = schedule->first < end ? schedule->first : end - 1, n = end - first;
    const uint64_t looks = n < LOOKS ? n : LOOKS;
    double sum = 0;
    for (uint64_t i = 0; i < looks; i++)
        sum += (double)hr_batch_schedule_lr(schedule, first + i * n / looks);
    return as_written((float)(sum / (double)looks));
}

static void name_trace(const struct hr_run *run, struct hr_run_result *result)
{
    const bool to_the_end =
        run->drive.replay && !hr_replay_is_cut_short(&run->drive) && !result->interrupted;
    snprintf(result->trace, sizeof result->trace, "%s",
             run->drive.replay ? run->drive.replay->path : run->job.options->record);
    snprintf(result->recorded_digest, sizeof result->recorded_digest, "%s",
             to_the_end ? run->drive.replay->weights_digest : "");
}

enum hr_status hr_result_fill(struct hr_run *run)
{
    struct hr_run_result *result = run->result;
    const struct hr_batch_schedule *schedule = &run->shared.schedule;
    const struct hr_worker_stats *stats = run->shared.stats;
    const struct hr_accounts accounts = {&stats->account, sizeof *stats, run->shared.workers};
    fill_configuration(run, result);
    result_count(run, result);
    HR_TRY(hr_result_finish(&run->leader.cuts, run->job.options, &accounts, result));
    HR_TRY(account_staleness(run));
    HR_TRY(account_waiting(run));
    HR_TRY(take_dropped(run, result));
    HR_TRY(hr_pipeline_report(run));
    result->wall_s = hr_seconds(hr_clock_ns() - run->wall_began_ns);
    result->cpu_s = hr_seconds(hr_clock_cpu_ns() - run->cpu_began_ns);
    const uint64_t end = run->leader.cuts.cut->index ? run->leader.cuts.cut->index : 1;
    result->lr = as_written(hr_batch_schedule_lr(schedule, end - 1));
    result->asynchrony = hr_asynchrony_of(run, result, mean_lr(schedule, end));
    divergence_cure(run, result);
    hr_digest_floats(run->shared.snapshot.weights, run->shared.params, result->weights_digest);
    result->counts_applied = run->shared.servers && run->shared.strategy->rows.state != HR_KEPT_OWN;
    result->applied = run->shared.snapshot.applied[0] - run->applied;
    name_trace(run, result);
    result_divide_time(run, result);
    hr_losses_report(&run->drive.losses, result);
    result->repeats = run->job.serial || (hr_train_repeats(run->job.options) && !result->nlosses);
    hr_conditions_warn(&run->job, (int64_t)(1e12 * result->seconds));
    return HR_OK;
}
