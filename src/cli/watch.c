#include "cli/watch.h"

#include <stdio.h>

#include "base/log.h"
#include "cli/hints.h"
#include "cli/outcome.h"
#include "cli/output.h"
#include "base/signals.h"

static void on_start(void *arg, const struct hr_run_info *info)
{
    struct hr_watch *watch = arg;
    const struct hr_dataset *dataset = watch->dataset;
    char advice[HR_ADVICE_MAX], data[1200];
    const bool guessed = dataset && dataset->label_guessed;
    snprintf(data, sizeof data, guessed ? "%.1023s, label in %s" : "%.1023s", watch->data,
             guessed ? dataset->label_column : "");
    watch->started = true;
    if (watch->outputs && hr_outcome_forget(watch->outputs) != HR_OK)
        hr_log(HR_LOG_WARNING, "%s", hr_error_message());
    if (watch->banner)
        hr_banner_print(stderr, info, data);
    if (!watch->quiet && hr_advice_before(info, advice))
        hr_log(HR_LOG_WARNING, "%s", advice);
    if (watch->hints)
        hr_hints_print(watch->hints, watch->dataset);
}

static void on_progress(void *arg, const struct hr_progress *progress)
{
    struct hr_watch *watch = arg;
    hr_progress_view_update(&watch->view, progress);
}

static void on_point(void *arg, const struct hr_curve_point *point)
{
    struct hr_watch *watch = arg;
    hr_progress_view_point(&watch->view, point);
}

static void on_saved(void *arg, const char *path)
{
    struct hr_watch *watch = arg;
    hr_progress_view_end(&watch->view);
    if (!watch->quiet)
        hr_log(HR_LOG_INFO, "saved %s", path);
}

struct hr_observer hr_watch_begin(struct hr_watch *watch, const struct hr_train_options *options,
                                  const char *data, const char *label, bool quiet)
{
    hr_signals_run_begins();
    *watch = (struct hr_watch){.data = data, .quiet = quiet, .banner = !quiet};
    hr_progress_view_init(&watch->view, hr_output_terminal(), label, (double)options->epochs,
                          quiet);
    return (struct hr_observer){
        .arg = watch,
        .started = on_start,
        .progress = on_progress,
        .evaluated = on_point,
        .saved = on_saved,
        .saves_asked = hr_signals_saves_asked,
        .should_stop = hr_signals_seen,
    };
}

void hr_watch_end(struct hr_watch *watch, const struct hr_run_result *result)
{
    char advice[HR_ADVICE_MAX];
    hr_signals_run_ended();
    hr_progress_view_end(&watch->view);
    if (watch->quiet || !result)
        return;
    const char *name = watch->view.label[0] ? watch->view.label : result->strategy;
    if (hr_advice_after(result, name, advice))
        hr_log(HR_LOG_INFO, "%s", advice);
    if (hr_advice_rising(result, name, advice) || hr_advice_asynchrony(result, name, advice))
        hr_log(HR_LOG_WARNING, "%s", advice);
}
