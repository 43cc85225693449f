#include "page/bench_lines.h"

#include <math.h>
#include <string.h>

#include "page/chart.h"
#include "page/html.h"
#include "page/sections.h"

enum { PANELS = 24, SIZES_LEAST = 3 };

struct lines {
    const json_t *rows;
    const char *op;
    const char *name[HR_DRAWN]; /* algorithms, or setups of the store */
    size_t n;
    bool more; /* than can be told apart */
    struct hr_chart chart;
};

static const char *name_of(const json_t *row)
{
    const char *algorithm = hr_field_text(row, "algorithm");
    return algorithm[0] ? algorithm : hr_field_text(row, "setup");
}

static double time_of(const json_t *row)
{
    return hr_field_number(json_object_get(row, "time_us"), "p50");
}

static bool belongs(const struct lines *lines, const json_t *row)
{
    return !strcmp(hr_field_text(row, "op"), lines->op) && hr_field_number(row, "bytes") > 0 &&
           time_of(row) > 0 && isfinite(time_of(row));
}

static size_t line_of(const struct lines *lines, const json_t *row)
{
    size_t l = 0;
    while (l < lines->n && strcmp(lines->name[l], name_of(row)) != 0)
        l++;
    return l;
}

/* Names the lines and fits the axes; false: too few sizes for a line. */
static bool fit(struct lines *lines)
{
    struct hr_mean x = HR_MEAN_NONE, y = HR_MEAN_NONE;
    double sizes[SIZES_LEAST] = {0};
    size_t i, nsizes = 0;
    const json_t *row;
    json_array_foreach(lines->rows, i, row)
    {
        if (!belongs(lines, row))
            continue;
        if (line_of(lines, row) == lines->n) {
            lines->more = lines->more || lines->n == HR_DRAWN;
            if (lines->n < HR_DRAWN)
                lines->name[lines->n++] = name_of(row);
        }
        const double bytes = hr_field_number(row, "bytes");
        bool known = nsizes == SIZES_LEAST;
        for (size_t s = 0; s < nsizes; s++)
            known = known || sizes[s] == bytes;
        if (!known)
            sizes[nsizes++] = bytes;
        hr_mean_add(&x, bytes);
        hr_mean_add(&y, time_of(row));
    }
    if (nsizes < SIZES_LEAST)
        return false;
    hr_axis_fit(&lines->chart.x, x.least, x.most, false, true);
    hr_axis_fit(&lines->chart.y, y.least * 0.9, y.most * 1.1, false, true);
    return true;
}

static void draw_line(const struct lines *lines, size_t l)
{
    FILE *out = lines->chart.out;
    const char *step = "M";
    double x = 0, y = 0;
    size_t i;
    const json_t *row;
    fprintf(out, "<g class=\"s%zu\"><path class=\"line\" d=\"", l);
    json_array_foreach(lines->rows, i, row)
    {
        if (!belongs(lines, row) || line_of(lines, row) != l)
            continue;
        x = hr_chart_x(&lines->chart, hr_field_number(row, "bytes"));
        y = hr_chart_y(&lines->chart, time_of(row));
        fprintf(out, "%s%.1f %.1f", step, x, y);
        step = "L";
    }
    fprintf(out, "\"/>");
    hr_marker_write(out, l, x, y);
    fputs("</g>\n", out);
}

static void write_keys(FILE *out, const struct lines *lines)
{
    if (lines->n < 2)
        return;
    fputs("<p class=\"keys\">", out);
    for (size_t l = 0; l < lines->n; l++) {
        fputs("<span>", out);
        hr_key_write(out, l);
        hr_html_text(out, lines->name[l]);
        fputs("</span> ", out);
    }
    fputs(lines->more ? "<span>the others: below</span></p>\n" : "</p>\n", out);
}

static void write_panel(FILE *out, struct lines *lines, size_t id, size_t panel)
{
    char name[48];
    snprintf(name, sizeof name, "b-%zu-%zu", id, panel);
    fputs("<figure class=\"panel\">\n<figcaption><b>", out);
    hr_html_text(out, lines->op);
    fputs("</b> <span>median time, µs, over bytes; both scales are logarithmic</span>"
          "</figcaption>\n",
          out);
    hr_chart_begin(&lines->chart, name, lines->op,
                   "Median time over size, a line an algorithm; the table below has all values.",
                   "");
    hr_chart_axes(&lines->chart, "bytes");
    for (size_t l = 0; l < lines->n; l++)
        draw_line(lines, l);
    hr_chart_end(&lines->chart);
    write_keys(out, lines);
    fputs("</figure>\n", out);
}

void hr_bench_lines_write(FILE *out, const json_t *rows, size_t id)
{
    const char *seen[PANELS];
    size_t n = 0, drawn = 0, i;
    const json_t *row;
    json_array_foreach(rows, i, row)
    {
        struct lines lines = {.rows = rows,
                              .op = hr_field_text(row, "op"),
                              .chart = {.out = out,
                                        .width = 400,
                                        .height = 260,
                                        .left = 52,
                                        .top = 10,
                                        .right = 14,
                                        .bottom = 38}};
        bool known = n == PANELS;
        for (size_t s = 0; s < n; s++)
            known = known || !strcmp(seen[s], lines.op);
        if (known)
            continue;
        seen[n++] = lines.op;
        if (!fit(&lines))
            continue;
        if (drawn++ == 0)
            fputs("<div class=\"panels\">\n", out);
        write_panel(out, &lines, id, n);
    }
    if (drawn)
        fputs("</div>\n", out);
}
