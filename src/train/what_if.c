/* Counterfactuals: a recorded run in virtual time, its gradients taking as long as they took, with
 * something else. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/median.h"
#include "base/parse.h"
#include "drive/record.h"
#include "drive/replay.h"
#include "hogring/replay.h"
#include "netsim/inject.h"
#include "options/budget.h"
#include "options/train_options.h"
#include "train/run.h"

/* Whom a recorded run lost, as deaths on purpose (--inject) for a run in virtual time: at the same
 * step of the same worker, or the same input of the same server. Steps that all went back over
 * count as they were counted then.
 *
 * Threads: none.
 * Test:    tests/unit/train/test_what_if_deaths.c
 */

static enum hr_status add(struct hr_train_options *options, const char *who, uint64_t step)
{
    const size_t used = strlen(options->inject), size = sizeof options->inject;
    const int more = snprintf(options->inject + used, size - used, "%skill:%s@step=%llu",
                              used ? "," : "", who, (unsigned long long)step);
    return more > 0 && (size_t)more < size - used
               ? HR_OK
               : hr_fail(HR_E_USAGE, "--what-if: the run lost more ranks than --inject can kill; "
                                     "expected fewer");
}

static enum hr_status add_death(struct hr_train_options *options,
                                const struct hr_membership_event *event)
{
    char who[40];
    if (event->rank < options->workers) {
        snprintf(who, sizeof who, "%u", event->rank);
        return add(options, who, event->step);
    }
    snprintf(who, sizeof who, "server:%zu", event->rank - options->workers);
    return add(options, who, event->value);
}

/* Who is lost on its way back has not begun. */
static enum hr_status add_all(const struct hr_membership *membership,
                              struct hr_train_options *options)
{
    bool gone[HR_TRACE_RANKS] = {false};
    for (size_t e = 0; e < membership->n; e++) {
        const struct hr_membership_event *event = &membership->event[e];
        if (event->kind == HR_MEMBERSHIP_LOST && !gone[event->rank])
            HR_TRY(add_death(options, event));
        if (event->kind == HR_MEMBERSHIP_LOST || event->kind == HR_MEMBERSHIP_BACK)
            gone[event->rank] = event->kind == HR_MEMBERSHIP_LOST;
    }
    return HR_OK;
}

/* Add the recorded deaths to options->inject. HR_E_FORMAT: the launcher's log cannot be;
 * HR_E_USAGE: there are more than fit; HR_E_NOMEM. */
static enum hr_status what_if_recorded_deaths(const struct hr_replay *replay,
                                              struct hr_train_options *options)
{
    struct hr_membership membership;
    if (!hr_train_outlives(options))
        return HR_OK;
    HR_TRY(hr_membership_read(&hr_replay_own(replay)->trace, &membership));
    const enum hr_status status = add_all(&membership, options);
    hr_membership_free(&membership);
    return status;
}

/* "2", or "server:0". */
static bool is_rank(const char *who, const struct hr_train_options *options)
{
    static const char server[] = "server:";
    const bool serves = !strncmp(who, server, strlen(server));
    uint64_t rank;
    return hr_parse_count(serves ? who + strlen(server) : who, &rank) &&
           rank < (serves ? options->servers : options->workers);
}

/* kill=`who`: "none" takes all deaths out; "R@N": worker R dies at its step N, "server:S@N": server
 * S at its input N, too. A run that ended with its first loss goes on here (--on-loss continue).
 * HR_E_USAGE. */
static enum hr_status what_if_kill(const char *who, struct hr_train_options *options)
{
    char rank[40] = "";
    const char *at = strchr(who, '@');
    uint64_t step;
    if (!strcmp(who, "none")) {
        char left[sizeof options->inject];
        hr_inject_to_repeat(options->inject, left, sizeof left);
        if (!strcmp(left, options->inject))
            return hr_fail(HR_E_USAGE, "--what-if kill=none: the run lost nobody");
        memcpy(options->inject, left, sizeof left);
        return HR_OK;
    }
    if (at && (size_t)(at - who) < sizeof rank)
        memcpy(rank, who, (size_t)(at - who));
    if (!is_rank(rank, options) || !hr_parse_count(at + 1, &step))
        return hr_fail(HR_E_USAGE,
                       "--what-if kill=%s: expected kill=none, kill=R@N (worker R, below %zu, dies "
                       "at its step N) or kill=server:S@N",
                       who, options->workers);
    if (!hr_train_outlives(options))
        snprintf(options->on_loss, sizeof options->on_loss, "continue");
    return add(options, rank, step);
}

/* A worker so many times as slow as the median one is a straggler. */
static const double straggles = 1.25;

/* --- how long gradients took --- */

/* Walk owner 0's log: how many gradients of each rank it has times of, or the times themselves. A
 * push is of one gradient; an exchange of elastic-averaging of all since the one before, which then
 * count as equal. */
static enum hr_status collect(const struct hr_trace *trace, size_t *counts, int64_t *ps,
                              const size_t *first)
{
    enum { MOST = 1 << 20 }; /* gradients in one entry: a file may say anything */
    struct hr_trace_cursor cursor;
    const struct hr_trace_entry *entry;
    HR_TRY(hr_trace_cursor_open(&cursor, trace, 0));
    for (; (entry = hr_trace_peek(&cursor)); hr_trace_next(&cursor)) {
        size_t *count = &counts[entry->rank];
        if (!entry->duration_ns || entry->duration_ns > HR_PS_NEVER / 1000 ||
            entry->step <= *count || entry->step - *count > MOST)
            continue;
        const uint64_t n = entry->step - *count;
        for (uint64_t i = 0; ps && i < n; i++)
            ps[first[entry->rank] + *count + i] = (int64_t)(entry->duration_ns * 1000 / n);
        *count += n;
    }
    hr_trace_cursor_close(&cursor);
    return HR_OK;
}

static void free_times(struct hr_recorded_times *times)
{
    free(times->first);
    free(times->ps);
    *times = (struct hr_recorded_times){0};
}

static enum hr_status read_times(const struct hr_replay *replay, struct hr_recorded_times *times)
{
    const struct hr_trace *trace = &hr_replay_own(replay)->trace;
    const size_t n = trace->owner[0].nranks;
    if (n != replay->options.workers) /* the times are looked up by worker */
        return hr_fail(HR_E_FORMAT, "%s: the log of owner 0 is of %zu worker%s, expected %zu",
                       replay->path, n, n == 1 ? "" : "s", replay->options.workers);
    size_t *counts = calloc(n, sizeof *counts);
    *times = (struct hr_recorded_times){.nranks = n, .first = calloc(n + 1, sizeof *times->first)};
    enum hr_status status = HR_OK;
    if (!counts || !times->first) {
        status = hr_fail(HR_E_NOMEM, "no memory for the times of %zu workers", n);
        goto out;
    }
    HR_TRY_GOTO(collect(trace, counts, NULL, NULL), status, out);
    for (size_t r = 0; r < n; r++) {
        times->first[r + 1] = times->first[r] + counts[r];
        if (counts[r] == 0 && status == HR_OK)
            status = hr_fail(HR_E_USAGE,
                             "%s: says no times of worker %zu's gradients; expected a run of a "
                             "strategy with servers, long enough for each worker to push",
                             replay->path, r);
    }
    memset(counts, 0, n * sizeof *counts);
    if (status == HR_OK && !(times->ps = calloc(times->first[n], sizeof *times->ps)))
        status = hr_fail(HR_E_NOMEM, "no memory for %zu times", times->first[n]);
    if (status == HR_OK)
        status = collect(trace, counts, times->ps, times->first);
out:
    free(counts);
    if (status != HR_OK)
        free_times(times);
    return status;
}

/* --- something else --- */

static enum hr_status median_of_rank(const struct hr_recorded_times *times, size_t rank,
                                     double *median)
{
    const size_t n = times->first[rank + 1] - times->first[rank];
    double *values = malloc(n * sizeof *values);
    if (!values)
        return hr_fail(HR_E_NOMEM, "no memory for %zu times", n);
    for (size_t i = 0; i < n; i++)
        values[i] = (double)times->ps[times->first[rank] + i];
    *median = hr_median(values, n);
    free(values);
    return HR_OK;
}

static void scale(struct hr_recorded_times *times, size_t rank, double factor)
{
    for (size_t i = times->first[rank]; i < times->first[rank + 1]; i++)
        times->ps[i] = (int64_t)((double)times->ps[i] * factor);
}

/* Those that straggle take as long as the median worker. */
static enum hr_status hurry_stragglers(struct hr_recorded_times *times)
{
    const size_t n = times->nranks;
    size_t found = 0;
    double *medians = calloc(2 * n, sizeof *medians), *sorted = medians + n;
    enum hr_status status = HR_OK;
    if (!medians)
        return hr_fail(HR_E_NOMEM, "no memory for %zu workers", n);
    for (size_t r = 0; r < n; r++) {
        HR_TRY_GOTO(median_of_rank(times, r, &medians[r]), status, out);
        sorted[r] = medians[r];
    }
    const double usual = hr_median(sorted, n);
    for (size_t r = 0; r < n; r++)
        if (medians[r] > straggles * usual) {
            scale(times, r, usual / medians[r]);
            found++;
        }
    if (!found)
        status = hr_fail(HR_E_USAGE,
                         "--what-if straggler=none: there was none: no worker's gradients took %g "
                         "times as long as the median worker's",
                         straggles);
out:
    free(medians);
    return status;
}

/* What stands behind `name=`; "" where something else does. */
static const char *value_of(const char *what, const char *name)
{
    const size_t length = strlen(name);
    return !strncmp(what, name, length) && what[length] == '=' ? what + length + 1 : "";
}

static enum hr_status change(const char *what, struct hr_train_options *options,
                             struct hr_recorded_times *times)
{
    const char *link = value_of(what, "link");
    uint64_t count;
    if (!strcmp(what, "straggler=none"))
        return hurry_stragglers(times);
    if (value_of(what, "kill")[0])
        return what_if_kill(value_of(what, "kill"), options);
    if (hr_parse_count(value_of(what, "staleness"), &count)) {
        snprintf(options->strategy, sizeof options->strategy, "ssp");
        options->staleness = count;
        return HR_OK;
    }
    if (hr_parse_count(value_of(what, "servers"), &count) && count) {
        options->servers = count;
        return HR_OK;
    }
    if (link[0] && strlen(link) < sizeof options->link) {
        snprintf(options->link, sizeof options->link, "%s", link);
        return HR_OK;
    }
    return hr_fail(HR_E_USAGE,
                   "--what-if %s: expected straggler=none, staleness=N, link=10Gbps, servers=S, "
                   "kill=none or kill=R@N, or several joined by +",
                   what);
}

/* Each question once: of two answers one would be lost. */
static enum hr_status refuse_twice(const char *what, const char *one)
{
    const size_t name = strcspn(one, "=") + 1;
    size_t found = 0;
    for (const char *at = what; at; at = strchr(at, '+')) {
        at += *at == '+';
        found += !strncmp(at, one, name);
    }
    return found < 2
               ? HR_OK
               : hr_fail(HR_E_USAGE, "--what-if %s: expected %.*s once", what, (int)name - 1, one);
}

static enum hr_status change_all(const char *what, struct hr_train_options *options,
                                 struct hr_recorded_times *times)
{
    char text[256];
    char *rest = NULL;
    if (strlen(what) >= sizeof text)
        return hr_fail(HR_E_USAGE, "--what-if: expected fewer than %zu characters", sizeof text);
    memcpy(text, what, strlen(what) + 1);
    if (what[0] && !what[strspn(what, "+")])
        return change(what, options, times); /* nothing but + */
    for (char *one = strtok_r(text, "+", &rest); one; one = strtok_r(NULL, "+", &rest)) {
        HR_TRY(refuse_twice(what, one));
        HR_TRY(change(one, options, times));
    }
    return HR_OK;
}

/* The recorded run's options, for virtual time: how long it slept is in its times. Deaths are in
 * its trace. */
static struct hr_train_options options_of(const struct hr_replay *replay)
{
    struct hr_train_options options = replay->options;
    snprintf(options.clock, sizeof options.clock, "virtual");
    snprintf(options.schedule, sizeof options.schedule, "free");
    options.compute_time[0] = options.record[0] = '\0';
    options.checkpoint_dir[0] = '\0';
    hr_run_forget_seconds(&options);
    if (!options.max_steps || replay->end < options.max_steps)
        options.max_steps = replay->end;
    return options;
}

enum hr_status hr_replay_what_if(const struct hr_replay *replay, const char *what, double overhead,
                                 const struct hr_dataset *dataset,
                                 const struct hr_observer *observer, struct hr_run_result *result)
{
    struct hr_train_options options = options_of(replay);
    struct hr_recorded_times times;
    memset(result, 0, sizeof *result);
    HR_TRY(read_times(replay, &times));
    times.overhead_ps = (int64_t)(overhead * 1e12);
    enum hr_status status = what_if_recorded_deaths(replay, &options);
    if (status == HR_OK)
        status = change_all(what, &options, &times);
    if (status == HR_OK)
        status = hr_train_call(
            &(struct hr_train_call){
                .options = &options, .times = &times, .dataset = dataset, .observer = observer},
            result);
    free_times(&times);
    return status;
}

double hr_replay_overhead(const struct hr_replay *replay, const struct hr_run_result *model)
{
    const double missing = replay->seconds - model->seconds;
    const uint64_t gradients = model->samples / (model->batch_size ? model->batch_size : 1);
    return missing > 0 && gradients ? missing * (double)model->workers / (double)gradients : 0;
}
