/* The table, as on a terminal: a row a strategy, mean and deviation over its seeds. */
#include "page/sections.h"

#include <math.h>
#include <string.h>

#include "page/html.h"

bool hr_results_there(const struct hr_view *view)
{
    return view->ngroups > 0;
}

/* --- which columns --- */

static bool several(const struct hr_view *view)
{
    for (size_t g = 0; g < view->ngroups; g++)
        if (view->group[g].n > 1)
            return true;
    return false;
}

/* Does any run have this number, and not nothing throughout? Those that say how runs were set up
 * have to differ. */
static bool any(const struct hr_view *view, const char *part, const char *key)
{
    struct hr_mean all = HR_MEAN_NONE;
    const bool set = !strcmp(key, "workers") || !strcmp(key, "servers");
    for (size_t g = 0; g < view->ngroups && set; g++)
        hr_mean_add(&all, hr_group_mean(&view->group[g], key).mean);
    if (set)
        return all.n && all.least != all.most;
    for (size_t g = 0; g < view->ngroups; g++) {
        const struct hr_mean mean = hr_group_mean_of(&view->group[g], part, key);
        if (mean.n && (mean.least != 0 || mean.most != 0))
            return true;
    }
    return false;
}

enum { SHORT = 0, WARNINGS = 32 };

static const struct {
    const char *part, *key, *title;
    int digits; /* SHORT: as "41.2k" */
} columns[] = {{NULL, "target_seconds", "seconds to target", 3},
               {NULL, "seconds", "seconds", 3},
               {NULL, "samples_per_s", "samples/s", SHORT},
               {NULL, "updates", "updates", 6},
               {NULL, "lr", "lr", 3},
               {"staleness", "mean", "staleness", 3},
               {"staleness", "max", "stalest", 4},
               {NULL, "max_skew", "clock skew", 4},
               {NULL, "workers", "workers", 4},
               {NULL, "servers", "servers", 4}};

enum { COLUMNS = sizeof columns / sizeof *columns };

static bool has_metric(const struct hr_view *view, size_t m)
{
    for (size_t g = 0; g < view->ngroups; g++)
        if (hr_group_metric(&view->group[g], &view->metric[m]).n)
            return true;
    return false;
}

/* --- what is to be said of a group --- */

static size_t lost(const struct hr_group *group)
{
    size_t n = 0;
    for (size_t i = 0; i < group->n; i++)
        n += json_array_size(json_object_get(group->run[i], "losses")) > 0;
    return n;
}

static size_t at_chance(const struct hr_group *group)
{
    size_t n = 0;
    for (size_t i = 0; i < group->n; i++)
        n += hr_field_text(group->run[i], "at_chance")[0] != '\0';
    return n;
}

static void remark(FILE *out, const struct hr_group *group, size_t n, const char *what)
{
    if (n == 0)
        return;
    fputs(" <span class=\"warn\">", out);
    if (group->n > 1)
        hr_html_say(out, "%s (%zu of %zu runs)", what, n, group->n);
    else
        hr_html_text(out, what);
    fputs("</span>", out);
}

static void write_name(FILE *out, const struct hr_view *view, size_t g)
{
    const struct hr_group *group = &view->group[g];
    fputs("<th scope=\"row\">", out);
    hr_group_key_write(out, view, g);
    hr_html_text(out, group->label);
    remark(out, group, hr_group_count(group, "divergence", "rose"), "diverged");
    remark(out, group, at_chance(group), "at chance");
    remark(out, group, hr_group_count(group, NULL, "interrupted"), "interrupted");
    remark(out, group, hr_group_count(group, "best", "stopped"), "stopped early");
    remark(out, group, lost(group), "lost ranks");
    fputs("</th>", out);
}

/* --- the table --- */

static void write_columns(FILE *out, const struct hr_view *view, bool seeds)
{
    fputs("<thead>\n<tr>", out);
    hr_html_column(out, "strategy", false);
    if (seeds)
        hr_html_column(out, "runs", true);
    for (size_t m = 0; m < view->nmetrics; m++)
        if (has_metric(view, m)) {
            char title[80];
            snprintf(title, sizeof title, "%s%s", view->metric[m].title,
                     view->metric[m].share ? ", %" : "");
            hr_html_column(out, title, true);
        }
    for (size_t c = 0; c < COLUMNS; c++)
        if (any(view, columns[c].part, columns[c].key))
            hr_html_column(out, columns[c].title, true);
    fputs("</tr>\n</thead>\n<tbody>\n", out);
}

static void write_row(FILE *out, const struct hr_view *view, size_t g, bool seeds)
{
    const struct hr_group *group = &view->group[g];
    fputs("<tr>", out);
    write_name(out, view, g);
    if (seeds)
        hr_html_cell_number(out, (double)group->n, 6);
    for (size_t m = 0; m < view->nmetrics; m++) {
        const struct hr_mean mean = hr_group_metric(group, &view->metric[m]);
        if (has_metric(view, m))
            hr_html_cell_mean(out, &mean, hr_metric_factor(&view->metric[m]),
                              view->metric[m].share || !seeds ? 4 : 3);
    }
    for (size_t c = 0; c < COLUMNS; c++) {
        struct hr_mean mean = hr_group_mean_of(group, columns[c].part, columns[c].key);
        if (!any(view, columns[c].part, columns[c].key))
            continue;
        if (columns[c].digits == SHORT)
            hr_html_cell_short(out, &mean);
        else if (mean.least == mean.most)
            hr_html_cell_number(out, mean.mean, columns[c].digits);
        else
            hr_html_cell_mean(out, &mean, 1, columns[c].digits);
    }
    fputs("</tr>\n", out);
}

static void write_failed(FILE *out, const struct hr_view *view)
{
    size_t i, n = 0;
    const json_t *failed;
    for (size_t s = 0; s < view->nsources; s++)
        json_array_foreach(json_object_get(view->source[s].document, "failed"), i, failed)
        {
            if (n++ == 0) {
                hr_html_table(out, "Runs that failed", "text");
                fputs("<thead>\n<tr>", out);
                hr_html_column(out, "strategy", false);
                hr_html_column(out, "seed", true);
                hr_html_column(out, "why", false);
                fputs("</tr>\n</thead>\n<tbody>\n", out);
            }
            fputs("<tr>", out);
            hr_html_row_head(out, hr_field_text(failed, "label")[0]
                                      ? hr_field_text(failed, "label")
                                      : hr_field_text(failed, "strategy"));
            hr_html_cell_number(out, hr_field_number(failed, "seed"), 15);
            hr_html_cell(out, hr_field_text(failed, "message"));
            fputs("</tr>\n", out);
        }
    if (n)
        hr_html_table_end(out);
}

/* Of runs, as they were said on stderr; those of several seeds are alike in all but numbers. */
static void write_warnings(FILE *out, const struct hr_view *view)
{
    size_t n = 0, i;
    const json_t *warning;
    for (size_t g = 0; g < view->ngroups && n < WARNINGS; g++)
        json_array_foreach(hr_field_list(view->group[g].run[0], "warnings"), i, warning)
        {
            if (!json_is_string(warning))
                continue;
            fputs(n++ ? "<li>" : "<h3>Warnings</h3>\n<ul class=\"sentences\">\n<li>", out);
            hr_html_text(out, json_string_value(warning));
            fputs("</li>\n", out);
        }
    if (n)
        fputs("</ul>\n", out);
}

enum hr_status hr_results_write(FILE *out, const struct hr_view *view)
{
    const bool seeds = several(view);
    hr_html_section(out, "results", "Results");
    hr_html_table(out,
                  seeds ? "At the end of training: mean ± standard deviation over the runs"
                        : "At the end of training",
                  "results");
    write_columns(out, view, seeds);
    for (size_t g = 0; g < view->ngroups; g++)
        write_row(out, view, g, seeds);
    hr_html_table_end(out);
    write_failed(out, view);
    write_warnings(out, view);
    hr_html_section_end(out);
    return HR_OK;
}
