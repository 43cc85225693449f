#include "report/progress.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fold.h"
#include "base/printable.h"
#include "report/human.h"
#include "terminal/output.h"

/* --- remaining --- */

struct mean {
    double sum;
    size_t n;
};

static double an_epoch(const struct hr_remaining *remaining, size_t i, double seconds)
{
    return seconds / fmax(remaining->epochs[i], 1);
}

/* Of the runs of one entry: what an epoch took; `now` is under way. */
static struct mean of_entry(const struct hr_remaining *remaining, size_t entry, size_t now,
                            double now_s)
{
    struct mean mean = {0};
    for (size_t i = entry; i < remaining->n; i += remaining->per_seed) {
        const double seconds = i == now ? now_s : remaining->seconds[i];
        if (!(seconds > 0) || !isfinite(seconds))
            continue;
        mean.sum += an_epoch(remaining, i, seconds);
        mean.n++;
    }
    return mean;
}

double hr_remaining_expect(const struct hr_remaining *remaining, size_t i)
{
    const struct mean one = of_entry(remaining, i % remaining->per_seed, i, 0);
    return one.sum / (double)one.n * fmax(remaining->epochs[i], 1); /* 0 / 0: unknown */
}

double hr_remaining_after(const struct hr_remaining *remaining, size_t now, double now_s)
{
    struct mean all = {0};
    double seconds = 0;
    for (size_t e = 0; e < remaining->per_seed; e++) {
        const struct mean one = of_entry(remaining, e, now, now_s);
        all.sum += one.n ? one.sum / (double)one.n : 0;
        all.n += one.n > 0;
    }
    for (size_t i = now + 1; i < remaining->n; i++) {
        if (remaining->spared[i])
            continue;
        struct mean one = of_entry(remaining, i % remaining->per_seed, now, now_s);
        one = one.n ? one : all;
        seconds += one.sum / (double)one.n * fmax(remaining->epochs[i], 1); /* 0 / 0: unknown */
    }
    return seconds;
}

/* --- progress --- */

enum { NO_WIDTH_KNOWN = 80 };

/* The rate shown averages over about this many seconds. */
static const double smoothing_seconds = 1.0;
/* Before, a run's own speed is not told from its beginning. */
static const double basis_s = 1.0;
static const int64_t redraw_ns = HR_NS_PER_SECOND / 5;
/* Between two lines of a log. */
static const int64_t say_ns = 60 * HR_NS_PER_SECOND;

/* Logs of CI may look like a terminal. */
static bool in_ci(void)
{
    const char *ci = getenv("CI");
    return ci && ci[0] && strcmp(ci, "false") != 0 && strcmp(ci, "0") != 0;
}

static size_t width_of(FILE *out)
{
    const size_t columns = hr_terminal_columns(fileno(out));
    return columns ? columns : NO_WIDTH_KNOWN;
}

void hr_progress_view_init(struct hr_progress_view *view, FILE *out,
                           const struct hr_progress_subject *subject, enum hr_verbosity verbosity)
{
    *view = (struct hr_progress_view){
        .out = out,
        .redraw = verbosity != HR_VERBOSITY_NONE && hr_terminal_redraws(fileno(out)) && !in_ci(),
        .quiet = verbosity == HR_VERBOSITY_NONE,
        .details = verbosity == HR_VERBOSITY_FULL,
        .subject = *subject,
        .last_loss = NAN,
        .opened_ns = hr_clock_ns(),
        .said_ns = hr_clock_ns(),
    };
}

/* --- a line of parts --- */

void hr_parts_add(struct hr_parts *line, int expendable, const char *format, ...)
{
    char *text = line->part[line->n].text;
    va_list args;
    va_start(args, format);
    vsnprintf(text, HR_PARTS_PART, format, args);
    va_end(args);
    line->part[line->n].expendable = expendable;
    line->n += text[0] != '\0';
}

const char *hr_parts_write(const struct hr_parts *line, const char between[3], size_t room,
                           char text[HR_PARTS_BYTES])
{
    size_t used = 0;
    struct hr_fitted fit[HR_PARTS_MOST];
    for (size_t i = 0; i < line->n; i++)
        fit[i] = (struct hr_fitted){hr_style_columns(line->part[i].text), line->part[i].expendable,
                                    true};
    hr_fit(fit, line->n, room);
    text[0] = '\0';
    for (size_t i = 0; i < line->n && used < HR_PARTS_BYTES; i++)
        if (fit[i].shown)
            used += (size_t)snprintf(text + used, HR_PARTS_BYTES - used, "%s%s",
                                     used ? between : "", line->part[i].text);
    return text;
}

enum { NEEDED, EPOCH, RUN, LEFT, LOSS, RATE }; /* from what is needed most */

/* "run 4 of 15  ps-async seed 2" */
static void add_subject(struct hr_parts *line, const struct hr_progress_view *view)
{
    const struct hr_progress_subject *subject = &view->subject;
    const bool seed = subject->seeds || !view->redraw; /* logs name it always */
    if (subject->runs)
        hr_parts_add(line, RUN, "run %zu of %zu", subject->run, subject->runs);
    if (subject->label[0])
        hr_parts_add(line, NEEDED, seed ? "%s seed %llu" : "%s", hr_printable(subject->label).text,
                     (unsigned long long)subject->seed);
}

static void add_loss(struct hr_parts *line, const struct hr_progress_view *view)
{
    char loss[HR_HUMAN_MAX];
    if (isfinite(view->last_loss))
        hr_parts_add(line, LOSS, "train loss %s", hr_human_loss(loss, view->last_loss));
}

/* --- the line that is drawn again --- */

static void update_rate(struct hr_progress_view *view, const struct hr_progress *progress)
{
    const double passed = progress->seconds - view->rate_at;
    const double done = (double)progress->samples - view->rate_samples;
    if (!view->began_ns && progress->samples) {
        view->began_ns = hr_clock_ns();
        view->began_samples = (double)progress->samples;
    }
    if (passed <= 0)
        return;
    const double keep = view->rate > 0 ? exp(-passed / smoothing_seconds) : 0;
    view->rate = keep * view->rate + (1 - keep) * done / passed;
    view->rate_at = progress->seconds;
    view->rate_samples = (double)progress->samples;
}

/* Seconds until the run is over; not a number: there is no basis yet. */
static double left_of_run(const struct hr_progress_view *view, const struct hr_progress *progress)
{
    const double passed = hr_seconds(hr_clock_ns() - view->began_ns);
    const double done = (double)progress->samples - view->began_samples;
    if (!view->began_ns || passed < basis_s || done <= 0 || progress->samples > progress->total)
        return NAN;
    return passed / done * (double)(progress->total - progress->samples);
}

static void add_left(struct hr_parts *line, const struct hr_progress_view *view,
                     const struct hr_progress *progress)
{
    const struct hr_progress_subject *subject = &view->subject;
    const double passed = hr_seconds(hr_clock_ns() - view->opened_ns);
    double left = left_of_run(view, progress), rest = 0;
    char text[HR_HUMAN_MAX];
    if (subject->remaining) {
        const double expected = hr_remaining_expect(subject->remaining, subject->run - 1);
        left = isfinite(left) ? left : fmax(expected - passed, 0 * expected);
        rest = hr_remaining_after(subject->remaining, subject->run - 1, passed + left);
    }
    if (isfinite(left + rest))
        hr_parts_add(line, LEFT, "%s in about %s", subject->remaining ? "all done" : "done",
                     hr_human_about(text, left + rest));
}

/* A line that stays. */
static void say(struct hr_progress_view *view, struct hr_parts *line)
{
    char text[HR_PARTS_BYTES + 1];
    const size_t width = view->redraw ? width_of(view->out) : 0;
    hr_progress_view_end(view);
    hr_parts_write(line, "  ", width, text);
    strcat(text, "\n");
    hr_fold_print(view->out, text, width);
    fflush(view->out);
    view->said_ns = hr_clock_ns();
}

/* The line that is drawn again, or one of a log. */
static void show(struct hr_progress_view *view, struct hr_parts *line)
{
    const size_t room = width_of(view->out) - 1; /* some terminals wrap a full line */
    char text[HR_PARTS_BYTES];
    if (!view->redraw) {
        say(view, line);
        return;
    }
    hr_parts_write(line, "  ", room, text);
    fprintf(view->out, "\r%.*s\x1b[K", (int)hr_style_cut(text, room), text);
    fflush(view->out);
    view->drawn = true;
}

/* Is it time to? */
static bool may_show(struct hr_progress_view *view)
{
    const int64_t now = hr_clock_ns();
    if (view->quiet)
        return false;
    if (!view->redraw)
        return now - view->said_ns >= say_ns;
    if (view->drawn && now - view->drawn_at < redraw_ns)
        return false;
    view->drawn_at = now;
    return true;
}

/* "/10"; nothing where nobody knows. */
struct of_epochs {
    char text[24];
};

static struct of_epochs of_epochs(double epochs, const char *between)
{
    struct of_epochs of = {""};
    if (epochs > 0)
        snprintf(of.text, sizeof of.text, "%s%.4g", between, epochs);
    return of;
}

void hr_progress_view_update(struct hr_progress_view *view, const struct hr_progress *progress)
{
    char rate[HR_HUMAN_MAX];
    struct hr_parts line = {.n = 0};
    update_rate(view, progress);
    if (!may_show(view))
        return;
    add_subject(&line, view);
    hr_parts_add(&line, EPOCH, "epoch %.1f%s", progress->epoch,
                 of_epochs(view->subject.epochs, "/").text);
    add_loss(&line, view);
    if (view->rate > 0)
        hr_parts_add(&line, RATE, "%s", hr_human_rate(rate, view->rate, view->subject.tokens));
    add_left(&line, view, progress);
    show(view, &line);
}

void hr_progress_view_report(struct hr_progress_view *view, const char *what, double left_s)
{
    char text[HR_HUMAN_MAX];
    struct hr_parts line = {.n = 0};
    if (!may_show(view))
        return;
    hr_parts_add(&line, NEEDED, "%s", what);
    if (isfinite(left_s))
        hr_parts_add(&line, LEFT, "done in about %s", hr_human_about(text, left_s));
    show(view, &line);
}

void hr_progress_view_crowd(struct hr_progress_view *view, const struct hr_progress_crowd *crowd)
{
    char text[HR_HUMAN_MAX];
    struct hr_parts line = {.n = 0};
    if (!may_show(view))
        return;
    hr_parts_add(&line, NEEDED, "runs %zu to %zu of %zu at once", crowd->first, crowd->last,
                 crowd->runs);
    hr_parts_add(&line, EPOCH, "epoch %.1f to %.1f%s", crowd->least_epoch, crowd->most_epoch,
                 of_epochs(crowd->epochs, " of ").text);
    if (isfinite(crowd->samples_per_s))
        hr_parts_add(&line, RATE, "%s",
                     hr_human_rate(text, crowd->samples_per_s, view->subject.tokens));
    if (isfinite(crowd->left_s))
        hr_parts_add(&line, LEFT, "all done in about %s", hr_human_about(text, crowd->left_s));
    show(view, &line);
}

/* --- lines that stay --- */

static const char *held_out(const struct hr_curve_point *point)
{
    return point->validated ? "validation" : "test";
}

static void add_accuracy(struct hr_parts *line, const struct hr_curve_point *point)
{
    if (isfinite(hr_curve_accuracy(point))) /* mf has none */
        hr_parts_add(line, NEEDED, "%s accuracy %.2f %%", held_out(point),
                     100 * hr_curve_accuracy(point));
}

void hr_progress_view_point(struct hr_progress_view *view, const struct hr_curve_point *point)
{
    const struct hr_progress_subject *subject = &view->subject;
    char a[HR_HUMAN_MAX], b[HR_HUMAN_MAX];
    struct hr_parts line = {.n = 0};
    view->last_loss = point->train_loss;
    if (view->quiet || !view->details)
        return;
    add_subject(&line, view);
    hr_parts_add(&line, NEEDED, "epoch %.6g%s", point->epoch, of_epochs(subject->epochs, "/").text);
    hr_parts_add(&line, NEEDED, "train loss %s", hr_human_loss(a, point->train_loss));
    hr_parts_add(&line, LOSS, "%s loss %s", held_out(point),
                 hr_human_loss(b, hr_curve_loss(point)));
    add_accuracy(&line, point);
    if (point->seconds > 0)
        hr_parts_add(&line, RATE, "%s",
                     hr_human_rate(a, (double)point->samples / point->seconds, subject->tokens));
    if (!view->redraw && !subject->label[0])
        hr_parts_add(&line, NEEDED, "%s, seed %llu", subject->strategy,
                     (unsigned long long)subject->seed);
    say(view, &line);
}

void hr_progress_view_ran(struct hr_progress_view *view, const struct hr_run_result *result)
{
    char text[HR_HUMAN_MAX];
    struct hr_parts line = {.n = 0};
    if (view->quiet || view->redraw || !result->ncurve)
        return;
    const struct hr_curve_point *last = &result->curve[result->ncurve - 1];
    add_subject(&line, view);
    hr_parts_add(&line, NEEDED, "train loss %s", hr_human_loss(text, last->train_loss));
    add_accuracy(&line, last);
    hr_parts_add(&line, NEEDED, "%s s", hr_human_seconds(text, result->seconds));
    if (result->interrupted)
        hr_parts_add(&line, NEEDED, "interrupted");
    say(view, &line);
}

void hr_progress_view_end(struct hr_progress_view *view)
{
    if (!view->drawn)
        return;
    fputs("\r\x1b[K", view->out);
    fflush(view->out);
    view->drawn = false;
}
