/* Pipelines: how long each stage was busy, and how long it waited. */
#include "page/sections.h"

#include <math.h>

#include "page/html.h"

enum { SHOWN = 16 };

static const json_t *pipeline_of(const struct hr_group *group)
{
    return hr_field_object(group->run[0], "pipeline");
}

bool hr_pipelines_there(const struct hr_view *view)
{
    for (size_t g = 0; g < view->ngroups; g++)
        if (json_array_size(json_object_get(pipeline_of(&view->group[g]), "stages")))
            return true;
    return false;
}

static void write_stage(FILE *out, const json_t *stage, size_t k)
{
    char name[160];
    const double busy = hr_field_number(stage, "busy_seconds");
    const double wait = hr_field_number(stage, "wait_seconds");
    const double all = busy + wait;
    snprintf(name, sizeof name, "%zu: layers %.100s", k, hr_field_text(stage, "layers"));
    fputs("<tr>", out);
    hr_html_row_head(out, name);
    fputs("<td class=\"wide\"><div class=\"bar\" aria-hidden=\"true\">", out);
    if (all > 0 && isfinite(all))
        fprintf(out,
                "<i class=\"p1\" style=\"width:%.2f%%\"></i><i class=\"p3\" "
                "style=\"width:%.2f%%\"></i>",
                100 * busy / all, 100 * wait / all);
    fputs("</div></td>", out);
    hr_html_cell_number(out, 100 * busy / all, 3);
    hr_html_cell_number(out, 100 * wait / all, 3);
    hr_html_cell_number(out, 100 * hr_field_number(stage, "madds_share"), 3);
    hr_html_cell_number(out, hr_field_number(stage, "params"), 15);
    hr_html_cell_number(out, hr_field_number(stage, "peak_micro_batches"), 6);
    fputs("</tr>\n", out);
}

static void write_pipeline(FILE *out, const struct hr_group *group)
{
    const json_t *pipeline = pipeline_of(group), *stage;
    char caption[HR_LABEL_MAX + 120], bubble[HR_NUMBER_MAX], formula[HR_NUMBER_MAX];
    size_t k;
    if (!json_array_size(json_object_get(pipeline, "stages")))
        return;
    snprintf(caption, sizeof caption, "%s: %.40s, %s micro-batches%s", group->label,
             hr_field_text(pipeline, "schedule"),
             hr_number_text(formula, hr_field_number(pipeline, "micro_batches"), 6),
             group->n > 1 ? " (first of its runs)" : "");
    hr_html_table(out, caption, "bars");
    fputs("<thead>\n<tr>", out);
    hr_html_column(out, "stage", false);
    fputs("<td class=\"wide\"></td><th scope=\"col\" class=\"n\"><i class=\"swatch "
          "p1\"></i>busy, %</th><th scope=\"col\" class=\"n\"><i class=\"swatch p3\"></i>idle, "
          "%</th>",
          out);
    hr_html_column(out, "work, %", true);
    hr_html_column(out, "parameters", true);
    hr_html_column(out, "kept at once", true);
    fputs("</tr>\n</thead>\n<tbody>\n", out);
    json_array_foreach(json_object_get(pipeline, "stages"), k, stage)
    {
        write_stage(out, stage, k);
    }
    hr_html_table_end(out);
    if (!isnan(hr_field_number(pipeline, "bubble")))
        fprintf(out,
                "<p class=\"note\">Bubble: %s %% of the stages' time; of equal stages it would be "
                "%s %%.</p>\n",
                hr_number_text(bubble, 100 * hr_field_number(pipeline, "bubble"), 3),
                hr_number_text(formula, 100 * hr_field_number(pipeline, "bubble_formula"), 3));
}

enum hr_status hr_pipelines_write(FILE *out, const struct hr_view *view)
{
    hr_html_section(out, "pipelines", "Pipelines");
    for (size_t g = 0; g < view->ngroups && g < SHOWN; g++)
        write_pipeline(out, &view->group[g]);
    hr_html_section_end(out);
    return HR_OK;
}
