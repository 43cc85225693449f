/* Published findings that were checked (make experiments): what each claims, what was found, and
 * its rows with their intervals on one scale. */
#include "page/sections.h"

#include <math.h>
#include <string.h>

#include "page/html.h"

bool hr_experiments_there(const struct hr_view *view)
{
    for (size_t s = 0; s < view->nsources; s++)
        if (json_object_size(hr_field_object(view->source[s].document, "experiments")))
            return true;
    return false;
}

/* --- all claims --- */

/* "1.8 [1.6, 2.1]": an end that is no number is open. */
static void write_span(FILE *out, const json_t *of, const char *centre)
{
    char text[3][HR_NUMBER_MAX];
    fprintf(out, "<td class=\"n\">%s [%s, %s]</td>",
            hr_number_text(text[0], hr_field_number(of, centre), 3),
            hr_number_text(text[1], hr_field_number(of, "low"), 3),
            hr_number_text(text[2], hr_field_number(of, "high"), 3));
}

static void write_claims(FILE *out, const char *name, const json_t *experiment)
{
    size_t i;
    const json_t *claim;
    json_array_foreach(json_object_get(experiment, "claims"), i, claim)
    {
        const char *verdict = hr_field_text(claim, "verdict");
        fputs("<tr>", out);
        hr_html_row_head(out, i == 0 ? hr_field_text(experiment, "title")[0]
                                           ? hr_field_text(experiment, "title")
                                           : name
                                     : "");
        hr_html_cell(out, hr_field_text(claim, "says"));
        fprintf(out, "<td%s>", strcmp(verdict, "reproduced") == 0 ? "" : " class=\"odd\"");
        hr_html_text(out, verdict);
        fputs("</td>", out);
        write_span(out, claim, "value");
        hr_html_cell(out, hr_field_text(claim, "expected"));
        fputs("</tr>\n", out);
    }
}

static void write_verdicts(FILE *out, const json_t *experiments)
{
    const char *const heads[] = {"experiment", "claim", "verdict"};
    const char *key;
    const json_t *experiment;
    hr_html_table(out, "Claims: what was found, with its 95 % interval", "claims");
    fputs("<thead>\n<tr>", out);
    for (size_t h = 0; h < sizeof heads / sizeof *heads; h++)
        hr_html_column(out, heads[h], false);
    hr_html_column(out, "found", true);
    hr_html_column(out, "expected", false);
    fputs("</tr>\n</thead>\n<tbody>\n", out);
    json_object_foreach((json_t *)experiments, key, experiment)
    {
        write_claims(out, key, experiment);
    }
    hr_html_table_end(out);
}

/* --- one of them --- */

/* From nothing, or from what is least, to what is most. */
static void scale_of(const json_t *rows, double *least, double *most)
{
    size_t i;
    const json_t *row;
    struct hr_mean ends = HR_MEAN_NONE;
    json_array_foreach(rows, i, row)
    {
        hr_mean_add(&ends, hr_field_number(row, "low"));
        hr_mean_add(&ends, hr_field_number(row, "mean"));
        hr_mean_add(&ends, hr_field_number(row, "high"));
    }
    const bool near = ends.least > 0 && ends.least > 0.6 * ends.most;
    *least = near ? ends.least - 0.1 * (ends.most - ends.least) : fmin(0, ends.least);
    *most = ends.most;
}

static void write_row(FILE *out, const json_t *row, double least, double most)
{
    const double size = most - least, mean = hr_field_number(row, "mean");
    double low = hr_field_number(row, "low"), high = hr_field_number(row, "high");
    low = isnan(low) ? least : low;
    high = isnan(high) ? most : high;
    fputs("<tr>", out);
    hr_html_row_head(out, hr_field_text(row, "cell"));
    fputs("<td class=\"wide\"><div class=\"span\" aria-hidden=\"true\">", out);
    if (size > 0 && !isnan(mean))
        fprintf(out,
                "<i class=\"reach\" style=\"left:%.2f%%;width:%.2f%%\"></i>"
                "<i class=\"mean\" style=\"left:%.2f%%\"></i>",
                100 * (low - least) / size, 100 * (high - low) / size, 100 * (mean - least) / size);
    fputs("</div></td>", out);
    hr_html_cell_number(out, mean, 4);
    hr_html_cell_number(out, hr_field_number(row, "low"), 4);
    hr_html_cell_number(out, hr_field_number(row, "high"), 4);
    fputs("</tr>\n", out);
}

static void write_rows(FILE *out, const json_t *experiment)
{
    double least, most;
    char caption[240];
    size_t i;
    const json_t *row, *rows = hr_field_list(experiment, "rows");
    scale_of(rows, &least, &most);
    snprintf(caption, sizeof caption, "%.160s: mean, and 95 %% interval",
             hr_field_text(experiment, "measure"));
    hr_html_table(out, caption, "bars values");
    fputs("<thead>\n<tr>", out);
    hr_html_column(out, "cell", false);
    fputs("<td class=\"wide\"></td>", out);
    hr_html_column(out, "mean", true);
    hr_html_column(out, "low", true);
    hr_html_column(out, "high", true);
    fputs("</tr>\n</thead>\n<tbody>\n", out);
    json_array_foreach(rows, i, row)
    {
        write_row(out, row, least, most);
    }
    hr_html_table_end(out);
}

static void write_commands(FILE *out, const json_t *experiment)
{
    size_t i;
    const json_t *command, *commands = hr_field_list(experiment, "commands");
    char number[HR_NUMBER_MAX];
    hr_html_details(out, "How it was run: %s seeds, %s, %s",
                    hr_number_text(number, hr_field_number(experiment, "seeds"), 6),
                    hr_field_text(experiment, "when"), hr_field_text(experiment, "machine"));
    json_array_foreach(commands, i, command)
    {
        fputs("<pre tabindex=\"0\"><code>", out);
        hr_html_text(out, json_is_string(command) ? json_string_value(command) : "");
        fputs("</code></pre>\n", out);
    }
    hr_html_details_end(out);
}

static void write_paragraph(FILE *out, const char *class, const char *text)
{
    if (!text[0])
        return;
    fprintf(out, "<p class=\"%s\">", class);
    hr_html_text(out, text);
    fputs("</p>\n", out);
}

enum hr_status hr_experiments_write(FILE *out, const struct hr_view *view)
{
    const char *key;
    const json_t *experiment;
    hr_html_section(out, "experiments", "Experiments");
    for (size_t s = 0; s < view->nsources; s++) {
        const json_t *experiments = hr_field_object(view->source[s].document, "experiments");
        if (!json_object_size(experiments))
            continue;
        write_verdicts(out, experiments);
        json_object_foreach((json_t *)experiments, key, experiment)
        {
            const char *title = hr_field_text(experiment, "title");
            fputs("<h3>", out);
            hr_html_text(out, title[0] ? title : key);
            fputs("</h3>\n", out);
            write_paragraph(out, "finding", hr_field_text(experiment, "finding"));
            write_rows(out, experiment);
            write_paragraph(out, "note", hr_field_text(experiment, "remark"));
            write_commands(out, experiment);
        }
    }
    hr_html_section_end(out);
    return HR_OK;
}
