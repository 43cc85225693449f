/* Pairs of strategies, each tested: the table behind the sentences. */
#include "page/sections.h"

#include <math.h>
#include <string.h>

#include "page/html.h"

static const json_t *tests_of(const struct hr_page_source *source)
{
    return hr_field_list(hr_field_object(source->document, "comparison"), "comparisons");
}

bool hr_comparisons_there(const struct hr_view *view)
{
    for (size_t i = 0; i < view->nsources; i++)
        if (json_array_size(tests_of(&view->source[i])))
            return true;
    return false;
}

/* "-5.20 (-9.50 to -0.90)", or a dash. */
static void write_size(FILE *out, const json_t *test, bool ratio, double scale)
{
    char middle[HR_NUMBER_MAX], low[HR_NUMBER_MAX], high[HR_NUMBER_MAX];
    const json_t *interval = hr_field_list(test, "interval");
    const double x = hr_field_number(test, ratio ? "ratio" : "difference") * scale;
    fprintf(out, "<td class=\"n\">%s%s", hr_number_text(middle, x, 3), ratio ? " ×" : "");
    if (json_array_size(interval) == 2)
        fprintf(out, " <span class=\"sd\">(%s to %s)</span>",
                hr_number_text(low, hr_value_number(json_array_get(interval, 0)) * scale, 3),
                hr_number_text(high, hr_value_number(json_array_get(interval, 1)) * scale, 3));
    fputs("</td>", out);
}

static void write_test(FILE *out, const json_t *test)
{
    const char *metric = hr_field_text(test, "metric");
    const bool share = !strcmp(metric, "accuracy"), ratio = !strncmp(metric, "target_", 7);
    fputs("<tr>", out);
    hr_html_row_head(out, hr_field_text(test, "a"));
    hr_html_cell(out, hr_field_text(test, "b"));
    hr_html_cell(out, share                               ? "accuracy, points"
                      : !strcmp(metric, "target_seconds") ? "seconds to target"
                      : !strcmp(metric, "target_samples") ? "samples to target"
                                                          : metric);
    hr_html_cell_number(out, hr_field_number(test, "n"), 6);
    write_size(out, test, ratio, share ? 100 : 1);
    hr_html_cell_number(out, hr_field_number(test, "p"), 2);
    hr_html_cell_number(out, hr_field_number(test, "p_adjusted"), 2);
    hr_html_cell_number(out, hr_field_number(hr_field_object(test, "effect"), "value"), 3);
    hr_html_cell(out, hr_field_text(test, "verdict"));
    fputs("</tr>\n", out);
}

static void write_source(FILE *out, const struct hr_page_source *source)
{
    static const struct {
        const char *title;
        bool number;
    } columns[] = {{"a", false},
                   {"b", false},
                   {"of", false},
                   {"seeds", true},
                   {"a − b, or a / b", true},
                   {"p", true},
                   {"p, corrected", true},
                   {"effect", true},
                   {"a is", false}};
    const json_t *tests = tests_of(source), *test;
    size_t i;
    if (!json_array_size(tests))
        return;
    hr_html_table(out, "Each strategy with each, paired by seeds; intervals of 95 %", "tests");
    fputs("<thead>\n<tr>", out);
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++)
        hr_html_column(out, columns[c].title, columns[c].number);
    fputs("</tr>\n</thead>\n<tbody>\n", out);
    json_array_foreach(tests, i, test)
    {
        write_test(out, test);
    }
    hr_html_table_end(out);
}

enum hr_status hr_comparisons_write(FILE *out, const struct hr_view *view)
{
    hr_html_section(out, "comparisons", "Comparisons");
    for (size_t i = 0; i < view->nsources; i++)
        write_source(out, &view->source[i]);
    fputs("<p class=\"note\">What a target took is compared as a ratio. p, corrected: by Holm over "
          "all pairs of a metric; below 0.05 the two are told apart. Effect: the mean difference "
          "over its deviation.</p>\n",
          out);
    hr_html_section_end(out);
    return HR_OK;
}
