#include "page/sections.h"

#include <math.h>
#include <string.h>

#include "page/html.h"
#include "page/panel.h"
#include "page/series.h"

bool hr_curves_there(const struct hr_view *view)
{
    for (size_t r = 0; r < view->nruns; r++)
        if (json_array_size(json_object_get(view->run[r], "curve")) > 1)
            return true;
    return false;
}

/* Are updates samples times one number in all lines? Then the picture is the same. */
static double samples_an_update(const struct hr_view *view, const struct hr_series *series)
{
    struct hr_mean ratio = HR_MEAN_NONE;
    for (size_t s = 0; s < view->ndrawn; s++)
        for (size_t i = 0; i < series[s].n; i++)
            hr_mean_add(&ratio,
                        series[s].point[i].at[HR_SAMPLES] / series[s].point[i].at[HR_UPDATES]);
    return ratio.n && ratio.most - ratio.least <= 0.02 * ratio.least ? ratio.mean : NAN;
}

static void write_row(FILE *out, const struct hr_view *view, const struct hr_series *series,
                      size_t metric, bool with_updates)
{
    const enum hr_abscissa order[] = {HR_SAMPLES, HR_UPDATES, HR_SECONDS};
    bool begun = false;
    for (size_t a = 0; a < sizeof order / sizeof *order; a++) {
        struct hr_panel panel = {.view = view,
                                 .series = series,
                                 .metric = metric,
                                 .abscissa = order[a],
                                 .chart = {.out = out}};
        if ((order[a] == HR_UPDATES && !with_updates) || !hr_panel_fit(&panel))
            continue;
        if (!begun)
            fputs("<div class=\"panels\">\n", out);
        begun = true;
        hr_panel_write(&panel);
    }
    if (begun)
        fputs("</div>\n", out);
}

/* --- the table behind the panels --- */

static bool has_several(const struct hr_view *view)
{
    for (size_t s = 0; s < view->ndrawn; s++)
        if (view->group[view->drawn[s]].n > 1)
            return true;
    return false;
}

static void write_head(FILE *out, const struct hr_view *view, bool several)
{
    fputs("<thead>\n<tr>", out);
    hr_html_column(out, "strategy", false);
    if (several)
        hr_html_column(out, "runs", true);
    for (enum hr_abscissa a = 0; a < HR_ABSCISSAS; a++)
        fprintf(out, "<th scope=\"col\" class=\"n\" data-k=\"%s\">%s</th>", hr_abscissa_key(a),
                hr_abscissa_key(a));
    for (size_t m = 0; m < view->nmetrics; m++) {
        fprintf(out, "<th scope=\"col\" class=\"n\" data-k=\"%zu\">", m);
        hr_html_say(out, "%s%s", view->metric[m].title, view->metric[m].share ? ", %" : "");
        fputs("</th>", out);
        if (several)
            fputs("<th scope=\"col\" class=\"n\">least</th><th scope=\"col\" class=\"n\">most</th>",
                  out);
    }
    fputs("</tr>\n</thead>\n<tbody>\n", out);
}

static void write_point(FILE *out, const struct hr_view *view, const struct hr_point *point,
                        bool several)
{
    if (several)
        hr_html_cell_number(out, (double)point->runs, 6);
    for (enum hr_abscissa a = 0; a < HR_ABSCISSAS; a++)
        hr_html_cell_number(out, a == HR_UPDATES ? round(point->at[a]) : point->at[a], 6);
    for (size_t m = 0; m < view->nmetrics; m++) {
        const struct hr_mean *value = &point->value[m];
        const double factor = hr_metric_factor(&view->metric[m]);
        hr_html_cell_number(out, value->mean * factor, 6);
        if (several) {
            hr_html_cell_number(out, value->least * factor, 6);
            hr_html_cell_number(out, value->most * factor, 6);
        }
    }
}

static void write_values(FILE *out, const struct hr_view *view, const struct hr_series *series)
{
    const bool several = has_several(view);
    hr_html_details(out, "Values behind these figures");
    hr_html_table(out, several ? "Evaluations: mean over the runs, least and most" : "Evaluations",
                  "values curve-values");
    write_head(out, view, several);
    for (size_t s = 0; s < view->ndrawn; s++)
        for (size_t i = 0; i < series[s].n; i++) {
            fprintf(out, "<tr data-g=\"%zu\">", s);
            hr_html_row_head(out, view->group[view->drawn[s]].label);
            write_point(out, view, &series[s].point[i], several);
            fputs("</tr>\n", out);
        }
    hr_html_table_end(out);
    hr_html_details_end(out);
}

/* --- the section --- */

static bool clocks_differ(const struct hr_view *view)
{
    for (size_t r = 1; r < view->nruns; r++)
        if (strcmp(hr_field_text(view->run[0], "clock"), hr_field_text(view->run[r], "clock")) != 0)
            return true;
    return false;
}

static void write_notes(FILE *out, const struct hr_view *view, const struct hr_series *series,
                        double an_update)
{
    size_t whole = 0, shown = 0;
    char number[HR_NUMBER_MAX];
    for (size_t s = 0; s < view->ndrawn; s++) {
        whole = series[s].whole > whole ? series[s].whole : whole;
        shown = series[s].n > shown ? series[s].n : shown;
    }
    fputs("<p class=\"note\">", out);
    if (clocks_differ(view))
        fputs("Seconds are not of one kind: some runs had a virtual clock. ", out);
    if (has_several(view))
        fputs("Lines: means over the runs at the same evaluation; bands: from the least to the "
              "most of them. ",
              out);
    if (!isnan(an_update))
        fprintf(out,
                "An update is made of %s samples in every run, so against updates the curves "
                "look as they do against samples. ",
                hr_number_text(number, an_update, 4));
    if (whole > shown)
        fprintf(out,
                "%zu evaluations are shown by at most %zu: the first, the last, and those that are "
                "least and most within each of %d equal stretches and of all. ",
                whole, shown, HR_SERIES_STRETCHES);
    if (view->ndrawn < view->ngroups)
        fprintf(out, "Of %zu strategies those %zu are drawn that ended best. ", view->ngroups,
                view->ndrawn);
    fputs("</p>\n", out);
}

enum hr_status hr_curves_write(FILE *out, const struct hr_view *view)
{
    struct hr_series series[HR_DRAWN] = {{0}};
    enum hr_status status = HR_OK;
    for (size_t s = 0; s < view->ndrawn && status == HR_OK; s++)
        status = hr_series_make(&series[s], view, &view->group[view->drawn[s]]);
    if (status == HR_OK) {
        const double an_update = samples_an_update(view, series);
        hr_html_section(out, "curves", "Learning curves");
        write_notes(out, view, series, an_update);
        for (size_t m = 0; m < view->nmetrics; m++)
            write_row(out, view, series, m, isnan(an_update));
        write_values(out, view, series);
        hr_html_section_end(out);
    }
    for (size_t s = 0; s < view->ndrawn; s++)
        hr_series_free(&series[s]);
    return status;
}
