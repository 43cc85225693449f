/* Which classes a model takes for which: of eval, and of runs, a group of seeds by its first. */
#include "page/sections.h"

#include <math.h>
#include <string.h>

#include "page/html.h"

enum { MATRIX_MOST = 20, WORST = 40 };

/* Of a document (eval), or of a run; NULL. */
static const json_t *classes_of(const json_t *object)
{
    const json_t *classes = hr_field_list(object, "classes");
    return json_is_object(json_array_get(classes, 0)) ? classes : NULL;
}

/* Of a group: those of the first of its runs that has them. */
static const json_t *classes_in(const struct hr_group *group)
{
    const json_t *classes = NULL;
    for (size_t i = 0; i < group->n && !classes; i++)
        classes = classes_of(group->run[i]);
    return classes;
}

bool hr_classes_there(const struct hr_view *view)
{
    bool there = false;
    for (size_t s = 0; s < view->nsources; s++)
        there = there || classes_of(view->source[s].document);
    for (size_t g = 0; g < view->ngroups; g++)
        there = there || classes_in(&view->group[g]);
    return there;
}

/* So many samples of class `label` were answered with `answer`. */
static double answered(const json_t *classes, size_t label, size_t answer)
{
    const json_t *row = json_array_get(classes, label), *wrong = hr_field_object(row, "taken_for");
    const char *key;
    const json_t *value;
    double others = 0;
    if (label != answer) {
        const double n =
            hr_field_number(wrong, hr_field_text(json_array_get(classes, answer), "name"));
        return isnan(n) ? 0 : n;
    }
    json_object_foreach((json_t *)wrong, key, value)
    {
        const double n = hr_value_number(value);
        others += isnan(n) ? 0 : n;
    }
    return hr_field_number(row, "samples") - others;
}

static void write_matrix(FILE *out, const json_t *classes)
{
    const size_t n = json_array_size(classes);
    hr_html_table(out, "Confusion: classes down, answers across (samples)", "matrix");
    fputs("<thead>\n<tr><th scope=\"col\">class</th>", out);
    for (size_t c = 0; c < n; c++)
        hr_html_column(out, hr_field_text(json_array_get(classes, c), "name"), true);
    fputs("</tr>\n</thead>\n<tbody>\n", out);
    for (size_t label = 0; label < n; label++) {
        const double samples = hr_field_number(json_array_get(classes, label), "samples");
        fputs("<tr>", out);
        hr_html_row_head(out, hr_field_text(json_array_get(classes, label), "name"));
        for (size_t answer = 0; answer < n; answer++) {
            const double count = answered(classes, label, answer);
            const double share = samples > 0 && count > 0 ? fmin(1, count / samples) : 0;
            if (!(count > 0))
                fputs("<td class=\"n none\">·</td>", out);
            else
                fprintf(out, "<td class=\"n %s\" style=\"--s:%.3f\">%.0f</td>",
                        label == answer ? "right" : "wrong", share, count);
        }
        fputs("</tr>\n", out);
    }
    hr_html_table_end(out);
}

/* "7 (12), 9 (3)" */
static void write_taken(FILE *out, const json_t *wrong)
{
    const char *key;
    const json_t *value;
    char number[HR_NUMBER_MAX];
    size_t shown = 0;
    fputs("<td>", out);
    json_object_foreach((json_t *)wrong, key, value)
    {
        if (shown < 6)
            hr_html_say(out, "%s%s (%s)", shown++ ? ", " : "", key,
                        hr_number_text(number, hr_value_number(value), 9));
    }
    if (json_object_size(wrong) > shown)
        fputs(", …", out);
    fputs("</td>", out);
}

static void write_scores(FILE *out, const json_t *classes)
{
    const size_t n = json_array_size(classes);
    const char *const heads[] = {"samples", "answers", "recall, %", "precision, %", "F1, %"};
    hr_html_table(out, "Class by class", "values");
    fputs("<thead>\n<tr>", out);
    hr_html_column(out, "class", false);
    for (size_t h = 0; h < sizeof heads / sizeof *heads; h++)
        hr_html_column(out, heads[h], true);
    hr_html_column(out, "taken for", false);
    fputs("</tr>\n</thead>\n<tbody>\n", out);
    for (size_t c = 0; c < n && c < 10 * WORST; c++) {
        const json_t *row = json_array_get(classes, c);
        fputs("<tr>", out);
        hr_html_row_head(out, hr_field_text(row, "name"));
        hr_html_cell_number(out, hr_field_number(row, "samples"), 9);
        hr_html_cell_number(out, hr_field_number(row, "answers"), 9);
        hr_html_cell_number(out, 100 * hr_field_number(row, "recall"), 4);
        hr_html_cell_number(out, 100 * hr_field_number(row, "precision"), 4);
        hr_html_cell_number(out, 100 * hr_field_number(row, "f1"), 4);
        write_taken(out, hr_field_object(row, "taken_for"));
        fputs("</tr>\n", out);
    }
    hr_html_table_end(out);
    if (n > 10 * WORST)
        fprintf(out, "<p class=\"note\">The first %d classes of %zu.</p>\n", 10 * WORST, n);
}

/* Of eval --worst: the samples that the model was most wrong about. */
static void write_worst(FILE *out, const json_t *worst)
{
    const char *const heads[] = {"row", "loss", "answered at, %", "right one at, %"};
    size_t i;
    const json_t *sample;
    if (!json_is_object(json_array_get(worst, 0)))
        return;
    hr_html_table(out, "Worst answers", "values");
    fputs("<thead>\n<tr>", out);
    for (size_t h = 0; h < sizeof heads / sizeof *heads; h++)
        hr_html_column(out, heads[h], true);
    hr_html_column(out, "is", false);
    hr_html_column(out, "answered", false);
    fputs("</tr>\n</thead>\n<tbody>\n", out);
    json_array_foreach(worst, i, sample)
    {
        if (i == 10 * WORST)
            break;
        fputs("<tr>", out);
        hr_html_cell_number(out, hr_field_number(sample, "row"), 15);
        hr_html_cell_number(out, hr_field_number(sample, "loss"), 4);
        hr_html_cell_number(out, 100 * hr_field_number(sample, "probability"), 3);
        hr_html_cell_number(out, 100 * hr_field_number(sample, "truth_probability"), 3);
        hr_html_cell(out, hr_field_text(sample, "truth"));
        hr_html_cell(out, hr_field_text(sample, "answer"));
        fputs("</tr>\n", out);
    }
    hr_html_table_end(out);
}

/* --- of documents, and of runs --- */

static void write_title(FILE *out, const char *title)
{
    fputs("<h3>", out);
    hr_html_text(out, title);
    fputs("</h3>\n", out);
}

static void write_documents(FILE *out, const struct hr_view *view)
{
    for (size_t s = 0; s < view->nsources; s++) {
        const json_t *classes = classes_of(view->source[s].document);
        if (!classes)
            continue;
        if (view->nsources > 1)
            write_title(out, view->source[s].name);
        if (json_array_size(classes) <= MATRIX_MOST)
            write_matrix(out, classes);
        write_scores(out, classes);
        write_worst(out, hr_field_list(view->source[s].document, "worst"));
    }
}

/* Whose matrix is shown: those that are drawn, and have one. */
static size_t find_groups(const struct hr_view *view, const struct hr_group *found[HR_DRAWN])
{
    size_t n = 0;
    for (size_t d = 0; d < view->ndrawn; d++)
        if (classes_in(&view->group[view->drawn[d]]))
            found[n++] = &view->group[view->drawn[d]];
    return n;
}

/* "allreduce, seed 1": where there are several, the first stands for them. */
static void write_group_title(FILE *out, const struct hr_group *group)
{
    char title[HR_LABEL_MAX + 40], seed[HR_NUMBER_MAX];
    if (group->n > 1)
        snprintf(title, sizeof title, "%s, seed %s of %zu runs", group->label,
                 hr_number_text(seed, hr_field_number(group->run[0], "seed"), 15), group->n);
    else
        snprintf(title, sizeof title, "%s", group->label);
    write_title(out, title);
}

static void write_groups(FILE *out, const struct hr_view *view)
{
    const struct hr_group *group[HR_DRAWN];
    const size_t n = find_groups(view, group);
    for (size_t g = 0; g < n; g++) {
        const json_t *classes = classes_in(group[g]);
        const bool small = json_array_size(classes) <= MATRIX_MOST;
        if (n > 1 || group[g]->n > 1)
            write_group_title(out, group[g]);
        if (small)
            write_matrix(out, classes);
        if (n == 1 || !small)
            write_scores(out, classes);
    }
    if (n < view->ngroups && n == view->ndrawn)
        fprintf(out, "<p class=\"note\">Of the %zu that are drawn above.</p>\n", n);
}

enum hr_status hr_classes_write(FILE *out, const struct hr_view *view)
{
    hr_html_section(out, "classes", "Classes");
    write_documents(out, view);
    write_groups(out, view);
    hr_html_section_end(out);
    return HR_OK;
}
