/* Learning curves as a picture. */
#include <stdbool.h>
#include <string.h>

#include "plot/gnuplot.h"
#include "plot/plot_script.h"
#include "plot/plot.h"

static bool anything_to_draw(const struct hr_run_result *runs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (runs[i].ncurve > 0)
            return true;
    return false;
}

struct picture {
    const char *title, *note;
    struct hr_groups groups;
};

static void write_script(FILE *out, enum hr_plot_format format, const void *arg)
{
    const struct picture *picture = arg;
    hr_plot_script_write(out, format, picture->title, picture->note, &picture->groups);
}

enum hr_status hr_plot_curves(const char *path, const char *title, const char *note,
                              const struct hr_run_result *runs, size_t n)
{
    struct picture picture = {.title = title, .note = note};
    if (!anything_to_draw(runs, n))
        return hr_fail(HR_E_USAGE, "%s: no run was evaluated, so there is nothing to draw", path);
    HR_TRY(hr_groups_make(&picture.groups, runs, n));
    const enum hr_status status = hr_gnuplot_draw(path, write_script, &picture);
    hr_groups_free(&picture.groups);
    return status;
}
