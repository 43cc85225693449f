/* For each label of the baseline:
 *  1. its seeds and those of the new runs are put side by side
 *  2. a seed that is missing, or has failed, fails the strategy; one that the old program lost,
 *     whose runs are judged by in the baseline's place, leaves it unjudged
 *  3. digests that are all equal pass it. Where they are not, and have to be, it fails; else the
 *     band is its rule, if there are seeds enough
 * and when all rules are known, the bands, which share the false alarms, are judged.
 */
#include "gate/judge.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/median.h"
#include "base/printable.h"
#include "options/train_options.h"
#include "session/machine_bits.h"
#include "stats/tests.h"

/* --- bands --- */

/* Left out on each side. */
static size_t trimmed(size_t n)
{
    return n / 5 ? n / 5 : 1;
}

/* Of sorted values. */
static double trimmed_mean(const double *values, size_t n)
{
    return hr_spread_of(values + trimmed(n), n - 2 * trimmed(n)).mean;
}

/* The deviation of one value, as the trimmed mean's is that over sqrt(n): of sorted values, whose
 * outer ones are taken to be as the outermost that are kept. */
static double deviation(const double *values, size_t n)
{
    const size_t g = trimmed(n);
    double mean = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        mean += values[i < g ? g : i >= n - g ? n - g - 1 : i] / (double)n;
    for (size_t i = 0; i < n; i++) {
        const double off = values[i < g ? g : i >= n - g ? n - g - 1 : i] - mean;
        squares += off * off;
    }
    const double kept = (double)(n - 2 * g);
    return sqrt((double)n * squares / (kept * (kept - 1)));
}

static bool are_numbers(const double *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(values[i]))
            return false;
    return true;
}

struct hr_gate_band hr_gate_band_of(double *seen, size_t n, double *fresh, size_t k, double step,
                                    double level)
{
    const bool numbers = are_numbers(fresh, k);
    hr_sort(seen, n);
    if (numbers)
        hr_sort(fresh, k);
    struct hr_gate_band band = {.mean = trimmed_mean(seen, n),
                                .sd = fmax(deviation(seen, n), step / 2),
                                .n = n,
                                .k = k,
                                .kept = n - 2 * trimmed(n),
                                .now = numbers ? trimmed_mean(fresh, k) : (double)NAN,
                                .level = level,
                                .p = numbers ? hr_rank_sum_p(seen, n, fresh, k) : 0};
    const double t = hr_student_quantile(1 - level / 2, (double)band.kept - 1);
    const double half = t * band.sd * sqrt(1 / (double)n + 1 / (double)k);
    band.interval = (struct hr_interval){band.mean - half, band.mean + half};
    const bool within = band.now >= band.interval.low && band.now <= band.interval.high;
    const double least = fmax(level, hr_rank_sum_least(n, k));
    band.outside = !within && band.p <= least * (1 + 1e-9);
    return band;
}

double hr_gate_band_detectable(const struct hr_gate_band *band)
{
    const double n = (double)band->n, k = (double)band->k, kept = (double)band->kept;
    /* That of pairs is in deviations of a mean of `kept`; this mean's is sd sqrt(1/n + 1/k). */
    const double of_mean = hr_power_difference(band->kept, band->level, HR_GATE_POWER) * sqrt(kept);
    return of_mean * band->sd * sqrt(1 / n + 1 / k);
}

/* --- what may be compared --- */

/* Is it an option of training that decides what comes out? */
static bool matters(const char *name)
{
    const struct hr_option *row = hr_train_option_find(name);
    return row && row->use != HR_ONCE && strcmp(name, "checkpoint-every") != 0 &&
           strcmp(name, "keep") != 0 && strcmp(name, "keep-best") != 0;
}

static enum hr_status differ(const struct hr_gate_document *fresh, const char *name,
                             const json_t *there, const json_t *here)
{
    char *was = json_dumps(there, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
    char *is = json_dumps(here, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
    const enum hr_status status = hr_fail(
        HR_E_USAGE, "%s: --%s was %s in the baseline and is %s; expected runs of the same options",
        fresh->name, name, hr_printable(was ? was : "").text, hr_printable(is ? is : "").text);
    free(was);
    free(is);
    return status;
}

/* HR_E_USAGE: they trained other data, or with other options (but for outputs, and how long a run
 * may take); the first is named. Options that one of them does not know are passed over. */
static enum hr_status gate_same(const struct hr_gate_document *baseline,
                                const struct hr_gate_document *fresh)
{
    const json_t *there = json_object_get(baseline->json, "config");
    const json_t *here = json_object_get(fresh->json, "config");
    const json_t *const data[] = {json_object_get(there, "data"), json_object_get(here, "data")};
    const char *const digest[] = {hr_json_text_at(data[0], "digest"),
                                  hr_json_text_at(data[1], "digest")};
    const char *name;
    json_t *value;
    if (strcmp(digest[0], digest[1]) != 0)
        return hr_fail(HR_E_USAGE,
                       "%s: its data are others than the baseline's (%s, digest %s; it was %s)",
                       fresh->name, hr_printable(hr_json_text_at(data[1], "name")).text,
                       hr_printable(digest[1]).text, hr_printable(digest[0]).text);
    json_object_foreach((json_t *)there, name, value)
    {
        const json_t *own = json_object_get(here, name);
        if (own && matters(name) && !json_equal(value, own))
            return differ(fresh, name, value, own);
    }
    return HR_OK;
}

/* What decides bits and is another there than here ("isa"), of a run of each; "" where a document
 * does not say; NULL: nothing. */
static const char *gate_other_bits(const struct hr_gate_document *baseline, const json_t *old_run,
                                   const struct hr_gate_document *fresh, const json_t *new_run)
{
    json_t *there = json_copy(json_object_get(baseline->json, "bits"));
    json_t *here = json_copy(json_object_get(fresh->json, "bits"));
    const char *other = "";
    /* Entries of compare may have other kernels than the one that was last. */
    if (json_is_object(there) && json_is_object(here) &&
        json_object_set(there, "kernels", json_object_get(old_run, "kernels")) == 0 &&
        json_object_set(here, "kernels", json_object_get(new_run, "kernels")) == 0)
        other = hr_machine_bits_difference(
            there, here, hr_machine_bits_are_bf16(hr_json_text_at(new_run, "precision")));
    json_decref(there);
    json_decref(here);
    return other;
}

/* --- the runs of a label, side by side --- */

struct side_by_side {
    const json_t **there, **here; /* (n) NULL: missing */
    size_t n, met, lost;          /* here; not there */
};

size_t hr_gate_nlabels(const struct hr_gate_document *document)
{
    return json_object_size(document->labels);
}

/* Documents: of the baseline, which has all labels and seeds; what is judged by; the new. */
struct documents {
    const struct hr_gate_document *baseline, *older, *fresh;
};

static void put_side_by_side(const struct documents *of, const char *label,
                             struct side_by_side *runs)
{
    const char *seed;
    json_t *run;
    runs->n = runs->met = runs->lost = 0;
    json_object_foreach((json_t *)hr_gate_runs_of(of->baseline, label), seed, run)
    {
        runs->there[runs->n] = hr_gate_run_find(of->older, label, seed);
        runs->here[runs->n] = hr_gate_run_find(of->fresh, label, seed);
        runs->lost += runs->there[runs->n] == NULL;
        runs->met += runs->here[runs->n++] != NULL;
    }
}

/* --- digests --- */

static void compare_digests(const struct side_by_side *runs, struct hr_gate_strategy *strategy)
{
    for (size_t i = 0; i < runs->n; i++)
        if (runs->here[i] &&
            strcmp(hr_json_text_at(runs->there[i], "weights_digest"),
                   hr_json_text_at(runs->here[i], "weights_digest")) != 0 &&
            strategy->differ++ == 0)
            hr_gate_seed(runs->there[i], strategy->seed);
}

/* Earlier versions do not say it of the baseline's. */
static bool bits_repeat(const struct side_by_side *runs)
{
    for (size_t i = 0; i < runs->n; i++)
        if (json_is_false(json_object_get(runs->there[i], "repeats")) ||
            (runs->here[i] && !json_is_true(json_object_get(runs->here[i], "repeats"))))
            return false;
    return true;
}

/* Other ranks than there: then nothing else is comparable either. */
static const char *other_ranks(const struct side_by_side *runs)
{
    static const char *const names[] = {"workers", "servers", "global_batch"};
    for (size_t i = 0; i < runs->n; i++)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
            const double there = hr_json_number_at(runs->there[i], names[k]);
            const double here = hr_json_number_at(runs->here[i], names[k]);
            if (runs->here[i] && fabs(there - here) > 0)
                return names[k];
        }
    return NULL;
}

/* --- figures --- */

static double value_of(const json_t *run, size_t metric)
{
    static const char *const fields[] = {"test_accuracy", "test_loss"};
    const double value = hr_json_number_at(run, fields[metric]);
    return metric == 0 && isnan(value) ? hr_json_number_at(json_object_get(run, "test_fit"), "rmse")
                                       : value;
}

/* What the baseline measured of all its seeds. */
static void choose_metrics(const struct side_by_side *runs, struct hr_gate_strategy *strategy)
{
    static const char *const names[] = {"accuracy", "loss"};
    for (size_t m = 0; m < HR_GATE_METRICS; m++) {
        bool measured = true, values = false;
        for (size_t i = 0; i < runs->n; i++) {
            measured = measured && isfinite(value_of(runs->there[i], m));
            values = values || isnan(hr_json_number_at(runs->there[i], "test_accuracy"));
        }
        if (measured)
            strategy->metric[strategy->nmetrics++].name = m == 0 && values ? "rmse" : names[m];
    }
}

/* No metric is below 0, and no accuracy above 1. */
static void keep_possible(struct hr_interval *interval, const char *metric)
{
    interval->low = fmax(interval->low, 0);
    if (!strcmp(metric, "accuracy"))
        interval->high = fmin(interval->high, 1);
}

static enum hr_status judge_band(const struct side_by_side *runs, double level, double samples,
                                 struct hr_gate_strategy *strategy)
{
    double *seen = calloc(2 * runs->n, sizeof *seen), *fresh = seen ? seen + runs->n : NULL;
    if (!seen)
        return hr_fail(HR_E_NOMEM, "no memory for %zu runs", runs->n);
    for (size_t m = 0; m < strategy->nmetrics; m++) {
        struct hr_gate_metric *metric = &strategy->metric[m];
        const size_t which = strcmp(metric->name, "loss") ? 0 : 1;
        const double step = !strcmp(metric->name, "accuracy") && samples > 0 ? 1 / samples : 0;
        size_t k = 0;
        for (size_t i = 0; i < runs->n; i++) {
            seen[i] = value_of(runs->there[i], which);
            if (runs->here[i])
                fresh[k++] = value_of(runs->here[i], which);
        }
        metric->band = hr_gate_band_of(seen, runs->n, fresh, k, step, level);
        keep_possible(&metric->band.interval, metric->name);
        if (metric->band.outside)
            strategy->verdict = HR_GATE_FAILED;
    }
    free(seen);
    return HR_OK;
}

/* --- a strategy --- */

/* The first seed of the label that the new runs lack, or the old program's: that run failed. */
static void say_failed(const struct documents *of, bool older, struct hr_gate_strategy *strategy)
{
    const struct hr_gate_document *lacking = older ? of->older : of->fresh;
    const char *seed, *whose = older ? "the old program's " : "";
    json_t *run;
    json_object_foreach((json_t *)hr_gate_runs_of(of->baseline, strategy->label), seed, run)
    {
        if (!strategy->seed[0] && !hr_gate_run_find(lacking, strategy->label, seed))
            snprintf(strategy->seed, sizeof strategy->seed, "%s", seed);
    }
    const char *message = hr_gate_failure(lacking, strategy->label, strategy->seed);
    strategy->verdict = older ? HR_GATE_NOT_JUDGED : HR_GATE_FAILED;
    strategy->rule = HR_GATE_BY_NOTHING;
    snprintf(strategy->why, sizeof strategy->why, "%sseed %s failed: %.140s", whose, strategy->seed,
             message ? message
             : older ? "it is not among its runs"
                     : "it is not among the new runs");
}

/* Digests differ, and it is not their fault: is there a band? */
static void fall_back(struct hr_gate_strategy *strategy, const char *cause)
{
    const bool enough = strategy->seeds >= HR_GATE_SEEDS_LEAST && strategy->nmetrics > 0;
    strategy->rule = enough ? HR_GATE_BY_BAND : HR_GATE_BY_NOTHING;
    strategy->verdict = enough ? HR_GATE_PASSED : HR_GATE_NOT_JUDGED;
    if (enough)
        snprintf(strategy->why, sizeof strategy->why, "%s", cause);
    else if (strategy->nmetrics == 0)
        snprintf(strategy->why, sizeof strategy->why,
                 "%s, and the baseline has no accuracy or loss of it", cause);
    else
        snprintf(strategy->why, sizeof strategy->why,
                 "%s, and a band needs %d seeds: the baseline has %zu", cause, HR_GATE_SEEDS_LEAST,
                 strategy->seeds);
}

/* Why digests do not judge: what of the machine is another. Of the order of bf16's sums both are
 * named. */
static void name_other(const struct hr_gate_document *baseline,
                       const struct hr_gate_document *fresh, const char *other, char *text,
                       size_t size)
{
    if (!strcmp(other, "bf16"))
        snprintf(text, size,
                 "the baseline's machine sums bf16 in the order %.16s, this one in the order %.16s",
                 hr_printable(hr_machine_bits_order(json_object_get(baseline->json, "bits"))).text,
                 hr_printable(hr_machine_bits_order(json_object_get(fresh->json, "bits"))).text);
    else
        snprintf(text, size, "the baseline's machine has another %s", other);
}

static void choose_rule(const struct hr_gate_document *baseline,
                        const struct hr_gate_document *fresh, const struct side_by_side *runs,
                        struct hr_gate_strategy *strategy)
{
    char cause[120];
    const char *other = gate_other_bits(baseline, runs->there[0], fresh, runs->here[0]);
    strategy->rule = HR_GATE_BY_DIGESTS;
    if (strategy->differ == 0) {
        snprintf(strategy->why, sizeof strategy->why, "the same bits");
    } else if (!bits_repeat(runs)) {
        fall_back(strategy, "not bit-reproducible");
    } else if (other && !other[0]) {
        fall_back(strategy, "the baseline does not say its machine's bits");
    } else if (other) {
        name_other(baseline, fresh, other, cause, sizeof cause);
        fall_back(strategy, cause);
    } else {
        strategy->verdict = HR_GATE_FAILED;
        snprintf(strategy->why, sizeof strategy->why, "%zu of %zu seeds have other bits, first %s",
                 strategy->differ, strategy->seeds, strategy->seed);
    }
}

static double mean_speed(const json_t *const *runs, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += hr_json_number_at(runs[i], "samples_per_s");
    return n ? sum / (double)n : (double)NAN;
}

static enum hr_status look_at(const struct documents *of, struct side_by_side *runs,
                              struct hr_gate_strategy *strategy)
{
    put_side_by_side(of, strategy->label, runs);
    strategy->seeds = runs->n;
    strategy->fresh = runs->met;
    choose_metrics(runs, strategy);
    const char *other = other_ranks(runs);
    if (other)
        return hr_fail(HR_E_USAGE,
                       "%s: %s has other %s than in the baseline, which does not say "
                       "how many were asked for",
                       of->fresh->name, hr_printable(strategy->label).text, other);
    const double tokens = runs->n ? hr_json_number_at(runs->there[0], "tokens") : 0;
    strategy->tokens = tokens > 0 && tokens < 1e9 ? (size_t)tokens : 0;
    strategy->speed[0] = runs->lost ? (double)NAN : mean_speed(runs->there, runs->n);
    strategy->speed[1] = runs->met == runs->n ? mean_speed(runs->here, runs->n) : (double)NAN;
    if (runs->met < runs->n) {
        say_failed(of, false, strategy);
        return HR_OK;
    }
    if (runs->lost) {
        say_failed(of, true, strategy);
        return HR_OK;
    }
    compare_digests(runs, strategy);
    choose_rule(of->older, of->fresh, runs, strategy);
    return HR_OK;
}

/* --- all --- */

static void count(struct hr_gate_judgement *out)
{
    for (size_t i = 0; i < out->n; i++) {
        out->passed += out->strategy[i].verdict == HR_GATE_PASSED;
        out->failed += out->strategy[i].verdict == HR_GATE_FAILED;
        out->unjudged += out->strategy[i].verdict == HR_GATE_NOT_JUDGED;
    }
}

static enum hr_status judge_all(const struct documents *of, size_t speeds,
                                struct side_by_side *runs, struct hr_gate_judgement *out)
{
    const struct hr_gate_document *baseline = of->baseline;
    const double samples = hr_json_number_at(
        json_object_get(json_object_get(baseline->json, "config"), "data"), "test");
    const char *label;
    json_t *seeds;
    json_object_foreach(baseline->labels, label, seeds)
    {
        struct hr_gate_strategy *strategy = &out->strategy[out->n++];
        strategy->label = label;
        HR_TRY(look_at(of, runs, strategy));
        if (strategy->rule == HR_GATE_BY_BAND)
            out->intervals += strategy->nmetrics;
    }
    out->intervals += speeds;
    out->level = HR_GATE_FALSE_ALARMS / (out->intervals ? (double)out->intervals : 1);
    for (size_t i = 0; i < out->n; i++)
        if (out->strategy[i].rule == HR_GATE_BY_BAND) {
            put_side_by_side(of, out->strategy[i].label, runs);
            HR_TRY(judge_band(runs, out->level, samples, &out->strategy[i]));
        }
    return HR_OK;
}

enum hr_status hr_gate_judge(const struct hr_gate_document *baseline,
                             const struct hr_gate_document *older,
                             const struct hr_gate_document *fresh, size_t speeds,
                             struct hr_gate_judgement *out)
{
    const struct documents documents = {baseline, older, fresh};
    const size_t n = hr_gate_nruns(baseline);
    *out = (struct hr_gate_judgement){0};
    HR_TRY(gate_same(older, fresh));
    struct side_by_side runs = {.there = calloc(n, sizeof *runs.there),
                                .here = calloc(n, sizeof *runs.here)};
    out->strategy = calloc(hr_gate_nlabels(baseline), sizeof *out->strategy);
    enum hr_status status = HR_E_NOMEM;
    if (runs.there && runs.here && out->strategy)
        status = judge_all(&documents, speeds, &runs, out);
    else
        status = hr_fail(HR_E_NOMEM, "no memory for %zu runs", n);
    if (hr_gate_nruns(older) && hr_gate_nruns(fresh))
        out->bits =
            gate_other_bits(older, hr_gate_run_at(older, 0), fresh, hr_gate_run_at(fresh, 0));
    count(out);
    free((void *)runs.there);
    free((void *)runs.here);
    if (status != HR_OK)
        hr_gate_judgement_free(out);
    return status;
}

void hr_gate_judgement_free(struct hr_gate_judgement *judgement)
{
    free(judgement->strategy);
    *judgement = (struct hr_gate_judgement){0};
}
