/* How workers spent their time: a bar a strategy, and within it a bar a worker. The numbers stand
 * beside the bars, which are for the eye alone. */
#include "page/sections.h"

#include <math.h>
#include <string.h>

#include "page/html.h"

enum { PHASES = 5, WORKERS_SHOWN = 32 };

static const char *const phases[PHASES] = {"load", "compute", "communicate", "wait", "absent"};

struct spent {
    double seconds[PHASES], all;
};

static void add(struct spent *spent, const json_t *times)
{
    for (size_t p = 0; p < PHASES; p++) {
        const double seconds = hr_field_number(times, phases[p]);
        if (seconds > 0 && isfinite(seconds)) {
            spent->seconds[p] += seconds;
            spent->all += seconds;
        }
    }
}

static struct spent of_group(const struct hr_group *group)
{
    struct spent spent = {0};
    for (size_t i = 0; i < group->n; i++)
        add(&spent, json_object_get(group->run[i], "time"));
    return spent;
}

/* Of a rank, in all runs of the group. */
static struct spent of_worker(const struct hr_group *group, size_t rank)
{
    struct spent spent = {0};
    for (size_t i = 0; i < group->n; i++)
        add(&spent, json_array_get(
                        json_object_get(json_object_get(group->run[i], "time"), "workers"), rank));
    return spent;
}

static size_t workers_of(const struct hr_group *group)
{
    size_t most = 0;
    for (size_t i = 0; i < group->n; i++) {
        const size_t n =
            json_array_size(json_object_get(json_object_get(group->run[i], "time"), "workers"));
        most = n > most ? n : most;
    }
    return most;
}

bool hr_times_there(const struct hr_view *view)
{
    for (size_t g = 0; g < view->ngroups; g++)
        if (of_group(&view->group[g]).all > 0)
            return true;
    return false;
}

static bool somebody_absent(const struct hr_view *view)
{
    for (size_t g = 0; g < view->ngroups; g++)
        if (of_group(&view->group[g]).seconds[PHASES - 1] > 0)
            return true;
    return false;
}

/* --- tables --- */

static void write_head(FILE *out, const char *first, const char *last, size_t shown)
{
    fputs("<thead>\n<tr>", out);
    hr_html_column(out, first, false);
    fputs("<td class=\"wide\"></td>", out);
    for (size_t p = 0; p < shown; p++)
        fprintf(out, "<th scope=\"col\" class=\"n\"><i class=\"swatch p%zu\"></i>%s, %%</th>", p,
                phases[p]);
    hr_html_column(out, last, true);
    fputs("</tr>\n</thead>\n<tbody>\n", out);
}

/* scale: the bar's length, of 1. */
static void write_row(FILE *out, const struct spent *spent, double scale, size_t shown)
{
    fputs("<td class=\"wide\"><div class=\"bar\" aria-hidden=\"true\">", out);
    for (size_t p = 0; p < shown; p++)
        if (spent->seconds[p] > 0)
            fprintf(out, "<i class=\"p%zu\" style=\"width:%.2f%%\"></i>", p,
                    100 * scale * spent->seconds[p] / spent->all);
    fputs("</div></td>", out);
    for (size_t p = 0; p < shown; p++)
        fprintf(out, "<td class=\"n\">%.1f</td>", 100 * spent->seconds[p] / spent->all);
}

static void write_workers(FILE *out, const struct hr_group *group, size_t shown)
{
    const size_t n = workers_of(group), step = (n + WORKERS_SHOWN - 1) / WORKERS_SHOWN;
    char rank[32], caption[HR_LABEL_MAX + 80];
    if (n < 2)
        return;
    hr_html_details(out, "Workers of %s", group->label);
    snprintf(caption, sizeof caption, "%s, worker by worker%s", group->label,
             step > 1 ? ": some of them" : "");
    hr_html_table(out, caption, "bars");
    write_head(out, "worker", "seconds a run", shown);
    for (size_t w = 0; w < n; w += step) {
        const struct spent spent = of_worker(group, w);
        if (!(spent.all > 0))
            continue;
        snprintf(rank, sizeof rank, "%zu", w);
        fputs("<tr>", out);
        hr_html_row_head(out, rank);
        write_row(out, &spent, 1, shown);
        hr_html_cell_number(out, spent.all / (double)group->n, 4);
        fputs("</tr>\n", out);
    }
    hr_html_table_end(out);
    if (step > 1)
        fprintf(out, "<p class=\"note\">One of every %zu workers of %zu; the JSON has all.</p>\n",
                step, n);
    hr_html_details_end(out);
}

enum hr_status hr_times_write(FILE *out, const struct hr_view *view)
{
    const size_t shown = somebody_absent(view) ? PHASES : PHASES - 1;
    hr_html_section(out, "time", "Where the time went");
    hr_html_table(out, "Time of all workers, of all runs together", "bars");
    write_head(out, "strategy", "samples/s", shown);
    for (size_t g = 0; g < view->ngroups; g++) {
        const struct spent spent = of_group(&view->group[g]);
        if (!(spent.all > 0))
            continue;
        fputs("<tr>", out);
        hr_html_row_head(out, view->group[g].label);
        write_row(out, &spent, 1, shown);
        const struct hr_mean rate = hr_group_mean(&view->group[g], "samples_per_s");
        hr_html_cell_short(out, &rate);
        fputs("</tr>\n", out);
    }
    hr_html_table_end(out);
    for (size_t d = 0; d < view->ndrawn; d++)
        write_workers(out, &view->group[view->drawn[d]], shown);
    hr_html_section_end(out);
    return HR_OK;
}
