/* Who was waited for: what each worker cost the others, and what it did longer than they. All runs
 * of a group together. */
#include "page/sections.h"

#include <math.h>
#include <stdlib.h>

#include "page/html.h"

enum { PARTS = 6, SHOWN = 16, RANKS = 4096, MATRIX_MOST = 24 };

static const char *const keys[PARTS] = {"compute",   "load",        "stalled",
                                        "preempted", "communicate", "wait"};
static const char *const titles[PARTS] = {"computing, s",    "loading, s",       "stalled, s",
                                          "no processor, s", "communicating, s", "waiting, s"};
static const char *const because[PARTS] = {
    "it computed longer",     "it loaded longer",
    "it was stalled",         "the system ran something else",
    "it communicated longer", "it waited for a server or a processor"};

static const json_t *by_rank(const json_t *run)
{
    return hr_field_list(hr_field_object(run, "waiting"), "by_rank");
}

static size_t ranks_of(const struct hr_group *group)
{
    size_t most = 0;
    for (size_t r = 0; r < group->n; r++) {
        const size_t n = json_array_size(by_rank(group->run[r]));
        most = n > most ? n : most;
    }
    return most < RANKS ? most : RANKS;
}

/* Of a rank, over all runs. */
static double sum(const struct hr_group *group, size_t rank, const char *key)
{
    double all = 0;
    for (size_t r = 0; r < group->n; r++) {
        const double x = hr_field_number(json_array_get(by_rank(group->run[r]), rank), key);
        all += x > 0 ? x : 0;
    }
    return all;
}

static double waited(const struct hr_group *group)
{
    double all = 0;
    for (size_t r = 0; r < group->n; r++) {
        const double x = hr_field_number(json_object_get(group->run[r], "waiting"), "for_others");
        all += x > 0 ? x : 0;
    }
    return all;
}

/* Workers' time of all runs. */
static double worked(const struct hr_group *group)
{
    static const char *const phases[] = {"load", "compute", "communicate", "wait"};
    double all = 0;
    for (size_t p = 0; p < sizeof phases / sizeof *phases; p++) {
        const struct hr_mean mean = hr_group_mean_of(group, "time", phases[p]);
        all += mean.n ? mean.mean * (double)mean.n : 0;
    }
    return all;
}

/* A hundredth of the time is nothing to look into. */
static bool is_told(const struct hr_group *group)
{
    return ranks_of(group) > 1 && waited(group) > 0.01 * worked(group);
}

bool hr_waits_there(const struct hr_view *view)
{
    for (size_t d = 0; d < view->ndrawn; d++)
        if (is_told(&view->group[view->drawn[d]]))
            return true;
    return false;
}

/* --- who */

struct cost {
    double seconds;
    size_t rank;
};

static int by_cost(const void *a, const void *b)
{
    const struct cost *p = a, *q = b;
    if (p->seconds < q->seconds || p->seconds > q->seconds)
        return p->seconds > q->seconds ? -1 : 1;
    return (p->rank > q->rank) - (p->rank < q->rank);
}

static void say_worst(FILE *out, const struct hr_group *group, const struct cost *worst)
{
    const double all = waited(group), time = worked(group);
    size_t most = 0;
    for (size_t p = 1; p < PARTS; p++)
        if (sum(group, worst->rank, keys[p]) > sum(group, worst->rank, keys[most]))
            most = p;
    fputs("<p>", out);
    hr_html_say(out, "%s: workers waited for each other in %.0f %% of their time. ", group->label,
                100 * all / time);
    if (worst->seconds >= all / 2)
        hr_html_say(out, "Rank %zu cost %.0f %% of that; %s.", worst->rank,
                    100 * worst->seconds / all, because[most]);
    else
        hr_html_say(out, "No rank cost half of that; rank %zu cost most, %.0f %%.", worst->rank,
                    100 * worst->seconds / all);
    fputs("</p>\n", out);
}

/* --- tables */

/* Did any rank cost others anything by it? */
static bool is_part(const struct hr_group *group, size_t part)
{
    for (size_t rank = 0; rank < ranks_of(group); rank++)
        if (sum(group, rank, keys[part]) > 0)
            return true;
    return false;
}

static void write_row(FILE *out, const struct hr_group *group, const struct cost *cost, double all)
{
    char name[32];
    snprintf(name, sizeof name, "%zu", cost->rank);
    fputs("<tr>", out);
    hr_html_row_head(out, name);
    fprintf(out,
            "<td class=\"wide\"><div class=\"bar\" aria-hidden=\"true\"><i class=\"p1\" "
            "style=\"width:%.2f%%\"></i></div></td><td class=\"n\">%.1f</td>",
            fmin(100, 100 * cost->seconds / all), 100 * cost->seconds / all);
    hr_html_cell_number(out, cost->seconds, 4);
    for (size_t p = 0; p < PARTS; p++)
        if (is_part(group, p))
            hr_html_cell_number(out, sum(group, cost->rank, keys[p]), 4);
    fputs("</tr>\n", out);
}

static void write_costs(FILE *out, const struct hr_group *group, const struct cost *cost, size_t n)
{
    char caption[HR_LABEL_MAX + 80];
    snprintf(caption, sizeof caption, "%s: what each rank cost the others, and by what",
             group->label);
    hr_html_table(out, caption, "bars");
    fputs("<thead>\n<tr>", out);
    hr_html_column(out, "rank", false);
    fputs("<td class=\"wide\"></td>", out);
    hr_html_column(out, "of the waiting, %", true);
    hr_html_column(out, "seconds", true);
    for (size_t p = 0; p < PARTS; p++)
        if (is_part(group, p))
            hr_html_column(out, titles[p], true);
    fputs("</tr>\n</thead>\n<tbody>\n", out);
    for (size_t i = 0; i < n && i < SHOWN; i++)
        write_row(out, group, &cost[i], waited(group));
    hr_html_table_end(out);
    if (n > SHOWN)
        fprintf(out, "<p class=\"note\">The %d of %zu ranks that cost most.</p>\n", SHOWN, n);
}

/* Seconds that rank i waited for j, in all runs. */
static double waited_for(const struct hr_group *group, size_t i, size_t j)
{
    double all = 0;
    for (size_t r = 0; r < group->n; r++) {
        const json_t *matrix = hr_field_list(json_object_get(group->run[r], "waiting"), "matrix");
        const double x = hr_value_number(json_array_get(json_array_get(matrix, i), j));
        all += x > 0 ? x : 0;
    }
    return all;
}

static void write_matrix(FILE *out, const struct hr_group *group, size_t n)
{
    double most = 0;
    char text[HR_NUMBER_MAX];
    for (size_t i = 0; i < n * n && n <= MATRIX_MOST; i++)
        most = fmax(most, waited_for(group, i / n, i % n));
    if (!(most > 0))
        return;
    hr_html_details(out, "Who waited for whom under %s", group->label);
    hr_html_table(out, "Seconds that a rank (down) waited for another (across)", "matrix");
    fputs("<thead>\n<tr><th scope=\"col\">rank</th>", out);
    for (size_t j = 0; j < n; j++)
        fprintf(out, "<th scope=\"col\" class=\"n\">%zu</th>", j);
    fputs("</tr>\n</thead>\n<tbody>\n", out);
    for (size_t i = 0; i < n; i++) {
        fprintf(out, "<tr><th scope=\"row\">%zu</th>", i);
        for (size_t j = 0; j < n; j++) {
            const double seconds = waited_for(group, i, j);
            if (seconds > 0)
                fprintf(out, "<td class=\"n right\" style=\"--s:%.3f\">%s</td>", seconds / most,
                        hr_number_text(text, seconds, 3));
            else
                fputs("<td class=\"n none\">·</td>", out);
        }
        fputs("</tr>\n", out);
    }
    hr_html_table_end(out);
    hr_html_details_end(out);
}

static enum hr_status write_group(FILE *out, const struct hr_group *group)
{
    const size_t n = ranks_of(group);
    struct cost *cost = calloc(n + 1, sizeof *cost);
    if (!cost)
        return hr_fail(HR_E_NOMEM, "no memory for the waiting of %zu ranks", n);
    for (size_t rank = 0; rank < n; rank++)
        cost[rank] = (struct cost){sum(group, rank, "cost_s"), rank};
    qsort(cost, n, sizeof *cost, by_cost);
    say_worst(out, group, &cost[0]);
    write_costs(out, group, cost, n);
    write_matrix(out, group, n);
    free(cost);
    return HR_OK;
}

enum hr_status hr_waits_write(FILE *out, const struct hr_view *view)
{
    hr_html_section(out, "waits", "Who was waited for");
    fputs("<p class=\"note\">Where all wait for the last to come, the last is given what they "
          "waited. Strategies whose workers hardly waited for each other are not here.</p>\n",
          out);
    for (size_t d = 0; d < view->ndrawn; d++)
        if (is_told(&view->group[view->drawn[d]]))
            HR_TRY(write_group(out, &view->group[view->drawn[d]]));
    hr_html_section_end(out);
    return HR_OK;
}
