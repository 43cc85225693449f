#include "json/account.h"

#include <math.h>

#include "report/groups.h"
#include "json/value.h"
#include "report/lost_ranks.h"
#include "train/histogram.h"

/* Figures of a set of updates. */
struct counted {
    uint64_t updates, sum, max;
    const uint64_t *counts; /* (n) */
    size_t n;
};

static json_t *histogram(const struct counted *counted)
{
    json_t *array = json_array();
    size_t n = counted->n;
    while (n > 0 && counted->counts[n - 1] == 0)
        n--;
    for (size_t i = 0; i < n; i++)
        if (json_array_append_new(array, hr_json_count(counted->counts[i])) != 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static json_t *quantile(const struct counted *counted, double q)
{
    if (counted->updates == 0)
        return json_null();
    return hr_json_count(hr_histogram_quantile(counted->counts, counted->n, q));
}

static json_t *counted_object(const struct counted *counted)
{
    const double mean =
        counted->updates ? (double)counted->sum / (double)counted->updates : (double)NAN;
    return json_pack("{so so so so so}", "mean", hr_json_number(mean), "p50",
                     quantile(counted, 0.5), "p99", quantile(counted, 0.99), "max",
                     hr_json_count(counted->max), "histogram", histogram(counted));
}

/* Part `i` of a run: its worker or key, and the same figures. */
static json_t *part_object(const struct hr_run_result *run, size_t i)
{
    const struct hr_staleness *part = &run->stale_parts[i];
    const struct counted counted = {.updates = part->updates,
                                    .sum = part->sum,
                                    .max = part->max,
                                    .counts = run->stale_counts + part->first,
                                    .n = part->n};
    json_t *object = counted_object(&counted);
    const bool is_key = i >= run->nstale_workers;
    int failed = json_object_set_new(object, is_key ? "name" : "rank",
                                     is_key ? hr_json_text(part->name) : hr_json_count(i)) |
                 json_object_set_new(object, "updates", hr_json_count(part->updates));
    if (failed) {
        json_decref(object);
        return NULL;
    }
    return object;
}

static json_t *part_array(const struct hr_run_result *run, size_t first, size_t n)
{
    json_t *array = json_array();
    for (size_t i = first; i < first + n; i++)
        if (json_array_append_new(array, part_object(run, i)) != 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

json_t *hr_json_staleness(const struct hr_run_result *run)
{
    const struct counted all = {.updates = run->stale_updates,
                                .sum = run->stale_sum,
                                .max = run->stale_max,
                                .counts = run->stale,
                                .n = HR_RESULT_STALENESS_BUCKETS};
    json_t *object = counted_object(&all);
    const bool unknown = run->conflicts.omega && run->stale_updates == 0; /* sparse models */
    int failed =
        (unknown ? json_object_set_new(object, "max", json_null()) : 0) |
        json_object_set_new(object, "exact_below", hr_json_count(HR_RESULT_STALENESS_BUCKETS - 1)) |
        json_object_set_new(object, "workers", part_array(run, 0, run->nstale_workers)) |
        json_object_set_new(object, "keys", part_array(run, run->nstale_workers, run->nstale_keys));
    if (failed) {
        json_decref(object);
        return NULL;
    }
    return object;
}

json_t *hr_json_dropped(const struct hr_run_result *run)
{
    json_t *workers = json_array();
    int failed = 0;
    for (size_t w = 0; w < run->ndropped_by; w++)
        failed |= json_array_append_new(workers, hr_json_count(run->dropped_by[w]));
    if (failed) {
        json_decref(workers);
        return NULL;
    }
    return json_pack("{so so so}", "gradients", hr_json_count(run->dropped), "samples",
                     hr_json_count(run->dropped_samples), "by_worker", workers);
}

json_t *hr_json_asynchrony(const struct hr_run_result *run)
{
    const struct hr_asynchrony *a = &run->asynchrony;
    return json_pack("{so so so so}", "effective_lr", hr_json_number(a->effective_lr),
                     "explicit_momentum", hr_json_number(a->explicit_momentum), "implicit_momentum",
                     hr_json_number(a->implicit_momentum), "total_momentum",
                     hr_json_number(a->total_momentum));
}

json_t *hr_json_lost_updates(const struct hr_run_result *run)
{
    const struct hr_lost_share share = hr_lost_share_with((struct hr_lost_share){0}, run);
    if (share.lines == 0)
        return json_null();
    return json_pack("{so so so so so so}", "sampled_lines", hr_json_count(share.lines),
                     "sampled_pairs", hr_json_count(share.pairs), "lost_pairs",
                     hr_json_count(share.lost), "fraction", hr_json_number(share.fraction), "low",
                     hr_json_number(share.low), "high", hr_json_number(share.high));
}

/* --- losses */

static json_t *loss_object(const struct hr_loss *loss)
{
    const char *followed = loss->rolled_back ? "rollback" : NULL;
    return json_pack(
        "{so so so so so so so so so so so so}", "host",
        loss->host[0] ? hr_json_text(loss->host) : json_null(), "rank", hr_json_count(loss->rank),
        "server", json_boolean(loss->server), "step", hr_json_count(loss->step), "seconds",
        hr_json_number(loss->seconds), "pause_s",
        loss->pause_s < 0 ? json_null() : hr_json_number(loss->pause_s), "samples_lost",
        hr_json_count(loss->lost_samples), "samples_again", hr_json_count(loss->again_samples),
        "partial", hr_json_count(loss->partial), "back", json_boolean(loss->back), "followed",
        followed ? hr_json_text(followed) : json_null(), "how", hr_json_text(loss->how));
}

json_t *hr_json_losses(const struct hr_run_result *run)
{
    json_t *array = json_array();
    int failed = 0;
    for (size_t i = 0; i < run->nlosses; i++)
        failed |= json_array_append_new(array, loss_object(&run->losses[i]));
    if (!failed)
        return array;
    json_decref(array);
    return NULL;
}

/* --- time */

static json_t *worker_times(const struct hr_run_result *run)
{
    json_t *array = json_array();
    for (size_t w = 0; w < run->nworker_times; w++) {
        const struct hr_worker_time *time = &run->worker_time[w];
        json_array_append_new(array,
                              json_pack("{so so so so so}", "load", hr_json_number(time->load_s),
                                        "compute", hr_json_number(time->compute_s), "communicate",
                                        hr_json_number(time->communicate_s), "wait",
                                        hr_json_number(time->wait_s), "absent",
                                        hr_json_number(hr_run_absent(run, w))));
    }
    return array;
}

json_t *hr_json_node_step(const struct hr_run_result *run)
{
    const struct hr_node_step *step = &run->node_step;
    if (!step->workers)
        return json_null();
    return json_pack("{so so so so so so so so}", "workers", hr_json_count(step->workers), "load",
                     hr_json_number(step->load_s), "compute", hr_json_number(step->compute_s),
                     "aggregate", hr_json_number(step->aggregate_s), "push",
                     hr_json_number(step->push_s), "update", hr_json_number(step->update_s),
                     "distribute", hr_json_number(step->distribute_s), "rest",
                     hr_json_number(step->rest_s));
}

/* null when not measured apart from other computing: sparse steps, virtual time. */
static json_t *part_of_compute(double seconds)
{
    return seconds > 0 ? hr_json_number(seconds) : json_null();
}

json_t *hr_json_time(const struct hr_run_result *run)
{
    const bool kept = run->load_s + run->compute_s + run->communicate_s + run->wait_s > 0;
    double absent = 0;
    if (!kept)
        return json_pack("{sn sn sn sn sn sn sn s[]}", "compute", "communicate", "wait", "load",
                         "absent", "forward", "backward", "workers");
    for (size_t w = 0; w < run->nworker_times; w++)
        absent += hr_run_absent(run, w);
    return json_pack("{so so so so so so so so}", "compute", hr_json_number(run->compute_s),
                     "communicate", hr_json_number(run->communicate_s), "wait",
                     hr_json_number(run->wait_s), "load", hr_json_number(run->load_s), "absent",
                     hr_json_number(absent), "forward", part_of_compute(run->forward_s), "backward",
                     part_of_compute(run->backward_s), "workers", worker_times(run));
}
