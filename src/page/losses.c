/* Ranks that were lost, and gradients that came too late. */
#include "page/sections.h"

#include "page/html.h"

bool hr_losses_there(const struct hr_view *view)
{
    for (size_t r = 0; r < view->nruns; r++)
        if (json_array_size(json_object_get(view->run[r], "losses")) ||
            hr_field_number(hr_field_object(view->run[r], "dropped"), "gradients") > 0)
            return true;
    return false;
}

static void write_loss(FILE *out, const struct hr_group *group, const json_t *run,
                       const json_t *loss)
{
    char text[HR_NUMBER_MAX + 16], number[HR_NUMBER_MAX];
    fputs("<tr>", out);
    hr_html_row_head(out, group->label);
    hr_html_cell_number(out, hr_field_number(run, "seed"), 15);
    snprintf(text, sizeof text, "%s %s", hr_field_true(loss, "server") ? "server" : "worker",
             hr_number_text(number, hr_field_number(loss, "rank"), 6));
    hr_html_cell(out, text);
    const char *const keys[] = {"seconds", "pause_s", "samples_lost", "samples_again"};
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        hr_html_cell_number(out, hr_field_number(loss, keys[k]), 4);
    hr_html_cell(out, hr_field_true(loss, "back") ? "yes" : "no");
    hr_html_cell(out, hr_field_text(loss, "how"));
    fputs("</tr>\n", out);
}

static void write_table(FILE *out, const struct hr_view *view)
{
    static const struct {
        const char *title;
        bool number;
    } heads[] = {{"strategy", false},    {"seed", true},       {"rank", false},
                 {"at second", true},    {"pause, s", true},   {"samples lost", true},
                 {"handed again", true}, {"came back", false}, {"how", false}};
    size_t n = 0;
    for (size_t g = 0; g < view->ngroups; g++)
        for (size_t r = 0; r < view->group[g].n; r++) {
            const json_t *run = view->group[g].run[r], *loss;
            size_t i;
            json_array_foreach(hr_field_list(run, "losses"), i, loss)
            {
                if (n++ == 0) {
                    hr_html_table(out, "Ranks that were lost, in the order of their runs", "text");
                    fputs("<thead>\n<tr>", out);
                    for (size_t h = 0; h < sizeof heads / sizeof *heads; h++)
                        hr_html_column(out, heads[h].title, heads[h].number);
                    fputs("</tr>\n</thead>\n<tbody>\n", out);
                }
                write_loss(out, &view->group[g], run, loss);
            }
        }
    if (n)
        hr_html_table_end(out);
}

static void write_dropped(FILE *out, const struct hr_view *view)
{
    for (size_t g = 0; g < view->ngroups; g++) {
        const struct hr_mean gradients = hr_group_mean_of(&view->group[g], "dropped", "gradients");
        const struct hr_mean samples = hr_group_mean_of(&view->group[g], "dropped", "samples");
        char number[HR_NUMBER_MAX], of[HR_NUMBER_MAX];
        if (!(gradients.most > 0))
            continue;
        fputs("<p>", out);
        hr_html_say(out, "%s dropped %s gradients that came too late, of %s samples, in a run.",
                    view->group[g].label, hr_number_text(number, gradients.mean, 4),
                    hr_number_text(of, samples.mean, 4));
        fputs("</p>\n", out);
    }
}

enum hr_status hr_losses_write(FILE *out, const struct hr_view *view)
{
    hr_html_section(out, "losses", "What was lost");
    write_table(out, view);
    write_dropped(out, view);
    hr_html_section_end(out);
    return HR_OK;
}
