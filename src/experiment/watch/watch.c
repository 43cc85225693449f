#include "watch/watch.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/signals.h"
#include "hogring/sparse.h"
#include "report/groups.h"
#include "shm/control.h"
#include "terminal/output.h"

/* --- what ranks did --- */

/* "A:B"; either may be missing. */
static bool parse_steps(const char *text, uint64_t *from, uint64_t *to)
{
    char first[24];
    const char *colon = strchr(text, ':');
    *from = 0;
    *to = UINT64_MAX;
    if (!text[0])
        return true;
    if (!colon || (size_t)(colon - text) >= sizeof first)
        return false;
    snprintf(first, sizeof first, "%.*s", (int)(colon - text), text);
    return (!first[0] || hr_parse_count(first, from)) &&
           (!colon[1] || hr_parse_count(colon + 1, to)) && *from < *to;
}

enum hr_status hr_timeline_check(const struct hr_cli *cli)
{
    uint64_t from, to;
    if (cli->timeline_steps[0] && !cli->timeline[0])
        return hr_fail(HR_E_USAGE, "--timeline steps=%s: of what? expected FILE,steps=A:B",
                       cli->timeline_steps);
    if (!parse_steps(cli->timeline_steps, &from, &to))
        return hr_fail(HR_E_USAGE, "--timeline FILE,steps=%s: expected A:B, as 100:200, A below B",
                       cli->timeline_steps);
    return HR_OK;
}

static enum hr_status open_timeline(struct hr_timeline_watch *lines)
{
    struct hr_about about;
    if (lines->timeline)
        return HR_OK;
    hr_about_fill(&about);
    return hr_timeline_open(lines->cli->timeline, about.command, &lines->timeline);
}

enum hr_status hr_timeline_end(struct hr_timeline_watch *lines, enum hr_status status)
{
    char message[512];
    uint64_t step;
    if (!lines->timeline)
        return status;
    if (hr_timeline_is_full(lines->timeline, &step))
        hr_log(HR_LOG_WARNING,
               "%s: full after %d events, in step %llu; --timeline FILE,steps=A:B chooses",
               lines->cli->timeline, HR_TIMELINE_EVENTS, (unsigned long long)step);
    snprintf(message, sizeof message, "%s", status == HR_OK ? "" : hr_error_message());
    const enum hr_status closed = hr_timeline_close(lines->timeline);
    lines->timeline = NULL;
    return status == HR_OK ? closed : hr_fail(status, "%s", message);
}

/* --- a run --- */

static const int64_t say_ns = 60 * HR_NS_PER_SECOND;

/* Of several runs what they share, before the first; with details of each what it is. */
static void print_banner(const struct hr_watch *watch, const struct hr_run_info *info,
                         const char *data)
{
    struct hr_watch_share *share = watch->share;
    struct hr_run_info shared = *info;
    if (watch->verbosity == HR_VERBOSITY_NONE)
        return;
    if (share && !share->one_model)
        shared.model = NULL;
    if (share ? !share->said : watch->verbosity == HR_VERBOSITY_BRIEF)
        hr_banner_print_brief(stderr, &shared, data, share ? share->head : NULL);
    if (share)
        share->said = true;
    if (watch->verbosity != HR_VERBOSITY_FULL || !watch->first)
        return;
    if (share)
        fprintf(stderr, "run %zu of %zu\n", watch->view.subject.run, watch->view.subject.runs);
    hr_banner_print(stderr, info, data);
}

/* Of several runs once. */
static void warn_before(const struct hr_watch *watch, const struct hr_run_info *info)
{
    char advice[HR_ADVICE_MAX];
    if (watch->verbosity == HR_VERBOSITY_NONE || (watch->share && watch->share->crowded) ||
        !hr_advice_before(info, advice))
        return;
    hr_log(HR_LOG_WARNING, "%s", advice);
    if (watch->share)
        watch->share->crowded = true;
}

/* Outputs of an earlier run go when this one begins. */
static enum hr_status on_admit(void *arg, const struct hr_run_info *info)
{
    struct hr_watch *watch = arg;
    if (watch->outputs)
        HR_TRY(hr_outcome_check_files(watch->outputs));
    if (watch->outputs && hr_outcome_forget(watch->outputs) != HR_OK)
        hr_log(HR_LOG_WARNING, "%s", hr_error_message());
    if (watch->lines)
        HR_TRY(open_timeline(watch->lines));
    if (!hr_metrics_are_wanted(&watch->metrics.request))
        return HR_OK;
    if (watch->outputs)
        HR_TRY(hr_metrics_forget(&watch->metrics.request));
    return hr_metrics_begin(&watch->metrics, info);
}

static void on_start(void *arg, const struct hr_run_info *info)
{
    struct hr_watch *watch = arg;
    const struct hr_dataset *dataset = watch->dataset;
    char data[sizeof dataset->name + sizeof dataset->label_column + 16];
    const bool guessed = dataset && dataset->label_guessed;
    snprintf(data, sizeof data, guessed ? "%s, label in %s" : "%s", watch->data,
             guessed ? dataset->label_column : "");
    watch->started = true;
    watch->view.subject.epochs = info->length;
    watch->view.subject.tokens = info->tokens;
    if (watch->lines && watch->lines->timeline) {
        char name[240];
        snprintf(name, sizeof name, "%s, seed %llu",
                 watch->view.subject.label[0] ? watch->view.subject.label : info->strategy,
                 (unsigned long long)info->seed);
        hr_timeline_run(watch->lines->timeline, name, watch->clock, info,
                        !strcmp(watch->clock, "virtual") ? 0 : hr_clock_ns());
    }
    print_banner(watch, info, data);
    warn_before(watch, info);
    if (((watch->verbosity != HR_VERBOSITY_NONE && watch->first) || watch->hints) &&
        info->left_out && info->left_out[0])
        hr_log(HR_LOG_INFO, "%s: %s", info->strategy, info->left_out);
    if (watch->hints)
        hr_hints_print(watch->hints, watch->dataset);
}

static void on_progress(void *arg, const struct hr_progress *progress)
{
    struct hr_watch *watch = arg;
    hr_metrics_flush(&watch->metrics);
    if (watch->report)
        watch->report(watch->report_arg, progress);
    else
        hr_progress_view_update(&watch->view, progress);
    if (watch->lines && watch->lines->timeline)
        hr_timeline_flush(watch->lines->timeline);
}

static void on_point(void *arg, const struct hr_curve_point *point)
{
    struct hr_watch *watch = arg;
    hr_metrics_point(&watch->metrics, point);
    hr_progress_view_point(&watch->view, point);
}

/* The first, and briefly one per minute: the last is named in the end. */
static void on_saved(void *arg, const char *path)
{
    struct hr_watch *watch = arg;
    const int64_t now = hr_clock_ns();
    hr_metrics_saved(&watch->metrics, path);
    hr_progress_view_end(&watch->view);
    if (watch->verbosity == HR_VERBOSITY_NONE ||
        (watch->verbosity == HR_VERBOSITY_BRIEF && watch->saved_ns &&
         now - watch->saved_ns < say_ns))
        return;
    watch->saved_ns = now;
    hr_log(HR_LOG_INFO, "saved %s", path);
}

static void on_span(void *arg, const struct hr_span_report *span)
{
    const struct hr_watch *watch = arg;
    if (watch->lines->timeline)
        hr_timeline_span(watch->lines->timeline, span);
}

void hr_watch_timeline(struct hr_watch *watch, struct hr_timeline_watch *lines,
                       struct hr_observer *observer)
{
    if (!lines->cli->timeline[0])
        return;
    watch->lines = lines;
    observer->spanned = on_span;
    if (!parse_steps(lines->cli->timeline_steps, &observer->spans_from, &observer->spans_to))
        observer->spans_from = observer->spans_to = 0; /* it was refused */
}

/* --- what is written --- */

static void on_step(void *arg, const struct hr_step_report *step)
{
    hr_metrics_step(&((struct hr_watch *)arg)->metrics, step);
}

static void on_saving(void *arg, uint64_t step)
{
    hr_metrics_saving(&((struct hr_watch *)arg)->metrics, step);
}

static void on_writing(void *arg)
{
    hr_metrics_writing(&((struct hr_watch *)arg)->metrics);
}

static void on_lost(void *arg, const struct hr_loss *loss)
{
    hr_metrics_lost(&((struct hr_watch *)arg)->metrics, loss);
}

const char *hr_watch_name(const struct hr_train_options *options, size_t twins,
                          char name[HR_RUN_NAME])
{
    char twin[24] = "";
    if (twins)
        snprintf(twin, sizeof twin, "-%zu", twins + 1);
    snprintf(name, HR_RUN_NAME, "%.31s%s/seed-%llu", options->strategy, twin,
             (unsigned long long)options->seed);
    return name;
}

struct hr_metrics_request hr_watch_request(const struct hr_cli *cli,
                                           const struct hr_train_options *options,
                                           const struct hr_dataset *dataset, const char *run)
{
    return (struct hr_metrics_request){.log = cli->log,
                                       .board = cli->tensorboard,
                                       .run = run,
                                       .every = cli->log_every,
                                       .options = options,
                                       .dataset = dataset};
}

enum hr_status hr_watch_forget(const struct hr_cli *cli, const struct hr_train_options *options)
{
    const struct hr_metrics_request request = hr_watch_request(cli, options, NULL, "");
    HR_TRY(hr_outcome_forget(cli));
    return hr_metrics_forget(&request);
}

void hr_watch_write(struct hr_watch *watch, const struct hr_metrics_request *request,
                    struct hr_observer *observer)
{
    watch->metrics.request = *request;
    if (!hr_metrics_are_wanted(request))
        return;
    observer->stepped = on_step;
    observer->saving = on_saving;
    observer->writing = on_writing;
    observer->lost = on_lost;
}

enum hr_status hr_watch_close(struct hr_watch *watch, const struct hr_run_result *result,
                              enum hr_status status)
{
    char message[1024];
    if (!watch->metrics.begun && status != HR_OK)
        return status;
    snprintf(message, sizeof message, "%s", status == HR_OK ? "" : hr_error_message());
    const enum hr_status written =
        hr_metrics_end(&watch->metrics, result, message, hr_cli_exit_code(status));
    return status == HR_OK ? written : hr_fail(status, "%s", message);
}

enum hr_verbosity hr_watch_verbosity(const struct hr_cli *cli)
{
    return cli->quiet ? HR_VERBOSITY_NONE : cli->details ? HR_VERBOSITY_FULL : HR_VERBOSITY_BRIEF;
}

struct hr_observer hr_watch_begin(struct hr_watch *watch, const struct hr_train_options *options,
                                  const char *data, const struct hr_progress_subject *subject,
                                  enum hr_verbosity verbosity)
{
    hr_signals_run_begins();
    *watch = (struct hr_watch){
        .data = data, .verbosity = verbosity, .first = true, .clock = options->clock};
    const struct hr_progress_subject alone = {.label = "",
                                              .strategy = options->strategy,
                                              .seed = options->seed,
                                              .epochs =
                                                  options->budget[0] ? 0 : (double)options->epochs};
    hr_progress_view_init(&watch->view, hr_output_terminal(), subject ? subject : &alone,
                          verbosity);
    return (struct hr_observer){
        .arg = watch,
        .admits = on_admit,
        .started = on_start,
        .progress = on_progress,
        .evaluated = on_point,
        .saved = on_saved,
        .saves_asked = hr_signals_saves_asked,
        .should_stop = hr_signals_seen,
    };
}

void hr_watch_join(struct hr_watch *watch,
                   void (*report)(void *arg, const struct hr_progress *progress), void *arg)
{
    watch->report = report;
    watch->report_arg = arg;
    watch->view.quiet |= !watch->view.details || watch->view.redraw;
    watch->view.redraw = false;
}

/* The first of the rows that need it, and how many more do. */
static void advise(const struct hr_groups *groups, enum hr_log_level level,
                   bool (*advice)(const struct hr_run_result *run, const char *name,
                                  char text[HR_ADVICE_MAX]))
{
    char first[HR_ADVICE_MAX] = "", text[HR_ADVICE_MAX], more[48] = "";
    size_t rows = 0;
    for (size_t g = 0; g < groups->n; g++)
        if (advice(groups->group[g].run[0], groups->group[g].name, text) && rows++ == 0)
            memcpy(first, text, sizeof first);
    if (rows > 1)
        snprintf(more, sizeof more, " (also in %zu more row%s)", rows - 1, rows > 2 ? "s" : "");
    if (rows)
        hr_log(level, "%s%s", first, more);
}

/* Of one that rose the table says so. */
static bool advice_asynchrony(const struct hr_run_result *run, const char *name,
                              char text[HR_ADVICE_MAX])
{
    struct hr_rise rise;
    return !hr_run_rose(run, &rise) && hr_advice_asynchrony(run, name, text);
}

void hr_watch_advise(const struct hr_run_result *runs, size_t n)
{
    struct hr_groups groups;
    if (hr_groups_make(&groups, runs, n) != HR_OK)
        return;
    advise(&groups, HR_LOG_INFO, hr_advice_after);
    advise(&groups, HR_LOG_WARNING, advice_asynchrony);
    hr_groups_free(&groups);
}

void hr_watch_end(struct hr_watch *watch, const struct hr_run_result *result)
{
    hr_signals_run_ended();
    hr_progress_view_end(&watch->view);
    if (watch->lines && watch->lines->timeline)
        hr_timeline_run_ends(watch->lines->timeline);
    if (watch->verbosity == HR_VERBOSITY_NONE || !result)
        return;
    if (watch->view.subject.runs)
        hr_progress_view_ran(&watch->view, result);
    else
        hr_watch_advise(result, 1);
}
