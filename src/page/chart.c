#include "page/chart.h"

#include <math.h>

#include "page/html.h"

enum { TICKS_WANTED = 5 };

/* --- axes --- */

/* 1, 2 or 5 times a power of ten. */
static double nice_step(double raw)
{
    const double power = pow(10, floor(log10(raw))), part = raw / power;
    return power * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10);
}

static void fit_linear(struct hr_axis *axis, bool whole)
{
    const double step = nice_step((axis->most - axis->least) / TICKS_WANTED);
    if (whole) {
        axis->least = floor(axis->least / step + 1e-9) * step;
        axis->most = ceil(axis->most / step - 1e-9) * step;
    }
    const double first = ceil(axis->least / step - 1e-9);
    for (double i = first; i * step <= axis->most + step * 1e-6 && axis->nticks < HR_TICKS; i++)
        axis->tick[axis->nticks++] = i * step == 0 ? 0 : i * step;
}

/* Powers of ten, as many apart as leaves few; of three decades and less 2 and 5 times them. */
static void fit_log(struct hr_axis *axis)
{
    const double first = floor(log10(axis->least)), last = ceil(log10(axis->most));
    const double step = ceil(fmax(1, last - first) / TICKS_WANTED);
    const double halves[] = {1, 2, 5};
    for (double e = first; e <= last && axis->nticks < HR_TICKS; e += step)
        for (size_t i = 0; i < (last - first <= 3 ? 3 : 1); i++) {
            const double tick = halves[i] * pow(10, e);
            if (tick >= axis->least * 0.999 && tick <= axis->most * 1.001 &&
                axis->nticks < HR_TICKS)
                axis->tick[axis->nticks++] = tick;
        }
}

void hr_axis_fit(struct hr_axis *axis, double least, double most, bool whole, bool may_be_log)
{
    if (!isfinite(least) || !isfinite(most))
        least = 0, most = 1;
    least = fmax(least, -1e300), most = fmin(most, 1e300);
    const double size = fmax(fabs(least), fabs(most));
    if (!(most - least > size * 1e-12) || size < 1e-290) { /* one number, as far as one can see */
        const double half = size < 1e-290 ? 0.5 : size * 0.05;
        least -= half, most += half;
    }
    *axis = (struct hr_axis){.least = least, .most = most};
    axis->log = may_be_log && least > 0 && most / least > 50;
    if (axis->log)
        fit_log(axis);
    else
        fit_linear(axis, whole);
}

double hr_axis_place(const struct hr_axis *axis, double x)
{
    double place = (x - axis->least) / (axis->most - axis->least);
    if (axis->log)
        place = x > 0 ? log(x / axis->least) / log(axis->most / axis->least) : 0;
    return fmin(1, fmax(0, place));
}

char *hr_tick_text(char text[HR_TICK_MAX], double tick)
{
    const double size = fabs(tick);
    if (size >= 1e12 || (size > 0 && size < 1e-4))
        snprintf(text, HR_TICK_MAX, "%.3g", tick);
    else if (size >= 1e9)
        snprintf(text, HR_TICK_MAX, "%.4gG", tick / 1e9);
    else if (size >= 1e6)
        snprintf(text, HR_TICK_MAX, "%.4gM", tick / 1e6);
    else if (size >= 1e4)
        snprintf(text, HR_TICK_MAX, "%.4gk", tick / 1e3);
    else
        snprintf(text, HR_TICK_MAX, "%.6g", tick);
    return text;
}

/* --- the picture --- */

double hr_chart_x(const struct hr_chart *chart, double x)
{
    return chart->left + (chart->width - chart->left - chart->right) * hr_axis_place(&chart->x, x);
}

double hr_chart_y(const struct hr_chart *chart, double y)
{
    return chart->height - chart->bottom -
           (chart->height - chart->top - chart->bottom) * hr_axis_place(&chart->y, y);
}

void hr_chart_begin(const struct hr_chart *chart, const char *id, const char *title,
                    const char *description, const char *more)
{
    fprintf(chart->out,
            "<svg viewBox=\"0 0 %g %g\" role=\"img\" aria-labelledby=\"%s-t %s-d\"%s>\n"
            "<title id=\"%s-t\">",
            chart->width, chart->height, id, id, more, id);
    hr_html_text(chart->out, title);
    fprintf(chart->out, "</title>\n<desc id=\"%s-d\">", id);
    hr_html_text(chart->out, description);
    fputs("</desc>\n", chart->out);
}

/* A number of the x axis stays within the picture. */
static const char *anchor_of(const struct hr_chart *chart, double x)
{
    return x < chart->left + 8 ? "start" : "middle";
}

void hr_chart_axes(const struct hr_chart *chart, const char *x_title)
{
    char text[HR_TICK_MAX];
    const double right = chart->width - chart->right, bottom = chart->height - chart->bottom;
    for (size_t i = 0; i < chart->y.nticks; i++) {
        const double y = hr_chart_y(chart, chart->y.tick[i]);
        fprintf(chart->out, "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/>", chart->left, y, right);
        fprintf(chart->out, "<text class=\"e\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", chart->left - 6,
                y + 4, hr_tick_text(text, chart->y.tick[i]));
    }
    fprintf(chart->out, "<path class=\"axis\" d=\"M%.1f %.1fH%.1f\"/>\n", chart->left, bottom,
            right);
    double free_from = -1e9; /* numbers do not touch */
    for (size_t i = 0; i < chart->x.nticks; i++) {
        const double x = hr_chart_x(chart, chart->x.tick[i]);
        const int length = snprintf(NULL, 0, "%s", hr_tick_text(text, chart->x.tick[i]));
        fprintf(chart->out, "<path class=\"axis\" d=\"M%.1f %.1fv4\"/>", x, bottom);
        if (x - 3.5 * length < free_from)
            continue;
        free_from = x + 3.5 * length + 6;
        fprintf(chart->out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x,
                bottom + 16, anchor_of(chart, x), text);
    }
    fprintf(chart->out, "<text class=\"e name\" x=\"%.1f\" y=\"%.1f\">", right, chart->height - 3);
    hr_html_text(chart->out, x_title);
    fputs("</text>\n", chart->out);
}

void hr_chart_end(const struct hr_chart *chart)
{
    fputs("</svg>\n", chart->out);
}
