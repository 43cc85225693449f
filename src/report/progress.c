/* Progress on stderr: redrawn on a terminal, one line an evaluation elsewhere. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "report/human.h"
#include "report/report.h"

void hr_progress_view_init(struct hr_progress_view *view, FILE *out, const char *label,
                           double epochs, bool quiet)
{
    const char *term = getenv("TERM");
    *view = (struct hr_progress_view){
        .out = out,
        .label = label,
        .epochs = epochs,
        .quiet = quiet,
        .redraw = isatty(fileno(out)) && term && strcmp(term, "dumb") != 0,
        .last_loss = NAN,
    };
}

static size_t columns_of(FILE *out)
{
    struct winsize size;
    return ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/* Samples a second, smoothed over about a second. */
static void measure_rate(struct hr_progress_view *view, const struct hr_progress *progress)
{
    const double dt = progress->seconds - view->rate_at;
    if (dt <= 0)
        return;
    const double now = ((double)progress->samples - view->rate_samples) / dt;
    const double weight = view->rate > 0 ? fmin(1, dt) : 1;
    view->rate += weight * (now - view->rate);
    view->rate_at = progress->seconds;
    view->rate_samples = (double)progress->samples;
}

void hr_progress_view_update(struct hr_progress_view *view, const struct hr_progress *progress)
{
    char line[256], rate[32];
    measure_rate(view, progress);
    if (view->quiet || !view->redraw)
        return;
    hr_human_count(rate, sizeof rate, view->rate);
    const double left = (double)(progress->total - progress->samples);
    size_t length =
        (size_t)snprintf(line, sizeof line, "%s%sepoch %.1f/%g  %s samples/s", view->label,
                         view->label[0] ? "  " : "", progress->epoch, view->epochs, rate);
    if (isfinite(view->last_loss))
        length +=
            (size_t)snprintf(line + length, sizeof line - length, "  loss %.4f", view->last_loss);
    if (view->rate > 0)
        length += (size_t)snprintf(line + length, sizeof line - length, "  ETA %.0f s",
                                   left / view->rate);
    const size_t room = columns_of(view->out) - 1;
    length = length < room ? length : room;
    fprintf(view->out, "\r%.*s\033[K", (int)length, line);
    fflush(view->out);
    view->drawn = length;
}

void hr_progress_view_point(struct hr_progress_view *view, const struct hr_curve_point *point)
{
    char rate[32];
    view->last_loss = point->train_loss;
    if (view->quiet)
        return;
    hr_progress_view_end(view);
    hr_human_count(rate, sizeof rate,
                   point->seconds > 0 ? (double)point->samples / point->seconds : 0);
    fprintf(view->out,
            "%s%sepoch %g/%g  loss %.4f  test loss %.4f  accuracy %.2f %%  %s samples/s\n",
            view->label, view->label[0] ? "  " : "", point->epoch, view->epochs, point->train_loss,
            point->test_loss, 100 * point->test_accuracy, rate);
    fflush(view->out);
}

void hr_progress_view_end(struct hr_progress_view *view)
{
    if (view->drawn)
        fprintf(view->out, "\r\033[K");
    fflush(view->out);
    view->drawn = 0;
}
