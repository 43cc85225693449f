/* One run of a search, and what is said of it while it goes on. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/signals.h"
#include "policy/policy.h"

static double left_s(const struct hr_policy_search *search, double share)
{
    const double done = search->done + share, passed = hr_seconds(hr_clock_ns() - search->began_ns);
    return done > 0 && passed > 1 ? passed / done * (search->all - done) : (double)NAN;
}

void hr_policy_begins(struct hr_policy_search *search, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(search->what, sizeof search->what, format, args);
    va_end(args);
    if (search->tell)
        search->tell(search->arg, search->what, left_s(search, 0));
}

static void on_progress(void *arg, const struct hr_progress *progress)
{
    struct hr_policy_search *search = arg;
    const double part = progress->total ? (double)progress->samples / (double)progress->total : 0;
    if (search->tell)
        search->tell(search->arg, search->what, left_s(search, part * search->share));
}

static void on_point(void *arg, const struct hr_curve_point *point)
{
    struct hr_policy_search *search = arg;
    const double value = hr_metric_at(search->metric, point);
    if (search->reached || isnan(value) ||
        hr_metric_better(search->metric, search->target, value, 0))
        return;
    search->reached = true;
    search->reached_s = point->seconds;
    search->reached_value = value;
}

static int on_question(void *arg)
{
    const struct hr_policy_search *search = arg;
    const int seen = hr_signals_seen(NULL);
    return seen ? seen : search->reached && !search->to_the_end;
}

enum hr_status hr_policy_train(struct hr_policy_search *search,
                               const struct hr_train_options *options, bool to_the_end,
                               struct hr_run_result *result, bool *diverged)
{
    const struct hr_observer observer = {
        .arg = search, .progress = on_progress, .evaluated = on_point, .should_stop = on_question};
    search->reached = false;
    search->to_the_end = to_the_end;
    enum hr_status status = hr_train(options, search->dataset, &observer, result);
    *diverged = status == HR_E_DIVERGED;
    if (hr_signals_seen(NULL)) {
        if (status == HR_OK)
            hr_run_result_free(result);
        return hr_fail(HR_E_INTERRUPTED, "interrupted: %s", search->what);
    }
    if (*diverged) {
        *result = (struct hr_run_result){.target_seconds = -1};
        status = HR_OK;
    }
    search->done += search->share;
    return status;
}
