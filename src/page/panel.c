/* A panel: a line a group, its band from the least to the most of its runs, its label at its end.
 *
 * The script shows values by reading the table: a panel names its columns (data-x, data-y), and
 * rows name their group (data-g). */
#include "page/panel.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "page/html.h"
#include "page/sections.h"
#include "page/short_labels.h"

enum { MARKED_MOST = 12, LINE_HEIGHT = 13, LEAD_MOST = 40 };

/* --- what is to be seen --- */

static bool is_seen(const struct hr_panel *p, const struct hr_point *point)
{
    return point->value[p->metric].n > 0 && isfinite(point->at[p->abscissa]);
}

static double value_x(const struct hr_panel *p, const struct hr_point *point)
{
    return hr_chart_x(&p->chart, point->at[p->abscissa]);
}

static double value_y(const struct hr_panel *p, double value)
{
    return hr_chart_y(&p->chart, value * hr_metric_factor(&p->view->metric[p->metric]));
}

static const struct hr_point *last_seen(const struct hr_panel *p, const struct hr_series *series)
{
    const struct hr_point *last = NULL;
    for (size_t i = 0; i < series->n; i++)
        if (is_seen(p, &series->point[i]))
            last = &series->point[i];
    return last;
}

static double label_room(const struct hr_view *view)
{
    struct hr_short_labels labels;
    size_t most = 0;
    hr_short_labels(view, &labels);
    for (size_t s = 0; s < view->ndrawn; s++) {
        const size_t letters = hr_letters(labels.text[s]);
        most = letters > most ? letters : most;
    }
    return view->ndrawn < 2 ? 14 : 26 + 7.3 * (double)most;
}

/* --- a panel's axes --- */

bool hr_panel_fit(struct hr_panel *p)
{
    const struct hr_metric *metric = &p->view->metric[p->metric];
    struct hr_mean x = HR_MEAN_NONE, y = HR_MEAN_NONE;
    for (size_t s = 0; s < p->view->ndrawn; s++)
        for (size_t i = 0; i < p->series[s].n; i++) {
            const struct hr_point *point = &p->series[s].point[i];
            if (!is_seen(p, point))
                continue;
            hr_mean_add(&x, point->at[p->abscissa]);
            hr_mean_add(&y, point->value[p->metric].least * hr_metric_factor(metric));
            hr_mean_add(&y, point->value[p->metric].most * hr_metric_factor(metric));
        }
    if (x.n == 0)
        return false;
    p->chart = (struct hr_chart){.out = p->chart.out,
                                 .width = 400,
                                 .height = 240,
                                 .left = 46,
                                 .top = 10,
                                 .right = label_room(p->view),
                                 .bottom = 38};
    hr_axis_fit(&p->chart.x, fmin(0, x.least), x.most, false, false);
    hr_axis_fit(&p->chart.y, y.least, y.most, true, !metric->share);
    return true;
}

/* --- lines --- */

static void draw_band(const struct hr_panel *p, const struct hr_series *series)
{
    FILE *out = p->chart.out;
    const char *step = "M";
    bool wide = false;
    for (size_t i = 0; i < series->n; i++)
        wide = wide || series->point[i].value[p->metric].n > 1;
    if (!wide)
        return;
    fputs("<path class=\"band\" d=\"", out);
    for (size_t i = 0; i < series->n; i++)
        if (is_seen(p, &series->point[i])) {
            fprintf(out, "%s%.1f %.1f", step, value_x(p, &series->point[i]),
                    value_y(p, series->point[i].value[p->metric].most));
            step = "L";
        }
    for (size_t i = series->n; i-- > 0;)
        if (is_seen(p, &series->point[i]))
            fprintf(out, "L%.1f %.1f", value_x(p, &series->point[i]),
                    value_y(p, series->point[i].value[p->metric].least));
    fputs("Z\"/>", out);
}

static void draw_line(const struct hr_panel *p, size_t s)
{
    FILE *out = p->chart.out;
    const struct hr_series *series = &p->series[s];
    const char *step = "M";
    size_t seen = 0;
    fputs("<path class=\"line\" d=\"", out);
    for (size_t i = 0; i < series->n; i++)
        if (is_seen(p, &series->point[i])) {
            fprintf(out, "%s%.1f %.1f", step, value_x(p, &series->point[i]),
                    value_y(p, series->point[i].value[p->metric].mean));
            step = "L";
            seen++;
        }
    fputs("\"/>", out);
    const struct hr_point *last = last_seen(p, series);
    for (size_t i = 0; i < series->n; i++)
        if (is_seen(p, &series->point[i]) && (seen <= MARKED_MOST || &series->point[i] == last))
            hr_marker_write(out, s, value_x(p, &series->point[i]),
                            value_y(p, series->point[i].value[p->metric].mean));
}

/* --- labels at the ends of lines, pushed apart --- */

struct label {
    size_t s;
    double x, y, end;
};

static int by_height(const void *a, const void *b)
{
    const struct label *p = a, *q = b;
    return p->end != q->end ? (p->end < q->end ? -1 : 1) : (p->s > q->s) - (p->s < q->s);
}

static void push_apart(struct label *label, size_t n, double top, double bottom)
{
    for (size_t i = 0; i < n; i++) {
        label[i].y = fmax(label[i].end, top);
        if (i > 0)
            label[i].y = fmax(label[i].y, label[i - 1].y + LINE_HEIGHT);
    }
    for (size_t i = n; i-- > 0;) {
        const double most = i + 1 < n ? label[i + 1].y - LINE_HEIGHT : bottom;
        label[i].y = fmin(label[i].y, most);
    }
}

static void draw_labels(const struct hr_panel *p)
{
    struct label label[HR_DRAWN];
    struct hr_short_labels labels;
    size_t n = 0;
    const struct hr_chart *chart = &p->chart;
    const double x = chart->width - chart->right + 12;
    for (size_t s = 0; s < p->view->ndrawn; s++) {
        const struct hr_point *last = last_seen(p, &p->series[s]);
        if (last)
            label[n++] = (struct label){
                .s = s, .x = value_x(p, last), .end = value_y(p, last->value[p->metric].mean)};
    }
    hr_short_labels(p->view, &labels);
    qsort(label, n, sizeof *label, by_height);
    push_apart(label, n, chart->top, chart->height - chart->bottom);
    for (size_t i = 0; i < n; i++) {
        fprintf(chart->out, "<g class=\"s%zu\">", label[i].s);
        if (x - label[i].x < LEAD_MOST)
            fprintf(chart->out, "<path class=\"lead\" d=\"M%.1f %.1fL%.1f %.1f\"/>", label[i].x + 5,
                    label[i].end, x - 5, label[i].y);
        hr_marker_write(chart->out, label[i].s, x, label[i].y);
        fprintf(chart->out, "<text class=\"l\" x=\"%.1f\" y=\"%.1f\">", x + 7, label[i].y + 4);
        fputs("<title>", chart->out);
        hr_html_text(chart->out, p->view->group[p->view->drawn[label[i].s]].label);
        fputs("</title>", chart->out);
        hr_html_text(chart->out, labels.text[label[i].s]);
        fputs("</text></g>\n", chart->out);
    }
}

/* --- a panel --- */

/* "allreduce ends at 88.0; hogwild ends at 93.2." */
static char *describe(const struct hr_panel *p)
{
    char *text = NULL, number[HR_NUMBER_MAX];
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return NULL;
    for (size_t s = 0; s < p->view->ndrawn; s++) {
        const struct hr_point *last = last_seen(p, &p->series[s]);
        if (last)
            fprintf(out, "%s ends at %s. ", p->view->group[p->view->drawn[s]].label,
                    hr_number_text(number,
                                   last->value[p->metric].mean *
                                       hr_metric_factor(&p->view->metric[p->metric]),
                                   4));
    }
    return fclose(out) == 0 ? text : NULL;
}

void hr_panel_write(struct hr_panel *p)
{
    static const char *const against[] = {"against samples", "against updates", "against seconds"};
    char id[64], title[160], more[240];
    FILE *out = p->chart.out;
    const struct hr_metric *metric = &p->view->metric[p->metric];
    snprintf(id, sizeof id, "c-%zu-%d", p->metric, (int)p->abscissa);
    snprintf(title, sizeof title, "%s %s", metric->title, against[p->abscissa]);
    snprintf(more, sizeof more,
             " class=\"chart\" data-x=\"%s\" data-y=\"%zu\" data-box=\"%g %g %g %g\" "
             "data-xr=\"%.9g %.9g\" data-yr=\"%.9g %.9g %d\"",
             hr_abscissa_key(p->abscissa), p->metric, p->chart.left, p->chart.top,
             p->chart.width - p->chart.right, p->chart.height - p->chart.bottom, p->chart.x.least,
             p->chart.x.most, p->chart.y.least, p->chart.y.most, p->chart.y.log);
    char *description = describe(p);
    fputs("<figure class=\"panel\">\n<figcaption><b>", out);
    hr_html_text(out, metric->title);
    fprintf(out, "</b>%s%s <span>%s</span></figcaption>\n", metric->share ? ", %" : "",
            p->chart.y.log ? ", log scale" : "", against[p->abscissa]);
    hr_chart_begin(&p->chart, id, title, description ? description : "", more);
    free(description);
    hr_chart_axes(&p->chart, hr_abscissa_title(p->abscissa));
    for (size_t s = 0; s < p->view->ndrawn; s++) {
        fprintf(out, "<g class=\"s%zu\">", s);
        draw_band(p, &p->series[s]);
        fputs("</g>\n", out);
    }
    for (size_t s = 0; s < p->view->ndrawn; s++) {
        fprintf(out, "<g class=\"s%zu\">", s);
        draw_line(p, s);
        fputs("</g>\n", out);
    }
    if (p->view->ndrawn > 1)
        draw_labels(p);
    hr_chart_end(&p->chart);
    fputs("</figure>\n", out);
}
