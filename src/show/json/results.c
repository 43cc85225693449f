/* The table of results: each figure of a run stands in one row, with its key, where it is, what it
 * means, and what it is called in logs. Documents, the lines of logs and hogring help json follow.
 * The keys are a contract with scripts: rows are only ever added.
 *
 * "time": compute, communicate, wait and load (decoding, or waiting for, the input) are disjoint.
 * "samples" were trained on. Those that workers were handed are samples + samples_lost +
 * dropped.samples. In a resumed run "steps", "curve", "target_seconds" and "total_..." cover the
 * whole training; all others cover this run alone.
 */
#include "json/documents.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint/digest.h"
#include "json/value.h"
#include "options/train_options.h"
#include "report/report.h"
#include "report/groups.h"
#include "session/machine_bits.h"
#include "train/dense_result.h"

#define RUN struct hr_run_result

/* A value that is worked out of a struct, `it`, and the one `around` it. */
#define MADE(name, type, it, outer, around, value)                                                 \
    static json_t *name(const void *base, const void *about)                                       \
    {                                                                                              \
        const type *it = base;                                                                     \
        const outer *around = about;                                                               \
        (void)it, (void)around;                                                                    \
        return value;                                                                              \
    }
/* The same of a run, and of what is `about` it. */
#define OF_RUN(name, value) MADE(name, RUN, run, struct hr_run_about, outside, value)

/* --- evaluations --- */

#define FIT struct hr_fit
static const struct hr_field fit_rows[] = {
    {HR_FIELD(FIT, "rmse", rmse)},
    {HR_FIELD(FIT, "mae", mae)},
    {HR_FIELD(FIT, "r2", r2)},
};

/* The same of classes. */
static const struct hr_field score_rows[] = {
    {HR_FIELD(FIT, "balanced_accuracy", balanced_accuracy)},
    {HR_FIELD(FIT, "macro_f1", macro_f1)},
    {HR_FIELD(FIT, "roc_auc", roc_auc)},
};

/* The same of text. */
static const struct hr_field text_rows[] = {
    {HR_FIELD(FIT, "perplexity", perplexity)},
    {HR_FIELD(FIT, "bits_per_byte", bits_per_byte)},
};

/* null where classes are predicted, or it was not measured. */
static json_t *fit(const struct hr_fit *fit, bool measured)
{
    return measured ? hr_fields_json(HR_ROWS(fit_rows), fit, NULL) : json_null();
}

/* The same where values are. */
static json_t *scores(const struct hr_fit *fit, bool measured)
{
    return measured && !isnan(fit->balanced_accuracy)
               ? hr_fields_json(HR_ROWS(score_rows), fit, NULL)
               : json_null();
}

static json_t *text(const struct hr_fit *fit, bool measured)
{
    return measured ? hr_fields_json(HR_ROWS(text_rows), fit, NULL) : json_null();
}

json_t *hr_json_fit(const struct hr_fit *of)
{
    return fit(of, true);
}

void hr_json_put_fits(json_t *object, const struct hr_fit *of, bool is_values, bool is_text)
{
    json_object_set_new(object, "test_fit", fit(of, is_values));
    json_object_set_new(object, "test_scores", scores(of, !is_values && !is_text));
    json_object_set_new(object, "test_text", text(of, is_text));
}

#define POINT struct hr_curve_point
MADE(fit_of_test, POINT, at, void, around, fit(&at->fit, at->values && !at->validated))
MADE(fit_of_validation, POINT, at, void, around, fit(&at->fit, at->values && at->validated))
MADE(scores_of_test, POINT, at, void, around,
     scores(&at->fit, !at->values && !at->text && !at->validated))
MADE(scores_of_validation, POINT, at, void, around,
     scores(&at->fit, !at->values && !at->text && at->validated))
MADE(text_of_test, POINT, at, void, around, text(&at->fit, at->text && !at->validated))
MADE(text_of_validation, POINT, at, void, around, text(&at->fit, at->text && at->validated))

static const struct hr_field point_rows[] = {
    {HR_FIELD(POINT, "samples", samples)},
    {HR_FIELD(POINT, "seconds", seconds)},
    {HR_FIELD(POINT, "epoch", epoch)},
    {HR_FIELD(POINT, "train_loss", train_loss)},
    {HR_FIELD(POINT, "test_loss", test_loss)},
    {HR_FIELD(POINT, "test_accuracy", test_accuracy)},
    {HR_FIELD(POINT, "validation_loss", validation_loss), HR_WHEN(POINT, validated)},
    {HR_FIELD(POINT, "validation_accuracy", validation_accuracy), HR_WHEN(POINT, validated)},
    {HR_MADE("test_fit", fit_of_test)},
    {HR_MADE("validation_fit", fit_of_validation)},
    {HR_MADE("test_scores", scores_of_test)},
    {HR_MADE("validation_scores", scores_of_validation)},
    {HR_MADE("test_text", text_of_test)},
    {HR_MADE("validation_text", text_of_validation)},
};

json_t *hr_json_point(const struct hr_curve_point *point)
{
    return hr_fields_json(HR_ROWS(point_rows), point, NULL);
}

OF_RUN(validation_fit, fit(&run->validation_fit, run->validation_samples && run->targets))
OF_RUN(tokens_per_s,
       run->tokens ? hr_json_number(run->samples_per_s *(double)run->tokens) : json_null())
OF_RUN(test_text, text(&run->test_fit, run->tokens))
OF_RUN(validation_text, text(&run->validation_fit, run->validation_samples && run->tokens))
OF_RUN(test_scores, scores(&run->test_fit, !run->targets && !run->tokens))
OF_RUN(validation_scores,
       scores(&run->validation_fit, run->validation_samples && !run->targets && !run->tokens))

#define BEST struct hr_best_evaluation
static const struct hr_field best_rows[] = {
    {HR_FIELD(BEST, "metric", metric)},         {HR_FIELD(BEST, "value", value)},
    {HR_FIELD(BEST, "epoch", epoch)},           {HR_FIELD(BEST, "restored", restored)},
    {HR_FIELD(BEST, "stopped", stopped)},       {HR_FIELD(BEST, "ended", ended)},
    {HR_FIELD(BEST, "checkpoint", checkpoint)},
};

/* The first loss, and whether the last is above it. */
static json_t *divergence(const void *base, const void *about)
{
    const RUN *run = base;
    struct hr_rise rise;
    const bool diverged = hr_run_diverged(run, &rise), rose = hr_run_rose(run, &rise);
    (void)about;
    return hr_json_object("first_loss", HR_JSON(hr_run_first_loss(run)), "first_epoch_loss",
                          HR_JSON(hr_run_first_epoch_loss(run)), "rose", json_boolean(rose),
                          "diverged", json_boolean(diverged), "cure",
                          hr_json_text_or_null(rose ? run->cure : ""), NULL);
}

/* As those of eval; null where nobody kept them, or they are of another test split. */
static json_t *classes(const void *base, const void *about)
{
    const RUN *run = base;
    const struct hr_dataset *dataset = ((const struct hr_run_about *)about)->dataset;
    if (!run->nanswers || run->nanswers != dataset->test.count)
        return json_null();
    const struct hr_evaluation evaluation = {/* borrowed, and read alone */
                                             .count = run->nanswers,
                                             .classes = run->classes,
                                             .class_names = (char **)dataset->class_names,
                                             .labels = (uint32_t *)dataset->test.labels,
                                             .answers = run->answers};
    return hr_json_classes(&evaluation);
}

/* --- what it goes by --- */

OF_RUN(label, hr_json_text(outside->label))

/* What stderr said when it was over: what to change first. */
static json_t *warnings(const void *base, const void *about)
{
    const RUN *run = base;
    const char *name = ((const struct hr_run_about *)about)->label;
    char advice[HR_ADVICE_MAX];
    json_t *array = json_array();
    if (hr_advice_after(run, name, advice))
        hr_json_append(&array, hr_json_text(advice));
    if (hr_advice_rising(run, name, advice) || hr_advice_asynchrony(run, name, advice))
        hr_json_append(&array, hr_json_text(advice));
    if (hr_advice_chance(run, name, advice))
        hr_json_append(&array, hr_json_text(advice));
    return array;
}

/* --- staleness --- */

static json_t *quantile(uint64_t updates, const uint64_t *counts, size_t n, double q)
{
    return updates ? hr_json_count(hr_histogram_quantile(counts, n, q)) : json_null();
}

/* Figures of a set of updates; counts (n): how many had each staleness. */
static json_t *stale_figures(uint64_t updates, uint64_t sum, uint64_t max, const uint64_t *counts,
                             size_t n)
{
    return hr_json_object("mean", HR_JSON(updates ? (double)sum / (double)updates : (double)NAN),
                          "p50", quantile(updates, counts, n, 0.5), "p99",
                          quantile(updates, counts, n, 0.99), "max", HR_JSON(max), "histogram",
                          hr_json_histogram(counts, n), NULL);
}

/* A part of a run: a worker, or behind all workers a key. */
static json_t *stale_part(const void *of, size_t i)
{
    const RUN *run = of;
    const struct hr_staleness *part = &run->stale_parts[i];
    const bool is_key = i >= run->nstale_workers;
    json_t *object = stale_figures(part->updates, part->sum, part->max,
                                   part->n ? &run->stale_counts[part->first] : NULL, part->n);
    json_object_set_new(object, is_key ? "name" : "rank",
                        is_key ? hr_json_text(part->name) : hr_json_count(i));
    json_object_set_new(object, "updates", hr_json_count(part->updates));
    return object;
}

static json_t *stale_key(const void *of, size_t i)
{
    return stale_part(of, ((const RUN *)of)->nstale_workers + i);
}

/* Below exact_below staleness is counted exactly; bucket exact_below holds all updates at or above
 * it, so a quantile of exact_below means "at least". max is always exact. */
static json_t *staleness(const void *base, const void *about)
{
    const RUN *run = base;
    json_t *object = stale_figures(run->stale_updates, run->stale_sum, run->stale_max, run->stale,
                                   HR_RESULT_STALENESS_BUCKETS);
    const bool unknown = run->conflicts.omega && run->stale_updates == 0; /* sparse models */
    (void)about;
    int failed =
        (unknown ? json_object_set_new(object, "max", json_null()) : 0) |
        json_object_set_new(object, "exact_below", hr_json_count(HR_RESULT_STALENESS_BUCKETS - 1)) |
        json_object_set_new(object, "workers", hr_json_list(run->nstale_workers, stale_part, run)) |
        json_object_set_new(object, "keys", hr_json_list(run->nstale_keys, stale_key, run));
    if (!failed)
        return object;
    json_decref(object);
    return NULL;
}

#define ASYNCHRONY struct hr_asynchrony
static const struct hr_field asynchrony_rows[] = {
    {HR_FIELD(ASYNCHRONY, "effective_lr", effective_lr)},
    {HR_FIELD(ASYNCHRONY, "explicit_momentum", explicit_momentum)},
    {HR_FIELD(ASYNCHRONY, "implicit_momentum", implicit_momentum)},
    {HR_FIELD(ASYNCHRONY, "total_momentum", total_momentum)},
};

#define SHARE struct hr_lost_share
static const struct hr_field lost_share_rows[] = {
    {HR_FIELD(SHARE, "sampled_lines", lines)},
    {HR_FIELD(SHARE, "sampled_pairs", pairs)},
    {HR_FIELD(SHARE, "lost_pairs", lost)},
    {HR_FIELD(SHARE, "fraction", fraction)},
    {HR_FIELD(SHARE, "low", low)},
    {HR_FIELD(SHARE, "high", high)},
};

static json_t *lost_updates(const void *base, const void *about)
{
    const struct hr_lost_share share = hr_lost_share_with((struct hr_lost_share){0}, base);
    return share.lines ? hr_fields_json(HR_ROWS(lost_share_rows), &share, about) : json_null();
}

#define CONFLICTS struct hr_conflicts
static const struct hr_field conflict_rows[] = {
    {HR_FIELD(CONFLICTS, "omega", omega)},       {HR_FIELD(CONFLICTS, "delta", delta)},
    {HR_FIELD(CONFLICTS, "rho", rho)},           {HR_FIELD(CONFLICTS, "overlap", overlap)},
    {HR_FIELD(CONFLICTS, "lost_sampled", lost)}, {HR_FIELD(CONFLICTS, "writes_sampled", looked_at)},
};

/* --- batches and ranks that were lost --- */

OF_RUN(dropped_by_worker, hr_json_counts(run->dropped_by, run->ndropped_by))

static const struct hr_field dropped_rows[] = {
    {HR_FIELD(RUN, "gradients", dropped)},
    {HR_FIELD(RUN, "samples", dropped_samples)},
    {HR_MADE("by_worker", dropped_by_worker)},
};

static const struct hr_field prefetch_rows[] = {
    {HR_FIELD(RUN, "hits", prefetch_hits)},
    {HR_FIELD(RUN, "misses", prefetch_misses)},
};

static const struct hr_field byte_rows[] = {
    {HR_FIELD(RUN, "sent", bytes_sent)},
    {HR_FIELD(RUN, "received", bytes_received)},
    {HR_FIELD(RUN, "uncompressed", bytes_uncompressed)},
};

#define LOSS struct hr_loss
MADE(followed, LOSS, loss, void, around, loss->rolled_back ? json_string("rollback") : json_null())

const struct hr_field hr_loss_rows[] = {
    {HR_FIELD(LOSS, "rank", rank)},
    {HR_FIELD(LOSS, "server", server),
     .meaning = "worker rank, or server rank where server is true"},
    {HR_FIELD(LOSS, "host", host), .meaning = "of several machines, where it lived; else null"},
    {HR_FIELD(LOSS, "step", step), .log = "gradients"},
    {HR_FIELD(LOSS, "seconds", seconds), .log = "seconds",
     .meaning =
         "gradients that the worker had computed; the run's clock when its loss was noticed"},
    {HR_FIELD(LOSS, "pause_s", pause_s), .null = HR_NULL_BELOW_0,
     .meaning = "from then until an update was applied that was offered after it; null: none was"},
    {HR_FIELD(LOSS, "samples_lost", lost_samples),
     .meaning = "that were in its hands and were never trained on (--on-loss continue:count)"},
    {HR_FIELD(LOSS, "samples_again", again_samples),
     .meaning = "that were handed out, or computed, once more"},
    {HR_FIELD(LOSS, "partial", partial),
     .meaning = "its pushes of which only a part reached the weights (hogwild)"},
    {HR_FIELD(LOSS, "back", back), .meaning = "it was started again, and took part"},
    {HR_MADE("followed", followed),
     .meaning = "rollback: all went back to the last cut; else null"},
    {HR_FIELD(LOSS, "how", how), .log = "how",
     .meaning = "what is known of its end: pid and signal"},
    {HR_FIELD(LOSS, NULL, rolled_back), .log = "rolled_back"},
};
const size_t hr_loss_nrows = sizeof hr_loss_rows / sizeof *hr_loss_rows;

OF_RUN(samples_lost, hr_json_count(hr_run_lost_samples(run)))

/* --- time --- */

#define TIME struct hr_worker_time
MADE(absent_of, TIME, time, RUN, run,
     hr_json_number(hr_run_absent(run, (size_t)(time - run->worker_time))))

const struct hr_field hr_worker_time_rows[] = {
    {HR_FIELD(TIME, "load", load_s), .log = "load_s"},
    {HR_FIELD(TIME, "compute", compute_s), .log = "compute_s"},
    {HR_FIELD(TIME, "communicate", communicate_s), .log = "communicate_s"},
    {HR_FIELD(TIME, "wait", wait_s), .log = "wait_s"},
    {HR_MADE("absent", absent_of)},
};
const size_t hr_worker_time_nrows = sizeof hr_worker_time_rows / sizeof *hr_worker_time_rows;

/* How long a worker that was lost, or was left over, was not there, so that the five always add up
 * to the run's seconds. */
static json_t *absent(const void *base, const void *about)
{
    const RUN *run = base;
    double sum = 0;
    (void)about;
    for (size_t w = 0; w < run->nworker_times; w++)
        sum += hr_run_absent(run, w);
    return hr_json_number(sum);
}

static const struct hr_field time_rows[] = {
    {HR_FIELD(RUN, "load", load_s), .meaning = "decoded samples, or waited for them to be decoded"},
    {HR_FIELD(RUN, "compute", compute_s),
     .meaning = "gradients, and updates that are made apart from communication"},
    {HR_FIELD(RUN, "communicate", communicate_s),
     .meaning =
         "moved data, or waited for data on its way over a link; hogwild's pulls and pushes"},
    {HR_FIELD(RUN, "wait", wait_s),
     .meaning = "waited for another worker, a server, a processor, the end of a span; stalled"},
    {HR_FIELD(RUN, "forward", forward_s), .null = HR_NULL_AT_0},
    {HR_FIELD(RUN, "backward", backward_s), .null = HR_NULL_AT_0,
     .meaning = "of compute; null where they are not told apart (sparse models, virtual time)"},
    {HR_MADE("absent", absent),
     .meaning = "workers that were lost and had not come back, or were left over under --reduce "
                "repro; else 0"},
    {HR_LIST(RUN, "workers", worker_time, nworker_times, hr_worker_time_rows),
     .meaning = "the five again, of each worker"},
};

/* Without a value for any. */
static json_t *nothing_of(const struct hr_field *rows, size_t n, const char *list)
{
    json_t *object = json_object();
    for (size_t i = 0; i < n; i++)
        json_object_set_new(object, rows[i].name,
                            strcmp(rows[i].name, list) != 0 ? json_null() : json_array());
    return object;
}

OF_RUN(run_time, run->load_s + run->compute_s + run->communicate_s + run->wait_s > 0
                     ? hr_fields_json(HR_ROWS(time_rows), run, outside)
                     : nothing_of(HR_ROWS(time_rows), "workers"))

#define NODE struct hr_node_step
static const struct hr_field node_step_rows[] = {
    {HR_FIELD(NODE, "workers", workers)},
    {HR_FIELD(NODE, "load", load_s)},
    {HR_FIELD(NODE, "compute", compute_s)},
    {HR_FIELD(NODE, "aggregate", aggregate_s)},
    {HR_FIELD(NODE, "push", push_s)},
    {HR_FIELD(NODE, "update", update_s)},
    {HR_FIELD(NODE, "distribute", distribute_s)},
    {HR_FIELD(NODE, "rest", rest_s)},
};

/* --- for whom they waited --- */

#define WAITED struct hr_waited_for
#define RANK (size_t)(it - run->waited_for)
MADE(waited_rank, WAITED, it, RUN, run, hr_json_count(RANK))
MADE(waited_share, WAITED, it, RUN, run,
     hr_json_number(run->waited_for_others_s > 0 ? it->cost_s / run->waited_for_others_s : NAN))
MADE(waited_stage, WAITED, it, RUN, run,
     run->pipeline.stages ? hr_json_count(it->stage) : json_null())
MADE(waited_dropped, WAITED, it, RUN, run,
     hr_json_count(RANK < run->ndropped_by ? run->dropped_by[RANK] : 0))

static const struct hr_field waited_rows[] = {
    {HR_MADE("rank", waited_rank)},
    {HR_FIELD(WAITED, "cost_s", cost_s)},
    {HR_MADE("share", waited_share)},
    {HR_FIELD(WAITED, "load", load_s)},
    {HR_FIELD(WAITED, "compute", compute_s)},
    {HR_FIELD(WAITED, "stalled", stall_s)},
    {HR_FIELD(WAITED, "preempted", preempted_s)},
    {HR_FIELD(WAITED, "communicate", communicate_s)},
    {HR_FIELD(WAITED, "wait", wait_s)},
    {HR_MADE("stage", waited_stage)},
    {HR_MADE("dropped", waited_dropped)},
};

OF_RUN(waited_otherwise, hr_json_number(run->wait_s - run->waited_for_others_s - run->stalled_s))

static json_t *waited_matrix(const void *base, const void *about)
{
    const RUN *run = base;
    const size_t n = run->nwaited;
    (void)about;
    if (!run->waited_s)
        return json_null();
    json_t *rows = json_array();
    for (size_t i = 0; i < n; i++) {
        json_t *row = json_array();
        for (size_t j = 0; j < n; j++)
            hr_json_append(&row, hr_json_number(run->waited_s[i * n + j]));
        hr_json_append(&rows, row);
    }
    return rows;
}

/* What they waited for others is given to the last to come: by_rank's cost_s add up to for_others,
 * and share to 1; the parts add up to cost_s. matrix[i][j]: that i waited and j cost. */
static const struct hr_field waiting_rows[] = {
    {HR_FIELD(RUN, "for_others", waited_for_others_s)},
    {HR_FIELD(RUN, "stalled", stalled_s)},
    {HR_MADE("otherwise", waited_otherwise)},
    {HR_LIST(RUN, "by_rank", waited_for, nwaited, waited_rows)},
    {HR_MADE("matrix", waited_matrix)},
};

OF_RUN(waiting, run->nwaited ? hr_fields_json(HR_ROWS(waiting_rows), run, outside)
                             : nothing_of(HR_ROWS(waiting_rows), "by_rank"))

/* --- digests of steps: those of a step are one object --- */

static json_t *step_digests(const void *base, const void *about)
{
    const RUN *run = base;
    json_t *steps = run->ndigests ? json_array() : json_null(), *parts = NULL;
    int failed = 0;
    (void)about;
    for (size_t i = 0; i < run->ndigests; i++) {
        const struct hr_step_digest *digest = &run->digests[i];
        if (i == 0 || digest->step != digest[-1].step) {
            parts = json_object();
            failed |= json_array_append_new(
                steps, hr_json_object(HR_OF(digest, step), "parts", parts, NULL));
        }
        if (!failed)
            failed |= json_object_set_new(parts, digest->part,
                                          json_string(hr_digest64_text(digest->digest).hex));
    }
    if (!failed)
        return steps;
    json_decref(steps);
    return NULL;
}

/* --- saving --- */

#define SAVES struct hr_saves
static const struct hr_field save_rows[] = {
    {HR_FIELD(SAVES, "written", written)},       {HR_FIELD(SAVES, "failed", failed)},
    {HR_FIELD(SAVES, "rest_seconds", rest_s)},   {HR_FIELD(SAVES, "copy_seconds", copy_s)},
    {HR_FIELD(SAVES, "write_seconds", write_s)},
};

OF_RUN(saves, run->saves.written + run->saves.failed
                  ? hr_fields_json(HR_ROWS(save_rows), &run->saves, outside)
                  : json_null())

/* --- models in parts --- */

#define PIPELINE struct hr_pipeline_report
#define RECOMPUTE struct hr_recompute_report
#define STAGE struct hr_stage_report

MADE(compute_without, void, recompute, PIPELINE, pipeline, hr_json_number(pipeline->without_s))

static const struct hr_field recompute_rows[] = {
    {HR_FIELD(RECOMPUTE, "activation_bytes", bytes)},
    {HR_FIELD(RECOMPUTE, "activation_bytes_without", bytes_without)},
    {HR_FIELD(RECOMPUTE, "madds_share", share)},
    {HR_MADE("compute_seconds_without", compute_without)},
};

static const struct hr_field stage_staleness_rows[] = {
    {HR_FIELD(STAGE, "forward", stale_forward)},
    {HR_FIELD(STAGE, "backward", stale_backward)},
    {HR_FIELD(STAGE, "versions", versions)},
};

MADE(stage_staleness, STAGE, stage, PIPELINE, pipeline,
     pipeline->never_drains ? hr_fields_json(HR_ROWS(stage_staleness_rows), stage, pipeline)
                            : json_null())

static const struct hr_field stage_rows[] = {
    {HR_FIELD(STAGE, "layers", layers)},           {HR_FIELD(STAGE, "params", params)},
    {HR_FIELD(STAGE, "madds_share", madds_share)}, {HR_FIELD(STAGE, "busy_seconds", busy_s)},
    {HR_FIELD(STAGE, "wait_seconds", wait_s)},     {HR_FIELD(STAGE, "bytes", bytes)},
    {HR_FIELD(STAGE, "peak_micro_batches", peak)}, {HR_FIELD(STAGE, "recompute_seconds", again_s)},
    {HR_MADE("staleness", stage_staleness)},
};

static const struct hr_field pipeline_staleness_rows[] = {
    {HR_FIELD(PIPELINE, "gradients", gradients)},
    {HR_FIELD(PIPELINE, "filling", filling)},
};

json_t *hr_json_spans(const struct hr_stage_span *span, size_t n)
{
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++) { /* of none there is no array */
        const struct hr_stage_span *s = &span[i];
        json_t *one = json_pack("[o s# o o o o]", hr_json_count(s->stage), &s->work, 1,
                                hr_json_count(s->micro_batch), hr_json_count(s->chunk),
                                hr_json_number(s->start_s), hr_json_number(s->end_s));
        hr_json_append(&array, one);
    }
    return array;
}

MADE(spans, PIPELINE, pipeline, RUN, run, hr_json_spans(pipeline->span, pipeline->nspans))

static const struct hr_field pipeline_rows[] = {
    {HR_FIELD(PIPELINE, "schedule", schedule)},
    {HR_FIELD(PIPELINE, "micro_batches", micro_batches)},
    {HR_FIELD(PIPELINE, "chunks", chunks)},
    {HR_FIELD(PIPELINE, "bubble", bubble)},
    {HR_FIELD(PIPELINE, "bubble_formula", formula)},
    {HR_FIELD(PIPELINE, "bytes", bytes)},
    {HR_OBJECT(PIPELINE, "recompute", recompute, recompute_rows), HR_WHEN(PIPELINE, recompute.on)},
    {HR_INSIDE("staleness", pipeline_staleness_rows), HR_WHEN(PIPELINE, never_drains)},
    {HR_LIST(PIPELINE, "stages", stage, stages, stage_rows)},
    {HR_MADE("step", spans)},
};

#define TENSOR struct hr_tensor_report
#define SPLIT struct hr_tensor_layer
static const struct hr_field split_rows[] = {
    {HR_FIELD(SPLIT, "layer", path)},
    {HR_FIELD(SPLIT, "text", text)},
    {HR_FIELD(SPLIT, "cut", cut)},
};

static const struct hr_field tensor_rows[] = {
    {HR_FIELD(TENSOR, "shards", shards)},
    {HR_FIELD(TENSOR, "ranks", ranks)},
    {HR_FIELD(TENSOR, "bytes", bytes)},
    {HR_LIST(TENSOR, "layers", layer, nlayers, split_rows)},
};

/* --- several machines --- */

#define MACHINE struct hr_machine_report
static const struct hr_field machine_rows[] = {
    {HR_FIELD(MACHINE, "host", host)},
    {HR_FIELD(MACHINE, "first_worker", first_worker)},
    {HR_FIELD(MACHINE, "workers", workers)},
    {HR_FIELD(MACHINE, "servers", servers)},
    {HR_FIELD(MACHINE, "processors", processors)},
    {HR_FIELD(MACHINE, "isa", isa)},
    {HR_FIELD(MACHINE, "clock_offset_seconds", clock_offset_s)},
    {HR_FIELD(MACHINE, "clock_error_seconds", clock_error_s)},
};

/* --- of the whole training: what a resumed run had before, too --- */

OF_RUN(total_samples, hr_json_count(run->past_samples + run->samples))

OF_RUN(total_updates, hr_json_count(run->past_updates + run->updates))

OF_RUN(total_seconds, hr_json_number(run->past_seconds + run->seconds))

const struct hr_field hr_result_rows[] = {
    {HR_FIELD(RUN, "at_chance", chance),
     .meaning = "null, or: the test accuracy is no better than chance, or below always answering "
                "the most frequent class; and the likely cause"},
    {HR_MADE("label", label),
     .meaning = "what the run goes by in the table; the same for runs that differ only in their "
                "seed"},
    {HR_MADE("warnings", warnings),
     .meaning = "what was said of the run on stderr when it was over, and what to change first"},
    {HR_FIELD(RUN, "strategy", strategy)},
    {HR_FIELD(RUN, "setting", setting),
     .meaning = "what was trained (setting: what an entry of --strategies said)"},
    {HR_FIELD(RUN, "algorithm", algorithm)},
    {HR_FIELD(RUN, "order", order), .meaning = "how sums were made, in which order"},
    {HR_FIELD(RUN, "manner", manner)},
    {HR_FIELD(RUN, "optimizer", optimizer)},
    {HR_FIELD(RUN, "model", model), .meaning = "the strategy's own options; rule; layers"},
    {HR_FIELD(RUN, "loss_function", loss),
     .meaning = "that train_loss, test_loss and the curve's are of (of smoothed labels: as they "
                "are smoothed); those of unlike functions are not compared"},
    {HR_FIELD(RUN, "launch", launch)},
    {HR_FIELD(RUN, "kernels", kernels)},
    {HR_FIELD(RUN, "precision", precision),
     .meaning = "thread, process or events; what multiplied matrices; float32 or bf16 (hogring "
                "help precision), of sparse models null"},
    {HR_FIELD(RUN, "placement", placement), .meaning = "of the servers: dedicated or colocated"},
    {HR_LIST(RUN, "machines", machines, nmachines, machine_rows), HR_WHEN(RUN, nmachines),
     .meaning = "of a run on several (hogring help machines), else null: a list, machine 0 first: "
                "host; workers, from first_worker on; servers; processors that its process may "
                "use; isa, the instruction set that it came with (all use the lowest: `bits`); "
                "clock_offset_seconds, which added to its own clock makes machine 0's, whose times "
                "all are, and clock_error_seconds, the most by which that is wrong"},
    {HR_OBJECT(RUN, "node_step", node_step, node_step_rows), HR_WHEN(RUN, node_step.workers),
     .meaning = "where a machine's workers push as one (--aggregate), else null: workers, of a "
                "machine; a step in its parts, seconds of a mean worker that add up to `seconds`: "
                "load, compute, aggregate, push, update, distribute (hogring help machines), and "
                "rest (cuts, stalls)"},
    {HR_FIELD(RUN, "workers", workers)},
    {HR_FIELD(RUN, "servers", servers)},
    {HR_FIELD(RUN, "seed", seed)},
    {HR_FIELD(RUN, "fold", fold), .null = HR_NULL_AT_0,
     .meaning = "of --folds: the part of the samples that was tested, from 1; else null"},
    {HR_FIELD(RUN, "params", params)},
    {HR_FIELD(RUN, "threads_per_worker", threads_per_worker)},
    {HR_FIELD(RUN, "micro_shards", micro_shards)},
    {HR_FIELD(RUN, "repro_cost", repro_cost), .null = HR_NULL_AT_0,
     .meaning = "as set, or counted; repro_cost is the time of --reduce repro over that of whole "
                "batches"},
    {HR_FIELD(RUN, "event_order", event_order), .null = HR_NULL_AT_0,
     .meaning = "of --orders, from 1; else null"},
    {HR_FIELD(RUN, "frozen_params", frozen_params),
     .meaning = "of the params: those that --freeze keeps"},
    {HR_FIELD(RUN, "batch_size", batch_size)},
    {HR_FIELD(RUN, "global_batch", global_batch),
     .meaning = "samples per worker and step, and of all workers"},
    {HR_FIELD(RUN, "staleness_bound", staleness_bound), HR_WHEN(RUN, bounded),
     .meaning = "of ssp: --staleness"},
    {HR_FIELD(RUN, "lr", lr), .meaning = "of the last update"},
    {HR_FIELD(RUN, "steps", steps)},
    {HR_FIELD(RUN, "updates", updates)},
    {HR_FIELD(RUN, "samples", samples),
     .meaning = "steps since the first run began (of sparse models: rows); of this run; samples "
                "that were trained on. samples + samples_lost + dropped.samples are all that were "
                "to be"},
    {HR_FIELD(RUN, "applied", applied), HR_WHEN(RUN, counts_applied),
     .meaning = "strategies with servers that keep the state: updates once more, as the servers "
                "counted them in the weights; else null"},
    {HR_FIELD(RUN, "seconds", seconds),
     .meaning = "of training: from the moment when the first worker may begin to the moment when "
                "the last has ended, without evaluations and what else is done at cuts (hogring "
                "help strategies)"},
    {HR_FIELD(RUN, "samples_per_s", samples_per_s), .meaning = "samples / seconds"},
    {HR_MADE("tokens_per_s", tokens_per_s), .meaning = "of text; else null"},
    {HR_FIELD(RUN, "clock", clock)},
    {HR_FIELD(RUN, "wall_seconds", wall_s),
     .meaning = "real or virtual: whose `seconds` are; the machine's own, from start to end"},
    {HR_FIELD(RUN, "cpu_seconds", cpu_s), .null = HR_NULL_AT_0,
     .meaning = "processor time of all threads and processes, from start to end; with "
                "--concurrent, too"},
    {HR_FIELD(RUN, "repeats", repeats),
     .meaning = "the same options give the same bits again on such a machine; false where the "
                "order of messages in real time decides, or a rank was lost"},
    {HR_FIELD(RUN, "train_loss", train_loss), .log = "train_loss"},
    {HR_FIELD(RUN, "test_loss", test_loss), .log = "test_loss"},
    {HR_FIELD(RUN, "test_accuracy", test_accuracy), .log = "test_accuracy"},
    {HR_FIELD(RUN, "test_samples", test_samples),
     .meaning = "of the last evaluation; how many the test set has"},
    {HR_MADE("classes", classes),
     .meaning = "of the samples of the test set, as answered at test_accuracy: a list, as eval "
                "writes it (below); null where values are predicted, and of sparse models"},
    {HR_MADE("test_scores", test_scores)},
    {HR_MADE("validation_scores", validation_scores),
     .meaning = "of classes: balanced_accuracy (the mean recall), macro_f1, and of two roc_auc, as "
                "scikit-learn has them; null where values are predicted, and of sparse models"},
    {HR_FIELD(RUN, "targets", targets)},
    {HR_OBJECT(RUN, "test_fit", test_fit, fit_rows), HR_WHEN(RUN, targets)},
    {HR_MADE("validation_fit", validation_fit),
     .meaning = "where values are predicted: how many of each sample (else 0), and rmse, mae, r2 "
                "in their own units, of several the means over them; null where classes are. "
                "test_accuracy is null then; r2 is null where all samples have the same target"},
    {HR_FIELD(RUN, "tokens", tokens), .null = HR_NULL_AT_0},
    {HR_MADE("test_text", test_text)},
    {HR_MADE("validation_text", validation_text),
     .meaning = "of text: tokens of a sample; perplexity (e^loss) and bits_per_byte (null where a "
                "token's bytes are not known); losses are nats per token; else null"},
    {HR_FIELD(RUN, "validation_samples", validation_samples)},
    {HR_FIELD(RUN, "validation_loss", validation_loss), HR_WHEN(RUN, validation_samples)},
    {HR_FIELD(RUN, "validation_accuracy", validation_accuracy), HR_WHEN(RUN, validation_samples),
     .meaning = "of --validation: their number, and the last "
                "evaluation on them; 0 and null without. test_loss and test_accuracy are then of "
                "the final weights; null of a run that was interrupted"},
    {HR_OBJECT(RUN, "best", best, best_rows), HR_WHEN(RUN, best.metric[0]),
     .meaning =
         "of --early-stop or --keep best=METRIC, else null: metric; the value and epoch of the "
         "best evaluation; restored: the weights, losses and accuracies of this object are "
         "those of that epoch; stopped: the run ended early, at epoch `ended`; checkpoint: "
         "of --keep best=METRIC"},
    {.kind = HR_FIELD_FLAG, .offset = offsetof(RUN, best.stopped), .log = "stopped_early"},
    {HR_FIELD(RUN, "test_evaluations", test_evaluations),
     .meaning = "how often the test set was read: with a validation split once, at the end"},
    {HR_FIELD(RUN, "target_seconds", target_seconds), .null = HR_NULL_BELOW_0,
     .meaning = "when --time-to was first reached"},
    {HR_MADE("time", run_time), .meaning = "of `seconds`, what the workers did with them: below"},
    {HR_MADE("waiting", waiting), .meaning = "for whom they waited: below"},
    {HR_MADE("staleness", staleness),
     .meaning = "mean, p50, p99, max, histogram (how many updates had staleness 0, 1, ...; "
                "exact_below: the last holds all above); workers, keys: lists of the same, by "
                "worker (rank) and by tensor (name)"},
    {HR_OBJECT(RUN, "asynchrony", asynchrony, asynchrony_rows),
     .meaning = "effective_lr (of the mean rate); explicit_momentum as it was set, "
                "implicit_momentum as asynchrony is predicted to add it, total_momentum"},
    {HR_FIELD(RUN, "max_skew", max_skew),
     .meaning = "the most updates that one worker was ahead of another"},
    {HR_INSIDE("dropped", dropped_rows),
     .meaning = "backup-workers: gradients that came too late; samples, theirs and those of shares "
                "that a late worker never began; and by_worker, the gradients of each"},
    {HR_FIELD(RUN, "resent", resent)},
    {HR_FIELD(RUN, "duplicates", duplicates),
     .meaning = "pushes that were sent to a server again (--inject drop-push); those of them that "
                "had arrived before"},
    {HR_LIST(RUN, "losses", losses, nlosses, hr_loss_rows),
     .meaning = "ranks that were lost and that the run outlived (--on-loss), in order: below; [] "
                "for none"},
    {HR_FIELD(RUN, "restarts", restarts), .meaning = "ranks that were started again"},
    {HR_MADE("samples_lost", samples_lost), .meaning = "samples_lost of all losses together"},
    {HR_MADE("lost_updates", lost_updates),
     .meaning = "hogwild, by sample: sampled_lines and sampled_pairs looked at, lost_pairs, their "
                "fraction, and the low and high end of its 95 % interval"},
    {HR_INSIDE("prefetch", prefetch_rows),
     .meaning = "hits: batches that were there when they were wanted; misses: those that were not"},
    {HR_INSIDE("bytes", byte_rows),
     .meaning = "sent and received by workers; colocated also what a worker gives to its own "
                "server, which crosses no link; uncompressed: what sent would be without "
                "--compress"},
    {HR_FIELD(RUN, "bytes_per_update", bytes_per_update), .log = "bytes_per_update",
     .meaning = "bytes sent by workers, of each update of the model; null without one"},
    {HR_LIST(RUN, "curve", curve, ncurve, point_rows),
     .meaning =
         "a list: samples, seconds, epoch, train_loss, test_loss, test_accuracy, "
         "validation_loss, validation_accuracy, test_fit, validation_fit, test_scores, "
         "validation_scores at each evaluation; the split that it was not measured on is null"},
    {HR_FIELD(RUN, "weights_digest", weights_digest), .log = "weights_digest",
     .meaning = "XXH3-128 of all parameters: equal when bit-equal"},
    {HR_MADE("step_digests", step_digests),
     .meaning =
         "--json FILE,digests=N, else null: a list, step and parts, of each tensor its XXH3-64: "
         "weights under their names, the optimizer's behind a dot "
         "(0.weight.momentum_buffer), and with worker.3. before it what worker 3 has of its "
         "own; worker.3.loss: the samples that it has trained on in this epoch"},
    {HR_FIELD(RUN, "checkpoint", checkpoint), .log = "checkpoint"},
    {HR_FIELD(RUN, "trace", trace), .meaning = "the last one saved; what was recorded or replayed"},
    {HR_MADE("saves", saves),
     .meaning = "written: checkpoints; failed: those that could not be; rest_seconds: the workers "
                "rested at cuts that were there for a save alone (run's clock); copy_seconds and "
                "write_seconds: the launcher copied the state, and its thread wrote it, beside "
                "training (machine's clock); null where nothing was saved"},
    {HR_OBJECT(RUN, "pipeline", pipeline, pipeline_rows), HR_WHEN(RUN, pipeline.stages),
     .meaning = "--pipeline: schedule; micro_batches; chunks per stage; bubble, idle time over "
                "stages times span, measured (in virtual time as it was charged; null under "
                "explore and replay), and bubble_formula, the schedule's own; bytes handed over "
                "between stages; stages, of each: layers, params, madds_share of a gradient's "
                "multiply-adds, busy_seconds and wait_seconds within steps (sums over workers), "
                "bytes that it handed over, and peak_micro_batches, whose activations it kept at "
                "once; step, of worker 0: [stage, F, B, D or W, micro-batch, chunk, start, end], "
                "the last one, in virtual time one like the first, [] where none was timed "
                "(explore, replay; pipedream and unstashed in real time); null without a pipeline. "
                "Where one thread does the work of one that never drains, it keeps one minibatch "
                "at a time. recompute: of --pipeline K,recompute, activation_bytes that a "
                "replica's stages "
                "take (with their sums of gradients, and stashed weights) and "
                "activation_bytes_without; madds_share, multiply-adds that are computed again over "
                "a gradient's; in virtual time compute_seconds_without; of each stage "
                "recompute_seconds, within busy_seconds. staleness: of pipedream and unstashed, "
                "gradients, and of these filling, while the pipeline filled; and of each stage the "
                "means over the others, forward and backward, of its own updates between the read "
                "of its weights and the update, and versions of its weights"},
    {HR_OBJECT(RUN, "tensor", tensor, tensor_rows), HR_WHEN(RUN, tensor.shards),
     .meaning = "--tensor-parallel T:S: shards that layers are cut into; ranks that "
                "share them; bytes that these read of what others of them wrote, in layers that "
                "are cut (0 where one process runs all ranks: nobody reads; what one rank does "
                "for all is not counted); layers, of each: layer, text, and cut: by columns, by "
                "rows, by channels, by heads, not; null where nothing is split"},
    {HR_FIELD(RUN, "recorded_digest", recorded_digest)},
    {HR_FIELD(RUN, "record_cost", record_cost), .null = HR_NULL_AT_0,
     .meaning = "of a replay; of a recorded hogwild"},
    {HR_FIELD(RUN, "interrupted", interrupted), .log = "interrupted",
     .meaning = "it was stopped before its end"},
    {HR_FIELD(RUN, "resumed_step", resumed_step), HR_WHEN(RUN, resumed)},
    {HR_MADE("total_samples", total_samples), .log = "samples"},
    {HR_MADE("total_updates", total_updates)},
    {HR_MADE("total_seconds", total_seconds), .log = "seconds",
     .meaning = "the checkpoint's step that it went on from; of the whole training, as curve, "
                "steps, target_seconds are: all else is of this run"},
    {HR_MADE("divergence", divergence),
     .meaning =
         "first_loss: of gradients at the initial weights; first_epoch_loss: the mean of "
         "the first epoch; rose: training ended significantly above one of them; diverged: so did "
         "the last evaluation, and both are above what guessing costs: exit code 1; cure: "
         "what to change first"},
    {HR_OBJECT(RUN, "conflicts", conflicts, conflict_rows), HR_WHEN(RUN, conflicts.omega),
     .meaning = "sparse models, how often rows meet: omega, delta, rho and overlap, as the banner "
                "says them; lost_sampled of writes_sampled were lost"},
};
const size_t hr_result_nrows = sizeof hr_result_rows / sizeof *hr_result_rows;

/* The last line of a log (metrics/metrics.c). */
static void describe_end(FILE *out)
{
    const char *before = "";
    fputs(
        "end :: exit (of the command, or in a comparison of this run), message; of a run that did "
        "not fail: ",
        out);
    for (size_t i = 0; i < hr_result_nrows; i++)
        if (hr_result_rows[i].log) {
            fprintf(out, "%s%s", before, hr_result_rows[i].log);
            before = ", ";
        }
    fputs(". A log without it is of a run that goes on, or was killed\n", out);
}

void hr_results_describe(FILE *out, const char *table)
{
    static const struct {
        const char *name;
        const struct hr_field *rows;
        size_t n;
    } tables[] = {{"run", HR_ROWS(hr_result_rows)},
                  {"loss", HR_ROWS(hr_loss_rows)},
                  {"time", HR_ROWS(time_rows)}};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (!strcmp(tables[i].name, table))
            hr_fields_describe(out, tables[i].rows, tables[i].n);
    if (!strcmp(table, "end"))
        describe_end(out);
}

/* Documents of runs: what was asked for, each run (results.c), and what all of them say. */

/* --- runs */

static json_t *run_array(const struct hr_run_result *runs, size_t n,
                         const struct hr_dataset *dataset)
{
    struct hr_groups groups;
    json_t *array = hr_groups_make(&groups, runs, n) == HR_OK ? json_array() : NULL;
    for (size_t i = 0; array && i < n; i++) {
        const struct hr_run_about about = {hr_groups_label(&groups, &runs[i]), dataset};
        hr_json_append(&array, hr_fields_json(hr_result_rows, hr_result_nrows, &runs[i], &about));
    }
    hr_groups_free(&groups);
    return array;
}

/* --- the configuration */

/* An option's value: null when it was not chosen; text made valid UTF-8. */
static json_t *option_value(const struct hr_option *row, const void *base)
{
    const void *field = (const char *)base + row->offset;
    switch (row->kind) {
    case HR_OPTION_TEXT:
    case HR_OPTION_OPTIONAL_TEXT:
        return hr_json_text_or_null(field);
    case HR_OPTION_NUMBER:
    case HR_OPTION_SECONDS:
    case HR_OPTION_DURATION: {
        const double number = *(const double *)field;
        return number < 0 ? json_null() : hr_json_number(number);
    }
    default:
        return hr_option_json(row, base);
    }
}

static json_t *data_options(const struct hr_data_options *options)
{
    const struct hr_option *row;
    json_t *object = json_object();
    for (size_t i = 0; (row = hr_data_option_at(i)) != NULL; i++)
        json_object_set_new(object, row->name, option_value(row, options));
    return object;
}

static json_t *data_object(const struct hr_dataset *dataset)
{
    return hr_json_object(HR_OF(dataset, name), "format", hr_json_text_or_null(dataset->format),
                          "digest", hr_json_text_or_null(dataset->digest), "train",
                          HR_JSON(dataset->train.count), "test", HR_JSON(dataset->test.count),
                          HR_OF(dataset, classes), HR_OF(dataset, skipped), "options",
                          data_options(&dataset->options), NULL);
}

json_t *hr_json_config(const struct hr_train_options *options, const struct hr_dataset *dataset,
                       json_t *lists)
{
    const struct hr_option *row;
    json_t *config = hr_json_object("data", data_object(dataset), NULL);
    bool good = config;
    for (size_t i = 0; good && (row = hr_train_option_at(i)); i++)
        good = json_object_set_new(config, row->name, option_value(row, options)) == 0;
    if (good && (!lists || json_object_update(config, lists) == 0))
        return config;
    json_decref(config);
    return NULL;
}

/* --- documents */

#define FAILED struct hr_failed_run
static const struct hr_field failed_rows[] = {
    {HR_FIELD(FAILED, "label", label)},
    {HR_FIELD(FAILED, "strategy", strategy)},
    {HR_FIELD(FAILED, "seed", seed)},
    {HR_FIELD(FAILED, "message", message)},
};

json_t *hr_json_runs(const struct hr_train_options *options, const struct hr_dataset *dataset,
                     const struct hr_endings *endings)
{
    struct hr_verdict_request request =
        endings->request ? *endings->request : (struct hr_verdict_request){0};
    request.target = hr_target_asked(options);
    return json_pack("{so sO? so so so so sO? sO*}", "bits", hr_machine_bits_json(), "given",
                     endings->given, "config", hr_json_config(options, dataset, endings->lists),
                     "runs", run_array(endings->runs, endings->n, dataset), "failed",
                     hr_fields_list(HR_ROWS(failed_rows), endings->failed, endings->nfailed,
                                    sizeof *endings->failed, NULL),
                     "comparison", hr_json_comparison(endings->runs, endings->n, request),
                     "forecast", endings->forecast, "tuning", endings->tuning);
}
