/* How stale gradients were: a histogram a group, over all its runs. */
#include "page/sections.h"

#include <math.h>
#include <stdlib.h>

#include "page/chart.h"
#include "page/html.h"

enum { BINS = 24, WORKERS_SHOWN = 64 };

struct histogram {
    double count[BINS], all;
    size_t width, n; /* staleness a bin; bins */
};

static const json_t *staleness_of(const json_t *run)
{
    return hr_field_object(run, "staleness");
}

/* The largest staleness with an update. */
static size_t largest(const struct hr_group *group)
{
    size_t most = 0;
    for (size_t r = 0; r < group->n; r++) {
        const json_t *counts = hr_field_list(staleness_of(group->run[r]), "histogram");
        for (size_t i = json_array_size(counts); i-- > most + 1;)
            if (hr_value_number(json_array_get(counts, i)) > 0) {
                most = i;
                break;
            }
    }
    return most;
}

static struct histogram count(const struct hr_group *group)
{
    const size_t most = largest(group);
    struct histogram h = {.width = most / BINS + 1};
    h.n = most / h.width + 1;
    for (size_t r = 0; r < group->n; r++) {
        size_t i;
        const json_t *value;
        json_array_foreach(hr_field_list(staleness_of(group->run[r]), "histogram"), i, value)
        {
            const double updates = hr_value_number(value);
            if (updates > 0 && isfinite(updates) && i / h.width < BINS) {
                h.count[i / h.width] += updates;
                h.all += updates;
            }
        }
    }
    return h;
}

static bool is_stale(const struct hr_group *group)
{
    return hr_group_mean_of(group, "staleness", "max").most > 0;
}

bool hr_staleness_there(const struct hr_view *view)
{
    for (size_t g = 0; g < view->ngroups; g++)
        if (is_stale(&view->group[g]))
            return true;
    return false;
}

/* --- pictures --- */

static void bin_text(char text[48], const struct histogram *h, size_t bin)
{
    if (h->width == 1)
        snprintf(text, 48, "%zu", bin);
    else
        snprintf(text, 48, "%zu to %zu", bin * h->width, (bin + 1) * h->width - 1);
}

static void draw_bars(const struct hr_chart *chart, const struct histogram *h)
{
    for (size_t b = 0; b < h->n; b++) {
        char text[48];
        const double share = 100 * h->count[b] / h->all;
        const double x0 = hr_chart_x(chart, (double)(b * h->width)),
                     x1 = hr_chart_x(chart, (double)((b + 1) * h->width));
        const double y = hr_chart_y(chart, share), floor = hr_chart_y(chart, 0);
        if (h->count[b] <= 0)
            continue;
        bin_text(text, h, b);
        fprintf(chart->out,
                "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"><title>staleness %s: "
                "%.2f %%</title></rect>\n",
                x0 + 0.5, y, fmax(0.5, x1 - x0 - 1), fmax(0.7, floor - y), text, share);
    }
}

static void draw(FILE *out, const struct hr_group *group, size_t id)
{
    char name[32], title[HR_LABEL_MAX + 40], text[200], mean[HR_NUMBER_MAX], max[HR_NUMBER_MAX];
    const struct histogram h = count(group);
    double most = 0;
    for (size_t b = 0; b < h.n; b++)
        most = fmax(most, 100 * h.count[b] / h.all);
    if (!(h.all > 0))
        return;
    struct hr_chart chart = {
        .out = out, .width = 400, .height = 190, .left = 46, .top = 10, .right = 14, .bottom = 38};
    hr_axis_fit(&chart.y, 0, most, true, false);
    hr_axis_fit(&chart.x, 0, (double)(h.n * h.width), false, false);
    snprintf(name, sizeof name, "st-%zu", id);
    snprintf(title, sizeof title, "Staleness of %s", group->label);
    hr_number_text(mean, hr_group_mean_of(group, "staleness", "mean").mean, 3);
    hr_number_text(max, hr_group_mean_of(group, "staleness", "max").most, 6);
    snprintf(text, sizeof text, "mean %s, most %s", mean, max);
    fputs("<figure class=\"panel\">\n<figcaption><b>", out);
    hr_html_text(out, group->label);
    fprintf(out, "</b> <span>%s</span></figcaption>\n", text);
    hr_chart_begin(&chart, name, title, text, " class=\"bars\"");
    hr_chart_axes(&chart, "staleness of a gradient; % of updates");
    draw_bars(&chart, &h);
    hr_chart_end(&chart);
    fputs("</figure>\n", out);
}

/* --- tables --- */

static void write_values(FILE *out, const struct hr_view *view)
{
    hr_html_details(out, "Values behind these figures");
    hr_html_table(out, "Updates by staleness, all runs of a strategy", "values stale-values");
    fputs("<thead>\n<tr>", out);
    hr_html_column(out, "strategy", false);
    hr_html_column(out, "staleness", true);
    hr_html_column(out, "updates", true);
    hr_html_column(out, "%", true);
    fputs("</tr>\n</thead>\n<tbody>\n", out);
    for (size_t d = 0; d < view->ndrawn; d++) {
        const struct hr_group *group = &view->group[view->drawn[d]];
        const struct histogram h = count(group);
        for (size_t b = 0; b < h.n && is_stale(group) && h.all > 0; b++) {
            char text[48];
            bin_text(text, &h, b);
            fputs("<tr>", out);
            hr_html_row_head(out, group->label);
            fprintf(out, "<td class=\"n\">%s</td>", text);
            hr_html_cell_number(out, h.count[b], 15);
            fprintf(out, "<td class=\"n\">%.3f</td></tr>\n", 100 * h.count[b] / h.all);
        }
    }
    hr_html_table_end(out);
    hr_html_details_end(out);
}

static void write_worker(FILE *out, const struct hr_group *group, const char *label, size_t w)
{
    static const char *const keys[] = {"updates", "mean", "p50", "p99", "max"};
    fputs("<tr>", out);
    hr_html_row_head(out, label);
    fprintf(out, "<td class=\"n\">%zu</td>", w);
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        struct hr_mean mean = HR_MEAN_NONE;
        for (size_t r = 0; r < group->n; r++)
            hr_mean_add(
                &mean, hr_field_number(
                           json_array_get(hr_field_list(staleness_of(group->run[r]), "workers"), w),
                           keys[k]));
        hr_html_cell_number(out, k == 4 ? mean.most : mean.mean, 4);
    }
    fputs("</tr>\n", out);
}

static void write_workers(FILE *out, const struct hr_view *view)
{
    size_t cut = 0;
    hr_html_details(out, "Worker by worker");
    hr_html_table(out, "Staleness of each worker's updates: means over the runs, most of all",
                  "values");
    fputs("<thead>\n<tr>", out);
    hr_html_column(out, "strategy", false);
    const char *const titles[] = {"worker", "updates", "mean", "median", "99 %", "most"};
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        hr_html_column(out, titles[i], true);
    fputs("</tr>\n</thead>\n<tbody>\n", out);
    for (size_t d = 0; d < view->ndrawn; d++) {
        const struct hr_group *group = &view->group[view->drawn[d]];
        const size_t n = json_array_size(hr_field_list(staleness_of(group->run[0]), "workers"));
        for (size_t w = 0; w < n && w < WORKERS_SHOWN && is_stale(group); w++)
            write_worker(out, group, group->label, w);
        cut = n > WORKERS_SHOWN ? n : cut;
    }
    hr_html_table_end(out);
    if (cut)
        fprintf(out, "<p class=\"note\">The first %d workers of %zu; the JSON has all.</p>\n",
                WORKERS_SHOWN, cut);
    hr_html_details_end(out);
}

enum hr_status hr_staleness_write(FILE *out, const struct hr_view *view)
{
    hr_html_section(out, "staleness", "Staleness");
    fputs("<p class=\"note\">How many updates lay between the read of the weights that a gradient "
          "was computed with, and its own. Strategies that are not here had none.</p>\n"
          "<div class=\"panels\">\n",
          out);
    for (size_t d = 0; d < view->ndrawn; d++)
        if (is_stale(&view->group[view->drawn[d]]))
            draw(out, &view->group[view->drawn[d]], d);
    fputs("</div>\n", out);
    write_values(out, view);
    write_workers(out, view);
    hr_html_section_end(out);
    return HR_OK;
}
