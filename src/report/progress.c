/* A line that is redrawn on a terminal; elsewhere one line an evaluation. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/printable.h"
#include "report/human.h"
#include "report/report.h"

enum { LINE_MAX_CHARS = 512, NO_WIDTH_KNOWN = 80 };

/* The rate shown averages over about this many seconds. */
static const double smoothing_seconds = 1.0;

static bool can_redraw(FILE *out)
{
    const char *term = getenv("TERM");
    const int fd = fileno(out);
    return fd >= 0 && isatty(fd) && term && term[0] && strcmp(term, "dumb") != 0;
}

static size_t width_of(FILE *out)
{
    struct winsize size;
    if (ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return NO_WIDTH_KNOWN;
}

void hr_progress_view_init(struct hr_progress_view *view, FILE *out, const char *label,
                           double epochs, bool quiet)
{
    *view = (struct hr_progress_view){
        .out = out,
        .redraw = !quiet && can_redraw(out),
        .quiet = quiet,
        .label = label,
        .epochs = epochs,
        .last_loss = NAN,
    };
}

static void update_rate(struct hr_progress_view *view, const struct hr_progress *progress)
{
    const double passed = progress->seconds - view->rate_at;
    const double done = (double)progress->samples - view->rate_samples;
    if (passed <= 0)
        return;
    const double keep = view->rate > 0 ? exp(-passed / smoothing_seconds) : 0;
    view->rate = keep * view->rate + (1 - keep) * done / passed;
    view->rate_at = progress->seconds;
    view->rate_samples = (double)progress->samples;
}

struct line {
    char text[LINE_MAX_CHARS];
    size_t used;
};

static void add(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct line *line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(line->text + line->used, sizeof line->text - line->used, format, args);
    va_end(args);
    line->used += n > 0 ? (size_t)n : 0;
    if (line->used >= sizeof line->text)
        line->used = sizeof line->text - 1;
}

static void begin(struct line *line, const struct hr_progress_view *view)
{
    *line = (struct line){.used = 0};
    if (view->label && view->label[0])
        add(line, "%s  ", hr_printable(view->label).text);
}

static void compose(const struct hr_progress_view *view, const struct hr_progress *progress,
                    struct line *line)
{
    char a[HR_HUMAN_MAX], b[HR_HUMAN_MAX];
    begin(line, view);
    add(line, "epoch %.1f/%g  %s/%s samples", progress->epoch, view->epochs,
        hr_human_short(a, (double)progress->samples), hr_human_short(b, (double)progress->total));
    if (view->rate > 0)
        add(line, "  %s samples/s", hr_human_short(a, view->rate));
    if (isfinite(view->last_loss))
        add(line, "  loss %s", hr_human_loss(a, view->last_loss));
    if (view->rate > 0 && progress->total > progress->samples)
        add(line, "  ETA %s",
            hr_human_wait(a, (double)(progress->total - progress->samples) / view->rate));
}

void hr_progress_view_update(struct hr_progress_view *view, const struct hr_progress *progress)
{
    struct line line;
    update_rate(view, progress);
    if (!view->redraw)
        return;
    compose(view, progress, &line);
    /* One column stays free: some terminals wrap a full line. */
    const size_t room = width_of(view->out) - 1;
    const size_t shown = line.used < room ? line.used : room;
    const size_t wipe = view->drawn < room ? view->drawn : room;
    fprintf(view->out, "\r%.*s", (int)shown, line.text);
    if (wipe > shown)
        fprintf(view->out, "%*s\r%.*s", (int)(wipe - shown), "", (int)shown, line.text);
    fflush(view->out);
    view->drawn = shown;
}

void hr_progress_view_point(struct hr_progress_view *view, const struct hr_curve_point *point)
{
    char a[HR_HUMAN_MAX], b[HR_HUMAN_MAX];
    struct line line;
    view->last_loss = point->train_loss;
    if (view->quiet)
        return;
    hr_progress_view_end(view);
    begin(&line, view);
    add(&line, "epoch %.4g/%g  loss %s  %s loss %s", point->epoch, view->epochs,
        hr_human_loss(a, point->train_loss), point->validated ? "validation" : "test",
        hr_human_loss(b, hr_curve_loss(point)));
    if (isfinite(hr_curve_accuracy(point))) /* mf has none */
        add(&line, "  accuracy %.2f %%", 100 * hr_curve_accuracy(point));
    if (point->seconds > 0)
        add(&line, "  %s samples/s", hr_human_short(a, (double)point->samples / point->seconds));
    fprintf(view->out, "%s\n", line.text);
    fflush(view->out);
}

void hr_progress_view_end(struct hr_progress_view *view)
{
    if (!view->redraw || view->drawn == 0)
        return;
    fprintf(view->out, "\r%*s\r", (int)view->drawn, "");
    fflush(view->out);
    view->drawn = 0;
}
