#include "report/plot_script.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* --- data */

/* Evaluations that all runs of the group have. */
static size_t common_points(const struct hr_run_group *group)
{
    size_t n = group->run[0]->ncurve;
    for (size_t i = 1; i < group->n; i++)
        n = group->run[i]->ncurve < n ? group->run[i]->ncurve : n;
    return n;
}

enum field { SAMPLES, SECONDS, LOSS, ACCURACY };

static double field_of(const struct hr_curve_point *point, enum field field)
{
    switch (field) {
    case SAMPLES:
        return (double)point->samples;
    case SECONDS:
        return point->seconds;
    case LOSS:
        return point->test_loss;
    case ACCURACY:
        return 100 * point->test_accuracy;
    }
    return NAN;
}

static struct hr_spread spread_at(const struct hr_run_group *group, size_t number, enum field field)
{
    double *values = malloc(group->n * sizeof *values);
    if (!values)
        return (struct hr_spread){.mean = NAN};
    for (size_t i = 0; i < group->n; i++)
        values[i] = field_of(&group->run[i]->curve[number], field);
    const struct hr_spread spread = hr_spread_of(values, group->n);
    free(values);
    return spread;
}

struct scale {
    double samples; /* one unit of the axis */
    const char *unit;
    double most_samples, most_seconds;
    double loss_top; /* < 0: no loss is a number; 0: as gnuplot likes */
};

/* Rows of samples, seconds, mean, least, most. A mean that is no number (a run diverged) leaves an
 * empty line, which interrupts line and band; NaN would draw the band down to the axis. */
static void write_block(FILE *out, const char *name, size_t g, const struct hr_run_group *group,
                        const struct scale *scale, enum field field)
{
    fprintf(out, "$%s%zu << END\n", name, g);
    for (size_t i = 0; i < common_points(group); i++) {
        const struct hr_spread spread = spread_at(group, i, field);
        if (isfinite(spread.mean))
            fprintf(out, "%.9g %.9g %.9g %.9g %.9g\n",
                    spread_at(group, i, SAMPLES).mean / scale->samples,
                    spread_at(group, i, SECONDS).mean, spread.mean, spread.least, spread.most);
        else
            fputc('\n', out);
    }
    fputs("END\n", out);
}

static void write_data(FILE *out, const struct hr_groups *groups, const struct scale *scale)
{
    for (size_t g = 0; g < groups->n; g++) {
        write_block(out, "loss", g, &groups->group[g], scale, LOSS);
        write_block(out, "accuracy", g, &groups->group[g], scale, ACCURACY);
    }
}

/* --- axes */

static int ascending(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* A run that diverges must not press all others onto the axis: curves may leave through the top, at
 * four times the median loss. 0 when nothing is that high, -1 when no loss is a number. */
static double loss_top(const struct hr_groups *groups)
{
    size_t n = 0, room = 1;
    for (size_t g = 0; g < groups->n; g++)
        room += common_points(&groups->group[g]);
    double *losses = malloc(room * sizeof *losses);
    for (size_t g = 0; losses && g < groups->n; g++)
        for (size_t i = 0; i < common_points(&groups->group[g]); i++) {
            const double loss = spread_at(&groups->group[g], i, LOSS).mean;
            if (isfinite(loss))
                losses[n++] = loss;
        }
    double top = -1;
    if (n > 0) {
        qsort(losses, n, sizeof *losses, ascending);
        top = losses[n - 1] > 4 * losses[n / 2] ? 4 * losses[n / 2] : 0;
    }
    free(losses);
    return top;
}

static struct scale scale_of(const struct hr_groups *groups)
{
    struct scale scale = {.samples = 1, .unit = "", .loss_top = loss_top(groups)};
    for (size_t g = 0; g < groups->n; g++)
        for (size_t i = 0; i < common_points(&groups->group[g]); i++) {
            const struct hr_run_group *group = &groups->group[g];
            scale.most_samples = fmax(scale.most_samples, spread_at(group, i, SAMPLES).mean);
            scale.most_seconds = fmax(scale.most_seconds, spread_at(group, i, SECONDS).mean);
        }
    if (scale.most_samples >= 5e6) {
        scale.samples = 1e6;
        scale.unit = " (millions)";
    } else if (scale.most_samples >= 5e3) {
        scale.samples = 1e3;
        scale.unit = " (thousands)";
    }
    return scale;
}

static void write_styles(FILE *out, const struct hr_groups *groups)
{
    for (size_t g = 0; g < groups->n; g++) {
        size_t every = common_points(&groups->group[g]) / 12 + 1; /* a dozen points a line */
        fprintf(out, "set style line %zu lc rgb '%s' dt %s lw 2.2 pt %d ps 1 pi %zu\n", g + 1,
                hr_plot_color(g), hr_plot_dash(g), hr_plot_point(g), every);
    }
    fputs("set border 3 lc rgb '#404040'\n"
          "set tics nomirror out\n"
          "set grid lc rgb '#dddddd' lt 1 lw 0.8\n"
          "set offsets 0, 0, graph 0.04, graph 0.04\n"
          "set style fill transparent solid 0.15 noborder\n"
          "unset key\n",
          out);
}

/* --- panels */

struct panel {
    int row, column; /* in the picture */
    int x;           /* column of the data: 1 samples, 2 seconds */
    const char *y;   /* block of the data */
};

static void write_curves(FILE *out, const struct hr_groups *groups, const struct panel *panel)
{
    const char *before = "plot";
    for (size_t g = 0; g < groups->n; g++)
        if (groups->group[g].n > 1 && common_points(&groups->group[g]) > 0) {
            fprintf(out, "%s $%s%zu using %d:4:5 with filledcurves lc rgb '%s'", before, panel->y,
                    g, panel->x, hr_plot_color(g));
            before = ", \\\n ";
        }
    for (size_t g = 0; g < groups->n; g++)
        if (common_points(&groups->group[g]) > 0) {
            fprintf(out, "%s $%s%zu using %d:3 with linespoints ls %zu", before, panel->y, g,
                    panel->x, g + 1);
            before = ", \\\n ";
        }
    fputc('\n', out);
}

/* Panels stand at fixed places: what is under them belongs to the legend. */
static void write_panel(FILE *out, const struct hr_groups *groups, const struct scale *scale,
                        const struct panel *panel, double legend)
{
    const bool is_loss = !strcmp(panel->y, "loss");
    const double left = panel->column ? 0.59 : 0.09, height = (0.95 - legend) / 2;
    const double bottom = legend + (panel->row ? 0 : height);
    const double most = panel->x == 1 ? scale->most_samples / scale->samples : scale->most_seconds;
    fprintf(out, "set lmargin at screen %g; set rmargin at screen %g\n", left, left + 0.395);
    fprintf(out, "set bmargin at screen %.4f; set tmargin at screen %.4f\n", bottom + 0.075,
            bottom + height - 0.022);
    fprintf(out, "set xrange [0:%.6g]\n", most > 0 ? most * 1.03 : 1);
    if (is_loss && scale->loss_top > 0)
        fprintf(out, "set yrange [*:%.6g]\n", scale->loss_top);
    else if (is_loss && scale->loss_top < 0)
        fputs("set yrange [0:1]\n", out); /* gnuplot refuses to choose a range from nothing */
    else
        fputs("set yrange [*:*]\n", out);
    fprintf(out, "set xlabel '%s%s'\n", panel->x == 1 ? "samples" : "seconds of training",
            panel->x == 1 ? scale->unit : "");
    fprintf(out, "set ylabel '%s'\n", is_loss ? "test loss" : "test accuracy (%)");
    write_curves(out, groups, panel);
}

/* A fifth plot without anything to see but its key. */
static void write_legend(FILE *out, const struct hr_groups *groups, double height)
{
    fputs("unset border; unset tics; unset grid; unset xlabel; unset ylabel\n"
          "set lmargin at screen 0.02; set rmargin at screen 0.98\n",
          out);
    fprintf(out, "set bmargin at screen 0.005; set tmargin at screen %.4f\n", height);
    fputs("set key center center horizontal Left reverse spacing 1.25 samplen 4 width 1\n"
          "set xrange [0:1]; set yrange [0:1]\nplot",
          out);
    for (size_t g = 0; g < groups->n; g++) {
        fprintf(out, "%s NaN with linespoints ls %zu title ", g ? ", \\\n " : "", g + 1);
        hr_plot_quote(out, groups->group[g].label, 60);
    }
    fputc('\n', out);
}

void hr_plot_script_write(FILE *out, enum hr_plot_format format, const char *title,
                          const struct hr_groups *groups)
{
    static const struct panel panels[] = {
        {0, 0, 1, "loss"}, {0, 1, 2, "loss"}, {1, 0, 1, "accuracy"}, {1, 1, 2, "accuracy"}};
    const struct scale scale = scale_of(groups);
    const double legend = 0.03 + 0.03 * (double)((groups->n + 2) / 3);
    hr_plot_terminal(out, format);
    write_data(out, groups, &scale);
    write_styles(out, groups);
    fputs("set multiplot\nset label 1 ", out);
    hr_plot_quote(out, title, 110);
    fputs(" at screen 0.5,0.97 center font ',16'\n", out);
    for (size_t i = 0; i < sizeof panels / sizeof *panels; i++) {
        write_panel(out, groups, &scale, &panels[i], legend);
        fputs("unset label 1\n", out);
    }
    write_legend(out, groups, legend);
    fputs("unset multiplot\n", out);
}
