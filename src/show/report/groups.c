#include "report/groups.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/human.h"
#include "stats/tests.h"

/* --- labels */

static void append(char *label, size_t size, const char *text)
{
    const size_t used = strlen(label);
    if (text[0])
        snprintf(label + used, size - used, " %s", text);
}

/* The part of the label that is always shown. */
static void write_base(const struct hr_run_result *run, char *label, size_t size)
{
    char text[48];
    snprintf(label, size, "%s", run->strategy);
    if (run->algorithm[0])
        append(label, size, run->algorithm);
    if (run->bounded) {
        snprintf(text, sizeof text, "s=%llu", (unsigned long long)run->staleness_bound);
        append(label, size, text);
    }
}

/* Do workers or servers differ? Labels show both when either does. */
static bool setup_differs(const struct hr_run_result *a, const struct hr_run_result *b)
{
    return a->workers != b->workers ||
           (a->servers && b->servers && a->servers != b->servers); /* 0: it has none */
}

static bool needs_setup(const struct hr_groups *groups, const struct hr_run_result *run)
{
    for (size_t g = 0; g < groups->n; g++)
        if (setup_differs(run, groups->group[g].run[0]))
            return true;
    return run->servers > 1;
}

static void append_setup(const struct hr_run_result *run, char *label, size_t size)
{
    char text[64];
    if (run->servers)
        snprintf(text, sizeof text, "%zuW%zuPS", run->workers, run->servers);
    else
        snprintf(text, sizeof text, "%zu worker%s", run->workers, run->workers == 1 ? "" : "s");
    append(label, size, text);
}

/* Other properties that may differ between two rows; shown only where they do. */
static const struct {
    size_t offset;    /* in a result */
    bool of_strategy; /* compared only between rows of the same strategy: each has its own value,
                         or a column shows it */
} details[] = {
    {offsetof(struct hr_run_result, manner), true},
    {offsetof(struct hr_run_result, optimizer), false},
    {offsetof(struct hr_run_result, lr), true},
    {offsetof(struct hr_run_result, batch_size), false},
    {offsetof(struct hr_run_result, launch), false},
    {offsetof(struct hr_run_result, placement), true},
    {offsetof(struct hr_run_result, kernels), false},
    {offsetof(struct hr_run_result, setting), false},
};

enum { NDETAILS = sizeof details / sizeof *details, DETAIL_MAX = 160 };

static void write_detail(const struct hr_run_result *run, size_t d, char text[DETAIL_MAX])
{
    const void *at = (const char *)run + details[d].offset;
    const bool lr = at == &run->lr, batch = at == &run->batch_size;
    text[0] = '\0';
    if (lr && isfinite(run->lr)) /* a solver may have none */
        snprintf(text, DETAIL_MAX, "lr %.4g", run->lr);
    else if (batch)
        snprintf(text, DETAIL_MAX, "batch %zu", run->batch_size);
    else if (!lr)
        snprintf(text, DETAIL_MAX, "%.*s", at == run->kernels ? 20 : DETAIL_MAX - 1,
                 (const char *)at);
}

static bool detail_differs(const struct hr_run_result *a, const struct hr_run_result *b, size_t d)
{
    char x[DETAIL_MAX], y[DETAIL_MAX];
    /* Each precision and model has kernels of its own: the setting says it. */
    if (details[d].offset == offsetof(struct hr_run_result, kernels) &&
        (strcmp(a->precision, b->precision) != 0 || strcmp(a->model, b->model) != 0))
        return false;
    write_detail(a, d, x);
    write_detail(b, d, y);
    return strcmp(x, y) != 0;
}

static bool same_base(const struct hr_run_result *a, const struct hr_run_result *b)
{
    char x[160], y[160];
    write_base(a, x, sizeof x);
    write_base(b, y, sizeof y);
    return !strcmp(x, y);
}

static bool needs_detail(const struct hr_groups *groups, const struct hr_run_result *run, size_t d)
{
    for (size_t g = 0; g < groups->n; g++) {
        const struct hr_run_result *other = groups->group[g].run[0];
        if ((!details[d].of_strategy || same_base(run, other)) && detail_differs(run, other, d))
            return true;
    }
    return false;
}

static size_t earlier_namesakes(const struct hr_groups *groups, size_t g)
{
    size_t n = 0;
    const size_t length = strlen(groups->group[g].label);
    for (size_t i = 0; i < g; i++)
        n +=
            !strncmp(groups->group[i].label, groups->group[g].label, length) &&
            (!groups->group[i].label[length] || !strncmp(groups->group[i].label + length, " #", 2));
    return n;
}

static void write_label(struct hr_groups *groups, size_t g)
{
    struct hr_run_group *group = &groups->group[g];
    char text[DETAIL_MAX];
    write_base(group->run[0], group->label, sizeof group->label);
    if (needs_setup(groups, group->run[0]))
        append_setup(group->run[0], group->label, sizeof group->label);
    for (size_t d = 0; d < NDETAILS; d++) {
        if (!needs_detail(groups, group->run[0], d))
            continue;
        write_detail(group->run[0], d, text);
        if (text[0])
            append(group->label, sizeof group->label, text);
    }
    const size_t before = earlier_namesakes(groups, g);
    if (before == 0)
        return;
    snprintf(text, sizeof text, "#%zu", before + 1);
    append(group->label, sizeof group->label, text);
}

/* Tables have the whole label; sentences do not say again what no row is told apart by. */
static void name_group(struct hr_groups *groups, size_t g)
{
    struct hr_run_group *group = &groups->group[g];
    group->name = group->run[0]->strategy;
    for (size_t i = 0; i < groups->n; i++)
        if (i != g && !strcmp(groups->group[i].run[0]->strategy, group->name))
            group->name = group->label;
}

/* --- groups */

static bool same_setting(const struct hr_run_result *a, const struct hr_run_result *b)
{
    if (!same_base(a, b) || setup_differs(a, b) || strcmp(a->model, b->model) != 0)
        return false;
    for (size_t d = 0; d < NDETAILS; d++)
        if (detail_differs(a, b, d))
            return false;
    return true;
}

static bool takes(const struct hr_run_group *group, const struct hr_run_result *run)
{
    if (!same_setting(group->run[0], run))
        return false;
    for (size_t i = 0; i < group->n; i++)
        if (group->run[i]->seed == run->seed && group->run[i]->event_order == run->event_order)
            return false;
    return true;
}

/* Each run is compared with every group. Row g of an n-by-n matrix holds the runs of group g, so
 * each has room for all; n is a few hundred at most. */
static void sort_in(struct hr_groups *groups, const struct hr_run_result *run, size_t n)
{
    size_t g = 0;
    while (g < groups->n && !takes(&groups->group[g], run))
        g++;
    struct hr_run_group *group = &groups->group[g];
    if (g == groups->n) {
        groups->n++;
        group->run = groups->runs + g * n;
    }
    group->run[group->n++] = run;
    group->interrupted |= run->interrupted;
    groups->most = group->n > groups->most ? group->n : groups->most;
}

enum hr_status hr_groups_make(struct hr_groups *groups, const struct hr_run_result *runs, size_t n)
{
    *groups = (struct hr_groups){0};
    groups->group = calloc(n + 1, sizeof *groups->group);
    groups->runs = calloc(n * n + 1, sizeof *groups->runs);
    if (!groups->group || !groups->runs) {
        hr_groups_free(groups);
        return hr_fail(HR_E_NOMEM, "no memory to compare %zu runs", n);
    }
    for (size_t i = 0; i < n; i++)
        sort_in(groups, &runs[i], n);
    for (size_t g = 0; g < groups->n; g++)
        write_label(groups, g);
    for (size_t g = 0; g < groups->n; g++)
        name_group(groups, g);
    return HR_OK;
}

void hr_groups_free(struct hr_groups *groups)
{
    free(groups->group);
    free(groups->runs);
    *groups = (struct hr_groups){0};
}

const char *hr_groups_label(const struct hr_groups *groups, const struct hr_run_result *run)
{
    for (size_t g = 0; g < groups->n; g++)
        for (size_t i = 0; i < groups->group[g].n; i++)
            if (groups->group[g].run[i] == run)
                return groups->group[g].label;
    return run->strategy;
}

/* --- measures */

struct hr_spread hr_run_group_spread(const struct hr_run_group *group, hr_measure_fn measure)
{
    double *values = malloc((group->n + 1) * sizeof *values);
    if (!values)
        return (struct hr_spread){.mean = NAN};
    for (size_t i = 0; i < group->n; i++)
        values[i] = measure(group->run[i]);
    const struct hr_spread spread = hr_spread_of(values, group->n);
    free(values);
    return spread;
}

struct hr_spread hr_run_group_target(const struct hr_run_group *group)
{
    double *values = malloc((group->n + 1) * sizeof *values);
    size_t n = 0;
    for (size_t i = 0; values && i < group->n; i++)
        if (group->run[i]->target_seconds >= 0)
            values[n++] = group->run[i]->target_seconds;
    const struct hr_spread spread = hr_spread_of(values, n);
    free(values);
    return spread;
}

struct hr_spread hr_run_group_metric(const struct hr_run_group *group, enum hr_metric metric)
{
    static const hr_measure_fn measures[HR_METRICS] = {
        [HR_METRIC_LOSS] = hr_measure_test_loss,
        [HR_METRIC_ACCURACY] = hr_measure_accuracy,
        [HR_METRIC_BALANCED_ACCURACY] = hr_measure_balanced_accuracy,
        [HR_METRIC_MACRO_F1] = hr_measure_macro_f1,
        [HR_METRIC_ROC_AUC] = hr_measure_roc_auc,
        [HR_METRIC_RMSE] = hr_measure_rmse,
        [HR_METRIC_MAE] = hr_measure_mae,
        [HR_METRIC_R2] = hr_measure_r2,
        [HR_METRIC_PERPLEXITY] = hr_measure_perplexity,
        [HR_METRIC_BITS_PER_BYTE] = hr_measure_bits_per_byte,
    };
    return hr_run_group_spread(group, measures[metric]);
}

/* A measure is a row: its name, and what it is of a run. */
#define MEASURE(name, value)                                                                       \
    double name(const struct hr_run_result *run)                                                   \
    {                                                                                              \
        return value;                                                                              \
    }
MEASURE(hr_measure_accuracy, run->test_accuracy)
MEASURE(hr_measure_test_loss, run->test_loss)
MEASURE(hr_measure_validation_accuracy, run->validation_samples ? run->validation_accuracy : NAN)
MEASURE(hr_measure_validation_loss, run->validation_samples ? run->validation_loss : NAN)
MEASURE(hr_measure_balanced_accuracy, hr_metric_of_test(HR_METRIC_BALANCED_ACCURACY, run))
MEASURE(hr_measure_macro_f1, hr_metric_of_test(HR_METRIC_MACRO_F1, run))
MEASURE(hr_measure_roc_auc, hr_metric_of_test(HR_METRIC_ROC_AUC, run))
MEASURE(hr_measure_rmse, hr_metric_of_test(HR_METRIC_RMSE, run))
MEASURE(hr_measure_mae, hr_metric_of_test(HR_METRIC_MAE, run))
MEASURE(hr_measure_r2, hr_metric_of_test(HR_METRIC_R2, run))
MEASURE(hr_measure_perplexity, hr_metric_of_test(HR_METRIC_PERPLEXITY, run))
MEASURE(hr_measure_bits_per_byte, hr_metric_of_test(HR_METRIC_BITS_PER_BYTE, run))
MEASURE(hr_measure_validation_rmse, hr_metric_of_validation(HR_METRIC_RMSE, run))
MEASURE(hr_measure_train_loss, run->train_loss)
MEASURE(hr_measure_seconds, run->past_seconds + run->seconds)
MEASURE(hr_measure_rate, run->past_seconds > 0
                             ? (double)(run->past_samples + run->samples) / hr_measure_seconds(run)
                             : run->samples_per_s)
MEASURE(hr_measure_shown_rate, hr_rate_shown(hr_measure_rate(run), run->tokens))
MEASURE(hr_measure_updates, (double)(run->past_updates + run->updates))
MEASURE(hr_measure_stale_mean,
        run->stale_updates ? (double)run->stale_sum / (double)run->stale_updates : NAN)
MEASURE(hr_measure_stale_max, (double)run->stale_max)
MEASURE(hr_measure_max_lead, (double)run->max_skew)
MEASURE(hr_measure_dropped, (double)run->dropped)
MEASURE(hr_measure_resent, (double)run->resent)
MEASURE(hr_measure_lr, run->lr)
MEASURE(hr_measure_effective_lr, run->asynchrony.effective_lr)

double hr_run_first_loss(const struct hr_run_result *run)
{
    return run->first_samples ? run->first_loss / (double)run->first_samples : (double)NAN;
}

double hr_run_first_epoch_loss(const struct hr_run_result *run)
{
    return run->ncurve && run->curve[0].epoch <= 1 ? run->curve[0].train_loss : (double)NAN;
}

/* The losses' deviation is about their mean, so a mean over n has the relative error 1 / sqrt(n).
 * A rise counts when it is above twice that, and the loss above that of random guessing. */
static bool is_above(const struct hr_run_result *run, double loss, double began, double samples)
{
    const bool entropy = !strncmp(run->loss, "cross-entropy", strlen("cross-entropy"));
    const double guessing = entropy && run->classes ? log((double)run->classes) : 0;
    return samples > 0 && loss > (1 + 2 / sqrt(samples)) * fmax(began, guessing);
}

static bool rose_from_start(const struct hr_run_result *run)
{
    return is_above(run, run->train_loss, hr_run_first_loss(run), (double)run->first_samples);
}

static bool rose_from_first_epoch(const struct hr_run_result *run)
{
    return run->ncurve > 1 && run->train_loss > hr_run_first_epoch_loss(run) *
                                                    (1 + 1 / sqrt((double)run->curve[0].samples));
}

bool hr_run_rose(const struct hr_run_result *run, struct hr_rise *rise)
{
    if (rose_from_start(run)) {
        *rise = (struct hr_rise){hr_run_first_loss(run), "it began with"};
        return true;
    }
    *rise = (struct hr_rise){hr_run_first_epoch_loss(run), "of its first epoch"};
    return rose_from_first_epoch(run);
}

/* A mean over an epoch that began badly may be large where its end was good: the last evaluation is
 * asked, too. The first few updates may lead up before they lead down. Where few answers are wrong,
 * but surely so, the loss is large and much is learned. */
bool hr_run_diverged(const struct hr_run_result *run, struct hr_rise *rise)
{
    enum { UPDATES = 10 };
    const bool known = run->first_samples > 0;
    const bool learned = isfinite(run->test_accuracy) && !run->chance[0];
    const double last = run->validation_samples ? run->validation_loss : run->test_loss;
    if (!hr_run_rose(run, rise) || learned || hr_measure_updates(run) < UPDATES ||
        (!known && (!run->classes || run->ncurve < 2)))
        return false;
    const double began = known ? hr_run_first_loss(run) : hr_run_first_epoch_loss(run);
    const double samples = (double)(known ? run->first_samples : run->curve[0].samples);
    return is_above(run, run->train_loss, began, samples) &&
           (isnan(last) || is_above(run, last, began, samples));
}

/* How many runs of a group are of a kind. */
#define COUNT(name, is)                                                                            \
    size_t name(const struct hr_run_group *group)                                                  \
    {                                                                                              \
        size_t n = 0;                                                                              \
        for (size_t i = 0; i < group->n; i++) {                                                    \
            const struct hr_run_result *run = group->run[i];                                       \
            n += (is);                                                                             \
        }                                                                                          \
        return n;                                                                                  \
    }
COUNT(hr_run_group_diverged, hr_run_diverged(run, &(struct hr_rise){0}))
COUNT(hr_run_group_rose, hr_run_rose(run, &(struct hr_rise){0}))
COUNT(hr_run_group_chance, run->chance[0] != '\0')
COUNT(hr_run_group_lost, run->nlosses > 0)

struct hr_lost_share hr_lost_share_with(struct hr_lost_share share, const struct hr_run_result *run)
{
    share.lines += run->watched_lines;
    share.pairs += run->watched_pairs;
    share.lost += run->lost_pairs;
    if (share.pairs == 0 || run->workers < 2)
        return share;
    share.fraction = (double)share.lost / (double)share.pairs;
    const struct hr_interval interval = hr_wilson_interval(share.fraction, (double)share.lines);
    share.low = interval.low;
    share.high = interval.high;
    return share;
}

/* --- lost ranks --- */

bool hr_groups_lost_alike(const struct hr_groups *groups)
{
    for (size_t g = 0; g < groups->n; g++)
        for (size_t i = 0; i < groups->group[g].n; i++)
            if (groups->group[g].run[i]->nlosses != groups->group[0].run[0]->nlosses)
                return false;
    return true;
}

uint64_t hr_run_lost_samples(const struct hr_run_result *run)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < run->nlosses; i++)
        sum += run->losses[i].lost_samples;
    return sum;
}

static bool may_be_absent(const struct hr_run_result *run, size_t worker)
{
    for (size_t i = 0; i < run->nlosses; i++)
        if (run->micro_shards || (!run->losses[i].server && run->losses[i].rank == worker))
            return true;
    return false;
}

double hr_run_absent(const struct hr_run_result *run, size_t worker)
{
    static const double rounding = 1e-9; /* clocks count nanoseconds */
    const struct hr_worker_time *time = &run->worker_time[worker];
    const double absent =
        run->seconds - (time->load_s + time->compute_s + time->communicate_s + time->wait_s);
    return may_be_absent(run, worker) && absent > rounding ? absent : 0;
}
