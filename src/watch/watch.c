#include "watch/watch.h"

#include <stdio.h>

#include "base/log.h"
#include "watch/apart.h"
#include "watch/hints.h"
#include "watch/outcome.h"
#include "terminal/output.h"
#include "base/signals.h"

static void print_banner(const struct hr_watch *watch, const struct hr_run_info *info,
                         const char *data)
{
    char name[64];
    if (!watch->share) {
        hr_banner_print(stderr, info, data);
        return;
    }
    snprintf(name, sizeof name, "run %zu of %zu", watch->view.subject.run,
             watch->view.subject.runs);
    hr_banner_print_shared(stderr, info, data, watch->share, name);
}

/* Outputs of an earlier run go when this one begins. */
static enum hr_status on_admit(void *arg, const struct hr_run_info *info)
{
    struct hr_watch *watch = arg;
    if (watch->outputs)
        HR_TRY(hr_apart_check(watch->outputs));
    if (watch->outputs && hr_outcome_forget(watch->outputs) != HR_OK)
        hr_log(HR_LOG_WARNING, "%s", hr_error_message());
    if (watch->lines)
        HR_TRY(hr_timeline_admit(watch->lines));
    if (!hr_metrics_are_wanted(&watch->metrics.wish))
        return HR_OK;
    if (watch->outputs)
        HR_TRY(hr_metrics_forget(&watch->metrics.wish));
    return hr_metrics_begin(&watch->metrics, info);
}

static void on_start(void *arg, const struct hr_run_info *info)
{
    struct hr_watch *watch = arg;
    const struct hr_dataset *dataset = watch->dataset;
    char advice[HR_ADVICE_MAX], data[1200];
    const bool guessed = dataset && dataset->label_guessed;
    snprintf(data, sizeof data, guessed ? "%.1023s, label in %s" : "%.1023s", watch->data,
             guessed ? dataset->label_column : "");
    watch->started = true;
    watch->view.subject.epochs = info->length;
    if (watch->lines) {
        char name[240];
        snprintf(name, sizeof name, "%s, seed %llu",
                 watch->view.subject.label[0] ? watch->view.subject.label : info->strategy,
                 (unsigned long long)info->seed);
        hr_timeline_begin(watch->lines, name, watch->clock, info);
    }
    if (watch->banner)
        print_banner(watch, info, data);
    if (!watch->quiet && hr_advice_before(info, advice))
        hr_log(HR_LOG_WARNING, "%s", advice);
    if ((watch->banner || watch->hints) && info->left_out && info->left_out[0])
        hr_log(HR_LOG_INFO, "%s: %s", info->strategy, info->left_out);
    if (watch->hints)
        hr_hints_print(watch->hints, watch->dataset);
}

static void on_progress(void *arg, const struct hr_progress *progress)
{
    struct hr_watch *watch = arg;
    hr_metrics_flush(&watch->metrics);
    if (watch->tell)
        watch->tell(watch->tell_arg, progress);
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

static void on_saved(void *arg, const char *path)
{
    struct hr_watch *watch = arg;
    hr_metrics_saved(&watch->metrics, path);
    hr_progress_view_end(&watch->view);
    if (!watch->quiet)
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
    hr_timeline_steps(lines->cli, &observer->spans_from, &observer->spans_to);
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

struct hr_metrics_wish hr_watch_wish(const struct hr_cli *cli,
                                     const struct hr_train_options *options,
                                     const struct hr_dataset *dataset, const char *run)
{
    return (struct hr_metrics_wish){.log = cli->log,
                                    .board = cli->tensorboard,
                                    .run = run,
                                    .every = cli->log_every,
                                    .options = options,
                                    .dataset = dataset};
}

enum hr_status hr_watch_forget(const struct hr_cli *cli, const struct hr_train_options *options)
{
    const struct hr_metrics_wish wish = hr_watch_wish(cli, options, NULL, "");
    HR_TRY(hr_outcome_forget(cli));
    return hr_metrics_forget(&wish);
}

void hr_watch_write(struct hr_watch *watch, const struct hr_metrics_wish *wish,
                    struct hr_observer *observer)
{
    watch->metrics.wish = *wish;
    if (!hr_metrics_are_wanted(wish))
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

struct hr_observer hr_watch_begin(struct hr_watch *watch, const struct hr_train_options *options,
                                  const char *data, const struct hr_progress_subject *subject,
                                  bool quiet)
{
    hr_signals_run_begins();
    *watch =
        (struct hr_watch){.data = data, .quiet = quiet, .banner = !quiet, .clock = options->clock};
    const struct hr_progress_subject alone = {.label = "",
                                              .strategy = options->strategy,
                                              .seed = options->seed,
                                              .epochs =
                                                  options->budget[0] ? 0 : (double)options->epochs};
    hr_progress_view_init(&watch->view, hr_output_terminal(), subject ? subject : &alone, quiet);
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
                   void (*tell)(void *arg, const struct hr_progress *progress), void *arg)
{
    watch->tell = tell;
    watch->tell_arg = arg;
    watch->view.quiet = watch->view.quiet || watch->view.redraw;
    watch->view.redraw = false;
}

void hr_watch_end(struct hr_watch *watch, const struct hr_run_result *result)
{
    char advice[HR_ADVICE_MAX];
    hr_signals_run_ended();
    hr_progress_view_end(&watch->view);
    if (watch->lines && watch->lines->timeline)
        hr_timeline_run_ends(watch->lines->timeline);
    if (watch->quiet || !result)
        return;
    if (watch->view.subject.runs)
        hr_progress_view_ran(&watch->view, result);
    const char *name = watch->view.subject.label[0] ? watch->view.subject.label : result->strategy;
    if (watch->banner && hr_advice_after(result, name, advice)) /* once for all seeds */
        hr_log(HR_LOG_INFO, "%s", advice);
    if (hr_advice_rising(result, name, advice) || hr_advice_asynchrony(result, name, advice))
        hr_log(HR_LOG_WARNING, "%s", advice);
}
