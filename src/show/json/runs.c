/* Runs as JSON. The names are a contract with scripts: fields are only ever added.
 *
 * "time": compute, communicate, wait and load (decoding, or waiting for, the input) are disjoint.
 *
 * "samples" were trained on. Those that workers were handed are samples + samples_lost +
 * dropped.samples.
 *
 * In a resumed run ("resumed_step": where) "steps", "curve", "target_seconds" and "total_..."
 * cover the whole training; all other fields cover this run alone.
 *
 * "staleness", "asynchrony", "lost_updates", "losses", "waiting": account.h
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json/account.h"
#include "json/comparison.h"
#include "json/documents.h"
#include "json/pipeline.h"
#include "json/value.h"
#include "options/train_options.h"
#include "report/groups.h"
#include "report/lost_ranks.h"
#include "report/report.h"
#include "session/machine_bits.h"

/* --- a run */

/* "rmse", "mae", "r2" of a split; null where classes are predicted, or it was not measured. */
static json_t *fit(const struct hr_fit *fit, bool measured)
{
    if (!measured)
        return json_null();
    return json_pack("{so so so}", "rmse", hr_json_number(fit->rmse), "mae",
                     hr_json_number(fit->mae), "r2", hr_json_number(fit->r2));
}

json_t *hr_json_point(const struct hr_curve_point *p)
{
    return json_pack(
        "{so so so so so so so so so so}", "samples", hr_json_count(p->samples), "seconds",
        hr_json_number(p->seconds), "epoch", hr_json_number(p->epoch), "train_loss",
        hr_json_number(p->train_loss), "test_loss", hr_json_number(p->test_loss), "test_accuracy",
        hr_json_number(p->test_accuracy), "validation_loss",
        hr_json_number(p->validated ? p->validation_loss : (double)NAN), "validation_accuracy",
        hr_json_number(p->validated ? p->validation_accuracy : (double)NAN), "test_fit",
        fit(&p->fit, p->values && !p->validated), "validation_fit",
        fit(&p->fit, p->values && p->validated));
}

static json_t *curve(const struct hr_run_result *run)
{
    json_t *array = json_array();
    for (size_t i = 0; i < run->ncurve; i++)
        if (json_array_append_new(array, hr_json_point(&run->curve[i])) != 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static json_t *run_setting(const struct hr_run_result *run)
{
    return json_pack(
        "{so so so so so so so so so so so so so so so so so so so so so so so so}", "strategy",
        hr_json_text(run->strategy), "manner", hr_json_text_or_null(run->manner), "setting",
        hr_json_text_or_null(run->setting), "optimizer", hr_json_text_or_null(run->optimizer),
        "algorithm", hr_json_text_or_null(run->algorithm), "order",
        hr_json_text_or_null(run->order), "launch", hr_json_text_or_null(run->launch), "placement",
        hr_json_text_or_null(run->placement), "kernels", hr_json_text_or_null(run->kernels),
        "precision", hr_json_text_or_null(run->precision), "model",
        hr_json_text_or_null(run->model), "params", hr_json_count(run->params), "frozen_params",
        hr_json_count(run->frozen_params), "workers", hr_json_count(run->workers), "servers",
        hr_json_count(run->servers), "batch_size", hr_json_count(run->batch_size), "global_batch",
        hr_json_count(run->global_batch), "seed", hr_json_count(run->seed), "event_order",
        run->event_order ? hr_json_count(run->event_order) : json_null(), "staleness_bound",
        run->bounded ? hr_json_count(run->staleness_bound) : json_null(), "lr",
        hr_json_number(run->lr), "threads_per_worker", hr_json_count(run->threads_per_worker),
        "micro_shards", hr_json_count(run->micro_shards), "repro_cost",
        run->repro_cost > 0 ? hr_json_number(run->repro_cost) : json_null());
}

static json_t *run_outcome(const struct hr_run_result *run)
{
    return json_pack(
        "{so so so so so so so so so so so so so so so so so so so so so so so so so so so so}",
        "steps", hr_json_count(run->steps), "updates", hr_json_count(run->updates), "applied",
        run->counts_applied ? hr_json_count(run->applied) : json_null(), "samples",
        hr_json_count(run->samples), "seconds", hr_json_number(run->seconds), "samples_per_s",
        hr_json_number(run->samples_per_s), "train_loss", hr_json_number(run->train_loss),
        "test_samples", hr_json_count(run->test_samples), "test_loss",
        hr_json_number(run->test_loss), "test_accuracy", hr_json_number(run->test_accuracy),
        "test_fit", fit(&run->test_fit, run->targets), "targets", hr_json_count(run->targets),
        "target_seconds",
        run->target_seconds < 0 ? json_null() : hr_json_number(run->target_seconds), "max_skew",
        hr_json_count(run->max_skew), "weights_digest", hr_json_text_or_null(run->weights_digest),
        "checkpoint", hr_json_text_or_null(run->checkpoint), "interrupted",
        json_boolean(run->interrupted), "clock", hr_json_text_or_null(run->clock), "wall_seconds",
        hr_json_number(run->wall_s), "cpu_seconds",
        run->cpu_s > 0 ? hr_json_number(run->cpu_s) : json_null(), "repeats",
        json_boolean(run->repeats), "recorded_digest", hr_json_text_or_null(run->recorded_digest),
        "trace", hr_json_text_or_null(run->trace), "record_cost",
        run->record_cost > 0 ? hr_json_number(run->record_cost) : json_null(), "resumed_step",
        run->resumed ? hr_json_count(run->resumed_step) : json_null(), "total_samples",
        hr_json_count(run->past_samples + run->samples), "total_updates",
        hr_json_count(run->past_updates + run->updates), "total_seconds",
        hr_json_number(run->past_seconds + run->seconds));
}

/* The first loss, and whether the last is above it. */
static json_t *rising(const struct hr_run_result *run)
{
    struct hr_rise rise;
    const bool rose = hr_run_rose(run, &rise);
    return json_pack("{so so so so}", "first_loss", hr_json_number(hr_run_first_loss(run)),
                     "first_epoch_loss", hr_json_number(hr_run_first_epoch_loss(run)), "rose",
                     json_boolean(rose), "cure", hr_json_text_or_null(rose ? run->cure : ""));
}

/* Which evaluation was the best, where somebody asked; else null. */
static json_t *best(const struct hr_run_result *run)
{
    const struct hr_best_evaluation *b = &run->best;
    if (!b->metric[0])
        return json_null();
    return json_pack("{so so so so so so so}", "metric", hr_json_text(b->metric), "value",
                     hr_json_number(b->value), "epoch", hr_json_number(b->epoch), "restored",
                     json_boolean(b->restored), "stopped", json_boolean(b->stopped), "ended",
                     hr_json_number(b->ended), "checkpoint", hr_json_text_or_null(b->checkpoint));
}

/* What saving took, where something was to be saved; else null. */
static json_t *saves(const struct hr_run_result *run)
{
    const struct hr_saves *s = &run->saves;
    if (s->written + s->failed == 0)
        return json_null();
    return json_pack("{so so so so so}", "written", hr_json_count(s->written), "failed",
                     hr_json_count(s->failed), "rest_seconds", hr_json_number(s->rest_s),
                     "copy_seconds", hr_json_number(s->copy_s), "write_seconds",
                     hr_json_number(s->write_s));
}

/* Of a validation split, and how often the test set was read. */
static json_t *run_validation(const struct hr_run_result *run)
{
    const bool validated = run->validation_samples > 0;
    return json_pack("{so so so so so so}", "best", best(run), "validation_samples",
                     hr_json_count(run->validation_samples), "validation_loss",
                     hr_json_number(validated ? run->validation_loss : (double)NAN),
                     "validation_accuracy",
                     hr_json_number(validated ? run->validation_accuracy : (double)NAN),
                     "validation_fit", fit(&run->validation_fit, validated && run->targets),
                     "test_evaluations", hr_json_count(run->test_evaluations));
}

/* Time, traffic, and the learning curve. */
static json_t *run_account(const struct hr_run_result *run)
{
    return json_pack(
        "{so so so so so so so so so so so s{so so} s{so so so} so so}", "losses",
        hr_json_losses(run), "restarts", hr_json_count(run->restarts), "samples_lost",
        hr_json_count(hr_run_lost_samples(run)), "dropped", hr_json_dropped(run), "resent",
        hr_json_count(run->resent), "duplicates", hr_json_count(run->duplicates), "asynchrony",
        hr_json_asynchrony(run), "lost_updates", hr_json_lost_updates(run), "staleness",
        hr_json_staleness(run), "time", hr_json_time(run), "waiting", hr_json_waiting(run),
        "prefetch", "hits", hr_json_count(run->prefetch_hits), "misses",
        hr_json_count(run->prefetch_misses), "bytes", "sent", hr_json_count(run->bytes_sent),
        "received", hr_json_count(run->bytes_received), "uncompressed",
        hr_json_count(run->bytes_uncompressed), "curve", curve(run), "divergence", rising(run));
}

/* Sparse models only; else null. */
static json_t *conflicts(const struct hr_run_result *run)
{
    const struct hr_conflicts *c = &run->conflicts;
    if (!c->omega)
        return json_null();
    return json_pack("{so so so so so so}", "omega", hr_json_count(c->omega), "delta",
                     hr_json_number(c->delta), "rho", hr_json_number(c->rho), "overlap",
                     hr_json_number(c->overlap), "lost_sampled", hr_json_count(c->lost),
                     "writes_sampled", hr_json_count(c->looked_at));
}

/* Of a run on several machines; else null. */
static json_t *machines(const struct hr_run_result *run)
{
    json_t *array = run->nmachines ? json_array() : json_null();
    for (size_t i = 0; i < run->nmachines; i++) {
        const struct hr_machine_report *m = &run->machines[i];
        json_t *object = json_pack(
            "{so so so so so so so so}", "host", hr_json_text(m->host), "first_worker",
            hr_json_count(m->first_worker), "workers", hr_json_count(m->workers), "servers",
            hr_json_count(m->servers), "processors", hr_json_count(m->processors), "isa",
            hr_json_text(m->isa), "clock_offset_seconds", hr_json_number(m->clock_offset_s),
            "clock_error_seconds", hr_json_number(m->clock_error_s));
        if (json_array_append_new(array, object) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static json_t *run_object(const struct hr_run_result *run)
{
    json_t *object = run_setting(run), *const parts[] = {run_outcome(run), run_account(run),
                                                         run_validation(run)};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (object && json_object_update(object, parts[i]) != 0) {
            json_decref(object);
            object = NULL;
        }
        json_decref(parts[i]);
    }
    if (object &&
        (json_object_set_new(object, "conflicts", conflicts(run)) != 0 ||
         json_object_set_new(object, "step_digests", hr_json_step_digests(run)) != 0 ||
         json_object_set_new(object, "at_chance", hr_json_text_or_null(run->chance)) != 0 ||
         json_object_set_new(object, "saves", saves(run)) != 0 ||
         json_object_set_new(object, "machines", machines(run)) != 0 ||
         json_object_set_new(object, "node_step", hr_json_node_step(run)) != 0 ||
         json_object_set_new(object, "pipeline", hr_json_pipeline(&run->pipeline)) != 0 ||
         json_object_set_new(object, "tensor", hr_json_tensor(&run->tensor)) != 0)) {
        json_decref(object);
        object = NULL;
    }
    return object;
}

/* What each run goes by in the table: labels[i], borrowed of groups. */
static void find_labels(const struct hr_groups *groups, const struct hr_run_result *runs,
                        const char **labels)
{
    for (size_t g = 0; g < groups->n; g++)
        for (size_t i = 0; i < groups->group[g].n; i++)
            labels[groups->group[g].run[i] - runs] = groups->group[g].label;
}

/* What stderr said when it was over: what to change first. */
static json_t *warnings(const struct hr_run_result *run, const char *label)
{
    char advice[HR_ADVICE_MAX];
    json_t *array = json_array();
    if (hr_advice_after(run, label, advice))
        json_array_append_new(array, hr_json_text(advice));
    if (hr_advice_rising(run, label, advice) || hr_advice_asynchrony(run, label, advice))
        json_array_append_new(array, hr_json_text(advice));
    if (hr_advice_chance(run, label, advice))
        json_array_append_new(array, hr_json_text(advice));
    return array;
}

/* As those of eval; null where nobody kept them, or they are of another test split. */
static json_t *classes(const struct hr_run_result *run, const struct hr_dataset *dataset)
{
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

static json_t *run_array(const struct hr_run_result *runs, size_t n,
                         const struct hr_dataset *dataset)
{
    struct hr_groups groups;
    const char **labels = calloc(n + 1, sizeof *labels);
    json_t *array = labels && hr_groups_make(&groups, runs, n) == HR_OK ? json_array() : NULL;
    bool good = array != NULL;
    if (good)
        find_labels(&groups, runs, labels);
    for (size_t i = 0; good && i < n; i++) {
        json_t *object = run_object(&runs[i]);
        good = json_object_set_new(object, "label", hr_json_text(labels[i])) == 0 &&
               json_object_set_new(object, "classes", classes(&runs[i], dataset)) == 0 &&
               json_object_set_new(object, "warnings", warnings(&runs[i], labels[i])) == 0;
        good = json_array_append_new(array, object) == 0 && good;
    }
    if (array)
        hr_groups_free(&groups);
    free(labels);
    if (good)
        return array;
    json_decref(array);
    return NULL;
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
    return json_pack(
        "{so so so so so so so}", "name", hr_json_text(dataset->name), "format",
        hr_json_text_or_null(dataset->format), "digest", hr_json_text_or_null(dataset->digest),
        "train", hr_json_count(dataset->train.count), "test", hr_json_count(dataset->test.count),
        "classes", hr_json_count(dataset->classes), "options", data_options(&dataset->options));
}

/* Takes config. */
static json_t *with_options(json_t *config, const struct hr_train_options *options)
{
    const struct hr_option *row;
    int failed = config == NULL;
    for (size_t i = 0; (row = hr_train_option_at(i)); i++)
        failed |= json_object_set_new(config, row->name, option_value(row, options));
    if (failed) {
        json_decref(config);
        return NULL;
    }
    return config;
}

json_t *hr_json_config(const struct hr_train_options *options, const struct hr_dataset *dataset,
                       json_t *lists)
{
    json_t *config = with_options(json_pack("{so}", "data", data_object(dataset)), options);
    if (config && lists && json_object_update(config, lists) != 0) {
        json_decref(config);
        return NULL;
    }
    return config;
}

json_t *hr_json_default_options(void)
{
    struct hr_train_options *options = calloc(1, sizeof *options);
    if (!options)
        return NULL;
    hr_train_defaults(options);
    if (hr_train_complete(options) != HR_OK) /* the optimizer's own rates */
        hr_train_defaults(options);
    json_t *object = with_options(json_object(), options);
    free(options);
    return object;
}

/* --- documents */

static json_t *failed_array(const struct hr_failed_run *failed, size_t n)
{
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++)
        if (json_array_append_new(array,
                                  json_pack("{so so so so}", "label", hr_json_text(failed[i].label),
                                            "strategy", hr_json_text(failed[i].strategy), "seed",
                                            hr_json_count(failed[i].seed), "message",
                                            hr_json_text(failed[i].message))) != 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

json_t *hr_json_runs(const struct hr_train_options *options, const struct hr_dataset *dataset,
                     const struct hr_endings *endings)
{
    struct hr_verdict_wish wish = endings->wish ? *endings->wish : (struct hr_verdict_wish){0};
    wish.target = hr_target_asked(options);
    return json_pack("{so sO? so so so so sO? sO*}", "bits", hr_machine_bits_json(), "given",
                     endings->given, "config", hr_json_config(options, dataset, endings->lists),
                     "runs", run_array(endings->runs, endings->n, dataset), "failed",
                     failed_array(endings->failed, endings->nfailed), "comparison",
                     hr_json_comparison(endings->runs, endings->n, wish), "forecast",
                     endings->forecast, "tuning", endings->tuning);
}
