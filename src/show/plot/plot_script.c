#include "plot/plot_script.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "plot/plot_schedule.h"
#include "plot/plot_staleness.h"
#include "report/colours.h"

/* --- data */

/* Evaluations that all runs of the group have. */
static size_t common_points(const struct hr_run_group *group)
{
    size_t n = group->run[0]->ncurve;
    for (size_t i = 1; i < group->n; i++)
        n = group->run[i]->ncurve < n ? group->run[i]->ncurve : n;
    return n;
}

enum field { SAMPLES, UPDATES, SECONDS, LOSS, SCORE }; /* accuracy, or of values the rmse */

/* Curves do not say how many updates there were: as many a sample as in the whole run. */
static double updates_at(const struct hr_run_result *run, const struct hr_curve_point *point)
{
    const double samples = (double)(run->past_samples + run->samples);
    return samples > 0 ? (double)point->samples * hr_measure_updates(run) / samples : 0;
}

static double field_of(const struct hr_run_result *run, const struct hr_curve_point *point,
                       enum field field)
{
    switch (field) {
    case SAMPLES:
        return (double)point->samples;
    case UPDATES:
        return updates_at(run, point);
    case SECONDS:
        return point->seconds;
    case LOSS:
        return hr_curve_loss(point);
    case SCORE:
        return point->values ? hr_metric_at(HR_METRIC_RMSE, point) : 100 * hr_curve_accuracy(point);
    }
    return NAN;
}

static struct hr_spread spread_at(const struct hr_run_group *group, size_t number, enum field field)
{
    double *values = malloc(group->n * sizeof *values);
    if (!values)
        return (struct hr_spread){.mean = NAN};
    for (size_t i = 0; i < group->n; i++)
        values[i] = field_of(group->run[i], &group->run[i]->curve[number], field);
    const struct hr_spread spread = hr_spread_of(values, group->n);
    free(values);
    return spread;
}

struct scale {
    double samples, updates; /* one unit of the axis */
    double most_samples, most_updates, most_seconds;
    double loss_top; /* < 0: no loss is a number; 0: gnuplot chooses */
};

/* Rows of samples, seconds, mean, least, most, updates. A mean that is NaN (a run diverged) becomes
 * an empty line, which interrupts line and band; NaN would draw the band down to the axis. */
static void write_block(FILE *out, const char *name, size_t g, const struct hr_run_group *group,
                        const struct scale *scale, enum field field)
{
    fprintf(out, "$%s%zu << END\n", name, g);
    for (size_t i = 0; i < common_points(group); i++) {
        const struct hr_spread spread = spread_at(group, i, field);
        if (isfinite(spread.mean))
            fprintf(out, "%.9g %.9g %.9g %.9g %.9g %.9g\n",
                    spread_at(group, i, SAMPLES).mean / scale->samples,
                    spread_at(group, i, SECONDS).mean, spread.mean, spread.least, spread.most,
                    spread_at(group, i, UPDATES).mean / scale->updates);
        else
            fputc('\n', out);
    }
    fputs("END\n", out);
}

static void write_data(FILE *out, const struct hr_groups *groups, const struct scale *scale)
{
    for (size_t g = 0; g < groups->n; g++) {
        write_block(out, "loss", g, &groups->group[g], scale, LOSS);
        write_block(out, "score", g, &groups->group[g], scale, SCORE);
    }
}

/* --- axes */

static int ascending(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* A run that diverges must not press all others onto the axis: the axis ends at four times the
 * median loss. 0 when no loss is higher, -1 when no loss is a number. */
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

static double unit_of(double most)
{
    return most >= 2e6 ? 1e6 : most >= 2e3 ? 1e3 : 1; /* longer numbers would touch */
}

static const char *unit_text(double unit)
{
    return unit >= 1e6 ? " (millions)" : unit >= 1e3 ? " (thousands)" : "";
}

static struct scale scale_of(const struct hr_groups *groups)
{
    struct scale scale = {.loss_top = loss_top(groups)};
    for (size_t g = 0; g < groups->n; g++)
        for (size_t i = 0; i < common_points(&groups->group[g]); i++) {
            const struct hr_run_group *group = &groups->group[g];
            scale.most_samples = fmax(scale.most_samples, spread_at(group, i, SAMPLES).mean);
            scale.most_updates = fmax(scale.most_updates, spread_at(group, i, UPDATES).mean);
            scale.most_seconds = fmax(scale.most_seconds, spread_at(group, i, SECONDS).mean);
        }
    scale.samples = unit_of(scale.most_samples);
    scale.updates = unit_of(scale.most_updates);
    return scale;
}

static const char *color_of(const struct hr_run_group *group)
{
    return hr_colour_of(group->run[0]->strategy)->on_light;
}

static void write_styles(FILE *out, const struct hr_groups *groups)
{
    for (size_t g = 0; g < groups->n; g++) {
        size_t every = common_points(&groups->group[g]) / 12 + 1; /* a dozen points a line */
        fprintf(out, "set style line %zu lc rgb '%s' dt %s lw 2.2 pt %d ps 1 pi %zu\n", g + 1,
                color_of(&groups->group[g]), hr_plot_dash(g), hr_plot_point(g), every);
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
    size_t row, column; /* in the picture */
    enum field x;       /* samples, updates, seconds */
    const char *y;      /* block of the data */
};

static void write_curves(FILE *out, const struct hr_groups *groups, const struct panel *panel)
{
    const char *before = "plot";
    const int x = panel->x == SAMPLES ? 1 : panel->x == SECONDS ? 2 : 6; /* column of the data */
    for (size_t g = 0; g < groups->n; g++)
        if (groups->group[g].n > 1 && common_points(&groups->group[g]) > 0) {
            fprintf(out, "%s $%s%zu using %d:4:5 with filledcurves lc rgb '%s'", before, panel->y,
                    g, x, color_of(&groups->group[g]));
            before = ", \\\n ";
        }
    for (size_t g = 0; g < groups->n; g++)
        if (common_points(&groups->group[g]) > 0) {
            fprintf(out, "%s $%s%zu using %d:3 with linespoints ls %zu", before, panel->y, g, x,
                    g + 1);
            before = ", \\\n ";
        }
    fputc('\n', out);
}

/* The picture's height: that of two rows of panels was 860 pixels when its margins were chosen. */
struct layout {
    size_t rows, columns; /* of panels; of the legend */
    double legend, row;   /* heights, 1 being the picture's */
    double unit;          /* what was 1 in a picture of 860 pixels */
};

enum { TWO_ROWS = 860, ONE_ROW = 390, WIDTH = 1500 };

static int height_of(size_t rows)
{
    return TWO_ROWS + ((int)rows - 2) * ONE_ROW;
}

/* Columns of the legend: as many as the longest label allows in the picture's width. */
static size_t legend_columns(const struct hr_groups *groups)
{
    size_t longest = 0;
    for (size_t g = 0; g < groups->n; g++) {
        const size_t length = strlen(groups->group[g].label);
        longest = length > longest ? length : longest;
    }
    return longest < 28 ? 3 : longest < 58 ? 2 : 1;
}

/* Of the first run that has one, and was watched; or NULL. */
static const struct hr_pipeline_report *pipeline_of(const struct hr_groups *groups)
{
    for (size_t g = 0; g < groups->n; g++)
        if (groups->group[g].run[0]->pipeline.nspans)
            return &groups->group[g].run[0]->pipeline;
    return NULL;
}

static struct layout layout_of(const struct hr_groups *groups)
{
    struct layout layout = {.rows =
                                2 + hr_plot_has_staleness(groups) + (pipeline_of(groups) != NULL)};
    layout.unit = (double)TWO_ROWS / height_of(layout.rows);
    layout.columns = legend_columns(groups);
    layout.legend =
        (0.03 + 0.03 * (double)((groups->n + layout.columns - 1) / layout.columns)) * layout.unit;
    layout.row = (1 - 0.07 * layout.unit - layout.legend) / (double)layout.rows;
    return layout;
}

/* Panels have fixed places, so many beside each other; the legend is below them. */
static void set_margins(FILE *out, const struct layout *layout, size_t row, size_t column,
                        size_t columns)
{
    const double room = 0.99 / (double)columns, left = 0.07 + (double)column * room;
    const double bottom = layout->legend + (double)(layout->rows - 1 - row) * layout->row;
    fprintf(out, "set lmargin at screen %g; set rmargin at screen %g\n", left, left + room - 0.075);
    fprintf(out, "set bmargin at screen %.4f; set tmargin at screen %.4f\n",
            bottom + 0.075 * layout->unit, bottom + layout->row - 0.022 * layout->unit);
}

static const char *seconds_of(const struct hr_groups *groups)
{
    const bool simulated = !strcmp(groups->group[0].run[0]->clock, "virtual");
    return simulated ? "virtual seconds of training" : "seconds of training";
}

static void write_panel(FILE *out, const struct hr_groups *groups, const struct scale *scale,
                        const struct panel *panel)
{
    const bool is_loss = !strcmp(panel->y, "loss");
    const double most = panel->x == SAMPLES   ? scale->most_samples / scale->samples
                        : panel->x == UPDATES ? scale->most_updates / scale->updates
                                              : scale->most_seconds;
    fprintf(out, "set xrange [0:%.6g]\n", most > 0 ? most * 1.03 : 1);
    if (is_loss && scale->loss_top > 0)
        fprintf(out, "set yrange [*:%.6g]\n", scale->loss_top);
    else if (is_loss && scale->loss_top < 0)
        fputs("set yrange [0:1]\n", out); /* gnuplot cannot choose a range without data */
    else
        fputs("set yrange [*:*]\n", out);
    fprintf(out, "set xlabel '%s%s'\n",
            panel->x == SAMPLES   ? "samples"
            : panel->x == UPDATES ? "updates"
                                  : seconds_of(groups),
            unit_text(panel->x == SAMPLES   ? scale->samples
                      : panel->x == UPDATES ? scale->updates
                                            : 1));
    fprintf(out, "set ylabel '%s %s'\n",
            groups->group[0].run[0]->validation_samples ? "validation" : "test",
            is_loss                                                       ? "loss"
            : hr_metric_of_run(groups->group[0].run[0]) == HR_METRIC_RMSE ? "rmse"
                                                                          : "accuracy (%)");
    write_curves(out, groups, panel);
}

/* A plot that shows nothing but its key. */
static void write_legend(FILE *out, const struct hr_groups *groups, const struct layout *layout)
{
    fputs("unset border; unset tics; unset grid; unset xlabel; unset ylabel\n"
          "set lmargin at screen 0.02; set rmargin at screen 0.98\n",
          out);
    fprintf(out, "set bmargin at screen 0.005; set tmargin at screen %.4f\n", layout->legend);
    fprintf(out,
            "set key center center horizontal maxcols %zu Left reverse spacing 1.25 samplen 4 "
            "width 1\nset xrange [0:1]; set yrange [0:1]\nplot",
            layout->columns);
    for (size_t g = 0; g < groups->n; g++) {
        fprintf(out, "%s NaN with linespoints ls %zu title ", g ? ", \\\n " : "", g + 1);
        hr_plot_quote(out, groups->group[g].label, 60);
    }
    fputc('\n', out);
}

static void write_staleness(FILE *out, const struct hr_groups *groups, const struct layout *layout)
{
    fputs("set offsets 0, 0, 0, 0\n", out);
    set_margins(out, layout, 2, 0, 2);
    hr_plot_staleness_shares(out, groups);
    set_margins(out, layout, 2, 1, 2);
    hr_plot_staleness_workers(out, groups);
}

static struct hr_plot_schedule schedule_of(const struct hr_groups *groups, char *title, size_t size)
{
    const struct hr_pipeline_report *report = pipeline_of(groups);
    const bool simulated = !strcmp(groups->group[0].run[0]->clock, "virtual");
    snprintf(title, size, "%s: %s of worker 0, bubble of the run %.1f %%", report->schedule,
             simulated ? "a step (virtual time)" : "the last step", 100 * report->bubble);
    return (struct hr_plot_schedule){
        .title = title, .stages = report->stages, .n = report->nspans, .span = report->span};
}

/* The last row, all of it. */
static void write_schedule(FILE *out, const struct hr_plot_schedule *schedule,
                           const struct layout *layout)
{
    set_margins(out, layout, layout->rows - 1, 0, 1);
    fprintf(out, "set offsets 0, 0, 0, 0\nset bmargin at screen %.4f\n",
            layout->legend + 0.115 * layout->unit);
    fprintf(out, "set tmargin at screen %.4f\n",
            layout->legend + layout->row - 0.045 * layout->unit);
    hr_plot_schedule_panel(out, schedule, 0);
}

void hr_plot_script_write(FILE *out, enum hr_plot_format format, const char *title,
                          const char *note, const struct hr_groups *groups)
{
    static const struct panel panels[] = {{0, 0, SAMPLES, "loss"},  {0, 1, UPDATES, "loss"},
                                          {0, 2, SECONDS, "loss"},  {1, 0, SAMPLES, "score"},
                                          {1, 1, UPDATES, "score"}, {1, 2, SECONDS, "score"}};
    const struct scale scale = scale_of(groups);
    const struct layout layout = layout_of(groups);
    hr_plot_terminal(out, format, WIDTH, height_of(layout.rows));
    write_data(out, groups, &scale);
    const bool stale = hr_plot_has_staleness(groups), staged = pipeline_of(groups) != NULL;
    struct hr_plot_schedule schedule = {0};
    char about[160];
    if (stale)
        hr_plot_staleness_data(out, groups);
    if (staged) {
        schedule = schedule_of(groups, about, sizeof about);
        hr_plot_schedule_data(out, &schedule, 0);
    }
    write_styles(out, groups);
    fputs("set multiplot\nset label 1 ", out);
    hr_plot_quote(out, title, 110);
    fprintf(out, " at screen 0.5,%.4f center font ',16'\n", 1 - 0.026 * layout.unit);
    if (note && note[0]) {
        fputs("set label 2 ", out);
        hr_plot_quote(out, note, 160);
        fprintf(out, " at screen 0.5,%.4f center\n", 1 - 0.055 * layout.unit);
    }
    for (size_t i = 0; i < sizeof panels / sizeof *panels; i++) {
        set_margins(out, &layout, panels[i].row, panels[i].column, 3);
        write_panel(out, groups, &scale, &panels[i]);
        fputs("unset label 1; unset label 2\n", out);
    }
    if (stale)
        write_staleness(out, groups, &layout);
    if (staged)
        write_schedule(out, &schedule, &layout);
    write_legend(out, groups, &layout);
    fputs("unset multiplot\n", out);
}
