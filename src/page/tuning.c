/* What was tuned before it was compared: each candidate, and the choice. */
#include "page/sections.h"

#include <string.h>

#include "page/html.h"

static const json_t *tuning_of(const struct hr_page_source *source)
{
    return hr_field_object(source->document, "tuning");
}

bool hr_tuning_there(const struct hr_view *view)
{
    for (size_t i = 0; i < view->nsources; i++)
        if (json_array_size(hr_field_list(tuning_of(&view->source[i]), "entries")))
            return true;
    return false;
}

static void write_values(const json_t *values, char *text, size_t size)
{
    const char *name;
    json_t *value;
    char number[HR_NUMBER_MAX];
    text[0] = '\0';
    json_object_foreach((json_t *)values, name, value)
    {
        const size_t used = strlen(text);
        if (used < size)
            snprintf(text + used, size - used, "%s%.60s %s", used ? ", " : "", name,
                     hr_number_text(number, hr_value_number(value), 15));
    }
}

static void write_entry(FILE *out, const json_t *entry, bool share)
{
    const json_t *candidate;
    char text[400];
    size_t c;
    json_array_foreach(hr_field_list(entry, "candidates"), c, candidate)
    {
        fputs("<tr>", out);
        hr_html_row_head(out, hr_field_text(entry, "label"));
        write_values(hr_field_object(candidate, "values"), text, sizeof text);
        hr_html_cell(out, text);
        hr_html_cell_number(out, hr_field_number(candidate, "trials"), 6);
        hr_html_cell_number(out, hr_field_number(candidate, "samples"), 15);
        hr_html_cell_number(out, hr_field_number(candidate, "score") * (share ? 100 : 1), 4);
        hr_html_cell(out, hr_field_true(candidate, "chosen") ? "chosen" : "");
        fputs("</tr>\n", out);
    }
}

static void write_edges(FILE *out, const json_t *entry)
{
    const char *name;
    json_t *side;
    if (hr_field_true(entry, "all_diverged"))
        hr_html_say(out, "%s: every candidate diverged. ", hr_field_text(entry, "label"));
    json_object_foreach((json_t *)hr_field_object(entry, "at_edge"), name, side)
    {
        const char *which = json_string_value(side);
        hr_html_say(out, "%s: %s is the %s tried: widen. ", hr_field_text(entry, "label"), name,
                    which ? which : "");
    }
}

static void write_source(FILE *out, const struct hr_page_source *source)
{
    const json_t *tuning = tuning_of(source), *entries = hr_field_list(tuning, "entries"), *entry;
    const char *metric = hr_field_text(tuning, "metric");
    const bool share = !strcmp(metric, "accuracy");
    char head[80], total[HR_NUMBER_MAX], held[HR_NUMBER_MAX];
    size_t e;
    if (!json_array_size(entries))
        return;
    hr_html_table(out, "What was tried; the score is of a candidate's longest trials", "");
    fputs("<thead>\n<tr>", out);
    hr_html_column(out, "strategy", false);
    hr_html_column(out, "candidate", false);
    hr_html_column(out, "trials", true);
    hr_html_column(out, "samples", true);
    snprintf(head, sizeof head, "%.40s%s", metric, share ? ", %" : "");
    hr_html_column(out, head, true);
    hr_html_column(out, "", false);
    fputs("</tr>\n</thead>\n<tbody>\n", out);
    json_array_foreach(entries, e, entry)
    {
        write_entry(out, entry, share);
    }
    hr_html_table_end(out);
    fputs("<p class=\"note\">", out);
    json_array_foreach(entries, e, entry)
    {
        write_edges(out, entry);
    }
    hr_html_say(out,
                "Each strategy had %s %s to search with, on seeds that are not compared; scores "
                "are of %s validation samples, and the test set was not read.",
                hr_number_text(total, hr_field_number(tuning, "total"), 6),
                hr_field_text(tuning, "unit"),
                hr_number_text(held, hr_field_number(tuning, "validation_samples"), 15));
    fputs("</p>\n", out);
}

enum hr_status hr_tuning_write(FILE *out, const struct hr_view *view)
{
    hr_html_section(out, "tuning", "Tuning");
    for (size_t i = 0; i < view->nsources; i++)
        write_source(out, &view->source[i]);
    hr_html_section_end(out);
    return HR_OK;
}
